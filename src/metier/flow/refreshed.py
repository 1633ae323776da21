"""What a refresh gives back."""

from collections.abc import Callable
from typing import Any

from metier.values.outcomes import Changes, Exclusion, Issue


class Refreshed:
    """What a refresh changed; issues and exclusions are read when asked for."""

    def __init__(
        self,
        changes: Changes,
        issues: Callable[[], list[Issue]],
        excluded: Callable[[], list[Exclusion]],
    ) -> None:
        self.changes = changes
        self._issues = issues
        self._excluded = excluded

    @property
    def issues(self) -> list[Issue]:
        """Every finding in every file, those of files that were left out included."""
        return self._issues()

    @property
    def excluded(self) -> list[Exclusion]:
        """Every file that was met and left out, with the reason."""
        return self._excluded()

    def to_json(self) -> dict[str, Any]:
        return {
            **self.changes.to_json(),
            "exclusions": [exclusion.to_json() for exclusion in self.excluded],
            "issues": [issue.to_json() for issue in self.issues],
        }
