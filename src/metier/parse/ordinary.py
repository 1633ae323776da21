"""The YAML that most front matter is, read without libyaml: a fraction of the cost.

Lines of `key: value`, and below a key without a value a list or a mapping of such values. A value
is plain or quoted, on one line, without escapes. `ordinary_values` reads such a text exactly as
`load_yaml` does, and leaves every other text to it.
"""

import re
from typing import Any

from metier.parse.yaml import plain_value

_BEYOND_ASCII = "\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff"
"""What YAML allows, without line ends and the byte order mark."""
_FIRST = f"[A-Za-z0-9_/.(~$^+;<={_BEYOND_ASCII}]"
"""Starts a plain value, whatever follows."""
_INNER = f'[ !"$-9;-~{_BEYOND_ASCII}]*'
"""Neither ':' nor '#'."""
_PLAIN = rf"{_FIRST}{_INNER}(?:(?::(?=[^ \n])|(?<=[^ ])#){_INNER})*(?<! )"
_QUOTED = rf'"[ !#-\[\]-~{_BEYOND_ASCII}]*"' + rf"|'[ -&(-~{_BEYOND_ASCII}]*'"
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_LINE = re.compile(rf"^( *)(?:({_KEY}):|-(?= ))(?: +(?:({_PLAIN})|({_QUOTED})))? *\n", re.MULTILINE)
"""Indentation, key (none for an entry of a list), plain value, quoted value."""


def ordinary_values(text: str) -> dict[str, Any] | None:
    """The values of an ordinary text; None for any other text, even if it is valid."""
    lines = _LINE.findall(text)
    if not lines or len(lines) != text.count("\n") or text[-1] != "\n":
        return None
    values: dict[str, Any] = {}
    owner = indent_below = ""
    below: dict[str, Any] | list[Any] | None = None
    """What is below the key `owner`, and its indentation."""
    for indent, key, plain, quoted in lines:
        value = quoted[1:-1] if quoted else plain_value(plain)
        if key and not indent:
            if key in values:
                return None
            values[key] = value
            owner, below = "" if plain or quoted else key, None
            continue
        if not owner:
            return None
        if below is None:
            below = values[owner] = {} if key else []
            indent_below = indent
        if indent != indent_below or not _add(below, key, value):
            return None
    return values


def _add(below: dict[str, Any] | list[Any], key: str, value: Any) -> bool:
    """Add an entry; False if it is of the other kind, or its key appears twice."""
    if isinstance(below, list):
        below.append(value)
        return not key
    is_new = key != "" and key not in below
    below[key] = value
    return is_new


def line_of_key(text: str, key: str) -> int:
    """The line of a key at the top of an ordinary text, counted from 0."""
    return text.count("\n", 0, f"\n{text}".index(f"\n{key}:"))
