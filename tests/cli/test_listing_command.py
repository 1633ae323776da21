"""`metier listing`, and the line of `metier doctor`."""

import json
from pathlib import Path

import pytest

from conftest import Workspace
from listing.generated_skills import generated, write
from metier.cli import run


@pytest.fixture
def full(workspace: Workspace, empty_home: Path) -> Workspace:
    """A workspace with more skills than Claude Code shows."""
    folder = ".claude/skills"
    write(generated(60), workspace.root / folder, empty_home / folder)
    return workspace


def test_the_block_of_a_host_names_sizes_states_and_a_plan(
    full: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["listing", "--root", str(full.root), "--limit", "2"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Claude Code, context of 200,000 tokens (default)\n")
    assert "characters needed" in out
    assert "limit 8,000" in out
    assert "60 skills: " in out
    assert "more: --limit" in out
    assert "greedy plan that makes all fit" in out
    last = out.splitlines()[-1].rpartition(", in ~/.claude/settings.json: ")
    assert last[0] == "  or give the listing more of the context"
    assert list(json.loads(last[2])) == ["skillListingBudgetFraction"]


def test_too_many_lost_skills_fail_a_build(
    full: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["listing", "--host", "claude-code", "--root", str(full.root)]
    assert run([*asked, "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["lost"] > 0
    assert run([*asked, "--max-lost", str(found["lost"])]) == 0
    capsys.readouterr()
    most = found["lost"] - 1
    assert run([*asked, "--max-lost", str(most)]) == 1
    said = f"failed: {most + 1} skills of Claude Code lose text, --max-lost allows {most}\n"
    assert capsys.readouterr().err.endswith(said)


def test_a_host_whose_listing_is_unknown_is_refused_with_the_reason(
    full: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["listing", "--host", "cursor", "--root", str(full.root)]) == 2
    assert "what Cursor shows its model is unknown; known: claude-code, " in capsys.readouterr().err


def test_the_listing_is_shown_as_the_model_sees_it(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("bell", "Rings a bell.", folder=".claude/skills/bell")
    assert run(["listing", "--host", "claude-code", "--show", "--root", str(workspace.root)]) == 0
    assert "- bell: Rings a bell.\n" in capsys.readouterr().out


def test_without_any_host_the_error_names_the_hosts(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["listing", "--root", str(workspace.root)]) == 2
    assert "--host names one: claude-code, codex" in capsys.readouterr().err


def test_a_shared_folder_counts_for_the_hosts_that_left_other_traces(
    workspace: Workspace, empty_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("bell", folder=".agents/skills/bell")
    run(["listing", "--root", str(workspace.root), "--json"])
    everyone = [one["host"] for one in json.loads(capsys.readouterr().out)]
    assert {"codex", "gemini", "opencode"} <= set(everyone)
    (empty_home / ".codex").mkdir()
    run(["listing", "--root", str(workspace.root), "--json"])
    assert [one["host"] for one in json.loads(capsys.readouterr().out)] == ["codex"]


def test_copilot_counts_as_used_by_its_own_folder_but_not_by_githubs(
    workspace: Workspace, empty_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("bell", folder=".agents/skills/bell")
    (workspace.root / ".github").mkdir()
    (empty_home / ".codex").mkdir()
    run(["listing", "--root", str(workspace.root), "--json"])
    assert [one["host"] for one in json.loads(capsys.readouterr().out)] == ["codex"]
    (empty_home / ".copilot").mkdir()
    run(["listing", "--root", str(workspace.root), "--json"])
    assert [one["host"] for one in json.loads(capsys.readouterr().out)] == ["codex", "copilot"]


def test_a_reason_that_all_skills_share_is_said_once_and_how_to_switch_off(
    workspace: Workspace, empty_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = ".claude/skills"
    write(generated(212), workspace.root / folder, empty_home / folder)
    run(["listing", "--host", "claude-code", "--root", str(workspace.root)])
    out = capsys.readouterr().out
    assert out.count("the listing is over its budget") == 1
    assert "without text, because the listing is over its budget:\n    bake-violin\n" in out
    assert "skills (skillOverrides: off, in .claude/settings.json):" in out


def test_doctor_shows_where_files_of_the_home_folder_are(
    workspace: Workspace, empty_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    deep = empty_home / ".claude/skills/team/bell/SKILL.md"
    deep.parent.mkdir(parents=True)
    deep.write_text("---\nname: bell\ndescription: Rings.\n---\nRing.\n")
    assert run(["doctor", "--host", "claude-code", "--root", str(workspace.root)]) == 1
    out = capsys.readouterr().out
    assert "  ~/.claude/skills/team/bell/SKILL.md: does not load: 1 level too deep" in out


def test_doctor_says_how_many_skills_lose_their_text(
    full: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["doctor", "--root", str(full.root), "--json"])
    checks = [one for one in json.loads(capsys.readouterr().out) if one["name"] == "listing"]
    [check] = checks
    assert check["verdict"] == "warning"
    assert check["detail"].startswith("60 skills need ")
    assert " in claude-code, its limit is 8,000: " in check["detail"]
    assert check["hint"] == "metier listing --host claude-code"


def test_doctor_says_what_a_host_makes_of_each_skill(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("deep", folder=".claude/skills/group/deep")
    workspace.skill("bell", folder=".claude/skills/bell")
    for number in range(3):
        workspace.skill(f"s{number}", folder=f".agents/skills/s{number}")
    asked = ["doctor", "--host", "claude-code", "--limit", "2", "--root", str(workspace.root)]
    assert run(asked) == 1
    out = capsys.readouterr().out
    assert "does not load (1)\n  .claude/skills/group/deep/SKILL.md: does not load: 1 level" in out
    assert "(move it to .claude/skills/deep/SKILL.md)" in out
    assert "loads (1)\n  .claude/skills/bell/SKILL.md: loads as bell" in out
    assert "in a folder that it does not read (3)" in out
    assert "and 1 more: --limit 3 shows all" in out


def test_doctor_gives_a_shared_reason_once_and_says_how_many_skills_a_host_loads(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(3):
        workspace.skill(f"s{number}", folder=f"skills/s{number}")
    assert run(["doctor", "--host", "codex", "--root", str(workspace.root)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Codex CLI loads 0 of 3 skills\n")
    assert out.count("does not read this folder") == 1
    assert "link or copy the skill's folder into one of them" in " ".join(out.split())
    assert out.endswith("    skills/s0/SKILL.md\n    skills/s1/SKILL.md\n    skills/s2/SKILL.md\n")
