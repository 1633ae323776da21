"""How often candidates did well lately: `.dci/state/reliability.v1.json` of the workspace."""

import json
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from metier.atomic import locked, make_state_folder, read_state, write_atomically

FILE = os.path.join(".dci", "state", "reliability.v1.json")
SCHEMA_VERSION = "1"
WINDOW = 20
HistoryState = Literal["persistent", "ephemeral"]


class History(NamedTuple):
    """Success rates by candidate id."""

    rates: Mapping[str, float]
    samples: Mapping[str, int]
    state: HistoryState = "persistent"
    """`ephemeral` when outcomes cannot be kept."""
    warning: str = ""


class Reliability:
    """The record of one workspace. A file that makes no sense is never overwritten."""

    def __init__(self, workspace: str, now: Callable[[], datetime] | None = None) -> None:
        self.path = os.path.join(workspace, FILE)
        self._now = now or (lambda: datetime.now(UTC))
        self._unsaved: dict[str, list[int]] = {}
        state = os.path.dirname(self.path)
        self._folders = (state, os.path.dirname(state), workspace)
        """Where the record is to lie; the first of them that exists must be writable."""

    def history(self) -> History:
        """What is known; never raises."""
        stored, warning = self._read()
        if warning:
            return self._of(self._unsaved, "ephemeral", warning)
        outcomes = {key: value["outcomes_last_20"] for key, value in stored.items()}
        for key, more in self._unsaved.items():
            outcomes[key] = [*outcomes.get(key, []), *more][-WINDOW:]
        if self._unsaved or not self._can_write():
            return self._of(outcomes, "ephemeral", "outcomes cannot be kept: " + self.path)
        return self._of(outcomes, "persistent", "")

    def record(self, candidate: str, *, success: bool) -> History:
        """Add one outcome; it lives in this object alone when it cannot be kept."""
        unsaved = [*self._unsaved.get(candidate, []), int(success)]
        self._unsaved[candidate] = unsaved[-WINDOW:]
        try:
            make_state_folder(os.path.dirname(self.path))
            with locked(f"{self.path}.lock"):
                stored, warning = self._read()
                if not warning:
                    self._write(stored)
                    self._unsaved.clear()
        except OSError:
            pass
        return self.history()

    def _write(self, stored: dict[str, Any]) -> None:
        """Write what is stored together with what is not yet."""
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
        write_atomically(self.path, f"{text}\n".encode())

    def _read(self) -> tuple[dict[str, Any], str]:
        """What is stored, and what is wrong with it."""
        try:
            os.stat(self.path)
            data = json.loads(read_state(self.path))
        except FileNotFoundError:
            return {}, ""
        except (OSError, ValueError, RecursionError) as error:
            return {}, f"{self.path} cannot be read: {error}"
        if not _is_valid(data):
            return {}, f"{self.path} is not a reliability file of version {SCHEMA_VERSION}"
        return data["candidates"], ""

    def _can_write(self) -> bool:
        there = next((one for one in self._folders if os.access(one, os.F_OK)), "")
        return os.access(there, os.W_OK)

    @staticmethod
    def _of(outcomes: Mapping[str, list[int]], state: HistoryState, warning: str) -> History:
        used = {key: value for key, value in outcomes.items() if value}
        return History(
            {key: sum(value) / len(value) for key, value in used.items()},
            {key: len(value) for key, value in used.items()},
            state,
            warning,
        )


def _is_valid(data: Any) -> bool:
    if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
        return False
    candidates = data.get("candidates")
    if not isinstance(candidates, dict):
        return False
    return all(
        isinstance(one, dict)
        and isinstance(one.get("outcomes_last_20"), list)
        and len(one["outcomes_last_20"]) <= WINDOW
        and all(type(outcome) is int and outcome in (0, 1) for outcome in one["outcomes_last_20"])
        for one in candidates.values()
    )
