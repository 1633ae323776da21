"""Arrays as plain Python can have them, for questions too small to load numpy for.

They have the names and the meaning of numpy's, to the last bit, as far as they are used here. In
most of them nearly all values are the same; so only the others are kept.
"""

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, TypeAlias

Index: TypeAlias = "Sequence[int] | Plain"

intp = uint8 = int
float32 = float64 = float


def _operator(call: Callable[..., Any]) -> Callable[["Plain", Any], "Plain"]:
    return lambda left, right: _each(call, left, right)


def _reflected(call: Callable[..., Any]) -> Callable[["Plain", Any], "Plain"]:
    return lambda right, left: _each(call, left, right)


class Plain:
    __slots__ = ("rest", "size", "some")
    __hash__ = None  # type: ignore[assignment]  # `==` compares the values one by one

    def __init__(self, size: int, rest: Any, some: dict[int, Any]) -> None:
        self.size = size
        self.some = some
        """Position → value."""
        self.rest = rest

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: "int | slice | Index") -> Any:
        if isinstance(index, int):
            return self.some.get(index if index >= 0 else index + self.size, self.rest)
        return array(self.at(_places(index, self.size)))

    def __setitem__(self, index: "int | slice | Index", value: Any) -> None:
        if isinstance(index, int):
            self.some[index] = value
            return
        values = value if isinstance(value, Plain) else repeat(value)
        self.some.update(zip(_places(index, self.size), values, strict=False))

    def at(self, indexes: Iterable[int]) -> Iterator[Any]:
        return map(self.some.get, indexes, repeat(self.rest))

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul), _reflected(operator.mul)
    __truediv__, __floordiv__ = _operator(operator.truediv), _operator(operator.floordiv)
    __mod__, __and__ = _operator(operator.mod), _operator(operator.and_)
    __lt__, __le__ = _operator(operator.lt), _operator(operator.le)
    __gt__, __ge__ = _operator(operator.gt), _operator(operator.ge)
    __eq__ = _operator(operator.eq)  # type: ignore[assignment]
    __ne__ = _operator(operator.ne)  # type: ignore[assignment]

    def __neg__(self) -> "Plain":
        return _each(operator.neg, self)

    def __invert__(self) -> "Plain":
        return _each(operator.not_, self)

    def any(self) -> bool:
        return any(self._different())

    def max(self) -> Any:
        return max(self._different())

    def sum(self) -> Any:
        """Integers only: floats would have to be added in numpy's order."""
        others = self.size - len(self.some)
        return sum(self.some.values()) + (self.rest * others if others else 0)

    def _different(self) -> Collection[Any]:
        """The distinct values."""
        values = self.some.values()
        return values if len(values) == self.size else [*values, self.rest]

    def round(self, decimals: int) -> "Plain":
        scale = 10.0**decimals
        some = {
            place: math.copysign(round(value * scale) / scale, value)
            for place, value in self.some.items()
        }
        is_all = len(some) == self.size
        rest = None if is_all else math.copysign(round(self.rest * scale) / scale, self.rest)
        return Plain(self.size, rest, some)

    def astype(self, dtype: Callable[[Any], Any], **_more: object) -> "Plain":
        return _each(dtype, self)

    def copy(self) -> "Plain":
        return Plain(self.size, self.rest, dict(self.some))

    def tolist(self) -> list[Any]:
        values = [self.rest] * self.size
        for place, value in self.some.items():
            values[place] = value
        return values

    def argsort(self, **_more: object) -> "Plain":
        return array(sorted(range(self.size), key=self.tolist().__getitem__))

    def searchsorted(self, wanted: Any) -> Any:
        values = self.tolist()
        if isinstance(wanted, Plain):
            return array(bisect_left(values, one) for one in wanted)
        return bisect_left(values, wanted)

    def take(self, index: "Plain", mode: str) -> "Plain":
        """Values at `index`, clipped to the last."""
        assert mode == "clip"
        return self[minimum(index, self.size - 1)]  # type: ignore[no-any-return]

    def repeat(self, times: Iterable[int]) -> "Plain":
        return array(chain.from_iterable(map(repeat, self, times)))

    def cumsum(self) -> "Plain":
        return array(accumulate(self))


def _each(call: Callable[..., Any], *given: Any) -> Plain:
    """Apply a call elementwise."""
    arrays = [one for one in given if isinstance(one, Plain)]
    size = arrays[0].size
    places: Collection[int] = arrays[0].some
    if len(arrays) > 1 and len(places) < size:
        places = set().union(*(one.some for one in arrays))
    columns = [one.at(places) if isinstance(one, Plain) else repeat(one) for one in given]
    rest = None
    if len(places) < size:
        rest = call(*(one.rest if isinstance(one, Plain) else one for one in given))
    return Plain(size, rest, dict(zip(places, map(call, *columns), strict=True)))


def _places(index: "slice | Index", size: int) -> Sequence[int]:
    if isinstance(index, slice):
        return range(size)[index]
    if not isinstance(index, Plain):
        return index
    a_value = next(iter(index.some.values()), index.rest)
    return (flatnonzero(index) if isinstance(a_value, bool) else index).tolist()


# Functions of numpy


def zeros(size: int, dtype: Callable[[int], Any] = float) -> Plain:
    return Plain(size, dtype(0), {})


empty = zeros


def ones(size: int, dtype: Callable[[int], Any] = float) -> Plain:
    return Plain(size, dtype(1), {})


def full(size: int, value: Any, dtype: Callable[[Any], Any] = float) -> Plain:
    return Plain(size, dtype(value), {})


def arange(size: int) -> Plain:
    return array(range(size))


def array(values: Iterable[Any], dtype: Callable[[Any], Any] | None = None) -> Plain:
    some = dict(enumerate(map(dtype, values) if dtype is not None else values))
    return Plain(len(some), None, some)


def concatenate(arrays: Iterable[Plain]) -> Plain:
    return array(chain.from_iterable(arrays))


def flatnonzero(values: Plain) -> Plain:
    if len(values.some) < values.size and values.rest:
        return array([place for place, value in enumerate(values) if value])
    return array(sorted([place for place, value in values.some.items() if value]))


def count_nonzero(values: Plain) -> int:
    return len(flatnonzero(values))


def bincount(at: Plain, weights: Plain | None = None, minlength: int = 0) -> Plain:
    some: dict[int, Any] = {}
    for place, weight in zip(at, repeat(1) if weights is None else weights, strict=False):
        some[place] = some.get(place, 0) + weight
    return Plain(max(minlength, max(some, default=-1) + 1), 0, some)


def sort(values: Iterable[Any]) -> Plain:
    return array(sorted(values))


def partition(values: Plain, _kth: int) -> Plain:
    return sort(values)


def lexsort(keys: Sequence[Plain]) -> Plain:
    """Sort by the last of `keys` first, like numpy."""
    ranks = list(zip(*reversed(keys), strict=True))
    return array(sorted(range(len(ranks)), key=ranks.__getitem__))


def delete(values: Plain, index: int) -> Plain:
    left = values.tolist()
    del left[index]
    return array(left)


def minimum(left: Any, right: Any) -> Plain:
    return _each(min, left, right)


def maximum(left: Any, right: Any) -> Plain:
    return _each(max, left, right)


def where(mask: Plain, chosen: Any, otherwise: Any) -> Plain:
    return _each(lambda is_so, one, other: one if is_so else other, mask, chosen, otherwise)


def ceil(values: Plain) -> Plain:
    return _each(math.ceil, values)
