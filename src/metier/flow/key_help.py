"""What an editor says about keys, values and clauses, and what it offers while you type."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from metier.config import Config
from metier.flow.cursor import Cursor
from metier.hosts.known import HOSTS
from metier.hosts.model import STANDARD_KEYS
from metier.lint.values import known_values
from metier.values.checks import FORMS, TYPES, Field
from metier.values.fields import ABILITY, AGENT, CARD, SKILL, STEP, STEP_CONFIG
from metier.values.files import Kind
from metier.values.key_meanings import CLAUSES, KEY_MEANINGS
from metier.values.policy import STRICTNESS, Policy

_METADATA = {"contract": Field(), "capabilities": Field(type="list", items=Field())}
_TOP: dict[Kind, Mapping[str, Field]] = {
    "skill": SKILL,
    "ability": ABILITY,
    "card": CARD,
    "agent": AGENT,
}
_STEPS = ("workflow", "steps", "then", "else", "compensate")
_LONG = {
    **{long: short for short, (long, _) in CLAUSES.items()},
    "Required": "R",
}
"""Long names of clauses → short."""
_POLICY_CHOICES = {
    "selection-mode": ("single", "cover"),
    "on-missing-required": STRICTNESS,
}
_NAMED: dict[tuple[Kind, tuple[str, ...]], str] = {
    ("skill", ("capabilities",)): "capability",
    ("skill", ("metadata", "capabilities")): "capability",
    ("ability", ("requires",)): "ability",
    ("ability", ("conflicts",)): "ability",
    ("ability", ("applicableTo",)): "agent",
    ("ability", ("excludeFrom",)): "agent",
    ("agent", ("requires",)): "capability",
    ("agent", ("skills",)): "skill",
    ("agent", ("abilities", "core")): "ability",
    ("agent", ("delegation", "to")): "agent",
    ("agent", ("workflow", "requires")): "capability",
    ("agent", ("workflow", "config", "targetAgent")): "agent",
}
"""Keys whose values name something in the catalog."""


class Offer(NamedTuple):
    """Something to complete a word with."""

    label: str
    detail: str = ""
    about: str = ""
    insert: str = ""
    """What is written, if it is not the label."""


class Known(NamedTuple):
    """Names in the catalog, by `capability` or kind of document."""

    names: Mapping[str, Sequence[str]]

    def of(self, what: str) -> Sequence[str]:
        return self.names.get(what, ())


# What keys mean


def hover(kind: Kind, cursor: Cursor) -> str:
    """What is known about the key, or the clause, at a cursor; as Markdown, or empty."""
    if cursor.clause:
        return _about_clause(cursor)
    field = fields_at(kind, cursor.keys[:-1] if not cursor.is_key else cursor.keys)
    name = cursor.word if cursor.is_key else cursor.keys[-1] if cursor.keys else ""
    meaning = _meaning(kind, cursor.path)
    if not meaning and name not in field:
        return ""
    facts = "; ".join(_facts(field.get(name, Field(type="any"))))
    parts = [f"**{name}**" + (f" ({facts})" if facts else ""), meaning]
    if kind == "skill" and len(cursor.path) == 1:
        parts.append(_readers(name))
    return "\n\n".join(filter(None, parts))


def _meaning(kind: Kind, path: Sequence[str]) -> str:
    """The sentence for a key; steps inside of steps have the keys of steps."""
    known = KEY_MEANINGS[kind]
    whole = ".".join(path)
    last = f"workflow.{path[-1]}" if path else ""
    return known.get(whole) or (known.get(last, "") if path[:1] == ("workflow",) else "")


def _facts(field: Field) -> Iterator[str]:
    if field.required:
        yield "required"
    if field.type in TYPES:
        yield TYPES[field.type][1]
    if field.choices:
        yield f"one of {', '.join(field.choices)}"
    if field.form:
        yield f"must {FORMS[field.form][1]}"
    if field.longest is not None:
        yield f"at most {field.longest:,} {'entries' if field.type == 'list' else 'characters'}"
    if field.least is not None and field.most is not None:
        yield f"from {field.least:g} to {field.most:g}"


def _readers(key: str) -> str:
    """The hosts that read a key of skills."""
    if key in STANDARD_KEYS:
        return "Part of the Agent Skills format."
    hosts = [host.title for host in HOSTS.values() if key in host.keys]
    return f"Read by {', '.join(hosts)}." if hosts else "Read by metier."


def _about_clause(cursor: Cursor) -> str:
    short = _LONG.get(cursor.clause, cursor.clause)
    if short not in CLAUSES:
        return f"**{cursor.clause}** is not a clause of contracts: {', '.join(CLAUSES)}."
    long, meaning = CLAUSES[short]
    text = f"**{short}(…)**, {long}\n\n{meaning}"
    if short != "Pol":
        return text
    defaults = ", ".join(f"`{key}={value}`" for key, value in Policy().to_json().items())
    return f"{text}\n\nDefaults: {defaults}."


def fields_at(kind: Kind, keys: Sequence[str]) -> Mapping[str, Field]:
    """The keys of the mapping at a key path; none if it may hold anything."""
    fields = _TOP[kind]
    for key in keys:
        fields = _inner(kind, fields, key)
    return fields


def _inner(kind: Kind, fields: Mapping[str, Field], key: str) -> Mapping[str, Field]:
    if kind == "skill" and key == "metadata":
        return _METADATA
    if kind == "agent" and key in _STEPS:
        return STEP
    if fields is STEP and key == "config":
        return {name: field for one in STEP_CONFIG.values() for name, field in one.items()}
    field = fields.get(key)
    inner = field.items.fields if field is not None and field.items is not None else None
    return (field.fields if field is not None else None) or inner or {}


# What can be written


def offers(kind: Kind, cursor: Cursor, known: Known, config: Config) -> list[Offer]:
    """What may be written at a cursor."""
    if cursor.keys == ("metadata", "contract") and kind == "skill" and not cursor.is_key:
        return list(_for_contract(cursor, known))
    if cursor.is_key or _holds_mappings(kind, cursor.keys):
        return list(_keys(kind, cursor.keys))
    return list(_values(kind, cursor, known, config))


def _holds_mappings(kind: Kind, keys: Sequence[str]) -> bool:
    return bool(keys) and bool(fields_at(kind, keys)) and keys[-1] != "metadata"


def _keys(kind: Kind, keys: Sequence[str]) -> Iterator[Offer]:
    for name, field in fields_at(kind, keys).items():
        about = _meaning(kind, (*keys, name))
        yield Offer(name, "; ".join(_facts(field)), about, f"{name}: ")
    if kind == "skill" and tuple(keys) == ("hooks",):
        for host, values in known_values():
            yield from (Offer(one, host.title, "", f"{one}:") for one in values.hook_events)


def _values(kind: Kind, cursor: Cursor, known: Known, config: Config) -> Iterator[Offer]:
    field = fields_at(kind, cursor.keys[:-1]).get(cursor.keys[-1]) if cursor.keys else None
    item = field.items if field is not None and field.items is not None else field
    if item is not None:
        yield from (Offer(choice) for choice in item.choices)
        if item.type == "flag":
            yield from (Offer("true"), Offer("false"))
    what = named_by(kind, cursor)
    if what:
        yield from (Offer(name, what) for name in known.of(what))
    if kind == "agent":
        yield from _of_settings(cursor.keys, config)
    if kind == "skill":
        yield from _of_hosts(cursor.keys)


def _of_hosts(keys: Sequence[str]) -> Iterator[Offer]:
    """Models and tools that hosts know."""
    for host, values in known_values():
        if keys == ("model",):
            yield from (Offer(one, host.title) for one in values.models)
        if keys in (("allowed-tools",), ("disallowed-tools",)):
            yield from (Offer(one, host.title) for one in values.tools)


def _of_settings(keys: Sequence[str], config: Config) -> Iterator[Offer]:
    """Models and tools of the settings."""
    if keys == ("model",) and config.models.default:
        yield Offer(config.models.default, "default of the settings")
    if keys == ("model",):
        for name in config.models.providers:
            yield Offer(f"{name}:", "provider of the settings")
    if keys and keys[-1] in ("tools", "tool"):
        yield from (Offer(one.name, "command") for one in config.tools.commands)
        yield from (Offer(f"{one.name}__", "MCP server") for one in config.servers)


def named_by(kind: Kind, cursor: Cursor) -> str:
    """What the word at a cursor names: `capability`, a kind of document, or nothing."""
    if cursor.is_key:
        return ""
    if cursor.clause and not cursor.is_clause_name:
        short = _LONG.get(cursor.clause, cursor.clause)
        return "capability" if short in ("P", "E", "R", "O") else ""
    keys = tuple(key for key in cursor.keys if key not in ("steps", "then", "else", "compensate"))
    return _NAMED.get((kind, keys), "")


def _for_contract(cursor: Cursor, known: Known) -> Iterator[Offer]:
    if cursor.is_clause_name:
        for short, (long, meaning) in CLAUSES.items():
            yield Offer(f"{short}(…)", long, meaning, f"{short}(")
        return
    short = _LONG.get(cursor.clause, cursor.clause)
    if short in ("P", "E", "R", "O"):
        yield from (Offer(name, "capability") for name in known.of("capability"))
    elif short == "Pol" and cursor.pair:
        yield from (Offer(one) for one in _POLICY_CHOICES.get(cursor.pair, ()))
    elif short == "Pol":
        defaults = Policy().to_json()
        yield from (Offer(key, f"default {defaults[key]}", "", f"{key}=") for key in defaults)


def fitting(found: Iterable[Offer], written: str, most: int) -> tuple[list[Offer], bool]:
    """Those that begin with what is written, and whether there are more than `most`."""
    start = written.casefold()
    fit = [one for one in found if one.label.casefold().startswith(start)]
    return fit[:most], len(fit) > most
