"""Reports, outcomes and decisions in PostgreSQL behave as in files."""

import json
from contextlib import closing
from typing import Any

import pytest

from conftest import Workspace
from flow.decisions import decision, injecting, text_of, verdict
from metier.catalog import Catalog
from metier.config import Config
from metier.config.database_url import DatabaseUrl
from metier.errors import InvalidDocumentError, NotFoundError, StoreError
from metier.flow.hook_log import decisions_of
from metier.flow.reports import Reports
from metier.flow.shared import SharedState
from metier.flow.shipping import FILE, ship_decisions, ship_from
from metier.flow.state_settings import StateSettings
from metier.resolve.reliability import WINDOW
from metier.storage.hook_files import DECISIONS, OLDER_DECISIONS
from metier.storage.places import state_room
from metier.storage.postgres import Postgres
from metier.storage.room import Room
from metier.values.resolution import Report
from shared_states import UNREACHABLE, another, rows, shared

pytestmark = pytest.mark.slow

__all__ = ["shared"]


@pytest.fixture
def report(workspace: Workspace) -> Report:
    """A report as a resolution makes it."""
    workspace.skill("alpha", extra="capabilities: [one]")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return catalog.resolve(["one"]).report


@pytest.fixture
def away() -> SharedState:
    return SharedState(StateSettings(UNREACHABLE, "team"))


def numbered(report: Report, number: int) -> Report:
    return Report({**report, "run_id": f"20260101T000000.{number:06}-0000"})


# Reports


def test_a_report_is_read_on_another_machine(shared: SharedState, report: Report) -> None:
    assert Reports(shared.reports).keep(report)
    with closing(another(shared)) as there:
        reports = Reports(there.reports)
        assert reports.ids() == [report.id]
        assert reports.find("last") == reports.find(report.id[:20]) == report
        assert [one["run_id"] for one in reports.summaries()] == [report.id]  # type: ignore[index]  # no error


def test_a_namespace_does_not_see_the_reports_of_another(
    shared: SharedState, report: Report
) -> None:
    Reports(shared.reports).keep(report)
    with closing(SharedState(shared.settings._replace(namespace="test-other"))) as other:
        assert Reports(other.reports).ids() == []
        with pytest.raises(NotFoundError):
            Reports(other.reports).read(report.id)


def test_a_report_that_waits_is_decided_once(shared: SharedState, report: Report) -> None:
    waiting = Report(report)
    waiting["on_missing_required_action"] = {
        **report["on_missing_required_action"],
        "outcome": "pending-decision",
    }
    reports = Reports(shared.reports)
    reports.keep(waiting)
    assert reports.decide(report.id, "abort").outcome == "aborted"
    assert reports.read(report.id).outcome == "aborted"


def test_only_the_newest_reports_are_kept(
    shared: SharedState, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.flow.shared_reports.MOST_REPORTS", 2)
    reports = Reports(shared.reports)
    for number in range(4):
        reports.keep(numbered(report, number))
    assert reports.ids() == [numbered(report, number).id for number in (2, 3)]


def test_a_burst_of_one_client_displaces_no_report_of_another(
    shared: SharedState, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.flow.shared_reports.MOST_REPORTS", 3)
    reports, ids = Reports(shared.reports), []
    for number, client in enumerate(("aaaaaaaa", "bbbbbbbb", *["cccccccc"] * 4)):
        one = numbered(report, number).for_client(client)
        reports.keep(one)
        ids.append(one.id)
    assert reports.ids() == [ids[0], ids[1], ids[-1]]


def test_a_report_with_any_character_can_be_kept(shared: SharedState, report: Report) -> None:
    odd = Report({**report, "query": "nul \0, lone \ud800, ä"})
    reports = Reports(shared.reports)
    assert reports.keep(odd)
    assert reports.ids() == [report.id]


def test_a_damaged_report_is_one_clear_error(
    shared: SharedState, report: Report, postgres: str
) -> None:
    reports = Reports(shared.reports)
    reports.keep(report)
    damage = "UPDATE metier.report SET data = '{' WHERE namespace = %s RETURNING 1"
    rows(postgres, damage, shared.namespace)
    with pytest.raises(InvalidDocumentError, match="cannot be read"):
        reports.read(report.id)
    assert [type(one) for one in reports.summaries()] == [InvalidDocumentError]


@pytest.mark.parametrize("wanted", ["x", "", "a\0b", "' OR 1=1"])
def test_an_unknown_report_is_not_found(shared: SharedState, wanted: str) -> None:
    with pytest.raises(NotFoundError):
        Reports(shared.reports).read(wanted)


def test_without_the_server_a_report_is_not_kept_and_reading_is_an_error(
    away: SharedState, report: Report
) -> None:
    assert Reports(away.reports).keep(report) == ""
    with pytest.raises(StoreError) as raised:
        Reports(away.reports).ids()
    assert raised.value.code == "STORE_UNREACHABLE"


# Outcomes


def test_outcomes_are_shared(shared: SharedState) -> None:
    shared.outcomes.record("a::skills/a", success=True)
    with closing(another(shared)) as there:
        history = there.outcomes.record("a::skills/a", success=False)
    assert history.state == "persistent"
    assert history.rates == {"a::skills/a": 0.5}
    assert shared.outcomes.history() == history


def test_only_the_last_outcomes_count_and_are_kept(shared: SharedState, postgres: str) -> None:
    for number in range(WINDOW + 5):
        shared.outcomes.record("a", success=number >= 5)
    assert shared.outcomes.history().rates == {"a": 1.0}
    count = "SELECT count(*) FROM metier.outcome WHERE namespace = %s"
    assert rows(postgres, count, shared.namespace) == [(WINDOW,)]


def test_an_outcome_whose_commit_was_not_confirmed_counts_once(
    shared: SharedState, monkeypatch: pytest.MonkeyPatch
) -> None:
    call, calls = Postgres.call, iter([True])

    def lost(self: Postgres, job: Any, **more: Any) -> Any:
        """The first reply of the server is lost after the commit."""
        result = call(self, job, **more)
        return call(self, job, **more) if next(calls, False) else result

    monkeypatch.setattr(Postgres, "call", lost)
    assert shared.outcomes.record("a", success=True).samples == {"a": 1}


def test_without_the_server_outcomes_are_ephemeral(away: SharedState) -> None:
    history = away.outcomes.record("a", success=True)
    assert (history.state, history.rates) == ("ephemeral", {"a": 1.0})
    assert "cannot be reached" in history.warning
    assert away.outcomes.history().state == "ephemeral"


def test_the_history_of_a_trusted_workspace_is_the_shared_one(
    workspace: Workspace, postgres: str, shared: SharedState
) -> None:
    workspace.skill("alpha", extra="capabilities: [one]")
    lines = f'[state]\nurl = "{postgres}"\nnamespace = "{shared.namespace}"\n'
    workspace.write("metier.toml", lines)
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        catalog.record_outcome("alpha", success=True)
        resolution = catalog.resolve(["one"])
        catalog.keep_report(resolution)
    assert shared.outcomes.history().samples == {"alpha::skills/alpha": 1}
    assert shared.reports.ids() == [resolution.report.id]
    assert not (workspace.root / ".dci").exists()


# Decisions


@pytest.fixture
def room(workspace: Workspace) -> Room:
    found = state_room(str(workspace.root))
    found.make()
    return found


def write_log(room: Room, *lines: Any, name: str = DECISIONS) -> None:
    room.write(name, text_of(lines))


def append(room: Room, *lines: Any) -> None:
    write_log(room, *_lines(room), *lines)


def _lines(room: Room) -> list[Any]:
    return [json.loads(line) for line in room.read(DECISIONS).splitlines()]


def stored(state: SharedState) -> list[str]:
    return [one.id for one in decisions_of(state.decisions.lines)]


def ids(*numbers: int) -> list[str]:
    return [decision(number)["id"] for number in numbers]


def test_each_decision_is_sent_once(shared: SharedState, room: Room) -> None:
    write_log(room, decision(1), injecting(2))
    assert ship_decisions(shared, room) == 2
    assert ship_decisions(shared, room) == 0
    append(room, decision(3))
    assert ship_decisions(shared, room) == 1
    assert stored(shared) == ids(1, 2, 3)


def test_sending_again_stores_nothing_twice(shared: SharedState, room: Room) -> None:
    write_log(room, decision(1), decision(2))
    ship_decisions(shared, room)
    room.remove(FILE)
    assert ship_decisions(shared, room) == 0
    assert stored(shared) == ids(1, 2)


def test_the_log_may_rotate_between_two_sendings(shared: SharedState, room: Room) -> None:
    write_log(room, decision(1), decision(2))
    ship_decisions(shared, room)
    write_log(room, decision(1), decision(2), decision(3), name=OLDER_DECISIONS)
    write_log(room, decision(4))
    assert ship_decisions(shared, room) == 2
    assert stored(shared) == ids(1, 2, 3, 4)


def test_a_line_that_is_being_written_waits(shared: SharedState, room: Room) -> None:
    whole = text_of([decision(1), decision(2)])
    room.write(DECISIONS, whole[:-20])
    assert ship_decisions(shared, room) == 1
    room.write(DECISIONS, whole)
    assert ship_decisions(shared, room) == 1


def test_lines_that_cannot_be_stored_do_not_stop_the_others(
    shared: SharedState, room: Room
) -> None:
    odd = decision(2, id="a\0b"), decision(3, id="\ud800")
    room.write(DECISIONS, text_of([decision(1)]) + b"nonsense\n\xff\n" + text_of([*odd]))
    append_raw = room.read(DECISIONS) + text_of([decision(4)])
    room.write(DECISIONS, append_raw)
    assert ship_decisions(shared, room) == 2
    assert stored(shared) == ids(1, 4)


def test_another_namespace_gets_the_whole_log(shared: SharedState, room: Room) -> None:
    write_log(room, decision(1))
    ship_decisions(shared, room)
    with closing(SharedState(shared.settings._replace(namespace=f"{shared.namespace}-b"))) as other:
        assert ship_decisions(other, room) == 1


def test_verdicts_are_shared_and_the_last_counts(shared: SharedState, room: Room) -> None:
    first, second = verdict(1, right=False), {**verdict(1, right=True), "at": 2e9}
    write_log(room, decision(1), second, first)
    ship_decisions(shared, room)
    assert decisions_of(shared.decisions.lines).labels == {ids(1)[0]: True}


def test_many_decisions_are_read_in_order(shared: SharedState, room: Room) -> None:
    write_log(room, *(decision(number) for number in range(2_500)))
    assert ship_decisions(shared, room) == 2_500
    assert stored(shared) == ids(*range(2_500))


def test_a_failure_to_send_is_silent_and_keeps_everything_for_later(
    away: SharedState, shared: SharedState, room: Room
) -> None:
    write_log(room, decision(1))
    assert ship_decisions(away, room) == 0
    assert ship_decisions(shared, room) == 1


@pytest.mark.parametrize("was_sent", [True, False])
def test_nothing_is_connected_when_there_is_nothing_to_send(
    shared: SharedState, room: Room, monkeypatch: pytest.MonkeyPatch, was_sent: bool
) -> None:
    if was_sent:
        write_log(room, decision(1))
        ship_decisions(shared, room)
    config = Config(
        state_url=DatabaseUrl(shared.settings.conninfo), state_namespace=shared.namespace
    )

    def connect(*_: object, **__: object) -> None:
        raise ConnectedError

    monkeypatch.setattr("psycopg.connect", connect)
    assert ship_from(config, "", room) == 0
    write_log(room, decision(1), decision(2))
    with pytest.raises(ConnectedError):
        ship_from(config, "", room)


class ConnectedError(Exception):
    pass
