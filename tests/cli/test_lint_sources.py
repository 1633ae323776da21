"""What `metier lint` looks at without a PATH, and what it may write."""

from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run

COLON = "---\nname: {name}\ndescription: Charts: bars and lines, when numbers matter.\n---\nDraw.\n"


@pytest.fixture
def everywhere(
    workspace: Workspace, empty_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    """One broken skill in the workspace, one of the user's host, one in a mount."""
    workspace.write("skills/own/SKILL.md", COLON.format(name="own"))
    Workspace(empty_home).write(".claude/skills/hosted/SKILL.md", COLON.format(name="hosted"))
    Workspace(tmp_path / "team").write("mounted/SKILL.md", COLON.format(name="mounted"))
    workspace.write("metier.toml", f"mounts = [{{ path = '{tmp_path}/team' }}]")
    monkeypatch.chdir(workspace.root)
    return workspace


def test_skills_of_hosts_and_mounts_are_checked_too(
    everywhere: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", "--select", "FM104"]) == 1
    paths = [line.split(":")[0] for line in capsys.readouterr().out.splitlines()[::2]]
    assert paths == [
        "claude-user/hosted/SKILL.md",
        "skills/own/SKILL.md",
        "team/mounted/SKILL.md",
    ]


def test_only_files_of_the_workspace_are_repaired(
    everywhere: Workspace, empty_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["lint", "--fix"])
    assert "repaired 1 file\n" in capsys.readouterr().err
    assert "'Charts: bars" in (everywhere.root / "skills/own/SKILL.md").read_text()
    for file in (empty_home / ".claude/skills/hosted", tmp_path / "team/mounted"):
        assert "'Charts" not in (file / "SKILL.md").read_text()


def test_a_named_folder_is_repaired_wherever_it_is(everywhere: Workspace, tmp_path: Path) -> None:
    run(["lint", "--fix", str(tmp_path / "team")])
    assert "'Charts: bars" in (tmp_path / "team/mounted/SKILL.md").read_text()


def test_two_formats_at_once_are_refused(
    everywhere: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", "--json", "--output-format", "sarif"]) == 2
    assert "two formats" in capsys.readouterr().err


def test_a_disabled_skill_collides_with_nobody(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("a", folder="one")
    workspace.skill("a", folder="two", body="Do it otherwise.")
    monkeypatch.chdir(workspace.root)
    run(["lint", "--select", "XF"])
    assert "XF901" in capsys.readouterr().out
    workspace.write("metier.toml", "disabled = ['a::one']")
    run(["lint", "--select", "XF"])
    assert capsys.readouterr().out == ""
