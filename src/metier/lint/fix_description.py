"""Repairs of descriptions: one from the text, and a shorter one."""

import re

from metier.core.paragraph import first_paragraph
from metier.core.text import is_cjk, words
from metier.lint.fix_lines import (
    TOP_LEVEL_KEY,
    Context,
    Lines,
    decoded,
    dedented,
    encoded,
    is_block_header,
    newline_of,
    written,
)
from metier.lint.skills import LONGEST_DESCRIPTION, is_too_short
from metier.values.outcomes import Issue

_CLOSED = re.compile(r"\ufeff?---[ \t]*\r?\n.*?^---[ \t]*\r?(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_FEWEST_WORDS = 4
_HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(.*)$", re.MULTILINE)
_LABEL = re.compile(r"[*_`]*[^\s:：.,*_`]+(?: [^\s:：.,*_`]+){0,3}[*_`]*[:：]")
"""`Version:` and the like, which start a list of facts."""
_SAYS_WHAT_IT_DOES = frozenset(
    (
        "about", "description", "introduction", "intro", "overview", "purpose", "summary",
        "what it does", "what this skill does", "descripción", "概述", "描述", "简介", "介绍",
        "功能", "功能概述", "功能说明", "功能描述", "技能描述", "说明", "用途",
    )
)  # fmt: skip
"""Headings below which a text says what a skill is for."""
_SENTENCE_END = re.compile(r"[.!?][\"')\]*_`]*(?=\s)|[。！？][”’）」』]*|\n[ \t]*(?=\n)")
_ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|vs|cf|approx|incl|Dr|Mr|Mrs|No)|\b[A-Za-z])\.$")
_LONGEST_ABBREVIATION = 8


def described_by(text: str) -> str:
    """The paragraph of a Markdown text that can be its description; empty if there is none.

    It is the first one if it is long enough, comes before the sections or in one that says what
    the skill does, and neither introduces a list nor is one.
    """
    paragraph = whole_sentences(first_paragraph(text), LONGEST_DESCRIPTION)
    is_list = _LABEL.match(paragraph) or paragraph.endswith((":", "：", "…"))
    is_prose = len(words(paragraph)) >= _FEWEST_WORDS or any(map(is_cjk, paragraph))
    if is_list or is_too_short(paragraph) or not is_prose or "/" in paragraph.partition(" ")[0]:
        return ""
    return paragraph if _is_introduction(text, paragraph) else ""


def _is_introduction(text: str, paragraph: str) -> bool:
    start = text.find(paragraph[:20])
    above = _HEADING.findall(text, 0, max(start, 0))
    if start < 0:
        return False
    if len(above) <= 1:
        return not above or len(above[0][0]) == 1 or _is_telling(above[0][1])
    return _is_telling(above[-1][1])


def _is_telling(heading: str) -> bool:
    return "".join(filter(_is_letter_or_space, heading)).strip().lower() in _SAYS_WHAT_IT_DOES


def _is_letter_or_space(char: str) -> bool:
    return char.isalpha() or char == " "


def with_description(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    """Write the first paragraph of the text as the description, if it can be one."""
    text = decoded(raw)
    closed = _CLOSED.match(text)
    description = described_by(text[closed.end() :]) if closed is not None else ""
    if not description:
        return raw
    lines = Lines(text)
    own, name = lines.find("description"), lines.find("name")
    start, end = own or ((name[1], name[1]) if name else (lines.first, lines.first))
    lines.replace(start, end, written("description", description))
    return encoded(lines.text())


def with_short_description(raw: bytes, _issue: Issue, context: Context) -> bytes:
    """End the description after a sentence, and move the rest to the top of the body."""
    value = context.data.get("description")
    lines = Lines(decoded(raw))
    span = lines.find("description")
    if span is None or not isinstance(value, str) or len(value) <= LONGEST_DESCRIPTION:
        return raw
    block = _block(lines, *span)
    value = "\n".join(dedented(block)) if block else value.strip()
    kept = whole_sentences(value, LONGEST_DESCRIPTION)
    rest = value[len(kept) :].strip()
    if is_too_short(kept) or not rest or kept.count("```") % 2:
        return raw
    if block:
        last = kept.count("\n")
        indent = len(block[last]) - len(value.split("\n")[last])
        cut = block[last][: indent + len(kept) - kept.rfind("\n") - 1]
        lines.replace(*span, [lines[span[0]], *block[:last], cut])
    else:
        lines.replace(*span, written("description", kept))
    return encoded(_with_lead(lines.text(), rest))


def _block(lines: Lines, start: int, end: int) -> list[str]:
    """The lines of a value that is written as a block; none if it is not."""
    key = TOP_LEVEL_KEY.match(lines[start])
    is_block = key is not None and is_block_header(lines[start][key.end() :].strip())
    return [lines[number] for number in range(start + 1, end)] if is_block else []


def _with_lead(text: str, lead: str) -> str:
    """`text` with a paragraph before its body."""
    end = newline_of(text)
    closed = _CLOSED.match(text)
    if closed is None:
        return text
    head = closed[0] if closed[0].endswith("\n") else closed[0] + end
    body = text[closed.end() :]
    between = "" if body.startswith(("\n", "\r\n")) else end
    return head + end + lead.replace("\n", end) + end + between + body


def whole_sentences(text: str, longest: int) -> str:
    """`text`, or as many whole sentences of its start as fit; empty if not even one does."""
    if len(text) <= longest:
        return text
    last = 0
    for end in _SENTENCE_END.finditer(text, 0, min(len(text), longest + 1)):
        before = text[max(0, end.end() - _LONGEST_ABBREVIATION) : end.end()]
        if end.end() <= longest and not _ABBREVIATION.search(before):
            last = end.end()
    return text[:last].rstrip()
