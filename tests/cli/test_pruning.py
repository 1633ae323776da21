"""`metier runs rm` and `metier state prune`: what goes, what stays, on both stores."""

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.printed import write_log
from cli.run_workspace import SETTINGS, Agents, agents, delegate, eventually, follows, prompt, tool
from cli.typed import answered
from conftest import Workspace, state_of
from flow.decisions import decision, verdict
from metier.catalog import Catalog
from metier.flow.hook_log import read_decisions
from metier.flow.prune_times import announce, is_announced
from metier.flow.pruning import Pruned, Pruning, prune_daily
from metier.flow.usage_kept import stored_sessions
from shared_states import new_namespace

pytestmark = pytest.mark.slow

__all__ = ["agents"]

DAY = 86_400.0


@pytest.fixture(params=["sqlite", "postgres"])
def kept(agents: Agents, request: pytest.FixtureRequest) -> Agents:
    """A workspace with a run that delegated, one that failed and a report."""
    if request.param == "postgres":
        url = request.getfixturevalue("postgres")
        text = f'{SETTINGS}\n[state]\nurl = "{url}"\nnamespace = "{new_namespace()}"\n'
        agents.write("metier.toml", text)
    agents.agent("leaf", tool("work"), prompt("say"))
    agents.agent("lead", delegate("ask", "leaf"))
    agents.agent("bad", tool("work"), tool("no", "fail"))
    for name in ("lead", "bad"):
        agents.metier("run", name, "x")
    agents.metier("resolve", "-r", "web")
    return agents


def pruned(agents: Agents, days: float, *, resumable: bool = False, dry: bool = False) -> Pruned:
    """What is pruned after so many days."""
    with Catalog.open(agents.root) as catalog:
        pruning = Pruning(catalog, time.time() + days * DAY)
        return (pruning.found if dry else pruning.remove)(resumable=resumable)


def states(agents: Agents) -> list[str]:
    return sorted(run["agentId"] for run in agents.runs("list", "--all"))


# runs rm


def test_rm_removes_a_run_and_what_it_delegated(kept: Agents) -> None:
    lead = next(run["runId"] for run in kept.runs("list") if run["agentId"] == "lead")
    finished = kept.metier("runs", "rm", lead, "--yes")
    assert (finished.returncode, finished.stdout) == (
        0, "removed 1 run and 1 delegated run\n",
    )  # fmt: skip
    assert states(kept) == ["bad"]


def test_rm_takes_several_runs_and_tells_json(kept: Agents) -> None:
    ids = [run["runId"] for run in kept.runs("list")]
    found = json.loads(kept.metier("runs", "rm", *ids, "--json", "--yes").stdout)
    assert found == {"schemaVersion": "1", "removed": ids, "runs": 3}
    follows("runs-removed", found)
    assert states(kept) == []


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_rm_removes_nothing_unasked_where_nobody_can_be_asked(
    kept: Agents, more: tuple[str, ...]
) -> None:
    before = states(kept)
    refused = kept.metier("runs", "rm", "last", *more)
    assert refused.returncode == 2
    assert "--yes removes them without asking" in refused.stdout + refused.stderr
    assert states(kept) == before


def test_rm_refuses_a_delegated_run_and_names_the_other(agents: Agents) -> None:
    agents.agent("leaf", tool("work"))
    agents.agent("lead", delegate("ask", "leaf"))
    agents.metier("run", "lead", "x")
    leaf = next(run for run in agents.runs("list", "--all") if run["parentRunId"])
    refused = agents.metier("runs", "rm", leaf["runId"])
    assert refused.returncode == 2
    assert f"metier runs rm {leaf['parentRunId']}" in refused.stderr
    assert agents.metier("runs", "rm", "unknown").returncode == 2


def test_rm_refuses_a_running_run(agents: Agents) -> None:
    agents.agent("holds", tool("wait", "hold"))
    process = agents.started("run", "holds", "x")
    try:
        eventually(lambda: bool(agents.calls()))
        refused = agents.metier("runs", "rm", "last", "--yes")
        assert refused.returncode == 2
        assert "RUN_BUSY" in refused.stderr
    finally:
        agents.release()
        process.communicate(timeout=60)
    assert agents.metier("runs", "rm", "last", "--yes").returncode == 0


@pytest.mark.slow
def test_rm_asks_on_a_terminal(agents: Agents) -> None:
    agents.agent("leaf", tool("work"))
    agents.metier("run", "leaf", "x")
    refused = answered(agents.root, "n\n", "runs", "rm", "last")
    assert (refused.code, refused.questions) == (1, 1)
    assert states(agents) == ["leaf"]
    assert answered(agents.root, "y\n", "runs", "rm", "last").code == 0
    assert states(agents) == []


# state prune


def test_what_is_young_stays(kept: Agents) -> None:
    assert pruned(kept, 29, resumable=True) == Pruned()
    assert states(kept) == ["bad", "lead", "leaf"]


def test_ended_runs_and_reports_go_after_thirty_days_and_resumable_runs_on_request(
    kept: Agents,
) -> None:
    assert pruned(kept, 31, dry=True) == Pruned(runs=1, reports=1)
    assert states(kept) == ["bad", "lead", "leaf"]
    assert pruned(kept, 31) == Pruned(runs=1, reports=1)
    assert states(kept) == ["bad"]
    assert json.loads(kept.metier("reports", "list", "--json").stdout) == []
    assert pruned(kept, 31, resumable=True) == Pruned(runs=1)
    assert states(kept) == []


def test_the_users_settings_say_how_long_and_a_workspace_cannot(
    agents: Agents, empty_home: Path
) -> None:
    agents.agent("leaf", tool("work"))
    agents.metier("run", "leaf", "x")
    assert pruned(agents, 5, dry=True) == Pruned()
    own = empty_home / ".config" / "metier" / "metier.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("[state]\nkeep-days = 3\n")
    assert pruned(agents, 5, dry=True) == Pruned(runs=1)
    agents.write("metier.toml", f"{SETTINGS}\n[state]\nkeep-days = 1\n")
    refused = agents.metier("state", "prune")
    assert refused.returncode == 2
    assert "'state.keep-days' is used only in your own settings" in refused.stderr


def test_old_decisions_go_from_both_files_and_young_ones_stay(workspace: Workspace) -> None:
    now = time.time()
    old = [{**decision(number), "at": now - 40 * DAY} for number in (1, 2)]
    young = [{**decision(number), "at": now - DAY} for number in (3, 4)]
    write_log(workspace.root, old[0], young[0], name="decisions.1.jsonl")
    write_log(workspace.root, old[1], young[1])
    with Catalog.open(workspace.root) as catalog:
        assert Pruning(catalog, now).found().decisions == 2
        assert Pruning(catalog, now).remove().decisions == 2
        assert catalog.room is not None
        assert len(list(read_decisions(catalog.room))) == 2
        write_log(workspace.root, verdict(3, right=True))
        assert Pruning(catalog, now).remove().decisions <= 1


def test_counts_of_sessions_stay_for_a_year(workspace: Workspace) -> None:
    used = {"alpha": [1, 0, 0, time.time()]}
    session = {"host": "codex", "id": "s", "started": 1.0, "last": time.time(), "skills": used}
    file = state_of(workspace.root) / "usage.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": 1, "sessions": [session]}))
    file.chmod(0o600)
    with Catalog.open(workspace.root) as catalog:
        assert catalog.room is not None
        assert len(stored_sessions(catalog.room)) == 1
        assert Pruning(catalog, time.time() + 300 * DAY).remove().sessions == 0
        assert Pruning(catalog, time.time() + 370 * DAY).remove().sessions == 1
        assert stored_sessions(catalog.room) == []


def test_catalogs_of_workspaces_that_are_gone_go_and_their_runs_stay(
    agents: Agents, tmp_path: Path
) -> None:
    agents.agent("leaf", tool("work"))
    agents.metier("refresh")
    agents.metier("run", "leaf", "x")
    state = state_of(agents.root)
    other = Workspace(tmp_path / "other")
    other.write("metier.toml", "")
    shutil.rmtree(agents.root)
    with Catalog.open(other.root) as catalog:
        found = Pruning(catalog).remove()
    assert (found.catalogs, found.bytes > 0) == (1, True)
    assert not (state / "metier.db").exists()
    assert (state / "runs.db").exists()
    with Catalog.open(other.root) as catalog:
        assert Pruning(catalog).found() == Pruned()


def test_prune_says_what_and_how_much(kept: Agents) -> None:
    nothing = kept.metier("state", "prune", "--all")
    assert nothing.stdout == "nothing to remove: nothing is older than 30 days\n"
    found = json.loads(kept.metier("state", "prune", "--dry-run", "--json").stdout)
    assert found == {"schemaVersion": "1", **Pruned()._asdict(), "dryRun": True, "damaged": ""}
    follows("state-pruned", found)


def test_a_damaged_record_of_runs_is_named_and_the_rest_is_pruned(agents: Agents) -> None:
    agents.metier("resolve", "-r", "web")
    state = state_of(agents.root)
    (state / "runs.db").write_bytes(b"not a database" * 99)
    (state / "runs.db").chmod(0o600)
    assert pruned(agents, 31) == Pruned(reports=1)
    write_log(agents.root, {**decision(1), "at": time.time() - 40 * DAY})
    told = agents.metier("state", "prune")
    assert (told.returncode, told.stdout) == (1, "removed: 1 decision\n")
    left = f"error: {state / 'runs.db'} is damaged and was left as it is: metier doctor\n"
    assert told.stderr == left
    found = json.loads(agents.metier("state", "prune", "--json").stdout)
    assert found["damaged"] == str(state / "runs.db")


# Once a day


def test_refresh_announces_it_once_and_removes_from_the_next_day_on(
    kept: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = kept.metier("refresh")
    assert "from tomorrow on, a refresh removes ended runs" in first.stderr
    assert "from tomorrow on" not in kept.metier("refresh").stderr
    clock: Callable[[], float] = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + 40 * DAY)
    assert "removed what is old: 1 run, 1 report" in kept.metier("refresh").stderr
    assert "removed what is old" not in kept.metier("refresh").stderr


def test_nothing_is_removed_within_a_day_of_the_announcement(agents: Agents) -> None:
    agents.agent("leaf", tool("work"))
    agents.metier("run", "leaf", "x")
    later = time.time() + 80 * DAY
    with Catalog.open(agents.root) as catalog:
        assert prune_daily(catalog, later) == Pruned()
        announce(later - DAY / 2)
        assert prune_daily(catalog, later) == Pruned()
        announce(later - DAY - 1)  # its time is stored rounded
        assert prune_daily(catalog, later) == Pruned(runs=1)
        assert prune_daily(catalog, later) == Pruned()


@pytest.mark.parametrize("option", ["--quiet", "--json"])
def test_where_nobody_reads_it_nothing_is_announced(agents: Agents, option: str) -> None:
    assert agents.metier("refresh", option).stderr == ""
    assert not is_announced()
    assert "from tomorrow on" in agents.metier("refresh").stderr
    assert is_announced()
