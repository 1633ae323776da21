"""Recent outcomes of candidates: `.dci/state/reliability.v1.json` of the workspace."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

from metier.core.unread import why_not_json
from metier.storage.room import Room

FOLDER, NAME = (".dci", "state"), "reliability.v1.json"
FILE = os.path.join(*FOLDER, NAME)
SCHEMA_VERSION = "1"
WINDOW = 20
HistoryState = Literal["persistent", "ephemeral"]


class History(NamedTuple):
    """Success rates by candidate id."""

    rates: Mapping[str, float]
    samples: Mapping[str, int]
    state: HistoryState = "persistent"
    """`ephemeral` when outcomes cannot be stored."""
    warning: str = ""


class OutcomeStore(Protocol):
    """Where outcomes of candidates are kept."""

    def history(self) -> History: ...
    def record(self, candidate: str, *, success: bool) -> History:
        """Add an outcome; it is kept in memory when it cannot be stored."""


class Reliability:
    """An `OutcomeStore`: the file of one workspace. An invalid file is never overwritten."""

    def __init__(
        self, workspace: str, now: Callable[[], datetime] | None = None, *, is_kept: bool = True
    ) -> None:
        """Without `is_kept` nothing is read or written."""
        self.path = os.path.join(workspace, FILE)
        self._room = Room(workspace, *FOLDER)
        self._is_kept = is_kept
        self._now = now or (lambda: datetime.now(UTC))
        self._unsaved: dict[str, list[int]] = {}
        self._workspace = workspace

    def history(self) -> History:
        stored, warning = self._read() if self._is_kept else ({}, "")
        if warning or not self._is_kept:
            return history_of(self._unsaved, "ephemeral", warning)
        outcomes = {key: value["outcomes_last_20"] for key, value in stored.items()}
        for key, more in self._unsaved.items():
            outcomes[key] = [*outcomes.get(key, []), *more][-WINDOW:]
        if self._unsaved or not self._can_write():
            return history_of(outcomes, "ephemeral", "outcomes cannot be kept: " + self.path)
        return history_of(outcomes, "persistent")

    def outcomes(self) -> dict[str, list[int]]:
        """The stored outcomes of each candidate, oldest first; none of an invalid file."""
        return {key: value["outcomes_last_20"] for key, value in self._read()[0].items()}

    def record(self, candidate: str, *, success: bool) -> History:
        """Add an outcome; it is kept in memory when it cannot be stored."""
        unsaved = [*self._unsaved.get(candidate, []), int(success)]
        self._unsaved[candidate] = unsaved[-WINDOW:]
        if self._is_kept:
            with suppress(OSError):
                self._save()
        return self.history()

    def _save(self) -> None:
        if not self._room.exists():
            self._room.write(".gitignore", b"*\n")
        lock = self._room.lock(f"{NAME}.lock")
        try:
            stored, warning = self._read()
            if not warning:
                self._write(stored)
                self._unsaved.clear()
        finally:
            os.close(lock)

    def _write(self, stored: dict[str, Any]) -> None:
        moment = self._now().isoformat(timespec="seconds")
        for candidate, more in self._unsaved.items():
            known = stored.get(candidate, {}).get("outcomes_last_20", [])
            outcomes = [*known, *more][-WINDOW:]
            stored[candidate] = {
                "outcomes_last_20": outcomes,
                "success_rate_last_20": sum(outcomes) / len(outcomes),
                "sample_size": len(outcomes),
                "last_used_at": moment,
            }
        data = {"schema_version": SCHEMA_VERSION, "updated_at": moment, "candidates": stored}
        text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True)
        self._room.write(NAME, f"{text}\n".encode())

    def _read(self) -> tuple[dict[str, Any], str]:
        try:
            data = json.loads(self._room.read(NAME).decode())
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, RecursionError) as error:
            return {}, f"{self.path} cannot be read: {why_not_json(error)}"
        if not _is_valid(data):
            return {}, f"{self.path} is not a reliability file of version {SCHEMA_VERSION}"
        return data["candidates"], ""

    def _can_write(self) -> bool:
        state = os.path.dirname(self.path)
        folders = (state, os.path.dirname(state), self._workspace)
        first = next((one for one in folders if os.access(one, os.F_OK)), "")
        return os.access(first, os.W_OK)


def history_of(
    outcomes: Mapping[str, Sequence[int]], state: HistoryState, warning: str = ""
) -> History:
    used = {key: value for key, value in outcomes.items() if value}
    rates = {key: sum(value) / len(value) for key, value in used.items()}
    return History(rates, {key: len(value) for key, value in used.items()}, state, warning)


def _is_valid(data: Any) -> bool:
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        return False
    candidates = data.get("candidates")
    return isinstance(candidates, dict) and all(
        isinstance(one, dict)
        and isinstance(one.get("outcomes_last_20"), list)
        and len(one["outcomes_last_20"]) <= WINDOW
        and all(type(outcome) is int and outcome in (0, 1) for outcome in one["outcomes_last_20"])
        for one in candidates.values()
    )
