"""Repairs of fences: around the front matter, and around code in the body."""

import re

from metier.core.names import LONGEST_NAME, slug
from metier.lint.fix_description import described_by
from metier.lint.fix_lines import (
    TOP_LEVEL_KEY,
    Context,
    decoded,
    encoded,
    newline_of,
    plain_name,
    quoted,
)
from metier.values.outcomes import Issue

_GLUED_FENCE = re.compile(r"^---(?=[^-\s])", re.MULTILINE)
_LATE = re.compile(
    r"^---[ \t]*\r?\n(?=(?:name|description)[ \t]*:)(?:.*\n)*?---[ \t]*\r?(?:\n|\Z)", re.MULTILINE
)
_OPENING = re.compile(r"\ufeff?---[ \t]*\r?\n")
_CODE_FENCE = re.compile(r"([ \t]*+)(`{3,}|~{3,})")
_SECTION = re.compile(r"#{2,6} |---[ \t]*\r?$")
_CONTINUED = re.compile(r"[ \t]+\S|-[ \t]")


def with_front_matter(raw: bytes, _issue: Issue, context: Context) -> bytes:
    """Start the file with front matter: its own, wherever it is, else one from its text."""
    text = decoded(raw)
    if context.kind != "skill":
        return raw
    if text.lstrip().startswith(("name:", "description:")):
        return encoded(_fenced(text.lstrip()))
    late = _LATE.search(text)
    if late is not None:
        return encoded(late[0] + text[: late.start()] + text[late.end() :])
    return encoded(_described(text, context))


def _fenced(text: str) -> str:
    """A text that starts with keys, between fences."""
    end = newline_of(text)
    lines = text.split("\n")
    last = _end_of_keys(lines, 0)
    below = "" if lines[last : last + 1] in ([""], ["\r"]) else end
    return f"---{end}" + "\n".join([*lines[:last], f"---{end}{below}".rstrip("\n"), *lines[last:]])


def _end_of_keys(lines: list[str], start: int) -> int:
    """The number of the line after the keys that begin at `start` and what belongs to them."""
    number = start
    while number < len(lines):
        line = lines[number].rstrip("\r")
        if not TOP_LEVEL_KEY.match(line) and not _CONTINUED.match(line):
            break
        number += 1
    return number


def _described(text: str, context: Context) -> str:
    """A text with its folder's name and its first paragraph as front matter."""
    name = context.name or slug(context.folder)[:LONGEST_NAME].strip("-")
    description = described_by(text)
    if not name or not description or text.startswith("---"):
        return text
    end = newline_of(text)
    matter = ["---", f"name: {plain_name(name)}", f"description: {quoted(description)}", "---"]
    return end.join([*matter, "", ""]) + text.lstrip("\ufeff\r\n")


def with_closing_fence(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    """Close the front matter: after a '---' that text follows, else after the last key."""
    text = decoded(raw)
    opening = _OPENING.match(text)
    if opening is None:
        return raw
    end = newline_of(text)
    glued = _GLUED_FENCE.search(text, opening.end())
    if glued is not None:
        return encoded(text[: glued.end()] + end + text[glued.end() :])
    lines = text.split("\n")
    last = _end_of_keys(lines, 1)
    if last in (1, len(lines)):
        return raw
    return encoded("\n".join([*lines[:last], f"---{end}".rstrip("\n"), *lines[last:]]))


def with_separate_fence(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    """Write the first '---' on its own line; a heading after it moves below the second."""
    text = decoded(raw)
    first, newline, rest = text.partition("\n")
    glued = first.removeprefix("\ufeff").removeprefix("---").strip()
    end = newline_of(text)
    if not glued.startswith("#"):
        return encoded(f"---{end}{glued}{newline and end}{rest}")
    closing = re.search(r"^---[ \t]*\r?$\n?", rest, re.MULTILINE)
    if closing is None:
        return raw
    return encoded(f"---{end}{rest[: closing.end()]}{glued}{end}{rest[closing.end() :]}")


def with_closed_code(raw: bytes, issue: Issue, _context: Context) -> bytes:
    """Close the code that the finding's line opens: before the next section, else at the end."""
    text = decoded(raw)
    lines = text.split("\n")
    fence = _CODE_FENCE.match(lines[issue.line - 1]) if issue.line <= len(lines) else None
    if fence is None:
        return raw
    end = len(lines)
    for number in range(issue.line, len(lines) - 1):
        if not lines[number].strip() and _SECTION.match(lines[number + 1]):
            end = number
            break
    while end > issue.line and not lines[end - 1].strip():
        end -= 1
    if any(map(_CODE_FENCE.match, lines[issue.line : end])):
        return raw  # which of the fences is missing is not clear
    closing = fence[1] + fence[2] + newline_of(text).removesuffix("\n")
    tail = lines[end:] or [""]
    return encoded("\n".join([*lines[:end], closing, *tail]))
