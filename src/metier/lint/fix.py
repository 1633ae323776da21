"""Mechanical repairs: bytes → bytes. What a repair cannot be sure of, it leaves alone."""

import re
from collections.abc import Callable, Iterable

from metier.core.indentation import with_spaces
from metier.core.names import LONGEST_NAME, loose_key, slug
from metier.values.fields import SKILL, spellings
from metier.values.outcomes import Issue

_BOM = b"\xef\xbb\xbf"
_FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_EMPTY_NAME = re.compile(rb"\nname[ \t]*+:[ \t]*+(?:''|\"\")?[ \t]*+\r?(?=\n)")
_KEYS = spellings(SKILL)
_NOT_PLAIN = frozenset({"true", "false", "null"})
_TOP_LEVEL = re.compile(r"([A-Za-z_][\w.-]*[ \t]*:[ \t]++)(.*\S)[ \t]*$")


def fix(raw: bytes, issues: Iterable[Issue], folder: str) -> bytes:
    """`raw` with every fixable finding repaired; `folder` is the name of its folder."""
    for issue in sorted(issues, key=lambda issue: (_ORDER.get(issue.code, 99), -issue.line)):
        repair = _REPAIRS.get(issue.code)
        if repair is not None:
            raw = repair(raw, issue, folder)
    return raw


def _without_bom(raw: bytes, _issue: Issue, _folder: str) -> bytes:
    return raw.removeprefix(_BOM)


def _with_lf(raw: bytes, _issue: Issue, _folder: str) -> bytes:
    return raw.replace(b"\r\n", b"\n")


def _with_spaces(raw: bytes, _issue: Issue, _folder: str) -> bytes:
    """Indent the front matter with spaces; in a file that is all YAML, all of it."""
    text = raw.decode(errors="surrogateescape")
    fences = _FRONT_MATTER.match(text)
    start, end = fences.span(1) if fences is not None else (0, len(text))
    spaced = with_spaces(text[start:end])
    if spaced is None:
        return raw
    return (text[:start] + spaced + text[end:]).encode(errors="surrogateescape")


def _with_quotes(raw: bytes, issue: Issue, _folder: str) -> bytes:
    """Put the value on the finding's line, with its continuation lines, in single quotes."""
    lines = raw.decode(errors="surrogateescape").split("\n")
    first = issue.line - 1
    match = _TOP_LEVEL.match(lines[first].rstrip("\r"))
    if match is None or match[2][0] in "'\"|>[{":
        return raw
    last = first
    while last + 1 < len(lines) and lines[last + 1][:1] in (" ", "\t"):
        last += 1
    tail = "\r" if lines[last].endswith("\r") else ""
    value, _, remark = match[2].partition(" #")
    remark = f" #{remark}" if remark else ""
    if remark and last > first:
        return raw
    lines[first] = match[1] + "'" + value.rstrip().replace("'", "''")
    for number in range(first + 1, last + 1):
        lines[number] = lines[number].rstrip().replace("'", "''")
    lines[last] = lines[last].rstrip() + "'" + remark + tail
    return "\n".join(lines).encode(errors="surrogateescape")


def _with_our_key(raw: bytes, issue: Issue, _folder: str) -> bytes:
    """Write the key on the finding's line as hosts read it."""
    lines = raw.decode(errors="surrogateescape").split("\n")
    key, colon, value = lines[issue.line - 1].partition(":")
    name = _KEYS.get(loose_key(key.rstrip()))
    if name is None or not colon:
        return raw
    lines[issue.line - 1] = f"{name}:{value}"
    return "\n".join(lines).encode(errors="surrogateescape")


def _with_name(raw: bytes, _issue: Issue, folder: str) -> bytes:
    """Write the folder's name as the name, replacing an empty name."""
    name = slug(folder)[:LONGEST_NAME].strip("-")
    start = raw.find(b"\n") + 1
    if not name or not start:
        return raw
    quoted = f"'{name}'" if name in _NOT_PLAIN or name.isdigit() else name
    end = b"\r\n" if raw[start - 2 : start - 1] == b"\r" else b"\n"
    line = b"name: " + quoted.encode() + end
    empty = _EMPTY_NAME.search(raw, start - 1, raw.find(b"\n---", start))
    if empty is not None:
        return raw[: empty.start() + 1] + line + raw[empty.end() + 1 :]
    return raw[:start] + line + raw[start:]


_REPAIRS: dict[str, Callable[[bytes, Issue, str], bytes]] = {
    "FM116": _with_spaces,
    "FM104": _with_quotes,
    "SK318": _with_our_key,
    "SK301": _with_name,
    "FM112": _with_lf,
    "FM113": _without_bom,
}
_ORDER = {code: number for number, code in enumerate(_REPAIRS)}
