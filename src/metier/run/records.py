"""The steps of a run at work, by their full ids."""

from collections.abc import Iterable, Iterator

from metier.values.runs import StepRecord


class Records(dict[str, StepRecord]):
    """Records by id, which also knows those of each turn of a loop."""

    def __init__(self, known: Iterable[StepRecord]) -> None:
        super().__init__()
        self._turns: dict[str, dict[str, None]] = {}
        for one in known:
            self[one.id] = one

    def __setitem__(self, key: str, record: StepRecord) -> None:
        super().__setitem__(key, record)
        at = key.find("[")
        if at >= 0:
            self._turns.setdefault(key[at:], {})[key] = None

    def around(self, key: str) -> Iterator[StepRecord]:
        """The records of the turns in which the step `key` is: of `a[2][0]`, `[2]` and `[2][0]`."""
        end = key.index("[")
        start = end
        while (end := key.find("]", end) + 1) > 0:
            for one in self._turns.get(key[start:end], ()):
                if one in self:
                    yield self[one]
