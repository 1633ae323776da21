"""The grammar of DCI contracts: text → `Contract`, and back in canonical form."""

import re
from typing import NamedTuple, NoReturn

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
_UNSAFE = re.compile(r"[^A-Za-z0-9\-_./:@]")
_DIGITS = re.compile(r"[0-9]+")
_ESCAPABLE = frozenset(",()=\\ ")
_NEEDS_ESCAPE = re.compile(r"[,()=\\ ]")


class _Piece(NamedTuple):
    """One comma-separated part of a clause, decoded."""

    text: str
    start: int
    escaped: frozenset[int]
    """Indexes of characters that an escape protects."""
    offsets: tuple[int, ...]
    """The offset of each character in the contract."""

    def trimmed(self, start: int, end: int) -> str:
        """The characters from `start` to `end` without unescaped blanks around them."""
        while start < end and self.text[start].isspace() and start not in self.escaped:
            start += 1
        while end > start and self.text[end - 1].isspace() and end - 1 not in self.escaped:
            end -= 1
        return self.text[start:end]


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
        if match is None:
            return ""
        self.at = match.end()
        return match[0]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def skip_spaces(self) -> int:
        start = self.at
        while self.peek() == " ":
            self.at += 1
        return self.at - start

    def pieces(self) -> list[_Piece]:
        """The parts up to the closing parenthesis."""
        out: list[_Piece] = []
        while True:
            piece, end = self._piece()
            out.append(piece)
            if end == ")":
                return out

    def _piece(self) -> tuple[_Piece, str]:
        start = self.at
        chars: list[str] = []
        offsets: list[int] = []
        escaped: set[int] = set()
        while (char := self.peek()) not in (",", ")"):
            if not char:
                self.fail("the clause is not closed", hint="add ')'")
            offsets.append(self.at)
            if char == "\\":
                self._escape(chars, escaped)
                continue
            chars.append(char)
            self.at += 1
        self.at += 1
        return _Piece("".join(chars), start, frozenset(escaped), tuple(offsets)), char

    def _escape(self, chars: list[str], escaped: set[int]) -> None:
        follower = self.text[self.at + 1 : self.at + 2]
        if follower in _ESCAPABLE and follower:
            escaped.add(len(chars))
            chars.append(follower)
            self.at += 2
            return
        self.doubt("unknown escape", self.at)
        escaped.add(len(chars))
        chars.append("\\")
        self.at += 1


def parse_contract(text: str, mode: Mode | None = None) -> Contract:
    """The contract that `text` states.

    What best-effort lives with is kept in `doubts`; under strict (by `mode`, else by the
    contract's own) the first of them is an error. Raises `ContractError` with the position.
    """
    scanner = _Scanner(text.rstrip())
    stated = _head(scanner)
    lists: dict[str, list[str]] = {name: [] for name in _LISTS.values()}
    pairs: dict[str, dict[str, str]] = {name: {} for name in _PAIRS.values()}
    unknown: list[str] = []
    known = 0
    while scanner.at < len(scanner.text):
        if not scanner.skip_spaces():
            scanner.fail("a space must stand between clauses")
        known += _clause(scanner, lists, pairs, unknown)
    if not known:
        scanner.fail("at least one clause is required", hint="for example P(web-search)")
    if (mode or stated) == "strict" and scanner.doubts:
        scanner.fail(scanner.doubts[0].message, scanner.doubts[0].position)
    return Contract(
        mode=stated,
        provides=tuple(lists["provides"]),
        expects=tuple(lists["expects"]),
        accepts=pairs["accepts"],
        requires=tuple(lists["requires"]),
        optional=tuple(lists["optional"]),
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
    _refuse_empty(scanner, pieces)
    name = _SHORT.get(written, written)
    if name in _LISTS:
        lists[_LISTS[name]].extend(piece.text.strip() for piece in pieces)
    elif name in _PAIRS:
        _add_pairs(scanner, pieces, pairs[_PAIRS[name]])
    else:
        scanner.doubt(f"unknown clause '{written[:40]}'", start)
        unknown.append(written)
        return False
    return True


def _refuse_empty(scanner: _Scanner, pieces: list[_Piece]) -> None:
    for number, piece in enumerate(pieces):
        if piece.text.strip():
            continue
        if len(pieces) == 1:
            scanner.fail("the list is empty", piece.start)
        last = number == len(pieces) - 1
        scanner.fail("trailing comma" if last else "empty value", piece.start)


def _add_pairs(scanner: _Scanner, pieces: list[_Piece], into: dict[str, str]) -> None:
    for piece in pieces:
        split = _first_equals(piece)
        if split is None:
            scanner.fail("a value is written key=value", piece.start)
        key, value = piece.trimmed(0, split), piece.trimmed(split + 1, len(piece.text))
        if not value:
            scanner.fail(f"'{key[:40]}' has no value", piece.start)
        if not _KEY.match(key):
            scanner.doubt(f"illegal key '{key[:40]}'", piece.start)
        _doubt_value(scanner, piece, split + 1)
        if key in into:
            scanner.doubt(f"key '{key[:40]}' appears twice; the last one counts", piece.start)
        into[key] = value


def _first_equals(piece: _Piece) -> int | None:
    for at, char in enumerate(piece.text):
        if char == "=" and at not in piece.escaped:
            return at
    return None


def _doubt_value(scanner: _Scanner, piece: _Piece, start: int) -> None:
    for match in _UNSAFE.finditer(piece.text, start):
        if match.start() in piece.escaped:
            continue
        what = {" ": "unescaped space", "=": "unescaped ="}.get(match[0], f"'{match[0]}'")
        scanner.doubt(f"{what} in a value", piece.offsets[match.start()])
        return


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
