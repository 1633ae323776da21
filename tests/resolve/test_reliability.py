"""The history of candidates: a window of 20, kept in one file that nobody loses or breaks."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.errors import UsageError
from metier.resolve.reliability import FILE, WINDOW, History, Reliability

pytestmark = pytest.mark.slow

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
ONE, TWO = "one::skills/one", "two::skills/two"
MOMENT = datetime(2026, 3, 4, 5, 6, 7, 891_011, tzinfo=UTC)
SHIPPED = Path(__file__).parents[2] / "src/metier/schemas/reliability.v1.schema.json"
MOMENT_TEXT = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["schema_version", "updated_at", "candidates"],
    "additionalProperties": False,
    "properties": {
        "schema_version": {"const": "1"},
        "updated_at": {"type": "string", "pattern": MOMENT_TEXT},
        "candidates": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": [
                    "outcomes_last_20",
                    "success_rate_last_20",
                    "sample_size",
                    "last_used_at",
                ],
                "additionalProperties": False,
                "properties": {
                    "outcomes_last_20": {
                        "type": "array",
                        "items": {"type": "integer", "enum": [0, 1]},
                        "maxItems": 20,
                    },
                    "success_rate_last_20": {"type": "number", "minimum": 0, "maximum": 1},
                    "sample_size": {"type": "integer", "minimum": 0, "maximum": 20},
                    "last_used_at": {"type": "string", "pattern": MOMENT_TEXT},
                },
            },
        },
    },
}
"""The shape of decision 23."""


def clock() -> Callable[[], datetime]:
    """A second later at each call."""
    moments = iter(MOMENT + timedelta(seconds=number) for number in range(1_000))
    return lambda: next(moments)


def record_of(folder: Path) -> Reliability:
    return Reliability(str(folder), clock())


def stored(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((folder / FILE).read_text())
    return data


def write(folder: Path, content: str | bytes) -> Path:
    file = folder / FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return file


def valid(outcomes: list[Any]) -> dict[str, Any]:
    entry = {"outcomes_last_20": outcomes, "success_rate_last_20": 1.0}
    return {"schema_version": "1", "candidates": {ONE: {**entry, "sample_size": len(outcomes)}}}


# The window


@pytest.mark.invariant(id="DCI-REL-001")
@given(st.lists(st.booleans(), max_size=45))
def test_the_rate_is_the_share_of_successes_among_the_last_20(outcomes: list[bool]) -> None:
    record = Reliability("/dev/null/nowhere")  # in memory: the rule is the same
    for outcome in outcomes:
        record.record(ONE, success=outcome)
    assert_window(record.history(), outcomes)


@pytest.mark.invariant(id="DCI-REL-001")
@pytest.mark.parametrize(
    "outcomes",
    [[True], [False], [True] * 20, [True] * 5 + [False] * 20, [False] * 20 + [True], [True] * 45],
)
def test_a_kept_window_holds_the_last_20(outcomes: list[bool], tmp_path: Path) -> None:
    record = record_of(tmp_path)
    for outcome in outcomes:
        found = record.record(ONE, success=outcome)
    assert found.state == "persistent"
    assert found == record_of(tmp_path).history()
    assert_window(found, outcomes)
    last = [int(one) for one in outcomes[-20:]]
    entry = stored(tmp_path)["candidates"][ONE]
    assert entry["outcomes_last_20"] == last
    assert entry["sample_size"] == len(last)
    assert entry["success_rate_last_20"] == sum(last) / len(last)


def assert_window(history: History, outcomes: list[bool]) -> None:
    last = outcomes[-20:]
    assert history.samples == ({ONE: len(last)} if last else {})
    assert history.rates == ({ONE: sum(last) / len(last)} if last else {})


def test_candidates_are_counted_apart(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.record(ONE, success=True)
    record.record(TWO, success=False)
    found = record.record(TWO, success=True)
    assert found.rates == {ONE: 1.0, TWO: 0.5}
    assert found.samples == {ONE: 1, TWO: 2}


# The file


@pytest.mark.invariant(id="DCI-REL-003")
@pytest.mark.invariant(id="DCI-REL-004")
@pytest.mark.invariant(id="DCI-REL-007")
def test_the_file_has_the_agreed_place_and_shape(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    record.record(ONE, success=True)
    record.record("zwölf::skills/ü", success=False)
    data = stored(tmp_path)
    assert (tmp_path / ".dci" / "state" / "reliability.v1.json").is_file()
    jsonschema.validate(data, SCHEMA)
    if SHIPPED.exists():
        jsonschema.validate(data, json.loads(SHIPPED.read_text()))
    assert data["updated_at"] == "2026-03-04T05:06:08+00:00"
    assert data["candidates"][ONE]["last_used_at"] == "2026-03-04T05:06:07+00:00"
    assert [*data["candidates"]] == [ONE, "zwölf::skills/ü"]
    assert WINDOW == 20


def test_reading_writes_nothing(tmp_path: Path) -> None:
    found = record_of(tmp_path).history()
    assert found == History({}, {}, "persistent", "")
    assert list(tmp_path.iterdir()) == []


def test_nothing_but_the_file_and_its_lock_is_left_and_git_sees_neither(tmp_path: Path) -> None:
    record_of(tmp_path).record(ONE, success=True)
    names = sorted(one.name for one in (tmp_path / ".dci" / "state").iterdir())
    assert names == [".gitignore", "reliability.v1.json", "reliability.v1.json.lock"]
    assert (tmp_path / ".dci/state/.gitignore").read_text() == "*\n"  # no repository gets it


@pytest.mark.invariant(id="DCI-REL-004")
@pytest.mark.invariant(id="DCI-REL-005")
def test_a_catalog_keeps_its_history_at_the_root_and_not_at_the_skill(
    workspace: Workspace,
) -> None:
    folder = workspace.skill("one").parent
    workspace.trust()
    with Catalog.open(folder, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        catalog.record_outcome("one", success=False)
    assert [*stored(workspace.root)["candidates"]] == [ONE]
    assert [one.name for one in folder.iterdir()] == ["SKILL.md"]
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        report = catalog.resolve(["a"]).report.data
    row = report["candidates"][0]
    assert (row["history_multiplier"], row["sample_size"]) == (0.7, 1)
    assert report["history_state"] == "persistent"


@pytest.mark.parametrize("success", [7, 1, "yes", None])
def test_an_outcome_that_is_not_true_or_false_is_rejected_and_nothing_is_written(
    workspace: Workspace, success: Any
) -> None:
    workspace.skill("one")
    workspace.trust()
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        with pytest.raises(UsageError, match="'success' must be True or False, not"):
            catalog.record_outcome("one", success=success)
    assert not (workspace.root / ".dci").exists()


# Several processes

RECORD_25 = """
import sys
from metier.resolve.reliability import Reliability
record = Reliability(sys.argv[1])
for number in range(25):
    state = record.record(f"{sys.argv[2]}-{number}::skills/x", success=True).state
    assert state == "persistent", state
    record.record("shared::skills/x", success=number % 2 == 0)
"""


@pytest.mark.invariant(id="DCI-REL-003")
def test_eight_processes_that_record_at_once_lose_nothing(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", RECORD_25, str(tmp_path)]
    running = [subprocess.Popen([*argv, f"p{number}"]) for number in range(8)]
    try:
        assert [one.wait(60) for one in running] == [0] * 8
    finally:
        for one in running:
            one.kill()
            one.wait()
    data = stored(tmp_path)
    jsonschema.validate(data, SCHEMA)
    expected = {f"p{one}-{number}::skills/x" for one in range(8) for number in range(25)}
    assert data["candidates"].keys() == {*expected, "shared::skills/x"}
    assert data["candidates"]["shared::skills/x"]["sample_size"] == 20


def test_an_outcome_that_another_process_adds_is_seen(tmp_path: Path) -> None:
    first, second = record_of(tmp_path), record_of(tmp_path)
    first.record(ONE, success=True)
    second.record(ONE, success=False)
    assert first.history().samples == {ONE: 2}
    assert first.record(ONE, success=False).rates == {ONE: pytest.approx(1 / 3)}


# Files that make no sense

CORRUPT: dict[str, str | bytes] = {
    "empty": "",
    "not JSON": "{",
    "not UTF-8": b'{"schema_version": "1", "candidates": {"\xff": {}}}',
    "too deep": "[" * 100_000,
    "a list": "[]",
    "other version": json.dumps({**valid([1]), "schema_version": "2"}),
    "number as version": json.dumps({**valid([1]), "schema_version": 1}),
    "no candidates": json.dumps({"schema_version": "1"}),
    "list of candidates": json.dumps({"schema_version": "1", "candidates": []}),
    "entry is a list": json.dumps({"schema_version": "1", "candidates": {ONE: []}}),
    "no outcomes": json.dumps({"schema_version": "1", "candidates": {ONE: {}}}),
    "outcomes are no list": json.dumps(valid([1])).replace("[1]", '"1"'),
    "other outcome": json.dumps(valid([2])),
    "text outcome": json.dumps(valid(["1"])),
    "no outcome": json.dumps(valid([None])),
    "21 outcomes": json.dumps(valid([1] * 21)),
}


@pytest.mark.invariant(id="DCI-REL-006")
@pytest.mark.invariant(id="DCI-REL-007")
@pytest.mark.parametrize("content", CORRUPT.values(), ids=CORRUPT.keys())
def test_a_corrupt_file_is_never_overwritten_and_the_run_is_ephemeral(
    content: str | bytes, tmp_path: Path
) -> None:
    file = write(tmp_path, content)
    before = file.read_bytes()
    record = record_of(tmp_path)
    assert record.history().state == "ephemeral"
    record.record(ONE, success=True)
    found = record.record(ONE, success=False)
    assert (found.rates, found.samples, found.state) == ({ONE: 0.5}, {ONE: 2}, "ephemeral")
    assert FILE in found.warning
    assert file.read_bytes() == before
    assert record_of(tmp_path).history().rates == {}


def test_a_folder_in_the_place_of_the_file_is_ephemeral_too(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir(parents=True)
    found = record_of(tmp_path).record(ONE, success=True)
    assert (found.rates, found.state) == ({ONE: 1.0}, "ephemeral")
    assert (tmp_path / FILE).is_dir()


def test_a_valid_file_that_others_wrote_is_read_by_its_outcomes(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(valid([1, 0, 0, 0])))
    found = record_of(tmp_path).history()
    assert (found.rates, found.samples, found.state) == ({ONE: 0.25}, {ONE: 4}, "persistent")


def test_an_entry_without_outcomes_counts_as_no_record(tmp_path: Path) -> None:
    write(tmp_path, json.dumps(valid([])))
    found = record_of(tmp_path).history()
    assert (found.rates, found.samples, found.state) == ({}, {}, "persistent")


# Places that cannot be written


@pytest.mark.invariant(id="DCI-REL-006")
@pytest.mark.parametrize("blocked", [".dci", ".dci/state"])
def test_outcomes_live_in_memory_where_a_file_stands_in_the_way(
    blocked: str, tmp_path: Path
) -> None:
    (tmp_path / blocked).parent.mkdir(exist_ok=True)
    (tmp_path / blocked).write_text("")
    record = record_of(tmp_path)
    found = record.record(ONE, success=True)
    assert (found.rates, found.state) == ({ONE: 1.0}, "ephemeral")
    assert record.path in found.warning
    assert record_of(tmp_path).history().rates == {}
    assert record_of(tmp_path).history().state == "ephemeral"


def test_outcomes_in_memory_come_after_those_that_others_could_keep(tmp_path: Path) -> None:
    (tmp_path / ".dci").write_text("")
    record = record_of(tmp_path)
    record.record(ONE, success=False)
    (tmp_path / ".dci").unlink()
    for _ in range(20):
        record_of(tmp_path).record(ONE, success=True)
    found = record.history()
    assert (found.rates, found.samples, found.state) == ({ONE: 0.95}, {ONE: 20}, "ephemeral")


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere")
@pytest.mark.invariant(id="DCI-REL-006")
def test_outcomes_live_in_memory_in_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        record = record_of(tmp_path)
        assert record.history().state == "ephemeral"
        found = record.record(ONE, success=True)
        assert (found.rates, found.state) == ({ONE: 1.0}, "ephemeral")
    finally:
        tmp_path.chmod(0o700)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.invariant(id="DCI-REL-006")
def test_the_report_tells_that_the_history_is_ephemeral(workspace: Workspace) -> None:
    workspace.skill("one")
    write(workspace.root, "{")
    workspace.trust()
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        assert catalog.record_outcome("one", success=False).rates == {ONE: 0.0}
        report = catalog.resolve(["a"]).report.data
    assert report["history_state"] == "ephemeral"
    assert report["candidates"][0]["history_multiplier"] == 0.7
    assert any(FILE in one for one in report["diagnostics"]["warnings"])


@pytest.mark.invariant(id="DCI-REL-006")
def test_the_history_that_an_untrusted_workspace_brings_along_does_not_count(
    workspace: Workspace,
) -> None:
    workspace.skill("one")
    file = write(workspace.root, json.dumps(valid([1, 1, 1])))
    before = file.read_bytes()
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        assert catalog.record_outcome("one", success=False).rates == {ONE: 0.0}
        report = catalog.resolve(["a"]).report.data
    assert report["history_state"] == "ephemeral"
    assert report["candidates"][0]["sample_size"] == 1
    assert file.read_bytes() == before
    assert [one.name for one in file.parent.iterdir()] == [file.name]
