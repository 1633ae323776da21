"""The stored reports of a workspace."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import Any, Protocol

from metier.core.nearest import did_you_mean
from metier.errors import InvalidDocumentError, MetierError, NotFoundError, StoreError
from metier.safety.redactor import NOTHING, Redactor
from metier.storage.room import Room
from metier.values.resolution import Decision, Report

REPORTS = "reports"
MOST_REPORTS = 100
REPORT_NAME = re.compile(r"[0-9]{8}T[0-9]{6}\.[0-9]{6}-[0-9a-f]{4}(-[0-9a-f]{8})?\.json\Z")
"""Other files in the folder are neither read nor deleted."""
BEFORE_CLIENT = len("20260131T120000.123456-9f3a")
"""The rest of an id names the client of a server that asked; that of a command has none."""
LAST = "last"
SUMMARY = (
    "run_id",
    "generated_at",
    "required_capabilities",
    "on_missing_required_action",
    "selected",
)
"""The fields that a list of reports shows."""


class ReportStore(Protocol):
    """Where reports are kept. Every method but `where` raises `OSError` or `StoreError`."""

    def where(self, report_id: str) -> str:
        """What a message names: a path."""

    def save(self, report_id: str, text: str) -> None: ...
    def prune(self) -> None:
        """Delete the oldest reports beyond the limit, so that each client keeps its newest."""

    def ids(self) -> list[str]:
        """Oldest first."""

    def read(self, report_id: str) -> str:
        """The text of a report. Raises `FileNotFoundError` if there is none."""

    def remove(self, report_id: str) -> None:
        """Delete a report, if it is there."""


class ReportFiles:
    """A `ReportStore`: a folder of the workspace's state."""

    def __init__(self, room: Room) -> None:
        self._room = room.below(REPORTS)

    def where(self, report_id: str) -> str:
        return self._room.file(f"{report_id}.json")

    def save(self, report_id: str, text: str) -> None:
        self._room.write(f"{report_id}.json", text.encode())

    def prune(self) -> None:
        for old in surplus(self.ids(), MOST_REPORTS):
            with suppress(FileNotFoundError):  # another process was faster
                self._room.remove(f"{old}.json")

    def ids(self) -> list[str]:
        names = self._room.names()
        return sorted(name.removesuffix(".json") for name in names if REPORT_NAME.match(name))

    def read(self, report_id: str) -> str:
        if not REPORT_NAME.match(f"{report_id}.json"):
            raise FileNotFoundError(report_id)
        return self._room.read(f"{report_id}.json").decode()

    def remove(self, report_id: str) -> None:
        if REPORT_NAME.match(f"{report_id}.json"):
            with suppress(FileNotFoundError):
                self._room.remove(f"{report_id}.json")


def surplus(ids: Sequence[str], most: int) -> list[str]:
    """The ids, of these from oldest to newest, that are too many.

    The newest of each client come first, then the second of each, and so on: a burst of one
    client displaces reports of its own.
    """
    seen: Counter[str] = Counter()
    ranked = []
    for newer, report_id in enumerate(reversed(ids)):
        client = report_id[BEFORE_CLIENT:]
        ranked.append((seen[client], newer, report_id))
        seen[client] += 1
    return [report_id for _, _, report_id in sorted(ranked)[most:]]


class Reports:
    """Writes, finds and reads reports, without the values of secrets.

    Without a store none is kept.
    """

    def __init__(self, store: ReportStore | None, redactor: Redactor = NOTHING) -> None:
        self._store = store
        self._redactor = redactor

    def keep(self, report: Report) -> str:
        """Store a report and delete the oldest; its path, or "" when it cannot be stored."""
        if self._store is None:
            return ""
        try:
            self._write(report)
            self._store.prune()
        except (OSError, StoreError):
            return ""
        return self._store.where(report.id)

    def _write(self, report: Report) -> None:
        if self._store is not None:
            self._store.save(report.id, text_of(self._redactor.value(report)))

    def ids(self) -> list[str]:
        """The ids of the stored reports, oldest first. Raises `StoreError`."""
        try:
            return self._store.ids() if self._store is not None else []
        except OSError:
            return []

    def find(self, wanted: str) -> Report:
        """The report with that id or unique prefix; `last` is the newest."""
        known = self.ids()
        if wanted == LAST and not known:
            raise NotFoundError("there is no report yet", hint="metier resolve -r CAPABILITY")
        like = known[-1:] if wanted == LAST else [one for one in known if one.startswith(wanted)]
        return self.read(like[0] if len(like) == 1 else wanted)

    def read(self, report_id: str) -> Report:
        """Raises `NotFoundError`, and `InvalidDocumentError` for a damaged report."""
        return self._read(report_id, ())

    def summaries(self) -> Iterator[Report | MetierError]:
        """The `SUMMARY` fields of each report, newest first; an error if it is damaged."""
        for report_id in reversed(self.ids()):
            try:
                yield self._read(report_id, SUMMARY)
            except MetierError as error:
                yield error

    def _read(self, report_id: str, fields: tuple[str, ...]) -> Report:
        if self._store is None:
            raise self._not_found(report_id)
        try:
            data = json.loads(self._store.read(report_id))
        except FileNotFoundError:
            raise self._not_found(report_id) from None
        except (OSError, ValueError, RecursionError):
            data = None
        if not is_report(data, report_id, fields):
            message = f"report '{report_id}' cannot be read"
            raise InvalidDocumentError(message, hint=f"remove {self._store.where(report_id)}")
        return self._redactor.value(Report({key: data[key] for key in fields or data}))

    def _not_found(self, report_id: str) -> NotFoundError:
        hint = did_you_mean(
            report_id, self.ids(), "metier reports list (Python: catalog.report_ids())"
        )
        return NotFoundError(f"no report '{report_id}'", hint=hint)

    def decide(self, report_id: str, decision: Decision) -> Report:
        """Complete a resolution that waits for a decision; `UsageError` when it does not."""
        report = self.read(report_id).decided(decision)
        self._write(report)
        return report


def text_of(report: Report) -> str:
    """A report as it is stored: what UTF-8 cannot encode is escaped."""
    return f"{report.to_json()}\n".encode(errors="backslashreplace").decode()


def is_report(data: Any, report_id: str, fields: tuple[str, ...] = ()) -> bool:
    """Whether `data` fits the schema of reports; with `fields` only those are checked."""
    return bool(_schema(fields).is_valid(data)) and data["run_id"] == report_id


@cache
def _schema(fields: tuple[str, ...]) -> Any:
    from importlib.resources import files  # only what reads a report needs both

    from jsonschema import Draft202012Validator

    name = "capability-resolution-report.v1.schema.json"
    schema = json.loads(files("metier").joinpath("schemas", name).read_text(encoding="utf-8"))
    if fields:
        known = {key: schema["properties"][key] for key in fields}
        schema = {"type": "object", "required": list(fields), "properties": known}
    return Draft202012Validator(schema)
