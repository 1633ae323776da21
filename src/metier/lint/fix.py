"""Mechanical repairs: bytes → bytes. What a repair cannot be sure of, it leaves alone."""

import re
from collections.abc import Callable, Iterable

from metier.core.names import is_capability_name
from metier.values.outcomes import Issue

_BOM = b"\xef\xbb\xbf"
_TOP_LEVEL = re.compile(r"([A-Za-z_][\w.-]*[ \t]*:[ \t]+)(.*\S)[ \t]*$")


def fix(raw: bytes, issues: Iterable[Issue]) -> bytes:
    """`raw` with every fixable finding of `issues` repaired; the body keeps its words."""
    for issue in sorted(issues, key=lambda issue: (_ORDER.get(issue.code, 99), -issue.line)):
        repair = _REPAIRS.get(issue.code)
        if repair is not None:
            raw = repair(raw, issue)
    return raw


def _without_bom(raw: bytes, _issue: Issue) -> bytes:
    return raw.removeprefix(_BOM)


def _with_lf(raw: bytes, _issue: Issue) -> bytes:
    return raw.replace(b"\r\n", b"\n")


def _with_quotes(raw: bytes, issue: Issue) -> bytes:
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
    lines[first] = match[1] + "'" + match[2].replace("'", "''")
    for number in range(first + 1, last + 1):
        lines[number] = lines[number].rstrip().replace("'", "''")
    lines[last] = lines[last].rstrip() + "'" + tail
    return "\n".join(lines).encode(errors="surrogateescape")


def _with_name(raw: bytes, issue: Issue) -> bytes:
    """Insert the folder's name as the first key, when it is a legal name."""
    folder = issue.path.split("/")[-2] if "/" in issue.path else ""
    start = raw.find(b"\n") + 1
    if not is_capability_name(folder) or not start:
        return raw
    end = b"\r\n" if raw[start - 2 : start - 1] == b"\r" else b"\n"
    return raw[:start] + b"name: " + folder.encode() + end + raw[start:]


_REPAIRS: dict[str, Callable[[bytes, Issue], bytes]] = {
    "FM104": _with_quotes,
    "SK301": _with_name,
    "FM112": _with_lf,
    "FM113": _without_bom,
}
_ORDER = {code: number for number, code in enumerate(_REPAIRS)}
