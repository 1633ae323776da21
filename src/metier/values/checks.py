"""What a value may be (`Field`) and every flaw of a value, for documents and settings."""

import re
from collections.abc import Callable, Iterator, Mapping
from math import inf
from typing import Any, Literal, NamedTuple

from metier.core.arguments import described
from metier.core.names import is_capability_name, is_document_id
from metier.core.nearest import did_you_mean, nearest
from metier.values.files import KeyPath

_VERSION = r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){2}\Z"
_STEP_ID = r"[A-Za-z][A-Za-z0-9_-]*\Z"
_MODEL = r"[A-Za-z0-9_-]+:\S+\Z"
NAMESPACE_FORM = "1 to 40 characters, a-z, 0-9 and '-', the first of them not '-'"
_NAMESPACE = r"[a-z0-9][a-z0-9-]{0,39}\Z"
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


_LONG_NUMBER = r"[+-]?[0-9]{41,}(?:\.[0-9]*)?\Z"
_MOST_UNKNOWN = 20


FieldType = Literal["text", "integer", "number", "flag", "list", "mapping", "any", "text-or-texts"]


class Field(NamedTuple):
    """What a key may hold."""

    type: FieldType = "text"
    required: bool = False
    shortest: int = 0
    """Characters of a text, entries of a list."""
    longest: int | None = None
    least: float | None = None
    most: float | None = None
    form: str = ""
    """A key of `FORMS`."""
    choices: tuple[str, ...] = ()
    items: "Field | None" = None
    fields: "Mapping[str, Field] | None" = None
    """The keys of a mapping; None lets it hold anything."""
    others: "Field | None" = None
    """Any other key of a mapping."""
    other_names: tuple[str, ...] = ()
    """Aliases."""
    or_number: bool = False
    """Whether a number counts as its text."""
    called: str = ""
    """Its name in a message, instead of a list of flaws."""

    @property
    def is_table(self) -> bool:
        return self.fields is not None or self.others is not None


def text(longest: int | None = None, **more: Any) -> Field:
    return Field(type="text", longest=longest, **more)


def texts(entries: int | None, longest: int | None, shortest: int = 0) -> Field:
    item = Field(type="text", longest=longest, shortest=1)
    return Field(type="list", longest=entries, shortest=shortest, items=item)


def integer(least: int, most: int) -> Field:
    return Field(type="integer", least=least, most=most)


FLAG = Field(type="flag")
ANY = Field(type="any")


class Flaw(NamedTuple):
    at: KeyPath
    problem: str
    """missing · unknown · invalid"""
    message: str
    hint: str = ""
    known: tuple[str, ...] = ()
    """The keys that an unknown key may mean."""


def _is_date(text: str) -> bool:
    if not re.match(_DATE, text):
        return False
    from datetime import date, datetime  # few documents have dates

    try:
        (datetime if len(text) > 10 else date).fromisoformat(text)
    except ValueError:
        return False
    return True


FORMS: dict[str, tuple[Callable[[str], bool], str]] = {
    "id": (
        lambda text: is_document_id(text, len(text)),
        "start with a-z and hold only a-z, 0-9 and '-'",
    ),
    "kebab": (is_capability_name, "be lower-case words joined by single hyphens"),
    "version": (lambda text: re.match(_VERSION, text) is not None, "look like 1.0.0"),
    "date": (_is_date, "be an ISO date such as 2026-01-31"),
    "step-id": (
        lambda text: re.match(_STEP_ID, text) is not None,
        "start with a letter and hold only letters, digits, '_' and '-'",
    ),
    "namespace": (
        lambda text: re.match(_NAMESPACE, text) is not None,
        f"be {NAMESPACE_FORM}",
    ),
    "model": (lambda text: re.match(_MODEL, text) is not None, "look like provider:name"),
}
TYPES: dict[str, tuple[tuple[type, ...], str]] = {
    "text": ((str,), "a string"),
    "text-or-texts": ((str, list), "a string or a list of strings"),
    "integer": ((int,), "a whole number"),
    "number": ((int, float), "a number"),
    "flag": ((bool,), "true or false"),
    "list": ((list, tuple), "a list"),
    "mapping": ((dict,), "a mapping"),
}
"""The Python types of each type of field, and its name in messages."""


def check_mapping(
    data: Mapping[str, Any],
    fields: Mapping[str, Field],
    at: KeyPath = (),
    others: Field | None = None,
) -> Iterator[Flaw]:
    """Every missing, unknown and invalid key of `data`; `others` checks keys not in `fields`.

    Where `others` are tables, any other value with a name like one of `fields` is a misspelt key.
    """
    for name, field in fields.items():
        if field.required and data.get(name) is None:
            message = f"'{dotted((*at, name))}' is missing"
            yield Flaw(at, "missing", message, _missing_hint(name, data, fields))
    for name, value in data.items():
        known = fields.get(name, others)
        if known is others and _is_misspelt(name, value, fields, others):
            yield _unknown((*at, name), fields)
        elif known is not None and value is not None:
            yield from check_value(value, known, (*at, name))
    unknown = [name for name in data if name not in fields] if others is None else []
    for name in unknown[:_MOST_UNKNOWN]:
        yield _unknown((*at, name), fields)
    if len(unknown) > _MOST_UNKNOWN:
        message = f"and {len(unknown) - _MOST_UNKNOWN} more unknown keys"
        yield Flaw(at, "unknown", message, "is this the right kind of document?")


def _missing_hint(name: str, data: Mapping[str, Any], fields: Mapping[str, Field]) -> str:
    unknown = [str(key) for key in data if key not in fields][:_MOST_UNKNOWN]
    misspelt = nearest(name, unknown)
    return f"did you mean '{name}', not '{misspelt}'?" if misspelt else f"add '{name}:'"


def _is_misspelt(name: str, value: Any, fields: Mapping[str, Field], others: Field | None) -> bool:
    if others is None or not others.is_table or isinstance(value, dict):
        return False
    return nearest(str(name), fields) != ""


def _unknown(at: KeyPath, fields: Mapping[str, Field]) -> Flaw:
    otherwise = f"the keys here are {', '.join(fields)}"
    if len(at) == 1:
        otherwise = "remove it, or put it under 'metadata'"
    hint = did_you_mean(str(at[-1]), fields, otherwise)
    return Flaw(at, "unknown", f"unknown key '{dotted(at)}'", hint, tuple(fields))


def check_value(value: Any, field: Field, at: KeyPath) -> Iterator[Flaw]:
    """Every flaw of a value; at most one flaw for a field that is `called` something."""
    flaws = _flaws(value, field, at)
    if not field.called or (field.is_table and isinstance(value, dict)):
        yield from flaws
    elif next(flaws, None) is not None:
        yield _invalid(at, f"must be {field.called}")


def _flaws(value: Any, field: Field, at: KeyPath) -> Iterator[Flaw]:
    if field.type == "any":
        return
    accepted, called = TYPES[field.type]
    is_flag = isinstance(value, bool)
    fits: bool = isinstance(value, accepted) and is_flag == (field.type == "flag")
    if not fits:
        yield _invalid(at, f"must be {called}, not {_what(value)}")
    elif field.type == "text":
        yield from _check_text(value, field, at)
    elif field.type == "list":
        yield from _check_list(value, field, at)
    elif field.type == "mapping":
        if field.is_table:
            yield from check_mapping(value, field.fields or {}, at, field.others)
    elif not is_flag:
        yield from _check_number(value, field, at)


def _check_text(value: str, field: Field, at: KeyPath) -> Iterator[Flaw]:
    if field.choices and value not in field.choices:
        flaw = _invalid(at, f"must be one of {', '.join(field.choices)}, not '{value[:40]}'")
        yield flaw._replace(hint=did_you_mean(value, field.choices, flaw.hint))
    elif len(value.strip()) < field.shortest:
        yield _invalid(at, "must not be empty")
    elif field.longest is not None and len(value) > field.longest:
        yield _invalid(at, f"has {len(value)} characters, the limit is {field.longest}")
    elif field.form:
        fits, form = FORMS[field.form]
        if not fits(value):
            yield _invalid(at, f"must {form}, not '{value[:60]}'")


def _check_list(value: list[Any], field: Field, at: KeyPath) -> Iterator[Flaw]:
    if len(value) < field.shortest:
        yield _invalid(at, "must not be empty")
    if field.longest is not None and len(value) > field.longest:
        yield _invalid(at, f"has {len(value)} entries, the limit is {field.longest}")
    if field.items is not None:
        for number, item in enumerate(value):
            yield from check_value(item, field.items, (*at, number))


def _check_number(value: float, field: Field, at: KeyPath) -> Iterator[Flaw]:
    shown = str(value)[:20]
    too_small = field.least is not None and value < field.least
    too_large = field.most is not None and value > field.most
    if value in (inf, -inf) or value != value:  # NaN is not equal to itself
        yield _invalid(at, "must be a finite number")
    elif too_small or too_large:
        if field.most is None:
            yield _invalid(at, f"must be at least {field.least:,.12g}, not {shown}")
        else:
            limits = f"from {field.least:,.12g} to {field.most:,.12g}"
            yield _invalid(at, f"must be {limits}, not {shown}")


def _invalid(at: KeyPath, problem: str) -> Flaw:
    return Flaw(at, "invalid", f"'{dotted(at)}' {problem}", "change it, or remove the key")


def dotted(at: KeyPath) -> str:
    """`("workflow", 2, "config")` as `workflow[2].config`; names are quoted as in TOML."""
    out = ""
    for step in at:
        if isinstance(step, int):
            out += f"[{step}]"
        else:
            out += f".{_quoted(step)}" if out else step
    return out


def _quoted(name: str) -> str:
    """`teams/a` as `"teams/a"`; a bare key stays."""
    if _BARE_KEY.fullmatch(name):
        return name
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _what(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and re.match(_LONG_NUMBER, value):
        return "a number with more digits than metier reads"
    if isinstance(value, str):
        return f"the string '{value[:40]}'"
    names = {int: "a number", float: "a number", list: "a list", dict: "a mapping"}
    return "nothing" if value is None else names.get(type(value)) or described(value)
