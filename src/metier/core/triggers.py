"""Tasks in the words of a description: what it says to use a skill for, and what not."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from metier.core.clauses import split_clauses
from metier.core.text import is_cjk

MOST_TASKS = 12
"""The tasks that are taken from one text."""
LONGEST_TASK = 200
LONGEST_TEXT = 10_000
"""Characters of a description that are looked at."""
_FEWEST_WORDS = 2
_ARTICLES = frozenset(("a", "an", "the", "any", "every", "this", "that", "your", "my"))
_FEWEST_CHARACTERS = 2
"""Of a task in Chinese, Japanese or Korean."""
_LONGEST_QUOTE = 12
"""Words of a quotation that can be a prompt."""

_QUOTED = re.compile(r"""(?<!\w)(?:"([^"]+)"|'([^']+)'(?!\w)|“([^”]+)”|‘([^’]+)’|「([^」]+)」)""")
_WHEN = re.compile(
    r"""
    \b(?:use|used|using|invoke|trigger|triggers|activate|activates|apply|load|call)\b
    (?:\s+(?:it|this|the|skill|agent|proactively|only|automatically))*
    \s+(?:when(?:ever)?|for|if|on|before|after)\b[:,]?\s*
    | \bwhen\s+to\s+use\s*:\s*
    | \bwhen(?:ever)?\s+(?=the\s+user\b|users\b|you\b|asked\b)
    | 适用于|用于|适用场景[:：]?|使用场景[:：]?
    """,
    re.IGNORECASE | re.VERBOSE,
)
_SENTENCE = re.compile(r"(?<=[.!?])(?=[\"”')]?\s)|(?<=[。！？])|\n\s*\n|\s+-\s+(?=[A-Z])")
_ITEMS = re.compile(
    r"\s*[,;、，；]\s*(?:and\s+|or\s+|and/or\s+)?|\s+or\s+(?:when\s+|if\s+)?"
    r"|\s*\n\s*[-*•]?\s*|\s+[-–—•]\s*|\s*\(\d\)\s*"
)
_LEAD = re.compile(
    r"""
    (?: (?:when(?:ever)?|if|for|to|that|eg|the\s+following|such\s+as|like|including)\b[:,]?
      | e\.g\.[:,]? | i\.e\.[:,]?
      | (?:the\s+user|users?|you|someone|they|a\s+user)\s+
        (?:explicitly\s+)?(?:asks?|wants?|needs?|says?|mentions?|requests?|requires?|is|are|has|have|would\s+like|provides?|must)\b
      | (?:ask(?:s|ed|ing)|want(?:s|ing)|need(?:s|ing)|mention(?:s|ing)?|requested)\b
      | (?:you|to|about|for|with|any\s+of|things\s+like)\b[:,]?
      | (?:this|the)\s+skill\s+(?:when|if|for|to)\b
      | (?:this|it)\b
      | 于|以下情况|场景|或者?|用户(?:希望|要求|需要|想)
    )\s*
    """,
    re.IGNORECASE | re.VERBOSE,
)
_INTRODUCTION = re.compile(
    r"(?:this|the|a|an)?\s*(?:skill|agent|tool|guide|assistant)\s+(?:that|which|for|to)?\s*"
    r"|(?:helps?|allows?|enables?)\s+(?:you|users?|agents?|claude|to|the\s+user)*\s*(?:to\s+)?",
    re.IGNORECASE,
)
_ASIDE = re.compile(r"\s*(?:\([^()]*\)|\[[^\[\]]*\]|（[^（）]*）)")
_QUOTE = "\0"
"""Stands for a quotation."""
_INSTEAD = re.compile(
    r"\s*[-–—:;,(]*\s*\b(?:use|see|try|prefer)\b[^.;]{0,60}?(?:\binstead\b|\bfor\s+(?:that|those|these)\b).*",
    re.IGNORECASE | re.DOTALL,
)
_SPACES, _EMPTY_LINES = re.compile(r"[^\S\n]+"), re.compile(r"\n(?: ?\n)+")
_THEIR = re.compile(r"\btheir\b", re.IGNORECASE)
_EDGES = " \t\n.,;:!?。，、；：！？-–—*•`\"'“”‘’()[]…"

IsWord = Callable[[str], bool]
"""Whether a word exists, for verbs: "makes" is of "make", not of "mak"."""


class Triggers(NamedTuple):
    """Tasks that a description names, as people would type them."""

    wanted: Sequence[str]
    """Its examples, quoted prompts, and what follows "use when"; else its first sentence."""
    unwanted: Sequence[str]
    """What follows "not for"."""
    names_tasks: bool = True
    """Whether the text names tasks; else its first sentence is the only one."""


def triggers_of(text: str, examples: Iterable[str] = (), is_word: IsWord = bool) -> Triggers:
    """The tasks in a description and its examples, each once, in the order of the text."""
    about, against = split_clauses(_EMPTY_LINES.sub("\n\n", _SPACES.sub(" ", text[:LONGEST_TEXT])))
    found = [*map(_trimmed, examples), *_quoted(about)]
    found += [_as_task(one, is_word) for clause in _when(about) for one in _items(clause)]
    named = _distinct(found)
    wanted = named or _distinct(_first_sentence(about, is_word))
    refused = [_INSTEAD.sub("", one) for one in _SENTENCE.split(against)]
    unwanted = [_as_task(one, is_word) for part in refused for one in _items(part)]
    known = {one.casefold() for one in wanted}
    others = [one for one in _distinct(unwanted) if one.casefold() not in known]
    return Triggers(wanted, others, bool(named))


def _distinct(tasks: Iterable[str]) -> list[str]:
    found = {task.casefold(): task for task in reversed([*tasks]) if _is_task(task)}
    return [*reversed(found.values())][:MOST_TASKS]


def _is_task(text: str) -> bool:
    if len(text) > LONGEST_TASK:
        return False
    letters = sum(map(is_cjk, text))
    words = [word for word in text.split() if word.lower() not in _ARTICLES]
    return letters >= _FEWEST_CHARACTERS or len(words) >= _FEWEST_WORDS


def _trimmed(text: str) -> str:
    return " ".join(text.split()).strip(_EDGES)


def _quoted(text: str) -> Iterator[str]:
    """Quotations that can be prompts."""
    for match in _QUOTED.finditer(text):
        quote = _trimmed(next(filter(None, match.groups())))
        if len(quote.split()) <= _LONGEST_QUOTE:
            yield quote


def _when(text: str) -> Iterator[str]:
    """What follows "use when" and the like, up to the end of the sentence."""
    for sentence in _SENTENCE.split(_QUOTED.sub(_QUOTE, text)):
        start = _WHEN.search(sentence)
        if start:
            yield sentence[start.end() :]


def _items(clause: str) -> list[str]:
    """The items of a list; the whole clause if they are no tasks: "create, edit or sign PDFs"."""
    clause = _ASIDE.sub("", clause)
    items = [item for item in map(_without_lead, _ITEMS.split(clause)) if item]
    if _QUOTE in clause:
        return [item for item in items if _QUOTE not in item]
    tasks = [*filter(_is_task, items)]
    is_list = len(tasks) == len(items) or len(tasks) > max(2, len(items) / 2)
    return tasks if is_list else [_without_lead(clause)]


def _without_lead(text: str) -> str:
    """ "the user wants to merge files" is "merge files"."""
    text = _trimmed(text)
    while lead := _LEAD.match(text):
        text = text[lead.end() :].lstrip(_EDGES)
    return text


def _first_sentence(text: str, is_word: IsWord) -> Iterator[str]:
    for sentence in _SENTENCE.split(text):
        plain = _trimmed(_ASIDE.sub("", sentence))
        plain = _INTRODUCTION.sub("", plain, count=1) if _INTRODUCTION.match(plain) else plain
        task = _as_task(plain, is_word, _of_third_person)
        if _is_task(task):
            yield task
            return
    words = text.split()
    if words:
        yield " ".join(words)[:LONGEST_TASK].rpartition(" ")[0]


def _as_task(
    text: str, is_word: IsWord, others: Callable[[str], Sequence[str]] = lambda _: ()
) -> str:
    """ "Merging their files" is "merge my files"; `others` gives more that a verb may be."""
    first, space, rest = _THEIR.sub("my", _trimmed(text)).partition(" ")
    if not rest or not first.isascii() or not first.isalpha():
        return first + space + rest
    bases = [*_of_gerund(first.lower()), *others(first.lower())]
    return f"{next(filter(is_word, bases), first)} {rest}"


_SHORTEST = 3


def _of_gerund(verb: str) -> Sequence[str]:
    """What a verb may be a form of, the likeliest first."""
    base = verb.removesuffix("ing")
    if base == verb or len(base) < _SHORTEST:
        return ()
    if base[-1] == base[-2]:
        return (base, base[:-1]) if base[-1] in "dfls" else (base[:-1], base)
    return f"{base}e", base


def _of_third_person(verb: str) -> Sequence[str]:
    """ "Copies" is of "copy"."""
    if not verb.endswith("s") or verb[-2:] in ("ss", "us", "is") or len(verb) <= _SHORTEST + 1:
        return ()
    ends = (verb[:-1], verb[:-2]) if verb.endswith("es") else (verb[:-1],)
    return (verb[:-3] + "y", *ends) if verb.endswith("ies") else ends
