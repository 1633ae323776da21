"""Links in folders that are named to `metier lint`: followed as they are without a name."""

import os
from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run


@pytest.fixture
def home(empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A home folder, with a current folder that is in no workspace."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    return Workspace(empty_home)


def link(where: Path, target: Path) -> None:
    where.parent.mkdir(parents=True, exist_ok=True)
    where.symlink_to(target)


def refused(capfd: pytest.CaptureFixture[str], *paths: Path | str) -> list[str]:
    """The paths of links that lead out of a root."""
    capfd.readouterr()
    code = run(["lint", "--select", "IO202", *map(str, paths)])
    lines = [one for one in capfd.readouterr().out.splitlines() if " IO202 " in one]
    assert code == int(bool(lines))
    return [line.partition(":")[0] for line in lines]


def checked(capfd: pytest.CaptureFixture[str], *paths: Path | str) -> str:
    run(["lint", *map(str, paths)])
    return capfd.readouterr().err.splitlines()[-1].partition(" checked")[0]


@pytest.mark.parametrize("target", [".agents/skills/x", "src/checkout/x"])
@pytest.mark.parametrize("named", [".claude/skills", ".claude", ""])
def test_a_users_link_is_followed_in_a_named_folder(
    home: Workspace, named: str, target: str, capfd: pytest.CaptureFixture[str]
) -> None:
    link(home.root / ".claude/skills/x", home.skill("x", folder=target).parent)
    assert refused(capfd, home.root / named) == []
    assert checked(capfd, home.root / named) == "1 file"


@pytest.mark.parametrize("folder", [".claude/skills", ".claude"])
def test_a_users_link_is_followed_in_the_current_folder(
    home: Workspace, folder: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    link(home.root / ".claude/skills/x", home.skill("x", folder=".agents/skills/x").parent)
    monkeypatch.chdir(home.root / folder)
    assert refused(capfd, ".") == []
    assert checked(capfd, ".") == "1 file"


def test_a_host_folder_that_is_a_link_is_followed_in_a_named_folder(
    home: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    home.skill("x", folder="dotfiles/skills/x")
    link(home.root / ".claude/skills", home.root / "dotfiles/skills")
    assert refused(capfd, home.root / ".claude") == []
    assert checked(capfd, home.root / ".claude") == "1 file"


def test_a_link_between_two_folders_of_one_host_folder_is_followed(
    home: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    target = home.skill("x", folder=".claude/skills/one/x").parent
    link(home.root / ".claude/skills/two/x", target)
    assert refused(capfd, home.root / ".claude/skills/two") == []


def test_a_link_of_a_trusted_workspace_is_followed_in_a_named_folder(
    home: Workspace, workspace: Workspace, capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    link(workspace.root / "skills/x", home.skill("x", folder="src/checkout/x").parent)
    monkeypatch.chdir(workspace.root)
    assert [refused(capfd, one) for one in (".", "skills")] == [["skills/x"], ["skills/x"]]
    workspace.trust()
    assert [refused(capfd, one) for one in (".", "skills")] == [[], []]


def test_a_link_inside_a_workspace_is_followed_in_a_named_folder(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    link(workspace.root / "skills/x", workspace.skill("x", folder="shared/x").parent)
    monkeypatch.chdir(workspace.root)
    assert refused(capfd, "skills") == []
    assert checked(capfd, "skills") == "1 file"


def test_a_strangers_link_is_refused_wherever_it_is_named(
    home: Workspace, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    private = home.skill("x", folder=".agents/skills/x").parent
    clone = tmp_path / "clone"
    link(clone / ".claude/skills/x", private)
    for named in (clone, clone / ".claude", clone / ".claude/skills"):
        assert refused(capfd, named) == [str(clone / ".claude/skills/x")]


def test_a_link_inside_an_installed_skill_is_refused_in_a_named_folder(
    home: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    private = home.skill("private", folder="src/private").parent
    home.skill("x", folder=".claude/skills/x")
    link(home.root / ".claude/skills/x/more", private)
    for named in (".claude", ".claude/skills", ".claude/skills/x"):
        more = str(home.root / ".claude/skills/x/more")
        assert refused(capfd, home.root / named) == [more]


def test_a_link_to_a_folder_of_another_user_is_refused_in_a_named_folder(
    home: Workspace, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    target = home.skill("x", folder="src/x").parent
    link(home.root / ".claude/skills/x", target)
    monkeypatch.setattr(os, "getuid", lambda: target.stat().st_uid + 1)
    assert refused(capfd, home.root / ".claude/skills") == [str(home.root / ".claude/skills/x")]
