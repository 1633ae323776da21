"""Options that all commands share stand before the command or after it."""

import json
import os
from pathlib import Path

import click
import pytest

from conftest import Workspace
from metier.cli import MOVED, group, run
from metier.cli.session import names_from_catalog
from metier.cli.shared_options import shared_options
from reference import all_commands

WITHOUT = {"demo", "completion"}
"""Commands that have no workspace."""


@pytest.fixture
def two(tmp_path: Path) -> tuple[Path, Path]:
    """Two workspaces with a skill each."""
    for name in ("one", "two"):
        Workspace(tmp_path / name).skill(name)
        (tmp_path / name / "metier.toml").write_text("")
    return tmp_path / "one", tmp_path / "two"


@pytest.mark.parametrize(
    "name",
    [
        name
        for name, one in all_commands().items()
        if name not in WITHOUT and not isinstance(one, click.Group)
    ],
)
def test_every_command_has_the_options_of_the_group(name: str) -> None:
    own = {option for parameter in all_commands()[name].params for option in parameter.opts}
    assert {option for shared in shared_options() for option in shared.opts} <= own


def test_the_root_counts_before_and_after_the_command(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    assert run(["--root", str(one), "list"]) == 0
    before = capsys.readouterr().out
    assert run(["list", "--root", str(one)]) == 0
    assert before == capsys.readouterr().out
    assert before.startswith("one\t")


def test_the_option_after_the_command_wins(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = two
    assert run(["--root", str(one), "list", "--root", str(other)]) == 0
    assert capsys.readouterr().out.startswith("two\t")


def test_flags_count_before_the_command(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    assert run(["--json", "-q", "--root", str(one), "list"]) == 0
    out, err = capsys.readouterr()
    assert [row["name"] for row in json.loads(out)] == ["one"]
    assert err == ""


def test_settings_to_use_count_before_the_command(
    two: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    settings = tmp_path / "other.toml"
    settings.write_text('disabled = ["one"]\n')
    assert run(["--config", str(settings), "--root", str(one), "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_traceback_is_shown_on_request_before_the_command(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["-v", "--root", str(two[0]), "show", "skill", "nobody"]) == 2
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(WITHOUT))
def test_a_command_without_the_option_says_so(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path), name]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f"error: '{name}' takes no --root (USAGE)",
        f"hint: metier {name} --help",
    ]


def test_the_hint_names_the_command_behind_the_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path), "list", "--nonsense"]) == 2
    assert "hint: metier list --help" in capsys.readouterr().err


def test_options_before_a_group_count_for_its_commands(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    assert run(["--root", str(one), "resolve", "-r", "x", "--json"]) == 3
    made = json.loads(capsys.readouterr().out)
    assert run(["--root", str(one), "--json", "reports", "list"]) == 0
    assert [row["reportId"] for row in json.loads(capsys.readouterr().out)] == [made["run_id"]]


@pytest.mark.parametrize("name", ["report", "record", "conformance"])
def test_the_old_name_of_a_command_says_the_new_one(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "list"]) == 2
    assert (
        f"error: 'metier {name}' is now 'metier {MOVED[name]}' (USAGE)" in capsys.readouterr().err
    )


def test_options_without_a_command_are_a_usage_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["--root", str(tmp_path)]) == 2
    assert "error: missing command" in capsys.readouterr().err


def test_names_are_completed_in_the_workspace_that_stands_before_the_command(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    one, _ = two
    assert run(["--root", str(one), "list"]) == 0
    capsys.readouterr()
    outer = group.make_context(
        "metier", ["--root", str(one), "show", "skill"], resilient_parsing=True
    )
    command = group.get_command(outer, "show")
    assert command is not None
    inner = command.make_context("show", ["skill"], parent=outer, resilient_parsing=True)
    found = names_from_catalog(inner, lambda catalog: catalog.names("skill"), "")
    assert [item.value for item in found] == ["one"]
    assert os.path.isdir(one)


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_the_root_counts_at_every_level_of_a_command(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str], at: int
) -> None:
    words = ["hook", "stats", "decisions"]
    words[at:at] = ["--root", str(two[0] / "nowhere")]
    assert run(words) == 2
    assert "nowhere" in capsys.readouterr().err
    words[at + 1] = str(two[0])
    assert run([*words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_an_option_of_the_outer_command_does_not_count_for_the_inner(
    two: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["hook", "stats", "--since", "7d", "resume", "--root", str(two[0])]) == 2
    assert "'stats resume' takes no --since before it" in capsys.readouterr().err
