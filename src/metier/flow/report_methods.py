"""The methods of a catalog that keep reports and outcomes."""

from functools import cached_property
from typing import TYPE_CHECKING

from metier.core.arguments import check_count, check_text, checked, instance_with
from metier.errors import MetierError

if TYPE_CHECKING:
    from metier.flow.reports import Reports
    from metier.flow.resolving import Resolver
    from metier.flow.shared import SharedState
    from metier.index.store import Store
    from metier.resolve.reliability import History
    from metier.resolve.report import Resolution
    from metier.safety.redactor import Redactor
    from metier.storage.room import Room
    from metier.values.resolution import Decision, Report


class ReportMethods:
    """Stored reports of resolutions, and outcomes of skills."""

    store: "Store"
    room: "Room | None"

    if TYPE_CHECKING:

        @property
        def redactor(self) -> Redactor: ...
        @property
        def shared(self) -> SharedState | None: ...
        @property
        def _resolver(self) -> Resolver: ...

    @cached_property
    def report_store(self) -> "Reports":
        from metier.flow.reports import ReportFiles, Reports

        if self.shared is not None:
            return Reports(self.shared.reports, self.redactor)
        files = ReportFiles(self.room) if self.room is not None else None
        return Reports(files, self.redactor)

    @checked(resolution=instance_with("full_report", "what catalog.resolve returned"))
    def keep_report(self, resolution: "Resolution", *, full: bool = False) -> str:
        """Store the report of a resolution; its path, or "" when it cannot be written."""
        return self.report_store.keep(resolution.full_report() if full else resolution.report)

    def report(self, report_id: str) -> "Report":
        """A stored report. Raises `NotFoundError`."""
        check_text("report_id", report_id)
        self.store.require_open()
        return self.report_store.read(report_id)

    def report_ids(self) -> list[str]:
        """The ids of the stored reports, oldest first."""
        self.store.require_open()
        return self.report_store.ids()

    def decide(self, report_id: str, decision: "Decision") -> "Report":
        """Complete a resolution that waits for a decision; the new report."""
        check_text("report_id", report_id)
        return self.report_store.decide(report_id, decision)

    def reports(self, limit: int = 50) -> "list[Report]":
        """The newest reports, each with its `SUMMARY` fields; damaged ones are skipped."""
        from itertools import islice

        check_count("limit", limit)
        self.store.require_open()
        found = (one for one in self.report_store.summaries() if not isinstance(one, MetierError))
        return list(islice(found, limit))

    def record_outcome(self, candidate: str, *, success: bool) -> "History":
        """Add an outcome to the history of a skill. Raises `NotFoundError`."""
        return self._resolver.record(candidate, success=success)

    def candidate_id(self, wanted: str) -> str:
        """The full id of the skill with that name or id. Raises `NotFoundError`."""
        return self._resolver.candidate(wanted).id
