"""`metier import`: the documents of other tools as skills, agents and abilities."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.printed import Finished, run_here
from conftest import Workspace
from metier.load import load_abilities
from metier.parse.foreign import FOREIGN_KINDS, ForeignKind, Imported, NotImported, imported
from metier.parse.frontmatter import read_matter
from metier.parse.skills import parse_skill

COMMAND = """---
description: Review the open pull request: tests first
argument-hint: "[number]"
allowed-tools: Bash(git diff:*), Read
color: red
---
Review pull request $ARGUMENTS.
"""
AGENT = """---
name: Code Reviewer
description: Reviews changes.
tools: Read, Grep
model: sonnet
---
You review code.
"""
ALWAYS = "---\ndescription: House style\nglobs:\nalwaysApply: true\n---\nWrite short sentences.\n"
BY_FILE = "---\nglobs: **/*.ts, src/**\nalwaysApply: false\n---\n# TypeScript\n\nUse strict mode.\n"
MANUAL = "Only when asked.\n"
AGENTS_MD = """# Guide

Read this first.

## Testing the shop

Run `make test`.

```md
## Not a section
```

## 2nd

No id.
"""
SKILLPORT = """---
name: tables
description: Extracts tables.
metadata:
  skillport:
    category: data
    tags: [pdf, csv]
    alwaysApply: true
---
Do it.
"""


@pytest.fixture
def foreign(workspace: Workspace) -> Workspace:
    workspace.write(".claude/commands/team/review.md", COMMAND)
    workspace.write(".claude/agents/reviewer.md", AGENT)
    workspace.write(".cursor/rules/style.mdc", ALWAYS)
    workspace.write(".cursor/rules/typescript.mdc", BY_FILE)
    workspace.write(".cursor/rules/manual.mdc", MANUAL)
    workspace.write("AGENTS.md", AGENTS_MD)
    workspace.write("skills/tables/SKILL.md", SKILLPORT)
    return workspace


def metier(workspace: Workspace, *arguments: str) -> Finished:
    return run_here(workspace.root, *arguments)


def _import(workspace: Workspace, *options: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads(metier(workspace, "import", "--json", *options).stdout)
    return rows


def test_every_kind_of_document_is_imported_once(foreign: Workspace) -> None:
    rows = _import(foreign)
    assert {row["source"]: row["target"] for row in rows if row["target"]} == {
        ".claude/commands/team/review.md": ".claude/skills/team-review/SKILL.md",
        ".claude/agents/reviewer.md": "agents/code-reviewer.md",
        ".cursor/rules/manual.mdc": ".cursor/skills/manual/SKILL.md",
        ".cursor/rules/style.mdc": "abilities/style.md",
        ".cursor/rules/typescript.mdc": ".cursor/skills/typescript/SKILL.md",
        "AGENTS.md": "abilities/testing-the-shop.md",
        "skills/tables/SKILL.md": "skills/tables/SKILL.md",
    }
    again = _import(foreign)
    assert [row["target"] for row in again if row["target"]] == []
    listed = json.loads(metier(foreign, "list", "--json").stdout)
    assert {row["name"] for row in listed} >= {"manual", "tables", "team-review", "typescript"}


def test_what_is_not_mapped_is_said_with_its_reason(foreign: Workspace) -> None:
    rows = {row["target"]: row for row in _import(foreign, "--dry-run") if row["target"]}
    assert rows[".claude/skills/team-review/SKILL.md"]["unmapped"] == [
        {"key": "color", "reason": "skills do not have this key"}
    ]
    assert [one["key"] for one in rows["agents/code-reviewer.md"]["unmapped"]] == ["tools", "model"]
    assert rows["skills/tables/SKILL.md"]["unmapped"][0]["key"] == "alwaysApply"
    reasons = [row["reason"] for row in _import(foreign, "--dry-run") if not row["target"]]
    assert "the text before its first section stays where it is" in reasons


def test_the_report_says_what_was_mapped_to_what_and_which_hosts_read_it(
    foreign: Workspace,
) -> None:
    foreign.write(".cursor/rules/both.mdc", "---\nglobs: '*.py'\nalwaysApply: true\n---\nDo.\n")
    shown = metier(foreign, "import", "--dry-run").stdout
    hosts = "Claude Code, Copilot CLI, Cursor, opencode"
    assert (
        ".claude/commands/team/review.md → .claude/skills/team-review/SKILL.md\n"
        "    kept: description, argument-hint, allowed-tools\n"
        "    not kept: color: skills do not have this key\n"
        "    note: only the user starts it, with /team-review\n"
        f"    read by: metier, {hosts}\n"
    ) in shown
    assert (
        ".cursor/rules/typescript.mdc → .cursor/skills/typescript/SKILL.md\n"
        "    kept: globs as paths\n"
        "    not kept: alwaysApply: no skill always applies\n"
        "    read by: metier, Cursor\n"
    ) in shown
    assert "    kept: name as agentId, description\n" in shown
    assert (
        "abilities/both.md\n    not kept: globs: an ability cannot be limited to some files"
        in shown
    )
    assert "    read by: metier\n" in shown


def test_what_a_host_typed_or_loaded_is_still_there_for_it(foreign: Workspace) -> None:
    _import(foreign)
    for host, path in (
        ("claude-code", ".claude/skills/team-review/SKILL.md"),
        ("cursor", ".cursor/skills/typescript/SKILL.md"),
    ):
        rows = json.loads(metier(foreign, "doctor", "--host", host, "--json").stdout)
        [state] = [row["state"] for row in rows if row["path"] == path]
        assert state in ("loads", "never-shown")


def test_skills_are_written_into_the_folder_that_was_asked_for(foreign: Workspace) -> None:
    rows = _import(foreign, "--to", ".agents/skills", "--from", "cursor-rules")
    row = next(row for row in rows if row["source"].endswith("typescript.mdc"))
    assert row["target"] == ".agents/skills/typescript/SKILL.md"
    assert "codex" in row["hosts"]
    assert (foreign.root / row["target"]).exists()
    outside = metier(foreign, "import", "--to", "../skills")
    assert outside.returncode == 2
    assert "a folder of the workspace" in outside.stderr


def test_nothing_is_written_with_dry_run_and_nothing_is_replaced(foreign: Workspace) -> None:
    before = {file: file.read_bytes() for file in foreign.root.rglob("*") if file.is_file()}
    shown = metier(foreign, "import", "--dry-run")
    assert "7 files would be written" in shown.stderr
    assert before == {file: file.read_bytes() for file in foreign.root.rglob("*") if file.is_file()}
    foreign.write("agents/code-reviewer.md", "mine")
    rows = {row["source"]: row["reason"] for row in _import(foreign, "--from", "claude-agents")}
    assert rows == {".claude/agents/reviewer.md": "agents/code-reviewer.md already exists"}
    assert (foreign.root / "agents/code-reviewer.md").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "raw", "reason"),
    [
        (
            "gr\u00fc\u00dfe",
            "Gr\u00fc\u00dfe".encode("latin-1"),
            "it is not UTF-8: save it as UTF-8 first",
        ),
        ("\U0001f680", b"Launch it.", "its name has none of a-z and 0-9: rename it"),
        ("\U0001f680", b"---\ndescription:\n---\n", "it has no text"),
        ("nothing", b"", "the file is empty"),
        ("open", b"---\ndescription: x\nBody\n", "front matter opened on line 1 is never closed"),
        ("list", b"---\n- a\n---\nBody\n", "front matter"),
    ],
)
@pytest.mark.parametrize("kind", ["claude-commands", "cursor-rules"])
def test_a_file_that_cannot_be_imported_says_why(
    kind: ForeignKind, name: str, raw: bytes, reason: str
) -> None:
    [one] = imported(kind, name, raw)
    assert isinstance(one, NotImported)
    assert reason in one.reason


def test_a_section_takes_its_id_from_the_letters_of_its_heading() -> None:
    text = "## 2.1 Run tests\n\nmake\n\n## 测试\n\nmake\n\n## 3D\n\n## 4. Later\n"
    found = list(imported("agents-md", "AGENTS.md", text.encode()))
    assert [one.target if isinstance(one, Imported) else one.reason for one in found] == [
        "abilities/run-tests.md",
        "section '测试' gives no id: begin its heading with a-z",
        "section '3D' has no text",
        "section '4. Later' has no text",
    ]


def test_the_file_that_took_the_name_is_said(workspace: Workspace) -> None:
    workspace.write(".claude/commands/team-review.md", "First.")
    workspace.write(".claude/commands/team/review.md", "Second.")
    workspace.write("AGENTS.md", "## Tests\n\nOnce.\n\n## Tests\n\nTwice.\n")
    reasons = [row["reason"] for row in _import(workspace, "--dry-run") if row["reason"]]
    first = (
        ".claude/skills/team-review/SKILL.md is already made from .claude/commands/team-review.md"
    )
    second = "abilities/tests.md is already made from another section"
    assert reasons == [f"{first}; rename one", f"{second}; rename one"]


def test_a_command_that_only_its_user_started_loses_nothing() -> None:
    raw = b"---\ndescription: x\ndisable-model-invocation: true\nmodel:\n---\nBody\n"
    [one] = imported("claude-commands", "fix", raw)
    assert isinstance(one, Imported)
    assert one.unmapped == ()


def test_the_documents_say_what_the_files_said(foreign: Workspace) -> None:
    _import(foreign)
    skill = _front_matter(foreign.root / ".claude/skills/team-review/SKILL.md")
    assert skill["description"] == "Review the open pull request: tests first"
    assert (skill["argument-hint"], skill["disable-model-invocation"]) == ("[number]", True)
    rule = _front_matter(foreign.root / ".cursor/skills/typescript/SKILL.md")
    assert (rule["paths"], rule["description"]) == (["**/*.ts", "src/**"], "TypeScript")
    assert (
        _front_matter(foreign.root / ".cursor/skills/manual/SKILL.md")["disable-model-invocation"]
        is True
    )
    tags = _front_matter(foreign.root / "skills/tables/SKILL.md")["tags"]
    assert tags == ["data", "pdf", "csv"]
    loaded = load_abilities(foreign.root / "abilities")
    assert {one.id for one in loaded.items} == {"style", "testing-the-shop"}
    section = next(one for one in loaded.items if one.id == "testing-the-shop")
    assert "## Not a section" in section.content


def _front_matter(file: Path) -> dict[str, Any]:
    matter = read_matter(file.read_bytes(), file.name).matter
    assert matter is not None
    return matter.data


def test_a_link_out_of_the_workspace_is_neither_read_nor_written_through(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("a secret")
    (workspace.root / ".claude/commands").mkdir(parents=True)
    (workspace.root / ".claude/commands/leak.md").symlink_to(outside / "secret.md")
    workspace.write(".claude/commands/good.md", "Do good.")
    (workspace.root / ".claude/skills").symlink_to(outside)
    rows = {row["source"]: row["reason"] for row in _import(workspace)}
    assert "leads out of the workspace" in rows[".claude/commands/leak.md"]
    assert "leads out of the workspace" in rows[".claude/commands/good.md"]
    assert [file.name for file in outside.iterdir()] == ["secret.md"]


def test_a_folder_without_such_files_has_nothing_to_import(workspace: Workspace) -> None:
    done = metier(workspace, "import")
    assert (done.returncode, done.stdout) == (0, "")
    assert "nothing to import" in done.stderr


@given(
    st.sampled_from(FOREIGN_KINDS), st.binary(max_size=300) | st.text(max_size=300).map(str.encode)
)
def test_whatever_a_file_contains_the_result_is_a_usable_document(kind: Any, raw: bytes) -> None:
    for prefix in (b"", b"---\ndescription: x\n---\n"):
        for one in imported(kind, "a/b", prefix + raw):
            if isinstance(one, Imported) and one.target.endswith("/SKILL.md"):
                parsed = parse_skill(one.text.encode(errors="replace"), one.target)
                assert parsed.document is not None
