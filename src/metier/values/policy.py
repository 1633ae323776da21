"""What a run demands of candidates: defaults by mode, overrides, hints that only tighten."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

from metier.core.arguments import check_text
from metier.core.nearest import did_you_mean
from metier.errors import UsageError
from metier.values.contracts import Mode

OnMissing = Literal["hard-fail", "offer-emulation", "auto-emulate"]
SelectionMode = Literal["single", "cover"]
STRICTNESS: tuple[OnMissing, ...] = ("auto-emulate", "offer-emulation", "hard-fail")
"""Mildest first."""
PRESETS: dict[str, dict[str, str]] = {
    "prose": {"min-contract-score": "0.15", "min-total-score": "0.30"},
}
"""Named overrides; `prose` lets skills without a contract pass."""


class Policy(NamedTuple):
    """What a resolution demands; the defaults are those of best-effort."""

    min_total_score: float = 0.45
    min_contract_score: float = 0.30
    min_required_coverage: float = 0.60
    max_candidates: int = 5
    selection_mode: SelectionMode = "single"
    max_providers: int = 3
    """For `cover`."""
    on_missing_required: OnMissing = "offer-emulation"

    @classmethod
    def for_mode(cls, mode: Mode) -> "Policy":
        if mode == "strict":
            return cls(min_required_coverage=1.00, on_missing_required="hard-fail")
        return cls()

    def with_contract(self, pairs: Mapping[str, str]) -> tuple["Policy", list[str]]:
        """With the values of a `Pol(...)`, and warnings about invalid values."""
        values: dict[str, Any] = {}
        warnings: list[str] = []
        for key, text in pairs.items():
            value, problem = _read(key, text)
            if problem:
                warnings.append(f"{problem}; it is ignored")
            else:
                values[_FIELDS[key]] = value
        return self._replace(**values) if values else self, warnings

    def with_runtime(self, pairs: Mapping[str, str]) -> "Policy":
        """With the caller's values. Raises `UsageError` for an invalid value."""
        values: dict[str, Any] = {}
        for key, text in pairs.items():
            check_text(key, text, f"{{'{key}': '{text}'}}")
            value, problem = _read(key, text)
            if problem:
                known = () if key in _FIELDS else _FIELDS
                hint = did_you_mean(key, known, f"keys: {', '.join(_FIELDS)}")
                raise UsageError(problem, hint=hint)
            values[_FIELDS[key]] = value
        return self._replace(**values) if values else self

    def with_on_missing(self, value: OnMissing) -> "Policy":
        same = value == self.on_missing_required
        return self if same else self._replace(on_missing_required=value)

    def tightened(self, hints: Mapping[str, str]) -> "Policy":
        """With the hints of one provider, which can only tighten it."""
        asked, _ = self.with_contract(hints)
        return self._replace(
            min_total_score=max(self.min_total_score, asked.min_total_score),
            min_contract_score=max(self.min_contract_score, asked.min_contract_score),
            min_required_coverage=max(self.min_required_coverage, asked.min_required_coverage),
            max_candidates=min(self.max_candidates, asked.max_candidates),
            on_missing_required=strictest(self.on_missing_required, asked.on_missing_required),
        )

    def to_json(self) -> dict[str, Any]:
        return {key: getattr(self, name) for key, name in _FIELDS.items()}


def strictest(*values: OnMissing) -> OnMissing:
    return max(values, key=STRICTNESS.index)


_NUMBER = re.compile(r"(?:0|1)(?:\.[0-9]+)?|\.[0-9]+")
_COUNT = re.compile(r"[1-9][0-9]{0,8}")


def _share(text: str) -> float | None:
    value = float(text) if _NUMBER.fullmatch(text) else None
    return value if value is not None and value <= 1 else None


def _count(text: str) -> int | None:
    return int(text) if _COUNT.fullmatch(text) else None


def _choice(*words: str) -> Callable[[str], str | None]:
    return lambda text: text if text in words else None


_READERS: dict[str, tuple[Callable[[str], Any], str]] = {
    "min-total-score": (_share, "a number from 0 to 1"),
    "min-contract-score": (_share, "a number from 0 to 1"),
    "min-required-coverage": (_share, "a number from 0 to 1"),
    "max-candidates": (_count, "a whole number of at least 1"),
    "selection-mode": (_choice("single", "cover"), "single or cover"),
    "max-providers": (_count, "a whole number of at least 1"),
    "on-missing-required": (_choice(*STRICTNESS), "hard-fail, offer-emulation or auto-emulate"),
}
_FIELDS = {key: key.replace("-", "_") for key in _READERS}


def _read(key: str, text: str) -> tuple[Any, str]:
    if key not in _READERS:
        return None, f"'{key}' is not a key of a policy"
    read, wanted = _READERS[key]
    value = read(text)
    return value, "" if value is not None else f"'{key}' must be {wanted}, not '{text[:40]}'"
