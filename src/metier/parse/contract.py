"""The grammar of DCI contracts: text → `Contract`, and back in canonical form."""

import re
from itertools import count, repeat
from string import ascii_letters, digits
from sys import intern
from typing import NoReturn

from metier.errors import ContractError
from metier.values.contracts import Contract, Doubt, Mode

_PREFIX = "DCI/"
_LISTS = {"P": "provides", "E": "expects", "R": "requires", "O": "optional"}
_PAIRS = {"A": "accepts", "Pol": "policy"}
_SHORT = {
    "Provides": "P",
    "Expects": "E",
    "Accepts": "A",
    "Required": "R",
    "Requires": "R",
    "Optional": "O",
    "Policy": "Pol",
}
_ORDER = ("P", "E", "A", "R", "O", "Pol")
_CLAUSE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_SAFE = frozenset("-_./:@" + ascii_letters + digits)
_DIGITS = re.compile(r"[0-9]+")
_SPACES = re.compile(r" *")
_PIECE = re.compile(r"(?:\\[,()=\\ ]|[^,)])*")
_CHAR = re.compile(r"\\([,()=\\ ])|(.)", re.DOTALL)
_NEEDS_ESCAPE = re.compile(r"[,()=\\ ]")


_Piece = list[tuple[str, bool, int]]
"""The characters between two commas: each with whether it is escaped, and its offset."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.doubts: list[Doubt] = []

    def fail(self, message: str, at: int | None = None, hint: str = "") -> NoReturn:
        raise ContractError(message, position=self.at if at is None else at, hint=hint)

    def doubt(self, message: str, at: int) -> None:
        self.doubts.append(Doubt(at, message))

    def take(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.at)
        self.at = match.end() if match is not None else self.at
        return match[0] if match is not None else ""

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def pieces(self) -> list[tuple[int, _Piece]]:
        """The offset and the characters of each piece up to the closing parenthesis."""
        found: list[tuple[int, _Piece]] = []
        while True:
            start = self.at
            found.append((start, self._decoded(self.take(_PIECE), start)))
            end = self.peek()
            if not end:
                self.fail("the clause is not closed", hint="add ')'")
            self.at += 1
            if end == ")":
                return found

    def _decoded(self, written: str, start: int) -> _Piece:
        if "\\" not in written:
            return list(zip(written, repeat(False), count(start), strict=False))
        piece = []
        for match in _CHAR.finditer(written):
            is_backslash = match[2] == "\\"
            if is_backslash:
                self.doubt("unknown escape", start + match.start())
            is_escaped = is_backslash or match[1] is not None
            piece.append((match[1] or match[2], is_escaped, start + match.start()))
        return piece


def parse_contract(text: str, mode: Mode | None = None) -> Contract:
    """The contract in `text`.

    What only best-effort accepts becomes a doubt; under strict (by `mode`, else by the contract
    itself) the first doubt is an error. Raises `ContractError` with the position.
    """
    scanner = _Scanner(text.rstrip())
    stated = _head(scanner)
    lists: dict[str, list[str]] = {name: [] for name in _LISTS.values()}
    pairs: dict[str, dict[str, str]] = {name: {} for name in _PAIRS.values()}
    unknown: list[str] = []
    known = 0
    while scanner.at < len(scanner.text):
        if not scanner.take(_SPACES):
            scanner.fail("clauses must be separated by a space")
        known += _clause(scanner, lists, pairs, unknown)
    if not known:
        scanner.fail("at least one clause is required", hint="for example P(web-search)")
    if (mode or stated) == "strict" and scanner.doubts:
        scanner.fail(scanner.doubts[0].message, scanner.doubts[0].position)
    return Contract(
        mode=stated,
        **{name: tuple(map(intern, values)) for name, values in lists.items()},
        accepts=pairs["accepts"],
        policy=pairs["policy"],
        unknown_clauses=tuple(unknown),
        doubts=tuple(scanner.doubts),
    )


def _head(scanner: _Scanner) -> Mode:
    if not scanner.text.startswith(_PREFIX):
        scanner.fail("a contract starts with 'DCI/1'", hint="the prefix is case-sensitive")
    scanner.at = len(_PREFIX)
    version = scanner.take(_DIGITS)
    if not version:
        scanner.fail("the version needs at least one digit")
    if version != "1":
        scanner.fail(f"version {version[:20]} is not known", len(_PREFIX), "write DCI/1")
    if scanner.peek() != "^":
        return "best-effort"
    scanner.at += 1
    start = scanner.at
    name = scanner.take(_CLAUSE_NAME)
    if name == "strict":
        return "strict"
    if name != "best-effort":
        scanner.fail(f"invalid mode '{name[:40]}'", start, "write ^strict or ^best-effort")
    return "best-effort"


def _clause(
    scanner: _Scanner,
    lists: dict[str, list[str]],
    pairs: dict[str, dict[str, str]],
    unknown: list[str],
) -> bool:
    """Read one clause; whether it is one of the six."""
    start = scanner.at
    written = scanner.take(_CLAUSE_NAME)
    if not written or scanner.peek() != "(":
        scanner.fail("a clause such as P(...) is expected here", start)
    scanner.at += 1
    pieces = scanner.pieces()
    texts = [_text(piece).strip() for _, piece in pieces]
    if "" in texts:
        number = texts.index("")
        last = "the list is empty" if len(texts) == 1 else "trailing comma"
        message = last if number == len(texts) - 1 else "empty value"
        scanner.fail(message, pieces[number][0])
    name = _SHORT.get(written, written)
    if name in _LISTS:
        lists[_LISTS[name]] += texts
    elif name in _PAIRS:
        for offset, piece in pieces:
            _add_pair(scanner, offset, piece, pairs[_PAIRS[name]])
    else:
        scanner.doubt(f"unknown clause '{written[:40]}'", start)
        unknown.append(written)
        return False
    return True


def _add_pair(scanner: _Scanner, start: int, piece: _Piece, into: dict[str, str]) -> None:
    unescaped = (at for at, one in enumerate(piece) if one[0] == "=" and not one[1])
    split = next(unescaped, -1)
    if split < 0:
        scanner.fail("a value is written key=value", start)
    key, value = _trimmed(piece[:split]), _trimmed(piece[split + 1 :])
    if not value:
        scanner.fail(f"'{key[:40]}' has no value", start)
    if not _KEY.match(key):
        scanner.doubt(f"illegal key '{key[:40]}'", start)
    for char, is_escaped, offset in piece[split + 1 :]:
        if char not in _SAFE and not is_escaped:
            what = {" ": "unescaped space", "=": "unescaped ="}.get(char, f"'{char}'")
            scanner.doubt(f"{what} in a value", offset)
            break
    if key in into:
        scanner.doubt(f"key '{key[:40]}' appears twice; the last one is used", start)
    into[key] = value


def _trimmed(piece: _Piece) -> str:
    """The text without unescaped blanks around it."""
    solid = [at for at, one in enumerate(piece) if one[1] or not one[0].isspace()]
    return _text(piece[solid[0] : solid[-1] + 1]) if solid else ""


def _text(piece: _Piece) -> str:
    return "".join([one[0] for one in piece])


def serialize_contract(contract: Contract) -> str:
    """The canonical text: short names, one space, clauses in the order P E A R O Pol."""
    head = "DCI/1^strict" if contract.mode == "strict" else "DCI/1"
    clauses = [head]
    for name in _ORDER:
        if name in _LISTS:
            values = [_escape(value) for value in getattr(contract, _LISTS[name])]
        else:
            pairs = getattr(contract, _PAIRS[name])
            values = [f"{_escape(key)}={_escape(value)}" for key, value in pairs.items()]
        if values:
            clauses.append(f"{name}({','.join(values)})")
    return " ".join(clauses)


def _escape(value: str) -> str:
    return _NEEDS_ESCAPE.sub(lambda match: "\\" + match[0], value)
