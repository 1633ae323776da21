"""`metier eval --live`, with a model server on loopback."""

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Finished, looked_at, run_here
from cli.run_workspace import follows
from cli.terminals import at_terminal
from conftest import REPOSITORY, Workspace
from evals.model_server import ModelServer, model_server
from reference import is_writing

pytestmark = pytest.mark.slow

pytest.importorskip("pydantic_ai")

CASES = """\
- task: ring the bell at noon
  skills: [bell]
- task: cook a soup with leeks
  skills: [soup]
- task: how tall is the tower
  nothing: true
"""


def loads(task: str, turn: int) -> dict[str, Any] | str | int:
    """A model that loads `soup` first for bells, then the right skill."""
    wanted = {"ring": ["soup", "bell"], "cook": ["soup"]}.get(task.partition(" ")[0], [])
    if turn < len(wanted):
        return {"tool": "Skill", "args": {"skill": wanted[turn]}}
    return "Done."


class Team(Workspace):
    """A workspace with skills, cases and the address of a model."""

    server: ModelServer

    def metier(self, *arguments: str, **environment: str) -> Finished:
        looked_at(self.root)
        return run_here(self.root, *arguments, **environment)

    def started(self, *arguments: str) -> "subprocess.Popen[str]":
        """An evaluation at work in a process of its own."""
        looked_at(self.root)
        asked = ["eval", "evals.yaml", "--live", "own:m", "--yes", *arguments]
        return subprocess.Popen(
            [sys.executable, "-m", "metier", *asked], cwd=self.root, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    def eval(self, *arguments: str) -> Any:
        """What `metier eval --json` prints."""
        finished = self.metier("eval", *arguments, "--json")
        assert finished.stdout, finished.stderr
        return json.loads(finished.stdout)


@pytest.fixture
def team(workspace: Workspace) -> Iterator[Team]:
    made = Team(workspace.root)
    for name, about in (
        ("bell", "Rings the bell of the tower. Use it to ring a bell."),
        ("soup", "Cooks soup with vegetables. Use it to cook a soup."),
    ):
        made.skill(name, about, folder=f".claude/skills/{name}", body=f"How to {name}.")
    made.write("evals.yaml", CASES)
    with model_server(loads) as server:
        made.server = server
        made.write("metier.toml", f'[models.own]\nbase-url = "{server.url}"\n')
        yield made


def test_a_model_is_asked_and_compared_with_the_answer_without_one(team: Team) -> None:
    found = team.eval("evals.yaml", "--live", "own:m", "--tries", "2", "--yes")
    follows("eval-live", found)
    assert (found["state"], found["host"], found["model"]) == ("succeeded", "claude-code", "own:m")
    bell, soup, rest = found["cases"]
    assert (bell["right"], bell["tries"], bell["loaded"]) == (2, 2, {"soup": 2, "bell": 2})
    assert soup["right"] == 2
    assert rest["loadedNothing"] == 2
    assert found["figures"]["recall"]["value"] == 1.0
    assert found["agreement"]["bothPass"] == 3
    assert len(team.server.begun) == 6
    asked = team.server.requests[0]
    assert "- bell: Rings the bell of the tower." in asked["messages"][0]["content"]
    assert [one["function"]["name"] for one in asked["tools"]] == ["Skill", "Read", "Bash"]


def test_the_result_is_told_in_rows(team: Team) -> None:
    finished = team.metier("eval", "evals.yaml", "--live", "own:m", "--yes")
    assert finished.returncode == 0
    rows = [line.split("\t") for line in finished.stdout.splitlines()]
    assert rows[0][:3] == ["figure", "recall", "1.0000"]
    assert ["case", "evals.yaml#1", "ring the bell at noon", "3", "0", "0", "0", "3", "0",
            "passes", "passes"] in rows  # fmt: skip
    assert "own:m, listed as in claude-code: 3 cases, 9 tries, about 18 requests" in (
        " ".join(finished.stderr.split())
    )
    assert "its price is not known" in " ".join(finished.stderr.split())


def test_without_a_terminal_nothing_is_asked_unless_consent_is_given(team: Team) -> None:
    finished = team.metier("eval", "evals.yaml", "--live", "own:m")
    assert finished.returncode == 2
    assert "needs your consent" in finished.stderr
    assert team.server.requests == []


def test_an_untrusted_workspace_is_refused_as_by_run(team: Team) -> None:
    asked = [("eval", "evals.yaml", "--live", "own:m", "--yes"), ("run", "standard", "hello")]
    evaluated, ran = (run_here(team.root, *arguments) for arguments in asked)
    assert evaluated.returncode == ran.returncode
    why = "needs trust, and you have not given it"
    assert why in evaluated.stderr
    assert why in ran.stderr
    assert team.server.requests == []


def test_errors_of_the_model_are_counted_apart(team: Team) -> None:
    team.server.plan = lambda task, turn: 400 if "soup" in task else loads(task, turn)
    finished = team.metier("eval", "evals.yaml", "--live", "own:m", "--yes", "--json")
    found = json.loads(finished.stdout)
    assert finished.returncode == 1
    follows("eval-live", found)
    assert (found["errors"], found["cases"][1]["errors"]) == (3, 3)
    assert found["figures"]["recall"] == {"value": 1.0, "low": pytest.approx(0.2065, abs=1e-4),
                                          "high": 1.0, "hits": 1.0, "of": 1}  # fmt: skip
    assert "3 tries without an answer, counted as neither hit nor miss" in finished.stderr
    assert f"metier eval --resume {found['runId']}" in finished.stderr
    team.server.plan = loads
    before = len(team.server.begun)
    again = team.eval("--live", "own:m", "--resume", found["runId"])
    assert again["errors"] == 0
    assert team.server.begun[before:] == ["cook a soup with leeks"] * 3


def test_a_finished_evaluation_is_shown_without_asking_again(team: Team) -> None:
    first = team.eval("evals.yaml", "--live", "own:m", "--yes", "--tries", "1")
    before = len(team.server.requests)
    assert team.eval("--resume", "last") == first
    assert len(team.server.requests) == before


def test_a_largest_cost_stops_the_evaluation(team: Team) -> None:
    refused = team.metier("eval", "evals.yaml", "--live", "own:m", "--yes", "--max-cost", "1")
    assert refused.returncode == 2
    assert "[models.own.m]" in refused.stderr
    prices = "m = { input = 1000, output = 0 }\n"
    team.write("metier.toml", f'[models.own]\nbase-url = "{team.server.url}"\n{prices}')
    arguments = ["--live", "own:m", "--yes", "--max-cost", "5", "--concurrency", "1", "--json"]
    finished = team.metier("eval", "evals.yaml", *arguments)
    found = json.loads(finished.stdout)
    assert finished.returncode == 1
    assert found["usage"]["cost"] == pytest.approx(6.0)
    assert len(team.server.requests) == 6
    assert found["unfinished"] == 7
    assert found["errors"] == 0
    assert "stopped: it has cost $6.0000, more than --max-cost" in finished.stderr
    assert f"--resume {found['runId']} --max-cost DOLLARS" in finished.stderr
    assert "it may stop at $5" in finished.stderr
    again = team.eval("--resume", found["runId"], "--max-cost", "100")
    assert (again["state"], again["unfinished"]) == ("succeeded", 0)


@pytest.mark.parametrize("resumes", [("eval", "--resume"), ("runs", "resume")])
def test_a_killed_evaluation_asks_only_what_is_left(team: Team, resumes: tuple[str, str]) -> None:
    team.server.held_from = 6
    process = team.started("--concurrency", "1", "--tries", "2")
    assert team.server.held.wait(60)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    answered = list(team.server.answered)
    assert len(answered) == 2
    team.server.held_from = None
    team.server.released.set()
    before = len(team.server.begun)
    [run] = json.loads(team.metier("runs", "list", "--json").stdout)
    assert run["state"] == "pending"
    assert team.metier(*resumes, run["runId"]).returncode == 0
    assert sorted(answered + team.server.begun[before:]) == sorted(
        ["ring the bell at noon", "cook a soup with leeks", "how tall is the tower"] * 2
    )
    found = team.eval("--resume", run["runId"])
    assert [one["tries"] for one in found["cases"]] == [2, 2, 2]


def test_another_process_can_cancel_an_evaluation_but_not_resume_it(team: Team) -> None:
    team.server.held_from = 4
    process = team.started("--concurrency", "1")
    assert team.server.held.wait(60)
    busy = team.metier("eval", "--resume", "last")
    assert busy.returncode == 2
    assert "is already running in another process" in busy.stderr
    [run] = json.loads(team.metier("runs", "list", "--json").stdout)
    assert team.metier("runs", "cancel", run["runId"]).returncode == 0
    out, err = process.communicate(timeout=300)
    assert process.returncode == 130
    assert "case\tevals.yaml#1\tring the bell at noon\t1\t" in out
    assert "8 tries not completed" in err


def test_an_evaluation_changes_nothing_in_the_workspace_or_the_home(
    team: Team, empty_home: Path
) -> None:
    shutil.copytree(team.root / ".claude", empty_home / ".claude")
    looked_at(team.root)
    before = tree(team.root), tree(empty_home / ".claude")
    team.eval("evals.yaml", "--live", "own:m", "--yes")
    assert (tree(team.root), tree(empty_home / ".claude")) == before


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_runs_show_has_every_try(team: Team) -> None:
    found = team.eval("evals.yaml", "--live", "own:m", "--yes", "--tries", "1")
    shown = json.loads(team.metier("runs", "show", found["runId"], "--json").stdout)
    follows("run", shown)
    assert {one["stepId"]: one["output"]["loaded"] for one in shown["steps"]} == {
        "case-1-try-1": ["soup", "bell"], "case-2-try-1": ["soup"], "case-3-try-1": [],
    }  # fmt: skip
    assert team.metier("runs", "show", found["runId"]).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--tries", "2"], "--tries needs --live"),
        (["--yes"], "--yes needs --live"),
        (["--live", "own"], "no model is called 'own'"),
        (["--live", "nobody:m"], "no provider of models is called 'nobody'"),
        (
            ["--live", "own:m", "--host", "cursor"],
            "metier does not know what cursor shows the model",
        ),
        (["--live", "own:m", "--format", "junit"], "--live has no format 'junit'"),
        (["--live", "own:m", "--against", "main"], "without a model"),
        (["--live", "own:m", "--min-hit1", "0.5"], "minHit1 needs an order of skills"),
        (["--resume", "last"], "there is no live evaluation yet"),
        (["--resume", "last", "evals.yaml"], "--resume takes no files"),
        (["--resume", "nothing"], "no run is called 'nothing'"),
    ],
)
def test_wrong_options_are_named(team: Team, arguments: list[str], said: str) -> None:
    finished = team.metier("eval", *arguments)
    assert finished.returncode in (1, 2)
    assert said in finished.stderr
    assert "Traceback" not in finished.stderr
    assert team.server.requests == []


def test_an_evaluation_is_resumed_with_its_own_model_and_host(team: Team) -> None:
    team.eval("evals.yaml", "--live", "own:m", "--yes", "--tries", "1")
    for option, other in (("--live", "own:other"), ("--host", "codex")):
        finished = team.metier("eval", "--resume", "last", option, other)
        assert finished.returncode == 2
        assert f"was started with {option} " in finished.stderr


def test_a_missed_bar_fails_a_build(team: Team) -> None:
    arguments = ["evals.yaml", "--live", "own:m", "--yes", "--tries", "1"]
    assert team.metier("eval", *arguments, "--min-recall", "1").returncode == 0
    team.server.plan = lambda *_: "Done."
    finished = team.metier("eval", *arguments, "--min-recall", "0.5")
    assert finished.returncode == 1
    assert "failed: recall is 0.0%, below minRecall = 0.5" in finished.stderr


# The page

PAGE = REPOSITORY / "docs" / "evals-live.md"
_LOADED = {"write": "release-notes", "does": "invoice-check", "turn": "release-notes"}


def of_the_page(task: str, turn: int) -> dict[str, Any] | str | int:
    wanted = _LOADED.get(task.partition(" ")[0])
    return "Done." if turn or wanted is None else {"tool": "Skill", "args": {"skill": wanted}}


def test_a_terminal_shows_what_the_page_shows(workspace: Workspace) -> None:
    page = PAGE.read_text()
    skills = REPOSITORY / "examples" / "workspace" / "skills"
    for name in ("release-notes", "changelog", "invoice-check"):
        shutil.copytree(skills / name, workspace.root / ".claude" / "skills" / name)
    [cases] = re.findall(r"^Write `evals/routing.yaml`:\n\n```yaml\n(.*?)^```", page, re.M | re.S)
    workspace.write("evals/routing.yaml", cases)
    [block] = re.findall(r"^```text\n\$ metier (.*?)^```", page, re.M | re.S)
    command = block.partition("\n")[0]
    with model_server(of_the_page) as server:
        workspace.write("metier.toml", f'[models.local]\nbase-url = "{server.url}"\n')
        seen = at_terminal(workspace, *command.split(), "--quiet").plain
    shown = "".join(f"{line}\n" for line in [command, *seen])
    if is_writing():
        PAGE.write_text(page.replace(block, shown))
    assert PAGE.read_text().count(f"$ metier {shown}```") == 1
