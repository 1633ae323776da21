"""`metier lint --fix --unsafe`: names, their folders, and what refers to them."""

import os
from pathlib import Path

import pytest

from cli.printed import Lint, lint
from conftest import Workspace
from metier.storage.transaction import JOURNAL

__all__ = ["lint"]

SAID = "Draws a chart from a table. Use when numbers should be seen."


def named(name: str, body: str = "Do it.") -> str:
    return f"---\nname: {name}\ndescription: {SAID}\n---\n\n{body}\n"


def skills(workspace: Workspace) -> dict[str, str]:
    """The name of each skill by its folder."""
    return {
        file.parent.relative_to(workspace.root).as_posix(): file.read_text().split("\n")[1][6:]
        for file in workspace.root.rglob("SKILL.md")
    }


def tree(root: Path) -> dict[str, bytes]:
    files = (file for file in sorted(root.rglob("*")) if file.is_file())
    return {file.relative_to(root).as_posix(): file.read_bytes() for file in files}


# Names


def test_a_wrong_name_becomes_that_of_its_folder(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/charts/SKILL.md", named("Chart Tools"))
    assert lint().err.endswith("; --fix --unsafe repairs up to 1\n")
    assert lint("--fix").err.startswith("nothing to repair\n")
    assert lint("--fix", "--unsafe").err == (
        "repaired 1 finding in 1 file\n1 file checked, no problems found\n"
    )
    assert skills(workspace) == {"skills/charts": "charts"}


def test_a_folder_follows_the_name_of_its_skill(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/old/SKILL.md", named("charts"))
    workspace.write("skills/old/scripts/draw.py", "print()\n")
    workspace.write("skills/My Tables/SKILL.md", named("Tables, and more"))
    fixed = lint("--fix", "--unsafe")
    assert fixed.err.startswith("repaired 2 findings in 2 files; renamed 2 folders\n")
    assert skills(workspace) == {
        "skills/charts": "charts",
        "skills/tables-and-more": "tables-and-more",
    }
    assert (workspace.root / "skills/charts/scripts/draw.py").read_text() == "print()\n"
    assert lint("--fix", "--unsafe").err.startswith("nothing to repair\n")


def test_renamed_folders_are_named_at_most_ten(workspace: Workspace, lint: Lint) -> None:
    for number in range(12):
        workspace.write(f"skills/old_{number:02}/SKILL.md", named(f"charts-{number:02}"))
    first, *renames, more, _ = lint("--fix", "--unsafe").err.splitlines()
    assert first.endswith("; renamed 12 folders")
    assert renames[0] == "renamed skills/old_00 → skills/charts-00"
    assert (len(renames), more) == (10, "and 2 more")


def test_no_folder_is_overwritten(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/old/SKILL.md", named("charts"))
    workspace.write("skills/charts/notes.txt", "mine\n")
    before = tree(workspace.root)
    assert lint("--fix", "--unsafe").err.startswith("nothing to repair\n")
    assert tree(workspace.root) == before


def test_two_folders_do_not_get_one_name(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/a_/SKILL.md", named("Charts!"))
    workspace.write("skills/b_/SKILL.md", named("Charts?"))
    fixed = lint("--fix", "--unsafe")
    assert sorted(skills(workspace)) == ["skills/b_", "skills/charts"]
    assert "SK302 name 'Charts?'" in fixed.out


def test_no_name_is_taken_that_another_skill_has(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/charts/SKILL.md", named("charts"))
    workspace.write("vendor/skills/charts/SKILL.md", named("Charts", body="Another."))
    lint("--fix", "--unsafe")
    assert skills(workspace)["vendor/skills/charts"] == "Charts"


@pytest.mark.parametrize("beside", ["SKILL.md", "inner/SKILL.md"])
def test_a_folder_with_other_documents_in_it_stays(
    workspace: Workspace, lint: Lint, beside: str
) -> None:
    workspace.write("skills/pack/SKILL.md", named("charts"))
    workspace.write("skills/pack/inner/SKILL.md", named("inner", body="Another."))
    workspace.write("skills/pack/.claude-plugin/plugin.json", '{"name": "pack"}')
    lint("--fix", "--unsafe")
    assert (workspace.root / "skills/pack" / beside).exists()


def test_the_root_of_a_workspace_keeps_its_name(workspace: Workspace, lint: Lint) -> None:
    workspace.write("SKILL.md", named("charts"))
    lint("--fix", "--unsafe")
    assert (workspace.root / "SKILL.md").exists()


def test_a_folder_outside_the_workspace_keeps_its_name(
    workspace: Workspace, lint: Lint, empty_home: Path
) -> None:
    other = Workspace(empty_home)
    other.write(".claude/skills/old/SKILL.md", named("charts"))
    workspace.write("skills/tables/SKILL.md", named("tables"))
    lint("--fix", "--unsafe", "--user")
    lint("--fix", "--unsafe", str(empty_home / ".claude/skills/old/SKILL.md"))
    assert skills(other) == {".claude/skills/old": "charts"}


def test_a_linked_folder_keeps_its_name(workspace: Workspace, lint: Lint) -> None:
    workspace.write("store/old/SKILL.md", named("charts"))
    (workspace.root / "skills").mkdir()
    os.symlink("../store/old", workspace.root / "skills/link")
    lint("--fix", "--unsafe")
    assert (workspace.root / "skills/link/SKILL.md").exists()


# What refers to a renamed skill


def test_links_names_and_settings_follow(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/My Charts/SKILL.md", named("Charts, and more"))
    workspace.write("skills/old_one/SKILL.md", named("tables", "Run ./old_one/x and ../old_one/y."))
    workspace.write("skills/old_one/reference.md", "See skills/old_one/SKILL.md: it helps.\n")
    other = workspace.write(
        "skills/other/SKILL.md",
        named("other", "[it](../old_one/SKILL.md#use), `skills/old_one/x.py`, old_one, x/old_one."),
    )
    agent = workspace.write(
        "agents/a.yaml",
        "agentId: a\ndescription: Does it.\nskills:\n  - other\n  - 'Charts, and more' # ours\n",
    )
    settings = workspace.write("metier.toml", 'disabled = [\n  "Charts, and more",\n]\n')
    fixed = lint("--fix", "--unsafe")
    assert "; renamed 2 folders; changed references in 4 other files\n" in fixed.err
    assert (
        "(../tables/SKILL.md#use), `skills/tables/x.py`, old_one, x/old_one." in other.read_text()
    )
    assert "  - other\n  - 'charts-and-more' # ours\n" in agent.read_text()
    assert settings.read_text() == 'disabled = [\n  "charts-and-more",\n]\n'
    moved = workspace.root / "skills/tables"
    assert (moved / "reference.md").read_text() == "See skills/tables/SKILL.md: it helps.\n"
    assert "Run ./old_one/x and ../tables/y." in (moved / "SKILL.md").read_text()


@pytest.mark.parametrize(
    ("path", "text", "after"),
    [
        ("a.yml", "agentId: a\ndescription: D.\nskills: [other, Charts!]\n", "charts]"),
        ("a.json", '{"agentId": "a", "description": "D.", "skills": ["Charts!"]}', '"charts"'),
        ("a.md", "---\nagentId: a\ndescription: D.\nskills:\n- Charts!\n---\nDo.\n", "- charts"),
    ],
)
def test_agents_of_every_form_follow(
    workspace: Workspace, lint: Lint, path: str, text: str, after: str
) -> None:
    workspace.write("skills/charts/SKILL.md", named("Charts!"))
    agent = workspace.write(f"agents/{path}", text)
    lint("--fix", "--unsafe", "--select", "SK")
    assert agent.read_text().replace("charts", "Charts!") == text
    assert after in agent.read_text()


def test_a_name_stays_if_an_agent_names_it_in_a_way_that_cannot_be_changed(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/charts/SKILL.md", named("Charts & more"))
    workspace.write("skills/tables/SKILL.md", named("Tables!"))
    text = 'agentId: a\ndescription: D.\nskills:\n  - "Charts \\x26 more"\n'
    agent = workspace.write("agents/a.yaml", text)
    lint("--fix", "--unsafe", "--select", "SK")
    assert skills(workspace) == {"skills/charts": "Charts & more", "skills/tables": "tables"}
    assert agent.read_text() == text


def test_only_texts_of_the_workspace_are_changed(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text("skills/old_one/SKILL.md\n")
    workspace.write("skills/old_one/SKILL.md", named("tables"))
    os.symlink(outside, workspace.root / "README.md")
    lint("--fix", "--unsafe")
    assert skills(workspace) == {"skills/tables": "tables"}
    assert outside.read_text() == "skills/old_one/SKILL.md\n"


# Looking first


def test_a_dry_run_says_what_each_level_repairs_and_shows_the_new_folder(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/old/SKILL.md", named("charts"))
    workspace.write("skills/b/SKILL.md", f"---\ndescription: {SAID}\n---\n\nDo it.\n")
    before = tree(workspace.root)
    levels = (
        "--fix repairs 1 finding in 1 file; "
        "--fix --unsafe repairs 2 findings in 2 files, these included\n"
    )
    for options in (("--unsafe",), ()):
        shown = lint("--fix", "--dry-run", *options)
        assert shown.err.startswith(levels)
        assert "can be repaired" not in shown.err
        assert ("rename skills/old/SKILL.md to skills/charts/SKILL.md\n" in shown.out) == bool(
            options
        )
    rows = lint("--fix", "--unsafe", "--dry-run", "--json").data
    assert [(row["path"], row["renamedTo"], len(row["findings"])) for row in rows] == [
        ("skills/b/SKILL.md", "", 1),
        ("skills/old/SKILL.md", "skills/charts/SKILL.md", 1),
    ]
    assert tree(workspace.root) == before


def test_unsafe_without_fix_is_a_usage_error(workspace: Workspace, lint: Lint) -> None:
    told = lint("--unsafe")
    assert told.code == 2
    assert "--unsafe is for --fix" in told.err


def test_findings_that_unsafe_repairs_are_marked_only_with_it(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/old/SKILL.md", named("charts"))
    assert "[*]" not in lint().out
    assert not lint("--json").data[0]["fixable"]
    assert lint("--fix", "--unsafe", "--dry-run", "--json").data[0]["findings"][0]["fixable"]


# In rounds, and after a crash


def test_a_repair_that_another_makes_possible_is_made_too(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/a/SKILL.md", named("b"))
    workspace.write("skills/b/SKILL.md", named("c", body="Another."))
    lint("--fix", "--unsafe")
    assert skills(workspace) == {"skills/b": "b", "skills/c": "c"}


def test_renames_that_were_interrupted_are_finished(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/tables/SKILL.md", named("tables"))
    old, new = (str(workspace.root / "skills" / name) for name in ("old", "charts"))
    workspace.write("skills/old/SKILL.md", named("charts"))
    lint("--fix")
    workspace.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    journal = workspace.state / JOURNAL
    journal.write_text(f'{{"writes": [], "moves": [["{old}", "{new}"]]}}')
    fixed = lint("--fix")
    assert fixed.err.startswith("finished the renames of an earlier --fix that was interrupted\n")
    assert skills(workspace) == {"skills/charts": "charts", "skills/tables": "tables"}
    assert not journal.exists()


# What stays, and what a dry run shows


def test_a_skill_that_a_host_switches_off_keeps_its_folder(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write(".claude/skills/delta/SKILL.md", named("charts"))
    workspace.write(".claude/settings.json", '{"skillOverrides": {"delta": "off"}}')
    fixed = lint("--fix", "--unsafe")
    assert skills(workspace) == {".claude/skills/delta": "charts"}
    assert fixed.err.startswith(
        "nothing to repair\nleft alone: .claude/skills/delta/SKILL.md (SK303: the settings of "
        "Claude Code switch it by its name: metier enable it first)\n"
    )


def test_a_skill_does_not_take_a_name_that_a_host_switches_off(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write(".gemini/skills/charts/SKILL.md", named("Charts!"))
    workspace.write(".gemini/settings.json", '{"skills": {"disabled": ["charts"]}}')
    lint("--fix", "--unsafe")
    assert skills(workspace) == {".gemini/skills/charts": "Charts!"}


def test_a_switch_for_every_skill_or_beside_it_lets_the_folder_follow(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write(".agents/skills/old/SKILL.md", named("charts"))
    workspace.write(
        ".agents/skills/old/agents/openai.yaml", "policy:\n  allow_implicit_invocation: false\n"
    )
    workspace.write("opencode.json", '{"permission": {"skill": "deny"}}')
    lint("--fix", "--unsafe")
    assert skills(workspace) == {".agents/skills/charts": "charts"}


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"skills/a/SKILL.md": "charts", "skills/charts/x.txt": ""}, "the folder 'charts' exists"),
        (
            {"skills/a/SKILL.md": "charts", "skills/a/b/SKILL.md": "b"},
            "its folder holds other documents",
        ),
        ({"SKILL.md": "charts"}, "its folder is the workspace"),
        (
            {"skills/charts/SKILL.md": "Charts", "vendor/skills/charts/SKILL.md": "charts"},
            "another skill is called 'charts'",
        ),
    ],
)
def test_a_repair_that_is_not_made_says_why(
    workspace: Workspace, lint: Lint, files: dict[str, str], reason: str
) -> None:
    for path, name in files.items():
        workspace.write(path, named(name, body=path) if name else "mine\n")
    for options in (("--dry-run",), ()):
        assert f": {reason})\n" in " ".join(lint("--fix", "--unsafe", *options).err.split("\n  "))


def test_a_dry_run_shows_a_rename_that_another_repair_makes_possible(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/a/SKILL.md", named("b"))
    workspace.write("skills/b/SKILL.md", named("c", body="Another."))
    broken = "---\nname: tables\ndescription: Use when: numbers should be seen.\n---\n\nDo it.\n"
    workspace.write("skills/d/SKILL.md", broken)
    rows = lint("--fix", "--unsafe", "--dry-run", "--json").data
    shown = {row["path"].split("/")[1]: row["renamedTo"].split("/")[1] for row in rows}
    assert shown == {"a": "b", "b": "c", "d": "tables"}
    assert "; renamed 3 folders\n" in lint("--fix", "--unsafe").err
    assert skills(workspace) == {"skills/b": "b", "skills/c": "c", "skills/tables": "tables"}


def test_folders_that_swap_names_stay(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/a/SKILL.md", named("b"))
    workspace.write("skills/b/SKILL.md", named("a", body="Another."))
    assert lint("--fix", "--unsafe").err.startswith("nothing to repair\nleft alone: ")
    assert skills(workspace) == {"skills/a": "b", "skills/b": "a"}
