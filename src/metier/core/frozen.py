"""Immutable JSON values."""

from typing import Any, NoReturn


def freeze(value: Any) -> Any:
    """An immutable deep copy of `value`."""
    if isinstance(value, dict):
        return FrozenDict({key: freeze(item) for key, item in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList(freeze(item) for item in value)
    return value


def thaw(value: Any) -> Any:
    """A mutable deep copy of `value`."""
    if isinstance(value, dict):
        return {key: thaw(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(item) for item in value]
    return value


def _reject(self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} is immutable; copy it first")


class FrozenDict(dict[str, Any]):
    """Equal to, and serialized like, an ordinary dict."""

    __setitem__ = __delitem__ = __ior__ = _reject
    clear = pop = popitem = setdefault = update = _reject

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """Equal to, and serialized like, an ordinary list."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _reject
    append = extend = insert = pop = remove = clear = sort = reverse = _reject

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)
