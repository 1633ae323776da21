"""Cut the texts of a folder into short texts, and texts into words.

Nothing depends on the order in which the file system lists files: equal documents count once,
and short texts are ordered by their digests, which also mixes them well.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from metier.core.markdown import code_and_comments
from metier.core.text import words
from metier.parse.frontmatter import read_matter

SUFFIXES = (".md", ".txt")
LONGEST_WORD = 24
CHUNK_WORDS = 48
"""The words of a section are cut into pieces of this size."""
SENTENCE_WORDS = range(3, 41)
HALVED_WORDS = 6
"""A description with fewer words is not cut in two."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.*)$", re.MULTILINE)
_LINK_TARGET = re.compile(r"(?<=\])\([^()\s]*\)")
_ITEM = re.compile(r"^[ \t]*(?:[-*+>|]|[0-9]{1,9}[.)])[ \t]+", re.MULTILINE)
_RULE = re.compile(r"^[ \t|:=-]+$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n[ \t]*\n")
_NEW_SENTENCE = "\n\n"


class Document(NamedTuple):
    """What one file says, without code and comments."""

    name: str
    descriptions: tuple[str, ...]
    body: str


def split_words(text: str) -> list[str]:
    """The words of the table: camelCase and snake_case split, in lower case, in order."""
    return [word for word in words(_HUMP.sub(" ", text)) if len(word) <= LONGEST_WORD]


def read_documents(folder: Path) -> set[Document]:
    """Every text below `folder`. Raises `OSError` if something cannot be read."""
    return {read_document(file.read_bytes(), file.stem) for file in _files(folder)}


def _files(folder: Path) -> Iterator[Path]:
    for parent, _, names in os.walk(folder, onerror=_raise):
        files = (Path(parent, name) for name in names if name.lower().endswith(SUFFIXES))
        yield from (file for file in files if file.is_file())


def _raise(error: OSError) -> None:
    raise error


def read_document(raw: bytes, stem: str) -> Document:
    """A file without a name in its front matter is named by `stem`; a binary one is empty."""
    matter = read_matter(raw, stem, lenient=True).matter
    if matter is None:
        body = "" if b"\0" in raw else raw.decode(errors="replace")
        return Document(stem, (), _prose(body))
    name = matter.data.get("name")
    given = [matter.data.get(key) for key in ("description", "when_to_use")]
    descriptions = tuple(_line(text) for text in given if isinstance(text, str) and text.strip())
    return Document(name if isinstance(name, str) else stem, descriptions, _prose(matter.body))


def _prose(text: str) -> str:
    """A body without blocks of code, comments and the targets of links."""
    kept, at = [], 0
    for span in code_and_comments(text):
        if span.kind == "comment" or "\n" in text[span.start : span.end]:
            kept.append(text[at : span.start])
            at = span.end
    return _RULE.sub("", _LINK_TARGET.sub("", "\n".join([*kept, text[at:]])))


def count_words(documents: Iterable[Document]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(split_words("\n".join((document.name, *document.descriptions))))
        counts.update(split_words(document.body))
    return counts


def short_texts(documents: Iterable[Document]) -> list[str]:
    """The texts to encode, each once."""
    found = {text for document in documents for text in _cut(document) if text}
    return sorted(found, key=lambda text: blake2b(text.encode(errors="replace")).digest())


def _cut(document: Document) -> Iterator[str]:
    yield " ".join(split_words(document.name))
    for description in document.descriptions:
        yield description
        yield from _halves(description)
        yield from _sentences(description)
    headings = [_line(heading) for heading in _HEADING.findall(document.body)]
    yield from headings
    for section in _HEADING.sub("\0", document.body).split("\0"):
        yield from _chunks(section)
        yield from _sentences(section)


def _halves(text: str) -> Iterator[str]:
    parts = text.split()
    if len(parts) >= HALVED_WORDS:
        middle = (len(parts) + 1) // 2
        yield " ".join(parts[:middle])
        yield " ".join(parts[middle:])


def _chunks(section: str) -> Iterator[str]:
    parts = _line(section).split()
    for start in range(0, len(parts), CHUNK_WORDS):
        yield " ".join(parts[start : start + CHUNK_WORDS])


def _sentences(text: str) -> Iterator[str]:
    for sentence in _SENTENCE_END.split(_ITEM.sub(_NEW_SENTENCE, text)):
        line = _line(sentence)
        if len(line.split()) in SENTENCE_WORDS:
            yield line


def _line(text: str) -> str:
    """One line without marks of Markdown."""
    return " ".join(_ITEM.sub(" ", text).translate(_MARKS).split())


_MARKS = str.maketrans(dict.fromkeys("*`#|[]", " "))
