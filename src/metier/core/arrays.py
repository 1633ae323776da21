"""Arrays of numbers: numpy's, or plain ones where it does not pay to load numpy.

Plain arrays have the names and the meaning of numpy's, to the last bit, as far as they are used.
"""

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, repeat
from sys import modules
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from metier.core.process import loading_numpy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats: TypeAlias = NDArray[np.float64]
    Places: TypeAlias = NDArray[np.intp]
    Mask: TypeAlias = NDArray[np.bool_]
else:
    Floats = Places = Mask = Any

Array = TypeVar("Array", Floats, Places)


class Arrays(Protocol):
    """The part of numpy that is used."""

    intp: Any
    uint8: Any
    float32: Any
    float64: Any

    def __hash__(self) -> int: ...

    def zeros(self, size: int, dtype: Any = float) -> Any: ...
    def ones(self, size: int, dtype: Any = float) -> Any: ...
    def empty(self, size: int, dtype: Any = float) -> Any: ...
    def full(self, size: int, value: float, dtype: Any = float) -> Any: ...
    def arange(self, size: int) -> Places: ...
    def array(self, values: Sequence[Any], dtype: Any = None) -> Any: ...
    def concatenate(self, arrays: Sequence[Array]) -> Array: ...
    def flatnonzero(self, values: Any) -> Places: ...
    def count_nonzero(self, values: Any) -> int: ...
    def bincount(self, at: Places, weights: Any = None, minlength: int = 0) -> Any: ...
    def sort(self, values: Array) -> Array: ...
    def partition(self, values: Array, kth: int) -> Array: ...
    def lexsort(self, keys: Sequence[Any]) -> Places: ...
    def delete(self, values: Array, index: int) -> Array: ...
    def minimum(self, left: Any, right: Any) -> Floats: ...
    def maximum(self, left: Any, right: Any) -> Floats: ...
    def where(self, mask: Mask, chosen: Any, otherwise: Any) -> Floats: ...
    def ceil(self, values: Floats) -> Floats: ...


PLAIN_WORK = 30_000
"""Values below which plain arrays are faster than loading numpy."""


def arrays_for(work: int) -> Arrays:
    """Plain arrays for little work, unless numpy is loaded."""
    return plain_arrays() if work <= PLAIN_WORK and "numpy" not in modules else numpy_arrays()


@cache
def numpy_arrays() -> Arrays:
    with loading_numpy():
        import numpy  # it takes as long to load as all else that a command needs

    return cast(Arrays, numpy)


@cache
def plain_arrays() -> Arrays:
    return cast(Arrays, PlainArrays())


def arrays_of(values: Iterable[Any]) -> Arrays:
    return plain_arrays() if isinstance(values, Plain) else numpy_arrays()


# Plain arrays

Index: TypeAlias = "Sequence[int] | Plain"
Type: TypeAlias = Callable[[Any], Any]


def _operator(call: Callable[..., Any]) -> Callable[["Plain", Any], "Plain"]:
    return lambda left, right: _each(call, left, right)


def _reflected(call: Callable[..., Any]) -> Callable[["Plain", Any], "Plain"]:
    return lambda right, left: _each(call, left, right)


class Plain:
    """A list of values; or, where nearly all values are the same, only the others."""

    __slots__ = ("rest", "size", "some", "values")
    __hash__ = None  # type: ignore[assignment]  # `==` compares the values one by one

    def __init__(
        self, size: int, rest: Any, some: dict[int, Any], values: list[Any] | None = None
    ) -> None:
        self.size = size
        self.some = some
        """Position → value, for the values that are not `rest`."""
        self.rest = rest
        self.values = values
        """All values, if they are listed: `some` and `rest` do not count then."""

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __getitem__(self, index: "int | slice | Index") -> Any:
        if not isinstance(index, int):
            return _listed(self.at(_places(index, self.size)))
        if self.values is not None:
            return self.values[index]
        return self.some.get(index if index >= 0 else index + self.size, self.rest)

    def __setitem__(self, index: "int | slice | Index", value: Any) -> None:
        own = self.some if self.values is None else self.values
        if isinstance(index, int):
            own[index] = value
            return
        values = value if isinstance(value, Plain) else repeat(value)
        for place, one in zip(_places(index, self.size), values, strict=False):
            own[place] = one

    def at(self, indexes: Iterable[int]) -> Iterator[Any]:
        if self.values is not None:
            return map(self.values.__getitem__, indexes)
        return map(self.some.get, indexes, repeat(self.rest))

    __add__, __radd__ = _operator(operator.add), _reflected(operator.add)
    __sub__, __rsub__ = _operator(operator.sub), _reflected(operator.sub)
    __mul__, __rmul__ = _operator(operator.mul), _reflected(operator.mul)
    __truediv__, __floordiv__ = _operator(operator.truediv), _operator(operator.floordiv)
    __rpow__ = _reflected(operator.pow)
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
        if self.values is not None:
            return sum(self.values)
        others = self.size - len(self.some)
        return sum(self.some.values()) + (self.rest * others if others else 0)

    def _different(self) -> Collection[Any]:
        """Every value at least once."""
        if self.values is not None:
            return self.values
        values = self.some.values()
        return values if len(values) == self.size else [*values, self.rest]

    def round(self, decimals: int) -> "Plain":
        scale = 10.0**decimals
        return _each(lambda value: math.copysign(round(value * scale) / scale, value), self)

    def astype(self, dtype: Type, **_more: object) -> "Plain":
        return _each(dtype, self)

    def copy(self) -> "Plain":
        values = self.values.copy() if self.values is not None else None
        return Plain(self.size, self.rest, self.some.copy(), values)

    def tolist(self) -> list[Any]:
        if self.values is not None:
            return self.values.copy()
        values = [self.rest] * self.size
        for place, value in self.some.items():
            values[place] = value
        return values

    def argsort(self, **_more: object) -> "Plain":
        return _listed(sorted(range(self.size), key=self.tolist().__getitem__))

    def searchsorted(self, wanted: Any) -> Any:
        values = self.tolist()
        if isinstance(wanted, Plain):
            return _listed(bisect_left(values, one) for one in wanted)
        return bisect_left(values, wanted)

    def take(self, index: "Plain", mode: str) -> "Plain":
        """Values at `index`, clipped to the last."""
        assert mode == "clip"
        last = self.size - 1
        return _listed(self.at(min(one, last) for one in index))

    def repeat(self, times: Iterable[int]) -> "Plain":
        return _listed(chain.from_iterable(map(repeat, self, times)))

    def cumsum(self) -> "Plain":
        return _listed(accumulate(self))


def _listed(values: Iterable[Any]) -> Plain:
    listed = list(values)
    return Plain(len(listed), None, {}, listed)


def _each(call: Callable[..., Any], *given: Any) -> Plain:
    """Apply a call elementwise."""
    arrays = [one for one in given if isinstance(one, Plain)]
    size = arrays[0].size
    if any(one.values is not None for one in arrays):
        lists = (one.tolist() if isinstance(one, Plain) else repeat(one) for one in given)
        return _listed(map(call, *lists))
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
    a_value = next(iter(index.values or index.some.values()), index.rest)
    return _true_places(index) if isinstance(a_value, bool) else index.tolist()


def _true_places(values: Plain) -> list[int]:
    if values.values is not None or (values.rest and len(values.some) < values.size):
        return [place for place, value in enumerate(values) if value]
    return sorted([place for place, value in values.some.items() if value])


class PlainArrays:
    """`Arrays` without numpy."""

    intp = uint8 = int
    float32 = float64 = float

    def zeros(self, size: int, dtype: Type = float) -> Plain:
        return Plain(size, dtype(0), {})

    empty = zeros

    def ones(self, size: int, dtype: Type = float) -> Plain:
        return Plain(size, dtype(1), {})

    def full(self, size: int, value: Any, dtype: Type = float) -> Plain:
        return Plain(size, dtype(value), {})

    def arange(self, size: int) -> Plain:
        return _listed(range(size))

    def array(self, values: Iterable[Any], dtype: Type | None = None) -> Plain:
        return _listed(map(dtype, values) if dtype is not None else values)

    def concatenate(self, arrays: Iterable[Plain]) -> Plain:
        return _listed(chain.from_iterable(arrays))

    def flatnonzero(self, values: Plain) -> Plain:
        return _listed(_true_places(values))

    def count_nonzero(self, values: Plain) -> int:
        return len(_true_places(values))

    def bincount(self, at: Plain, weights: Plain | None = None, minlength: int = 0) -> Plain:
        some: dict[int, Any] = {}
        for place, weight in zip(at, repeat(1) if weights is None else weights, strict=False):
            some[place] = some.get(place, 0) + weight
        return Plain(max(minlength, max(some, default=-1) + 1), 0, some)

    def sort(self, values: Iterable[Any]) -> Plain:
        return _listed(sorted(values))

    def partition(self, values: Plain, _kth: int) -> Plain:
        return self.sort(values)

    def lexsort(self, keys: Sequence[Plain]) -> Plain:
        """Sort by the last of `keys` first, like numpy."""
        ranks = list(zip(*reversed(keys), strict=True))
        return _listed(sorted(range(len(ranks)), key=ranks.__getitem__))

    def delete(self, values: Plain, index: int) -> Plain:
        left = values.tolist()
        del left[index]
        return _listed(left)

    def minimum(self, left: Any, right: Any) -> Plain:
        return _each(min, left, right)

    def maximum(self, left: Any, right: Any) -> Plain:
        return _each(max, left, right)

    def where(self, mask: Plain, chosen: Any, otherwise: Any) -> Plain:
        return _each(lambda is_so, one, other: one if is_so else other, mask, chosen, otherwise)

    def ceil(self, values: Plain) -> Plain:
        return _each(math.ceil, values)
