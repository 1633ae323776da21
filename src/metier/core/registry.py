"""A collection that knows each item by its id."""

from collections.abc import Callable, Iterator
from typing import Generic, Literal, TypeVar

from metier.errors import UsageError

T = TypeVar("T")
OnDuplicate = Literal["replace", "reject", "keep-first"]


class Registry(Generic[T]):
    """Items in the order in which their ids were first registered."""

    def __init__(self, id_of: Callable[[T], str], *, on_duplicate: OnDuplicate) -> None:
        self._id_of = id_of
        self._on_duplicate = on_duplicate
        self._items: dict[str, T] = {}

    def register(self, item: T) -> bool:
        """Add `item`; whether it was taken. Raises `UsageError` for a known id if so configured."""
        key = self._id_of(item)
        if key in self._items:
            if self._on_duplicate == "reject":
                raise UsageError(f"'{key}' is already registered", hint="use another id")
            if self._on_duplicate == "keep-first":
                return False
        self._items[key] = item
        return True

    def get(self, key: str) -> T | None:
        return self._items.get(key)

    def remove(self, key: str) -> bool:
        known = key in self._items
        self._items.pop(key, None)
        return known

    def exists(self, key: str) -> bool:
        return key in self._items

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._items.values())
