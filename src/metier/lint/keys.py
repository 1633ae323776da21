"""Rules for the keys of a skill's front matter, and for the types of their values."""

from functools import lru_cache
from typing import Any

from metier.core.names import loose_key
from metier.core.nearest import nearest, suggestion
from metier.lint.noting import Findings
from metier.lint.values import readers_of
from metier.values.checks import TYPES, Field
from metier.values.fields import SKILL, spellings
from metier.values.files import Matter

LONGEST_COMPATIBILITY = 500
_MOST_COMPARED = 20
_NEAR_MISS = 0.8
_TYPED = {
    key: field for key, field in SKILL.items() if field.type in TYPES and key != "description"
}
"""Parsing reports a wrong description."""
_ANY_TEXT = frozenset(
    key for key, field in _TYPED.items() if str in TYPES[field.type][0]
).difference(key for key, field in _TYPED.items() if field.choices)
"""Keys for which every text is right."""
_KEYS = spellings(SKILL)
_KNOWN = SKILL.keys()


def lint_keys(matter: Matter, found: Findings) -> None:
    """Findings about types, unknown keys and limits."""
    _check_types(matter, found)
    _check_keys(matter.data, found)


def _check_types(matter: Matter, found: Findings) -> None:
    """Skip values that are not YAML: they have a finding already."""
    for key, value in matter.data.items():
        is_any_text = type(value) is str and key in _ANY_TEXT
        if is_any_text or key not in _TYPED or value is None or key in matter.unread:
            continue
        field = _TYPED[key]
        if not _has_type(value, field):
            called = TYPES[field.type][1]
            found.add(
                "SK307", f"'{key}' must be {called}", (key,), f"write {called}", readers_of(key)
            )
        elif field.choices and isinstance(value, str) and value not in field.choices:
            message = f"no host is known to accept '{key}: {value[:40]}'"
            hint = f"known: {', '.join(field.choices)}"
            found.add("SK316", message, (key,), hint, readers_of(key))


def _has_type(value: Any, field: Field) -> bool:
    numbers = (int, float) if field.or_number else ()
    entries = value if isinstance(value, list) else []
    is_of_texts = all(type(entry) in (str, *numbers) for entry in entries)
    return type(value) in (*TYPES[field.type][0], *numbers) and is_of_texts


def _check_keys(data: dict[str, Any], found: Findings) -> None:
    if not data.keys() <= _KNOWN:
        _check_unknown_keys(data, found)
    compatibility = data.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > LONGEST_COMPATIBILITY:
        message = (
            f"compatibility has {len(compatibility)} characters, "
            f"the limit is {LONGEST_COMPATIBILITY}"
        )
        found.add("SK308", message, ("compatibility",), "name the hosts, explain in the body")


def _check_unknown_keys(data: dict[str, Any], found: Findings) -> None:
    unknown = [key for key in data if key not in SKILL]
    for key in unknown[:_MOST_COMPARED]:
        meant = meant_by(key)
        if meant and meant in data:
            message = f"unknown key '{key[:40]}' beside '{meant}', which is used"
            found.add("SK309", message, (key,), f"keep only '{meant}'")
            unknown.remove(key)
        elif meant:
            found.add("SK309", f"unknown key '{key[:40]}'", (key,), suggestion(meant))
            unknown.remove(key)
    if unknown:
        keys = ", ".join(f"'{key[:40]}'" for key in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        hint = "put your own keys under 'metadata'"
        word = "key" if len(unknown) == 1 else "keys"
        found.add("SK309", f"unknown {word} {keys}{more}", (unknown[0],), hint)


@lru_cache(maxsize=4096)
def meant_by(key: str) -> str:
    """The known key that an unknown key is a typo of."""
    return _KEYS.get(nearest(loose_key(key), _KEYS, likeness=_NEAR_MISS), "")
