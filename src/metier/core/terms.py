"""The words of the ranker: identifiers split, contractions dropped, stems. Light.

The formulas of the specs have words of their own, in `core.text` and `core.stems`.
"""

from __future__ import annotations

from metier.core.stems import STOP_WORDS, stem_of
from metier.core.text import is_cjk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ALNUM = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_SEPARATED = str.maketrans(
    {chr(code): " " for code in range(128) if chr(code) not in _ALNUM + "_'"}
)
_SEPARATED_BYTES = bytes(ord(chr(code).translate(_SEPARATED)) for code in range(128)) + bytes(
    range(128, 256)
)
_ASCII = bytes(range(128))
_CONTRACTED = frozenset("s d ll re ve m em".split())  # noqa: SIM905  # reads better
"""What follows an apostrophe and says nothing; after "t" the word itself does not either."""
_UNMARKED = frozenset(
    """
    im ive ill id dont doesnt didnt isnt arent wasnt werent cant cannot couldnt wont wouldnt
    shouldnt hasnt havent hadnt lets thats whats theres heres
    """.split()  # noqa: SIM905  # reads better
)
"""Contractions that people write without an apostrophe."""
_NOTHING = STOP_WORDS | _UNMARKED
_MARKS = (
    "\u0300\u036f", "\u0591\u05c7", "\u064b\u065f", "\u0900\u0963", "\u0966\u0dff",
    "\u0e00\u109f", "\u1780\u17dd",
)  # fmt: skip
"""First and last of combining marks, and of scripts that write vowels with them."""

ASKING = frozenset(
    map(
        stem_of,
        """
        please thanks thank thx ok okay yes yeah yep no nope hi hello hey bye sure cool fine right
        wrong exactly perfect great good nice awesome wonderful fantastic amazing excellent tell let
        want wanna need would like get got getting go going gone went come now again thing things
        something anything everything nothing maybe really actually well also still yet already way
        lot bit much many today tomorrow yesterday say said see look looks know think thought
        understand understood mean remember forget question answer response command instruction
        keep stop wait start continue done try tried undo explain help one ones first last next
        another instead less better best different make made give gave show take use using used put
        hear heard sound sounds all any every each both
        """.split(),  # noqa: SIM905  # reads better
    )
) - {""}
"""Stems of words that ask, thank or answer: they order skills, but are no evidence for one."""


def terms(text: str) -> list[str]:
    """The stems of `text` without stop words, in order, with repetitions.

    "getUserName" gives its three words and "getusernam", "don't" nothing; Chinese, Japanese and
    Korean text gives pairs of characters.
    """
    return [term for word in raw_words(text) for term in parts_of(word).terms]


def raw_parts(text: str) -> list[Parts]:
    """The raw words of `text`, taken apart."""
    known = _known
    return [known.get(word) or parts_of(word) for word in raw_words(text)]


def plain_words(text: str) -> list[str]:
    """The words of `text` for a word table: in lower case, stop words included."""
    return [plain for word in raw_words(text) for plain in parts_of(word).plain]


_FEWEST_LETTERS = 4
_MANY = 60


def searchable(text: str) -> tuple[str, int]:
    """The words of a long text in lower case, each between spaces, and how many there are."""
    words = raw_words(text.casefold().replace("’", " "))
    return (f" {' '.join(words)} ", len(words)) if words else ("", 0)


def searched(word: str, term: str) -> str:
    """What to look for in a searchable text: what all forms of a word start with."""
    if not term.isascii():
        return term
    word, same = word.lower(), 0
    for left, right in zip(word, term, strict=False):
        if left != right:
            break
        same += 1
    return f" {term[:same]}" if same >= _FEWEST_LETTERS else f" {word} "


def raw_words(text: str) -> list[str]:
    """Runs of letters, digits, underscores and apostrophes."""
    if text.isascii():
        return text.translate(_SEPARATED).split()
    from unicodedata import normalize  # a hook with an ASCII prompt does not load it

    text = normalize("NFC", text)
    beyond = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    others = _between_words(set(beyond.decode("utf-8", "surrogatepass")))
    if len(others) > _MANY:
        text = text.translate(dict.fromkeys(map(ord, others), " "))
    else:  # faster for a few
        for char in others:
            text = text.replace(char, " ")
    raw = text.encode("utf-8", "surrogatepass").translate(_SEPARATED_BYTES)
    return raw.decode("utf-8", "surrogatepass").split()


_inside: set[str] = set()
_between: set[str] = set()
_MOST_CHARACTERS = 10_000


def _between_words(chars: set[str]) -> set[str]:
    """Those of the characters that no word has; cached."""
    if len(_inside) + len(_between) > _MOST_CHARACTERS:
        _inside.clear()
        _between.clear()
    for char in chars - _inside - _between:
        (_inside if _is_in_words(char) else _between).add(char)
    return chars & _between


def _is_in_words(char: str) -> bool:
    return char.isalnum() or char in "_'’" or any(one[0] <= char <= one[1] for one in _MARKS)


class Parts:
    """One raw word, taken apart."""

    __slots__ = ("plain", "terms")

    def __init__(self, word: str) -> None:
        self.plain = tuple(_pieces(word))
        self.terms = tuple(_terms(self.plain))


_MOST_KNOWN = 15_000
_known: dict[str, Parts] = {}


def parts_of(word: str) -> Parts:
    """The parts of a raw word; cached."""
    found = _known.get(word)
    if found is None:
        found = Parts(word)
        if len(_known) < _MOST_KNOWN:
            _known[word] = found
    return found


def _terms(pieces: Sequence[str]) -> Iterable[str]:
    joined = "".join(pieces) if len(pieces) > 1 else ""
    joined = joined if joined.isascii() else ""
    for word in [*pieces, joined]:
        if word and word not in _NOTHING:
            yield stem_of(word) if word.isascii() else word


def _pieces(word: str) -> list[str]:
    if word.isascii():
        if word.isalnum() and (word.islower() or word[1:].islower() or word.isupper()):
            return [word.lower()]
        return [one.lower() for part in _uncontracted(word).split("_") for one in _camel(part)]
    folded = _uncontracted(word.replace("’", "'"))
    return [one for part in folded.split("_") for one in _by_script(part)]


def _uncontracted(word: str) -> str:
    """`word` without what follows its apostrophe; empty for "don't"."""
    start, apostrophe, rest = word.strip("'").partition("'")
    if not apostrophe:
        return start
    end = rest.lower()
    if end == "t":
        return ""
    if end in _CONTRACTED:
        return start
    return f"{start if len(start) > 1 else ''}_{rest.replace(apostrophe, '_')}"


def _camel(word: str) -> list[str]:
    """The parts of an identifier: `HTTPServer2go` is `HTTP` and `Server2go`."""
    parts: list[str] = []
    start = 0
    for at in range(1, len(word)):
        here, before = word[at], word[at - 1]
        starts = here.isupper() and (
            not before.isupper() or (at + 1 < len(word) and word[at + 1].islower())
        )
        if starts:
            parts.append(word[start:at])
            start = at
    parts.append(word[start:])
    return [part for part in parts if part]


def _by_script(word: str) -> list[str]:
    """Pairs of Chinese, Japanese and Korean characters; other runs as they are."""
    found: list[str] = []
    run, is_pairs = "", False
    for char in [*word, ""]:
        now = bool(char) and is_cjk(char)
        if run and (not char or now != is_pairs):
            found += _pairs(run) if is_pairs else [one.casefold() for one in _camel(run)]
            run = ""
        run, is_pairs = run + char, now
    return found


def _pairs(run: str) -> list[str]:
    return [run[at : at + 2] for at in range(len(run) - 1)] or [run]
