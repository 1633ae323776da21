"""Arrays of numbers: numpy's, or plain ones where it does not pay to load numpy."""

from collections.abc import Iterable, Sequence
from functools import cache
from sys import modules
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from metier.core import plain
from metier.core.threads import loading_numpy

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


def plain_arrays() -> Arrays:
    return cast(Arrays, plain)


def arrays_of(values: Iterable[Any]) -> Arrays:
    return plain_arrays() if isinstance(values, plain.Plain) else numpy_arrays()
