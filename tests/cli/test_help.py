"""What `--help` and `explain` say. METIER_WRITE_DOCS=1 writes the stored texts anew."""

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from conftest import Workspace
from metier.cli import COMMANDS, group, run
from metier.findings import CODES
from reference import contexts

pytestmark = pytest.mark.slow

STORED = Path(__file__).parent / "help"
WRITE = os.environ.get("METIER_WRITE_DOCS") == "1"
"""Read here, because no test sees the METIER_ variables of the person who runs it."""
HEAVY = {"rich", "pydantic", "jsonschema", "numpy", "yaml", "sqlite3", "tomllib", "metier.catalog"}


def stored(path: str) -> Path:
    return STORED / f"{path.removeprefix('metier ').replace(' ', '-')}.txt"


def metier(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "metier", *arguments],
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


CONTEXT = click.Context(group, info_name="metier", **group.context_settings)
PATHS = ["metier", *(one.command_path for one in contexts(CONTEXT))]
"""Every command, as it is typed."""


@pytest.mark.parametrize("path", PATHS)
def test_help_is_the_stored_text(path: str) -> None:
    finished = metier(*path.split()[1:], "--help")
    assert (finished.returncode, finished.stderr) == (0, "")
    file = stored(path)
    if WRITE:
        file.write_text(finished.stdout, encoding="utf-8")
    assert finished.stdout == file.read_text(encoding="utf-8"), "METIER_WRITE_DOCS=1 stores it"


def test_no_text_is_stored_for_a_command_that_is_gone() -> None:
    assert {*COMMANDS} < {path.removeprefix("metier ") for path in PATHS}
    assert {*STORED.iterdir()} == {stored(path) for path in PATHS}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_short_form_prints_the_same_help(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([command, "-h"]) == run([command, "--help"]) == 0
    short, long = capsys.readouterr().out.split("Usage: ")[1:]
    assert short == long


def test_the_version_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == "metier, version 0.2.0\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"]])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    script = "import sys; from metier.cli import run; run(sys.argv[1:]); print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    loaded = finished.stdout.splitlines()[-1].split()
    assert "click" in loaded
    assert HEAVY.intersection(loaded) == set()


NOT_FOR_ONE_SKILL = {
    *("json", "subprocess", "dataclasses", "shlex", "metier.hosts.known", "metier.config.checking"),
    *("metier.values.fields", "metier.values.contracts", "metier.safety.lookalikes"),
}
"""What most skills and workspaces need nothing of, and what takes long to load."""


def test_linting_an_ordinary_skill_loads_little(workspace: Workspace) -> None:
    workspace.write("metier.toml", "")
    file = workspace.write(
        "skills/charts/SKILL.md",
        "---\nname: charts\ndescription: Draws 2 charts. Use it for reports.\n---\n\nDraw.\n",
    )
    script = "import sys; from metier.cli import run; run(sys.argv[1:]); print(*sys.modules)"
    finished = subprocess.run(
        [sys.executable, "-c", script, "lint", str(file)],
        capture_output=True, text=True, check=True, timeout=300, cwd=workspace.root,
    )  # fmt: skip
    assert "no problems found" in finished.stderr
    loaded = set(finished.stdout.split())
    assert "metier.lint.skills" in loaded
    assert (HEAVY | NOT_FOR_ONE_SKILL) & loaded == set()


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_is_explained_with_two_examples(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", code.lower()]) == 0
    out, err = capsys.readouterr()
    assert out.startswith(f"{code} {CODES[code].title} ({CODES[code].severity}")
    assert out.index("\nBad\n") < out.index("\nGood\n")
    assert err == ""
    assert run(["explain", code, "--json"]) == 0
    data = json.loads(capsys.readouterr().out)
    texts = {"severity", "title", "why", "source", "bad", "good"}
    assert data.keys() == {"code", "fixable", "hosts", *texts}


def codes_of_text(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert run(["explain"]) == 0
    return [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]


def test_explain_without_a_code_lists_findings_and_errors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = codes_of_text(capsys)
    assert listed[: len(CODES)] == list(CODES)
    assert {"USAGE", "CONFIG_INVALID", "NOT_FOUND", "STORE_CORRUPT"} < set(listed)


@pytest.mark.parametrize(
    ("beginning", "first", "others"),
    [
        ("SK3", "SK301", "SK3"),
        ("sk", "SK301", "SK"),
        ("F", "FM101", "FM"),
        ("STORE", "STORE_", "S"),
    ],
)
def test_explain_lists_a_family(
    capsys: pytest.CaptureFixture[str], beginning: str, first: str, others: str
) -> None:
    assert run(["explain", beginning]) == 0
    listed = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert listed[0].startswith(first)
    assert all(code.startswith(others) for code in listed)
    assert "SKILL_TRUNCATED" not in listed


def test_explain_lists_the_same_codes_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    listed = codes_of_text(capsys)
    assert run(["explain", "--json"]) == 0
    assert [entry["code"] for entry in json.loads(capsys.readouterr().out)] == listed


def test_every_code_that_an_error_shows_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert "SYSTEM" in codes_of_text(capsys)


def test_a_list_loads_nothing_that_only_runs_of_agents_need(workspace: Workspace) -> None:
    workspace.write("agents/reviewer.yaml", "agentId: reviewer\ndescription: Reviews changes.\n")
    workspace.trust()
    code = (
        "import sys; from metier.cli import run\n"
        "assert run(['list']) == 0\n"
        "print(sorted({'asyncio', 'ssl', 'metier.run.tool', 'numpy'} & set(sys.modules)))"
    )
    for _ in range(2):
        found = subprocess.run(
            [sys.executable, "-c", code], cwd=workspace.root, capture_output=True, text=True
        )
        assert found.stdout.splitlines()[-1:] == ["[]"], found.stderr
