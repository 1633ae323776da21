"""The YAML that most front matter is, read without libyaml: a fraction of the cost.

Lines of `key: value`, and below a key without a value a list or a mapping of such values. A value
is plain or quoted, on one line, without escapes. `ordinary_values` reads such a text exactly as
`load_yaml` does, and leaves every other text to it.
"""

import re
from typing import Any

_ODD = re.compile("[\x00-\t\x0b-\x1f\x7f]")
_ODD_BEYOND_ASCII = "[\x80-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]"
"""What YAML does not allow, line ends but one, tabs and the byte order mark. The expressions below
are for texts without them: a class with large ranges is slow to compile."""
_FIRST = r"""[^ !"#%&')*,:>?@\[\\\]`{|}\n-]"""
"""Starts a plain value, whatever follows."""
_INNER = r"[^:#\n]*"
_PLAIN = rf"{_FIRST}{_INNER}(?:(?::(?=[^ \n])|(?<=[^ ])#){_INNER})*(?<! )"
_QUOTED = r'"[^"\\\n]*"' + r"|'[^'\n]*'"
_KEY = r"[A-Za-z_][A-Za-z0-9_-]{0,99}"
_LINE = re.compile(rf"^( *)(?:({_KEY}):|-(?= ))(?: +(?:({_PLAIN})|({_QUOTED})))? *\n", re.MULTILINE)
"""Indentation, key (none for an entry of a list), plain value, quoted value."""
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?\Z")
_CONSTANTS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "~": None,
    "": None,
}


def ordinary_values(text: str) -> dict[str, Any] | None:
    """The values of an ordinary text; None for any other text, even if it is valid."""
    if _ODD.search(text) or (not text.isascii() and re.search(_ODD_BEYOND_ASCII, text)):
        return None
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


def plain_value(value: str) -> Any:
    """The value of a text without quotes."""
    if value in _CONSTANTS:
        return _CONSTANTS[value]
    if value[0] in "-0123456789" and _NUMBER.match(value):
        return float(value) if "." in value else int(value)
    return value


def line_of_key(text: str, key: str) -> int:
    """The line of a key at the top of an ordinary text, counted from 0."""
    return text.count("\n", 0, f"\n{text}".index(f"\n{key}:"))
