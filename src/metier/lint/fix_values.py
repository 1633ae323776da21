"""Repairs of single values of front matter: quotes, keys and names."""

import re
from collections import Counter

from metier.core.names import LONGEST_NAME, loose_key, slug
from metier.core.text import words
from metier.lint.fix_lines import (
    TOP_LEVEL_KEY,
    Context,
    Lines,
    decoded,
    dedented,
    encoded,
    front_matter,
    is_block_header,
    plain_name,
    quoted,
    written,
)
from metier.lint.keys import meant_by
from metier.values.fields import SKILL, spellings
from metier.values.outcomes import Issue

_EMPTY_NAME = re.compile(rb"\nname[ \t]*+:[ \t]*+(?:''|\"\")?[ \t]*+\r?(?=\n)")
_KEYS = spellings(SKILL)
_TEXT_KEYS = frozenset(
    key for key, field in SKILL.items() if field.type in ("text", "text-or-texts")
)
_TOP_LEVEL = re.compile(r"([A-Za-z_][\w.-]*[ \t]*:[ \t]++)(.*\S)[ \t]*$")
_NESTED = re.compile(r"([ \t]*+(?:-[ \t]++)?(?:[\w.-]++[ \t]*+:[ \t]++)?)([^\s'\"|>#\[{].*)$")
_ENTRY = re.compile(
    r"([ ]++)([\w.-]++)([ \t]*+:[ \t]++)"
    r"(-?[0-9]++(?:\.[0-9]++)?(?:-[0-9]++-[0-9]++)?|true|false)([ \t]*+(?:#.*)?)$"
)
"""A number, a date or a flag as the value of a key."""
_NAME = re.compile(r"(name[ \t]*+:[ \t]++)(.*)$")


def with_quotes(raw: bytes, issue: Issue, _context: Context) -> bytes:
    """Put the value on the finding's line, with its continuation lines, in single quotes."""
    lines = decoded(raw).split("\n")
    first = issue.line - 1
    match = _TOP_LEVEL.match(lines[first].rstrip("\r")) if first < len(lines) else None
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
    return encoded("\n".join(lines))


def with_text_values(raw: bytes, issue: Issue, context: Context) -> bytes:
    """Write the values that are not YAML as texts: in quotes, or as blocks."""
    lines = Lines(decoded(raw))
    keys = context.unread or {lines.key_at(issue.line - 1)}
    for key in keys:
        _write_as_text(lines, key)
    return encoded(lines.text())


def _write_as_text(lines: Lines, key: str) -> None:
    span = lines.find(key) if key else None
    if span is None:
        return
    start, end = span
    first = lines[start]
    match = TOP_LEVEL_KEY.match(first)
    rest = first[match.end() :].lstrip() if match else ""
    if match is None or not rest or (rest[0] in "[{" and key not in _TEXT_KEYS):
        return
    below = dedented([lines[number] for number in range(start + 1, end)])
    value = "\n".join(below if is_block_header(rest) else [rest, *below]).strip()
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        value = value[1:-1].strip()
    if value:
        lines.replace(start, end, written(match[1], value))


def with_quoted_scalar(raw: bytes, issue: Issue, _context: Context) -> bytes:
    """Put the value that ends the finding's line in single quotes, at any depth."""
    lines = Lines(decoded(raw))
    number = issue.line - 1
    match = _NESTED.match(lines[number]) if lines.first <= number < lines.end else None
    if match is None or not match[1].strip():
        return raw
    value, space, remark = match[2].partition(" #")
    text = quoted(value.rstrip())
    lines.replace(number, number + 1, [match[1] + text + space + remark])
    return encoded(lines.text())


def with_text_metadata(raw: bytes, _issue: Issue, context: Context) -> bytes:
    """Put the numbers, dates and flags directly below `metadata` in quotes."""
    metadata = context.data.get("metadata")
    lines = Lines(decoded(raw))
    span = lines.find("metadata")
    if span is None or not isinstance(metadata, dict):
        return raw
    for number in range(span[0] + 1, span[1]):
        match = _ENTRY.match(lines[number])
        value = metadata.get(match[2]) if match else None
        if match and (isinstance(value, (int, float)) or value == match[4]):
            entry = f"{match[1]}{match[2]}{match[3]}{quoted(match[4])}{match[5]}"
            lines.replace(number, number + 1, [entry])
    return encoded(lines.text())


def with_our_key(raw: bytes, issue: Issue, _context: Context) -> bytes:
    """Write the key on the finding's line as hosts read it."""
    return _with_key(raw, issue, _KEYS.get(loose_key(_key_on(raw, issue)), ""))


def with_meant_key(raw: bytes, issue: Issue, context: Context) -> bytes:
    """Write the key that the key on the finding's line is a typo of, by one slip."""
    key = _key_on(raw, issue)
    meant = meant_by(key) if key in context.data and key not in SKILL else ""
    if meant in context.data or not _is_one_slip(loose_key(key), loose_key(meant)):
        return raw
    return _with_key(raw, issue, meant)


def _is_one_slip(typed: str, meant: str) -> bool:
    """Whether one letter is missing, added, wrong or swapped; a plural is no slip."""
    if f"{typed}s" == meant or typed == f"{meant}s":
        return False
    start = 0
    while start < min(len(typed), len(meant)) and typed[start] == meant[start]:
        start += 1
    tail = 0
    while tail < min(len(typed), len(meant)) - start and typed[-1 - tail] == meant[-1 - tail]:
        tail += 1
    one, other = typed[start : len(typed) - tail], meant[start : len(meant) - tail]
    return (len(one) <= 1 and len(other) <= 1) or (len(one) == 2 and one == other[::-1])


def _key_on(raw: bytes, issue: Issue) -> str:
    line = "".join(decoded(raw).split("\n")[issue.line - 1 : issue.line])
    return line.partition(":")[0].rstrip() if ":" in line else ""


def _with_key(raw: bytes, issue: Issue, name: str) -> bytes:
    if not name:
        return raw
    lines = decoded(raw).split("\n")
    value = lines[issue.line - 1].partition(":")[2]
    lines[issue.line - 1] = f"{name}:{value}"
    return encoded("\n".join(lines))


def with_folder_name(raw: bytes, _issue: Issue, context: Context) -> bytes:
    """Write the folder's name as the name, replacing an empty name."""
    name = context.name or slug(context.folder)[:LONGEST_NAME].strip("-")
    start = raw.find(b"\n") + 1
    if not name or not start:
        return raw
    end = b"\r\n" if raw[start - 2 : start - 1] == b"\r" else b"\n"
    line = b"name: " + plain_name(name).encode() + end
    empty = _EMPTY_NAME.search(raw, start - 1, raw.find(b"\n---", start))
    if empty is not None:
        return raw[: empty.start() + 1] + line + raw[empty.end() + 1 :]
    return raw[:start] + line + raw[start:]


def with_proper_name(raw: bytes, _issue: Issue, context: Context) -> bytes:
    """Write the new name; a comment keeps the old one if the new one lacks words of it."""
    text = decoded(raw)
    if not context.name or front_matter(text) is None:
        return raw
    lines = Lines(text)
    span = lines.find("name")
    match = _NAME.match(lines[span[0]]) if span is not None else None
    if span is None or match is None or span[1] != span[0] + 1:
        return raw
    old, remark = _value_and_remark(match[2])
    if not old:
        return raw
    new = [match[1] + plain_name(context.name) + remark]
    if Counter(words(old)) - Counter(words(context.name)):
        new.append(f"# formerly: {old}")
    lines.replace(*span, new)
    return encoded(lines.text())


def _value_and_remark(written: str) -> tuple[str, str]:
    """A value on one line without its quotes, and the comment after it; empty if unclear."""
    quote = written[:1]
    if quote in ("'", '"'):
        value, _, rest = written[1:].rpartition(quote)
        inside = value.replace("''", "") if quote == "'" else value
        if not value or quote in inside or "\\" in value:
            return "", ""
        return value.replace("''", "'") if quote == "'" else value, rest
    value, space, remark = written.partition(" #")
    return ("", "") if quote in ("|", ">", "[", "{") else (value.strip(), space + remark)
