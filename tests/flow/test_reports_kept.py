"""Which stored reports are deleted when there are too many."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.flow.reports import BEFORE_CLIENT, MOST_REPORTS, ReportFiles, surplus
from metier.storage.room import Room

CLIENTS = st.lists(st.sampled_from(["", "-aaaaaaaa", "-bbbbbbbb", "-cccccccc"]), max_size=40)


def ids_of(clients: list[str]) -> list[str]:
    """Ids of reports, oldest first, which these clients asked for."""
    return [f"20260131T120000.{number:06}-9f3a{one}" for number, one in enumerate(clients)]


@given(CLIENTS, st.integers(4, 20))
def test_the_newest_report_of_every_client_stays(clients: list[str], most: int) -> None:
    ids = ids_of(clients)
    kept = set(ids) - set(surplus(ids, most))
    newest = {one[BEFORE_CLIENT:]: one for one in ids}
    assert len(kept) == min(most, len(ids))
    assert set(newest.values()) <= kept


@given(CLIENTS, st.integers(0, 20))
def test_of_one_client_only_the_oldest_go(clients: list[str], most: int) -> None:
    ids = ids_of(clients)
    gone = surplus(ids, most)
    for client in set(clients):
        own = [one for one in ids if one[BEFORE_CLIENT:] == client]
        count = sum(one in gone for one in own)
        assert set(own[:count]) == set(own) & set(gone)


def test_a_burst_of_one_client_deletes_reports_of_its_own(tmp_path: Path) -> None:
    reports = ReportFiles(Room(str(tmp_path)))
    for one in ids_of(["", "-aaaaaaaa", *["-bbbbbbbb"] * (MOST_REPORTS + 5)]):
        reports.save(one, "{}")
    reports.prune()
    assert len(reports.ids()) == MOST_REPORTS
    assert reports.ids()[:2] == ids_of(["", "-aaaaaaaa"])


def test_a_report_that_another_process_deletes_first_is_no_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports = ReportFiles(Room(str(tmp_path)))
    ids = ids_of([""] * (MOST_REPORTS + 1))
    for one in ids:
        reports.save(one, "{}")
    monkeypatch.setattr(reports, "ids", lambda: ids)
    os.unlink(reports.where(ids[0]))
    reports.prune()
