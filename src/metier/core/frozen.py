"""JSON values that nobody can change any more."""

from typing import Any, NoReturn


def freeze(value: Any) -> Any:
    """`value` with every list and mapping in it copied and closed, however deep."""
    if isinstance(value, dict):
        return FrozenDict({key: freeze(one) for key, one in value.items()})
    if isinstance(value, list | tuple):
        return FrozenList(freeze(one) for one in value)
    return value


def thaw(value: Any) -> Any:
    """A copy of `value` that can be changed."""
    if isinstance(value, dict):
        return {key: thaw(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [thaw(one) for one in value]
    return value


def _refuse(self: Any, *_args: Any, **_kwargs: Any) -> NoReturn:
    raise TypeError(f"a {type(self).__name__} cannot be changed; copy it first")


class FrozenDict(dict[str, Any]):
    """A mapping that equals, and is written as, any other, and refuses every change."""

    __setitem__ = __delitem__ = __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)


class FrozenList(list[Any]):
    """A list that equals, and is written as, any other, and refuses every change."""

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = pop = remove = clear = sort = reverse = _refuse

    def __deepcopy__(self, _memo: Any) -> Any:
        return thaw(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)
