"""Limits of a rendering: work, size of values, deadline."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from itertools import chain
from time import monotonic
from typing import Any

LONGEST = 1_000_000
"""Most characters of a text."""
MOST_WORK = 1_000_000
"""Nodes that one rendering may evaluate; each takes about a microsecond."""
HEAVIEST = 1_000_000
"""The largest `Work.weight` of a value."""
DEEPEST = 200
"""Nested lists and mappings."""
MOST_BITS = 1_024
"""Of an integer."""
CHARACTERS_MADE = 20
"""Characters that cost as much as one node."""
_CHARACTERS_READ = 100
_CHARACTERS_COMPARED = 500
_CHARACTERS_AS_ONE_VALUE = 8
_BITS_AS_ONE_VALUE = 64
_WEIGHED_AT_ONCE = 8
_READ_AT_ONCE = 4
_SHORT_TEXT = 30_000
_SHORT_PIECE = 100
"""In short texts Python searches by trying every position."""
_CROWD = 20
_BETWEEN_LOOKS = 1_000
"""Work between two checks of the deadline."""

_HASHED: tuple[type[Any], ...] = (dict, set, frozenset, type({}.keys()))
_SMALL = frozenset({bool, float, type(None)})
CONTAINERS: tuple[type[Any], ...] = (
    list, tuple, dict, set, frozenset, type({}.keys()), type({}.values()), type({}.items()),
)  # fmt: skip
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "gt": lambda left, right: left > right,
    "gteq": lambda left, right: left >= right,
    "lt": lambda left, right: left < right,
    "lteq": lambda left, right: left <= right,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}
_SEARCHING = ("in", "notin")


class OverdueError(TimeoutError):
    """The deadline passed during a rendering."""


class Work:
    """The remaining work of a rendering, and the sizes of its values."""

    __slots__ = ("_deadline", "_left", "_look_below", "_weights")

    def __init__(self, deadline: float | None = None) -> None:
        """`deadline` is a time of `time.monotonic`."""
        self._deadline = deadline
        self._left = MOST_WORK
        self._look_below = 0 if deadline is None else MOST_WORK - _BETWEEN_LOOKS
        self._weights: dict[int, tuple[Any, int, int]] = {}
        """Id → value, weight and depth; keeping the value keeps its id."""

    def spend(self, much: int) -> None:
        """Count work. Raises when the work or the time is used up."""
        self._left -= much
        if self._left < self._look_below:
            self._look()

    def _look(self) -> None:
        if self._left < 0:
            raise OverflowError("it takes too long")
        if self._deadline is not None and monotonic() > self._deadline:
            raise OverdueError("the time ran out while a template was rendered")
        self._look_below = max(0, self._left - _BETWEEN_LOOKS)

    # How large values are

    def weight(self, value: Any) -> int:
        """The number of nested values, itself included; a long text counts as several."""
        return self._measured(value)[0]

    def depth(self, value: Any) -> int:
        return self._measured(value)[1]

    def _measured(self, value: Any) -> tuple[int, int]:
        if isinstance(value, str):
            return 1 + len(value) // _CHARACTERS_AS_ONE_VALUE, 0
        if isinstance(value, int):
            return 1 + value.bit_length() // _BITS_AS_ONE_VALUE, 0
        self.spend(1)
        if not isinstance(value, CONTAINERS):
            return 1, 0
        known = self._weights.get(id(value))
        if known is None:
            known = self._weights[id(value)] = value, *self._measured_inside(value)
        return known[1:]

    def _measured_inside(self, value: Any) -> tuple[int, int]:
        self.spend(len(value) // _WEIGHED_AT_ONCE)
        weight, depth = 1, 0
        for one in chain(value, value.values()) if isinstance(value, dict) else value:
            kind = type(one)
            if kind is str:
                weight += 1 + len(one) // _CHARACTERS_AS_ONE_VALUE
            elif kind is int:
                weight += 1 + one.bit_length() // _BITS_AS_ONE_VALUE
            elif kind in _SMALL:
                weight += 1
            else:
                more, below = self._measured(one)
                weight += more
                depth = max(depth, below)
            if weight > HEAVIEST or depth >= DEEPEST:
                raise OverflowError("a value is too large")
        return weight + self._crowd(value), depth + 1

    def _crowd(self, value: Any) -> int:
        """Extra weight for hash collisions: see `crowded`."""
        if not isinstance(value, _HASHED):
            return 0
        odd = sum(type(one) is not str for one in value)
        much = odd * crowded(odd)
        self.spend(much)
        return much

    # What is done with values

    def read(self, value: Any) -> Any:
        """Count a traversal of a value; the value."""
        if isinstance(value, str):
            self.spend(len(value) // _CHARACTERS_READ)
        elif isinstance(value, CONTAINERS):
            self.spend(self.weight(value) // _READ_AT_ONCE)
        return value

    def made(self, value: Any) -> Any:
        """Count a new value; the value. Raises if it is too large."""
        if isinstance(value, str):
            check_length(len(value))
            self.spend(len(value) // CHARACTERS_MADE)
        elif isinstance(value, int):
            if value.bit_length() > MOST_BITS:
                raise OverflowError("a number is too large")
        elif isinstance(value, CONTAINERS):
            self._measured(value)
        return value

    def made_anew(self, value: Any) -> Any:
        """The same for a container with new items."""
        if isinstance(value, CONTAINERS):
            self.spend(len(value))
        return self.made(value)

    def shown(self, value: Any) -> str:
        """A value as text: JSON for mappings and lists."""
        text: str
        if isinstance(value, str):
            text = value
        elif isinstance(value, dict | list):
            self.read(value)
            text = json.dumps(value, ensure_ascii=False, default=str)
        else:
            self.read(value)
            text = str(value)
        if len(text) > LONGEST:
            raise OverflowError(f"the text has {len(text)} characters, the limit is {LONGEST}")
        self.spend(len(text) // CHARACTERS_MADE)
        return text

    def joined(self, parts: Iterable[Any]) -> str:
        """The operator `~`."""
        made: str = self.made("".join([self.shown(one) for one in parts]))
        return made

    def compared(self, value: Any, *others: Any) -> bool:
        """A chain of comparisons: `others` alternates operators and values."""
        for name, other in zip(others[::2], others[1::2], strict=True):
            self.read(value)
            self.read(other)
            if name in _SEARCHING and isinstance(value, str) and isinstance(other, str):
                self.search(other, value)
            if not _COMPARISONS[name](value, other):
                return False
            value = other
        return True

    def search(self, text: str, piece: str) -> None:
        if len(text) < _SHORT_TEXT:
            self.spend(len(text) * min(len(piece), _SHORT_PIECE) // _CHARACTERS_COMPARED)
        else:
            self.spend(len(text) // _CHARACTERS_READ)

    def search_everywhere(self, text: str, piece: str) -> None:
        """Count a search that compares `piece` at every position."""
        self.spend(len(text) * len(piece) // _CHARACTERS_COMPARED)


def crowded(keys: int) -> int:
    """Work to find a key that is not text: a template can choose colliding hashes."""
    return keys // _CROWD


def check_length(size: int) -> None:
    if size > LONGEST:
        raise OverflowError("a text would be too long")


# The rendering that is going on

_work: ContextVar[Work] = ContextVar("work")
_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)

current = _work.get


def begin() -> Token[Work]:
    """Begin a rendering; pass the token to `end`."""
    return _work.set(Work(_deadline.get()))


end = _work.reset


def is_going_on() -> bool:
    return _work.get(None) is not None


@contextmanager
def until(deadline: float) -> Iterator[None]:
    """Stop renderings in the block at `deadline`, a time of `time.monotonic`."""
    outer = _deadline.get()
    before = _deadline.set(deadline if outer is None else min(outer, deadline))
    try:
        yield
    finally:
        _deadline.reset(before)
