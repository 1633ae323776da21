"""Which files are linted: those that changed, and those that a list names."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Workspace
from metier.config import Config
from metier.errors import UsageError
from metier.flow import lint_files
from metier.flow.lint_files import changed_files, documents_among, listed_files

_WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *_WHO, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """A workspace with two skills in a commit."""
    shutil.rmtree(workspace.root / ".git")
    git(workspace.root, "init", "-q", "-b", "main")
    workspace.skill("one")
    workspace.skill("two")
    workspace.write(".gitignore", "ignored/\n")
    git(workspace.root, "add", "-A")
    git(workspace.root, "commit", "-qm", "one")
    monkeypatch.chdir(workspace.root)
    return workspace


def changed(repository: Workspace, ref: str = "HEAD") -> set[str]:
    root = str(repository.root)
    return {os.path.relpath(file, root) for file in changed_files(root, ref)}


@needs_git
def test_uncommitted_staged_untracked_and_removed_files_have_changed(
    repository: Workspace,
) -> None:
    assert changed(repository) == set()
    repository.skill("one", "Something else. Use it when that is needed.")
    repository.skill("new")
    repository.skill("staged")
    repository.skill("secret", folder="ignored")
    git(repository.root, "add", "skills/staged")
    (repository.root / "skills/two/SKILL.md").unlink()
    assert changed(repository) == {f"skills/{name}/SKILL.md" for name in
                                   ("one", "new", "staged", "two")}  # fmt: skip


@needs_git
def test_a_branch_is_compared_from_where_this_one_left_it(repository: Workspace) -> None:
    root = repository.root
    git(root, "checkout", "-qb", "mine")
    repository.skill("mine")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "mine")
    git(root, "checkout", "-q", "main")
    repository.skill("theirs")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "theirs")
    git(root, "checkout", "-q", "mine")
    assert changed(repository) == set()
    assert changed(repository, "main") == {"skills/mine/SKILL.md"}


@needs_git
def test_without_a_commit_every_file_has_changed(workspace: Workspace) -> None:
    shutil.rmtree(workspace.root / ".git")
    git(workspace.root, "init", "-q", "-b", "main")
    workspace.skill("one")
    assert changed(workspace) == {"skills/one/SKILL.md"}


@needs_git
@pytest.mark.parametrize("ref", ["nowhere", "--output=x", "-p", ""])
def test_what_is_no_commit_is_said(repository: Workspace, ref: str) -> None:
    with pytest.raises(UsageError, match="no common commit"):
        changed(repository, ref)
    assert not (repository.root / "x").exists()


def edit_unnoticed(file: Path) -> None:
    """Change a file in a way that git sees only if it compares the content."""
    index = Path(".git/index")
    os.utime(file, (1_000_000, 1_000_000))
    git(Path(), "add", "-A")
    file.write_text(file.read_text().replace("one", "eno"))
    os.utime(file, (1_000_000, 1_000_000))
    os.utime(index, (1_000_000, 1_000_000))


@needs_git
@pytest.mark.parametrize("ref", ["HEAD", "main"])
@pytest.mark.parametrize("place", [".git/config", ".git/more"])
@pytest.mark.parametrize("name", ["evil", "e=vil"])
def test_nothing_of_the_repository_is_run(
    repository: Workspace, tmp_path: Path, name: str, place: str, ref: str
) -> None:
    """Neither filters, nor hooks, nor what compares or watches files."""
    root, mark = repository.root, tmp_path / "ran"
    run = f"sh -c 'touch {mark}; cat'"
    repository.write(".git/info/attributes", f"* filter={name} diff=evil\n")
    git(root, "config", "core.trustctime", "false")
    git(root, "config", "core.checkstat", "minimal")
    edit_unnoticed(root / "skills/one/SKILL.md")
    git(root, "config", "include.path", "more")
    keys = (f"filter.{name}.smudge", f"filter.{name}.clean", f"filter.{name}.process",
            "core.fsmonitor", "diff.evil.command", "diff.evil.textconv", "diff.external",
            "core.pager")  # fmt: skip
    for key in keys:
        git(root, "config", "--file", place, key, run)
    git(root, "config", "--file", place, f"filter.{name}.required", "true")
    assert changed(repository, ref) == {"skills/one/SKILL.md"}
    assert not mark.exists()


@needs_git
def test_a_touched_file_has_not_changed(repository: Workspace) -> None:
    os.utime(repository.root / "skills/one/SKILL.md", (1_000_000, 1_000_000))
    assert changed(repository) == set()


@needs_git
@pytest.mark.parametrize("is_configured", [False, True])
def test_a_linked_worktree_sees_its_own_files(
    repository: Workspace, tmp_path: Path, *, is_configured: bool
) -> None:
    git(repository.root, "worktree", "add", "-q", str(tmp_path / "linked"))
    if is_configured:
        git(repository.root, "config", "extensions.worktreeConfig", "true")
    repository.skill("theirs")
    linked = Workspace(tmp_path / "linked")
    linked.skill("mine")
    assert changed(linked) == {"skills/mine/SKILL.md"}


@needs_git
def test_a_workspace_below_a_repository_sees_its_own_files(repository: Workspace) -> None:
    below = Workspace(repository.root / "below")
    below.write("metier.toml", "")
    below.skill("inner")
    repository.skill("outer")
    assert changed(below) == {"metier.toml", "skills/inner/SKILL.md"}


# Lists


@pytest.mark.parametrize(
    ("raw", "paths"),
    [
        (b"", []),
        (b"a\nb\n", ["a", "b"]),
        (b"a\r\nb c", ["a", "b c"]),
        (b"a\nb\0c\0", ["a\nb", "c"]),
        (b"\n\n", []),
        (b"\xff\n", [os.fsdecode(b"\xff")]),
    ],
)
def test_paths_are_on_lines_or_end_with_nul(raw: bytes, paths: list[str]) -> None:
    assert listed_files(raw) == paths


def test_a_list_that_is_too_long_is_wrong_usage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint_files, "MOST_LISTED", 3)
    with pytest.raises(UsageError, match="too long"):
        listed_files(b"a\nb\n")


# Documents


@pytest.fixture
def documents(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill("one")
    workspace.write("skills/one/scripts/run.py", "")
    workspace.write("abilities/a.md", "")
    workspace.write("abilities/notes.txt", "")
    workspace.write("agents/a.yaml", "")
    workspace.write("docs/capabilities/README.md", "")
    workspace.write("docs/capabilities/web.md", "")
    workspace.write(".github/workflows/test.yaml", "")
    workspace.write("AGENTS.md", "")
    workspace.write("README.md", "")
    workspace.write("node_modules/x/SKILL.md", "")
    monkeypatch.chdir(workspace.root)
    return workspace


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("skills/one/SKILL.md", ["skills/one/SKILL.md"]),
        ("skills/one/scripts/run.py", ["skills/one/SKILL.md"]),
        ("skills/one/scripts/removed.py", ["skills/one/SKILL.md"]),
        ("skills/removed/SKILL.md", []),
        ("abilities/a.md", ["abilities/a.md"]),
        ("abilities/notes.txt", []),
        ("agents/a.yaml", ["agents/a.yaml"]),
        ("docs/capabilities/web.md", ["docs/capabilities/web.md"]),
        ("docs/capabilities/README.md", []),
        (".github/workflows/test.yaml", []),
        ("AGENTS.md", ["AGENTS.md"]),
        ("README.md", []),
        ("node_modules/x/SKILL.md", []),
        ("/etc/passwd", []),
        ("../outside.txt", []),
    ],
)
def test_only_documents_and_the_skills_around_files_are_checked(
    documents: Workspace, path: str, found: list[str]
) -> None:
    assert documents_among([path], str(documents.root), Config()) == found


def test_each_document_is_named_once(documents: Workspace) -> None:
    files = ["skills/one/SKILL.md", "skills/one/scripts/run.py", "./skills/one/SKILL.md"]
    assert documents_among(files, str(documents.root), Config()) == ["skills/one/SKILL.md"]


def test_paths_are_relative_to_the_current_folder(
    documents: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(documents.root / "skills")
    assert documents_among(["one/SKILL.md"], str(documents.root), Config()) == ["one/SKILL.md"]


def test_a_folder_without_git_is_said_to_be_no_repository(
    tmp_path: Path, no_mark_above: None
) -> None:
    with pytest.raises(UsageError, match="this is not a git repository"):
        changed_files(str(tmp_path), "HEAD~1")


def stub_git(folder: Path, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    """A git that refuses to work."""
    folder.mkdir()
    (folder / "git").write_text(f'#!/bin/sh\necho "{said}" >&2\nexit 128\n')
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_why_git_refuses_a_repository_is_said_with_what_to_do(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = str(workspace.root)
    said = f"fatal: detected dubious ownership in repository at '{root}'\nTo add an exception"
    stub_git(tmp_path / "bin", monkeypatch, said)
    with pytest.raises(UsageError, match="detected dubious ownership in repository") as refused:
        changed_files(root, "main")
    assert refused.value.message.endswith(f"at '{root}'")
    assert f"git config --global --add safe.directory {root}" in refused.value.hint
    assert "--files-from" in refused.value.hint


def test_any_other_reason_of_git_is_passed_on(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stub_git(tmp_path / "bin", monkeypatch, "fatal: bad config line 1 in file .git/config")
    with pytest.raises(UsageError, match="bad config line 1"):
        changed_files(str(workspace.root), "main")


def test_a_machine_without_git_is_said(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="git does not work here: No such file"):
        changed_files(str(workspace.root), "main")
