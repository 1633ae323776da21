"""Copy the state of a workspace from this machine to PostgreSQL, counted and verified."""

import time
from collections.abc import Sequence
from contextlib import closing
from typing import NamedTuple

from metier.errors import StoreError
from metier.flow.hook_log import DecisionRow, decision_rows
from metier.flow.local_state import Counts, LocalState
from metier.flow.shared import SharedState
from metier.run.copying import CopiedRuns, copy_runs, run_digest

_AT_ONCE = 500


class StateCopy(NamedTuple):
    """The result of a copy."""

    found: Counts
    """What is on this machine."""
    copied: Counts
    """What was not yet in the shared state, and is now."""
    newer: int
    """Runs that went on in the shared state, and were left as they are there."""


def copy_state(local: LocalState, shared: SharedState) -> StateCopy:
    """Copy what is new, and compare. Raises `UsageError` while a run is running, `StoreError`.

    What was copied before is not copied again; nothing is deleted here.
    """
    local.check_idle()
    found = local.counts()
    runs = copy_runs(local.runs, shared.database, shared.namespace)
    copied = Counts(
        len(runs.new),
        runs.steps,
        runs.checkpoints,
        _copy_reports(local, shared),
        _copy_outcomes(local, shared),
        _copy_decisions(local, shared),
    )
    _verify_runs(local, shared, runs)
    return StateCopy(found, copied, len(runs.newer))


def _copy_reports(local: LocalState, shared: SharedState) -> int:
    texts = {report_id: local.reports.read(report_id) for report_id in local.reports.ids()}
    new = [key for key, text in texts.items() if shared.reports.add(key, text)]
    for key in new:
        _check_same(f"report '{key}'", shared.reports.read(key) == texts[key])
    return len(new)


def _copy_outcomes(local: LocalState, shared: SharedState) -> int:
    outcomes = local.outcomes()
    new = shared.outcomes.add_missing(outcomes)
    there = shared.outcomes.read()
    for key in new:
        _check_same(f"the history of '{key}'", there.get(key) == list(outcomes[key]))
    return sum(len(outcomes[key]) for key in new)


def _copy_decisions(local: LocalState, shared: SharedState) -> int:
    rows, new = list(decision_rows(local.room)), 0
    for start in range(0, len(rows), _AT_ONCE):
        some = rows[start : start + _AT_ONCE]
        new += shared.decisions.add(some)
        _verify_decisions(some, shared)
    return new


def _verify_decisions(rows: Sequence[DecisionRow], shared: SharedState) -> None:
    found = shared.decisions.found([row.id for row in rows])
    for row in rows:
        _check_same(f"decision '{row.id}'", found.get(row.id) == row.line)


def _verify_runs(local: LocalState, shared: SharedState, runs: CopiedRuns) -> None:
    """Compare the digests of runs on both sides; checkpoints of old ones may have expired."""
    now, is_new = time.time(), dict.fromkeys(runs.new, True) | dict.fromkeys(runs.known, False)
    with closing(shared.runs()) as store:
        for run_id, whole in is_new.items():
            here = run_digest(local.runs, run_id, now, checkpoints=whole)
            there = run_digest(store, run_id, now, checkpoints=whole)
            _check_same(f"run '{run_id}'", here == there)


def _check_same(what: str, is_same: bool) -> None:
    if not is_same:
        raise StoreError(
            f"{what} is not the same in the shared state",
            code="STATE_COPY_DIFFERS",
            hint="nothing was deleted here; copy again, or report it with metier doctor --json",
        )
