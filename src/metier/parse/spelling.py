"""Keys of a skill's front matter in metier's spelling."""

from collections.abc import Iterator

from metier.core.names import loose_key
from metier.values.fields import SKILL, spellings
from metier.values.files import Matter
from metier.values.outcomes import Issue

_KNOWN = frozenset(SKILL)
_LOOSE = spellings(SKILL)


def in_our_spelling(matter: Matter, path: str, issues: list[Issue]) -> Matter:
    """The same values under the keys that metier knows; adds what is wrong with the spelling."""
    strange = matter.data.keys() - _KNOWN
    if not strange or not any(loose_key(key) in _LOOSE for key in strange):
        return matter
    from metier.parse.keys import Respelling  # few skills need it

    respelling = Respelling(matter, path)
    data = respelling.mapping(matter.data, SKILL)
    issues.extend(respelling.issues)
    issues.extend(_other_spellings(matter, path))
    return respelling.matter(data)


def _other_spellings(matter: Matter, path: str) -> Iterator[Issue]:
    """A finding for each key that metier reads and hosts do not; FM105 reports a key twice."""
    seen = set(matter.data.keys() & _KNOWN)
    for key in matter.data:
        name = _LOOSE.get(loose_key(key), "")
        if not name or name in seen:
            continue
        seen.add(name)
        line, column = matter.position((key,))
        message = f"hosts read '{name}', not '{key[:40]}'"
        yield Issue("SK318", message, path, line, column, f"write '{name}'")
