"""The baseline: a file of known findings, which are not reported again."""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from metier.core.unread import why_not_json
from metier.errors import UsageError
from metier.findings import SECURITY_CODES
from metier.flow.lint_report import Key, Reported
from metier.storage.atomic_files import write_atomically
from metier.storage.room import read_regular

_VERSION = 1
_LARGEST = 64 * 1024 * 1024
_HINT = "metier lint --baseline FILE --write-baseline writes it"
_OTHER = "restore it from version control, or name another FILE: --write-baseline writes it"
IsChecked = Callable[[str, str], bool]
"""Whether a run would find a code in the file at a path."""


class Baseline:
    """Known findings, by path, code and message, and how many there are of each."""

    def __init__(self, counts: Counter[Key]) -> None:
        self._counts = counts

    @classmethod
    def of(cls, reported: Iterable[Reported]) -> "Baseline":
        return cls(Counter(one.key for one in reported))

    @classmethod
    def read(cls, file: str) -> "Baseline":
        """The baseline in a file. Raises `UsageError`."""
        try:
            raw = read_regular(file, _LARGEST)
        except FileNotFoundError:
            raise UsageError("there is no such baseline", where=file, hint=_HINT) from None
        except OSError as error:
            why = f"the baseline cannot be read: {error.strerror}"
            raise UsageError(why, where=file) from None
        try:
            return cls(_counts(json.loads(raw)))
        except (ValueError, RecursionError) as error:
            why = f"this is not a baseline: not valid JSON, {why_not_json(error, raw)}"
            raise UsageError(why, where=file, hint=_OTHER) from None
        except (TypeError, KeyError):
            why = f"this is not a baseline of version {_VERSION}"
            raise UsageError(why, where=file, hint=_OTHER) from None

    @classmethod
    def read_if_there(cls, file: str) -> "Baseline":
        """The baseline in a file; an empty one without a file. Raises `UsageError`."""
        return cls.read(file) if os.path.lexists(file) else cls(Counter())

    def __len__(self) -> int:
        return self._counts.total()

    def unknown(self, reported: Sequence[Reported]) -> list[Reported]:
        """The findings that are not in the baseline."""
        left = Counter(self._counts)
        new = []
        for one in reported:
            if left[one.key] > 0:
                left[one.key] -= 1
            else:
                new.append(one)
        return new

    def without_security(self) -> "Baseline":
        """Those of the known findings that a workspace can turn off."""
        return Baseline(
            Counter({key: n for key, n in self._counts.items() if not _is_security(key)})
        )

    def fixed(self, reported: Iterable[Reported], is_checked: IsChecked) -> int:
        """How many known findings are gone."""
        gone = self._counts - Counter(one.key for one in reported)
        return sum(count for (path, code, _), count in gone.items() if is_checked(path, code))

    def updated(self, reported: Iterable[Reported], is_checked: IsChecked) -> "Baseline":
        """The findings of this run, and those known ones that it did not look for."""
        kept = {key: n for key, n in self._counts.items() if not is_checked(key[0], key[1])}
        return Baseline(Counter(kept) + Counter(one.key for one in reported))

    def write(self, file: str) -> None:
        """Write it, sorted and one finding a line: fit for review. Raises `OSError`."""
        lines = [
            json.dumps({"path": path, "code": code, "message": message, "count": count})
            for (path, code, message), count in sorted(self._counts.items())
        ]
        body = ",\n    ".join(lines)
        text = f'{{\n  "version": {_VERSION},\n  "findings": [\n    {body}\n  ]\n}}\n'
        write_atomically(os.path.abspath(file), text.encode())


def _is_security(key: Key) -> bool:
    return key[1].startswith(SECURITY_CODES)


def _counts(data: Any) -> Counter[Key]:
    """Raises `TypeError` or `KeyError` for anything but a baseline."""
    if data["version"] != _VERSION:
        raise KeyError("version")
    counts: Counter[Key] = Counter()
    for one in data["findings"]:
        path, code, message = (one[name] for name in ("path", "code", "message"))
        if not all(isinstance(text, str) for text in (path, code, message)):
            raise TypeError(one)
        count = one.get("count", 1)
        if type(count) is not int or count < 1:
            raise TypeError(count)
        counts[path, code, message] += count
    return counts
