"""`metier lock`, `verify`, `diff`, `trust --skill` and `list --excluded`."""

import json
import os
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import metier
from cli.printed import Metier
from cli.printed import call as call
from cli.typed import answered
from conftest import Workspace

SCHEMAS = Path(metier.__file__).parent / "schemas"


def valid(data: Any, name: str) -> Any:
    schema = json.loads((SCHEMAS / f"{name}.v1.schema.json").read_text())
    jsonschema.validate(data, schema)
    return data


@pytest.fixture
def asking(empty_home: Path) -> None:
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[trust]\nworkspace = "ask"\n')


def test_what_was_locked_verifies_until_it_changes(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy", extra="allowed-tools: Bash(git add:*)")
    workspace.write("skills/deploy/run.sh", "echo\n")
    assert call("lock").out == f"wrote {workspace.root}/metier.lock: 1 skill, 2 files\n"
    lock = valid(json.loads((workspace.root / "metier.lock").read_text()), "lock")
    assert lock["skills"]["skills/deploy"]["tools"] == ["Bash(git add:*)"]
    assert call("verify").code == 0
    assert valid(json.loads(call("lock", "--json").out), "lock-written")["written"] is False
    workspace.write("skills/deploy/run.sh", "curl\n")
    printed = call("verify")
    assert (printed.code, printed.out) == (1, "changed: skills/deploy: run.sh changed\n")
    assert call("verify", "--quiet") == (1, printed.out, "")
    found = valid(json.loads(call("verify", "--json").out), "verify")
    assert found["differences"][0]["change"]["modified"] == ["run.sh"]


def test_diff_shows_in_words_what_changed_since_the_lock(
    workspace: Workspace, call: Metier
) -> None:
    workspace.skill("deploy", body="Ask first.")
    workspace.trust()
    call("lock")
    assert call("diff").out == ""
    workspace.skill("deploy", body="Never ask.")
    shown = call("diff").out
    assert "-Ask first." in shown
    assert "+Never ask." in shown
    call("lock")
    assert call("diff").out == ""


def test_locking_is_no_review_of_skills_that_wait_for_one(
    workspace: Workspace, call: Metier, asking: None
) -> None:
    workspace.skill("deploy")
    workspace.trust()
    call("lock")
    assert "unreviewed" in call("list", "--excluded").out


def test_locking_records_nothing_in_a_workspace_that_is_not_trusted(
    workspace: Workspace, call: Metier, empty_home: Path
) -> None:
    workspace.skill("deploy")
    assert call("lock").code == 0
    (empty_home / ".config/metier").mkdir(parents=True, exist_ok=True)
    (empty_home / ".config/metier/metier.toml").write_text('[trust]\nworkspace = "ask"\n')
    assert "unreviewed" in call("list", "--excluded").out


@pytest.mark.parametrize("trusted_later", [False, True])
def test_diff_names_what_differs_from_the_lock_if_nothing_was_reviewed(
    workspace: Workspace, call: Metier, *, trusted_later: bool
) -> None:
    workspace.skill("deploy")
    workspace.write("skills/deploy/run.sh", "echo\n")
    assert "digests are kept and no texts" in " ".join(call("lock").err.split())
    if trusted_later:
        workspace.trust()
    unchanged = call("diff")
    assert (unchanged.out, "nothing was reviewed yet" in unchanged.err) == ("", True)
    workspace.skill("deploy", body="Never ask.")
    workspace.write("skills/deploy/more.sh", "echo\n")
    assert "metier diff shows" in call("verify").err
    shown = call("diff")
    assert shown.out == (
        "deploy in skills/deploy: not as locked\n"
        "  + script: more.sh\n  changed: SKILL.md\n  added: more.sh\n"
    )
    assert "nothing was reviewed yet" in shown.err


def test_missing_and_extra_skills_fail_only_when_frozen(workspace: Workspace, call: Metier) -> None:
    file = workspace.skill("deploy")
    call("lock")
    workspace.skill("other")
    file.unlink()
    allowed = call("verify")
    assert (allowed.code, "no skill differs" in allowed.err) == (0, False)
    assert "--frozen fails for the rest" in allowed.err
    printed = call("verify", "--frozen")
    assert printed.code == 1
    assert printed.out.splitlines() == [
        "missing: skills/deploy: locked, but not here",
        "extra: skills/other: here, but not locked",
    ]
    assert "2 skills differ from the lock: metier lock accepts" in printed.err


def test_a_skill_that_cannot_be_read_fails(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    call("lock")
    os.mkfifo(workspace.root / "skills/deploy/pipe")
    assert call("verify").out == "unreadable: skills/deploy: pipe is not a regular file\n"
    printed = call("lock")
    assert printed.code == 1
    assert "not locked: skills/deploy: pipe is not a regular file" in printed.out


def test_skills_of_the_home_folder_are_not_locked(
    workspace: Workspace, call: Metier, empty_home: Path
) -> None:
    Workspace(empty_home).skill("mine", folder=".claude/skills/mine")
    workspace.skill("deploy")
    call("lock")
    lock = json.loads((workspace.root / "metier.lock").read_text())
    assert list(lock["skills"]) == ["skills/deploy"]


def test_without_a_lock_verify_says_how_to_make_one(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    printed = call("verify")
    assert printed.code == 2
    assert "hint: metier lock writes it" in printed.err


@pytest.mark.parametrize("content", [b"[" * 100_000, b"{}", b"\xff", b'{"lockVersion": 9}'])
def test_a_hostile_lock_is_one_line(content: bytes, workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    workspace.write("metier.lock", content)
    printed = call("verify")
    assert printed.code == 2
    assert printed.err.count("LOCK_INVALID") == 1
    assert "Traceback" not in printed.err


def test_names_in_a_lock_cannot_manipulate_the_terminal(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    call("lock")
    lock = json.loads((workspace.root / "metier.lock").read_text())
    entry = {**lock["skills"]["skills/deploy"], "name": "x\x1b]0;evil\x07", "tools": ["\x1b[2J"]}
    lock["skills"] = {"skills/deploy": entry, "skills/\x1b[31m\u202e": entry}
    workspace.write("metier.lock", json.dumps(lock))
    for line in (("verify", "--frozen"), ("verify", "--json")):
        printed = call(*line)
        assert "[2J" in printed.out
        assert not {"\x1b", "\x07", "\u202e"} & set(printed.out + printed.err)


@pytest.mark.usefixtures("asking")
def test_a_held_skill_is_listed_as_excluded_with_what_to_do(
    workspace: Workspace, call: Metier
) -> None:
    workspace.skill("deploy")
    assert call("list").out == ""
    [line] = call("list", "--excluded").out.splitlines()
    assert line.split("\t")[2:] == [
        "unreviewed",
        "it is new, and you have not reviewed it",
        "metier diff deploy, then metier trust --skill deploy",
    ]
    [row] = valid(json.loads(call("list", "--excluded", "--json").out), "document-list")
    assert (row["state"], row["review"], row["reason"]) == ("excluded", "held", "unreviewed")
    shown = call("show", "skill", "deploy")
    assert "next: metier diff deploy, then metier trust --skill deploy" in shown.out
    assert "1 skill held until reviewed: metier diff" in call("refresh").out
    assert "held until reviewed" in call("doctor").out
    which = call("which", "deploy", "--expect", "deploy")
    assert "it is excluded: unreviewed" in which.out
    assert "metier trust --skill deploy" in which.out


@pytest.mark.usefixtures("asking")
def test_a_script_accepts_by_digest_and_revokes(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    printed = call("trust", "--skill", "deploy")
    assert printed.code == 3
    assert "REVIEW_NEEDS_TERMINAL" in printed.err
    [shown] = valid(
        json.loads(call("trust", "--skill", "deploy", "--show", "--json").out), "reviews"
    )
    other = call("trust", "--skill", "deploy", "--accept", f"sha256:{'0' * 64}")
    assert (other.code, "TRUST_DIGEST_DIFFERS" in other.err) == (2, True)
    assert call("trust", "--skill", "deploy", "--accept", shown["digest"]).code == 0
    assert call("list").out.startswith("deploy\t")
    assert call("diff").err.endswith("nothing changed since it was reviewed\n")
    workspace.skill("deploy", body="Do it twice.")
    stale = call("trust", "--skill", "deploy", "--accept", shown["digest"])
    assert stale.code == 2
    assert call("list").out == ""
    workspace.skill("deploy")
    assert call("list").out.startswith("deploy\t")
    revoked = call("trust", "--skill", "deploy", "--revoke").err
    assert "is no longer reviewed" in revoked
    assert "still used" not in revoked
    assert call("list").out == ""
    wrong = call("trust", "--skill", "deploy", "--accept", "sha256:0")
    assert (wrong.code, "metier trust --skill NAME --show prints" in wrong.err) == (2, True)


def test_revoking_says_that_a_skill_is_used_anyway(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy")
    revoked = call("trust", "--skill", "deploy", "--revoke")
    assert "it is still used: its source is trusted 'always'" in revoked.err


@pytest.mark.usefixtures("asking")
def test_accepting_says_that_a_skill_stays_excluded_if_its_source_is_never_trusted(
    workspace: Workspace, call: Metier, empty_home: Path
) -> None:
    workspace.skill("deploy")
    [shown] = json.loads(call("trust", "--skill", "deploy", "--show", "--json").out)
    settings = empty_home / ".config/metier/metier.toml"
    settings.write_text('[trust]\nworkspace = "never"\n')
    accepted = call("trust", "--skill", "deploy", "--accept", shown["digest"])
    assert accepted.code == 0, accepted.err
    assert "it stays excluded: its source is trusted 'never'" in accepted.err
    assert call("list").out == ""


@pytest.mark.usefixtures("asking")
def test_diff_shows_what_is_asked_for_then_the_words(workspace: Workspace, call: Metier) -> None:
    workspace.skill("deploy", extra="allowed-tools: Read")
    workspace.write("skills/deploy/notes.txt", "old\n")
    [shown] = json.loads(call("trust", "--skill", "deploy", "--show", "--json").out)
    call("trust", "--skill", "deploy", "--accept", shown["digest"])
    workspace.skill("deploy", extra="allowed-tools: Bash", body="Do \x1b[31mit.")
    workspace.write("skills/deploy/notes.txt", "new\n")
    workspace.write("skills/deploy/z.sh", "echo\n")
    lines = call("diff", "deploy").out.splitlines()
    assert lines[1:4] == ["  + tool: Bash", "  + script: z.sh", "  - tool: Read"]
    files = [line for line in lines if line.startswith(("  changed:", "  added:"))]
    assert files == ["  changed: SKILL.md", "  added: z.sh", "  changed: notes.txt"]
    assert "    +Do \\x1b[31mit." in lines
    assert {"    -old", "    +new", "    +echo"} <= set(lines)
    [found] = valid(json.loads(call("diff", "--json").out), "reviews")
    assert (found["state"], found["held"], found["trust"]) == ("changed", True, "ask")


@pytest.mark.slow
@pytest.mark.usefixtures("asking")
def test_skills_that_match_the_lock_are_accepted_with_one_answer(
    workspace: Workspace, call: Metier
) -> None:
    for name in ("one", "two", "three"):
        workspace.skill(name)
    call("lock")
    workspace.skill("three", body="Not as locked.")
    assert call("list").out == ""
    typed = answered(workspace.root, "y\n", "trust")
    assert typed.code == 0
    assert typed.questions == 2
    assert "These 2 skills are as metier.lock has them. Accept them all?" in typed.screen
    assert "waiting for your review: three" in typed.screen
    assert [line.split("\t")[0] for line in call("list").out.splitlines()] == ["one", "two"]
    typed = answered(workspace.root, "n\n", "trust", "--skill", "three")
    assert (typed.code, typed.questions) == (3, 1)
    typed = answered(workspace.root, "y\n", "trust", "--skill", "three")
    assert (typed.code, typed.questions) == (0, 1)
    assert "+Not as locked." in typed.screen
    assert len(call("list").out.splitlines()) == 3


def test_skills_of_mounts_are_not_checked_without_trust(workspace: Workspace, call: Metier) -> None:
    Workspace(workspace.root.parent / "team").skill("deploy")
    workspace.write("metier.toml", '[[mounts]]\npath = "../team"\nlabel = "team"\n')
    workspace.skill("own")
    workspace.trust()
    assert "1 of them from mounts" in call("lock").err
    assert call("verify", "--frozen").code == 0
    call("trust", "--revoke")
    printed = call("verify", "--frozen")
    assert printed.code == 1
    [line] = printed.out.splitlines()
    assert line.startswith("not checked: ")
    assert line.endswith("its mount needs trust (METIER_TRUST)")
    assert "1 skill not checked: give METIER_TRUST the digest" in printed.err
    assert "metier lock" not in printed.err
    assert "(allowed without --frozen)" in call("verify").out
    data = valid(json.loads(call("verify", "--json").out), "verify")
    assert [one["kind"] for one in data["differences"]] == ["unchecked"]


def test_lock_says_that_it_leaves_the_users_skills_out(
    workspace: Workspace, empty_home: Path, call: Metier
) -> None:
    workspace.skill("here")
    note = "skills in your home folders are not locked"
    assert note not in call("lock").err
    Workspace(empty_home).skill("there", folder=".claude/skills/there")
    assert note in call("lock").err
    assert "no skill differs from the lock" in call("verify").err


def test_lock_in_a_trusted_workspace_says_nothing_about_texts(
    workspace: Workspace, call: Metier
) -> None:
    workspace.skill("here")
    workspace.trust()
    assert "no texts" not in call("lock").err
