"""The documents of a commit, written elsewhere."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import Workspace
from metier.config import Config
from metier.config.owners import head_commit
from metier.errors import NotFoundError
from metier.flow.commits import commit_of, write_documents

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")

_WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *_WHO, *arguments], cwd=root, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def repository(workspace: Workspace) -> Workspace:
    """A workspace with a commit, and changes since."""
    shutil.rmtree(workspace.root / ".git")
    git(workspace.root, "init", "-q", "-b", "main")
    workspace.skill("pdf", "Old text.")
    workspace.write("agents/a.yaml", "agentId: a\ndescription: Does it.\n")
    workspace.write("evals/cases.yaml", "cases: []")
    workspace.write("src/big.bin", b"x" * 100)
    workspace.write("plugin/.claude-plugin/plugin.json", '{"name": "p"}')
    (workspace.root / "linked").symlink_to("skills")
    (workspace.root / "out").symlink_to("../..")
    (workspace.root / "absolute").symlink_to("/etc")
    git(workspace.root, "add", "-A")
    git(workspace.root, "commit", "-qm", "one")
    workspace.skill("pdf", "New text.")
    return workspace


def written(repository: Workspace, folder: Path, ref: str = "HEAD") -> set[str]:
    folder.mkdir()
    root = str(repository.root)
    write_documents(root, commit_of(root, ref), str(folder), Config())
    files = (path for path in folder.rglob("*") if path.is_symlink() or path.is_file())
    return {str(path.relative_to(folder)) for path in files}


def test_documents_are_written_and_links_that_stay_inside(
    repository: Workspace, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    assert written(repository, folder) == {
        "skills/pdf/SKILL.md", "agents/a.yaml", "evals/cases.yaml",
        "plugin/.claude-plugin/plugin.json", "linked",
    }  # fmt: skip
    assert "Old text." in (folder / "linked/pdf/SKILL.md").read_text()
    assert "New text." in (repository.root / "skills/pdf/SKILL.md").read_text()


def test_a_workspace_below_its_repository_gets_its_own_part(
    repository: Workspace, tmp_path: Path
) -> None:
    below = Workspace(repository.root / "skills")
    assert written(below, tmp_path / "out") == {"pdf/SKILL.md"}


def test_nothing_of_the_repository_is_run(repository: Workspace, tmp_path: Path) -> None:
    """Neither filters, nor hooks, nor what watches files."""
    mark = tmp_path / "ran"
    run = f"sh -c 'touch {mark}; cat'"
    repository.write(".gitattributes", "* filter=evil\n")
    git(repository.root, "add", ".gitattributes")
    git(repository.root, "commit", "-qm", "two")
    for key in ("filter.evil.smudge", "filter.evil.clean", "core.fsmonitor", "core.pager"):
        git(repository.root, "config", key, run)
    assert "skills/pdf/SKILL.md" in written(repository, tmp_path / "out")
    assert not mark.exists()


@pytest.mark.parametrize("ref", ["nowhere", "--help", "-p", "HEAD:skills", ""])
def test_what_is_no_commit_is_said(repository: Workspace, ref: str) -> None:
    with pytest.raises(NotFoundError, match="neither a folder nor a commit"):
        commit_of(str(repository.root), ref)


def test_a_folder_without_git_has_no_commit(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError):
        commit_of(str(tmp_path), "HEAD")


# The commit that is checked out


def test_the_commit_that_is_checked_out_is_read_from_files(
    repository: Workspace, tmp_path: Path
) -> None:
    root = repository.root
    commit = git(root, "rev-parse", "HEAD")
    assert head_commit(str(root)) == commit
    git(root, "pack-refs", "--all")
    assert head_commit(str(root)) == commit
    git(root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "tree"))
    assert head_commit(str(tmp_path / "tree")) == commit
    git(root, "checkout", "-q", "--detach")
    assert head_commit(str(root)) == commit


@pytest.mark.parametrize(
    "head", ["", "ref: ../../secret", "ref: refs/heads/none", "x" * 40, "\xff"]
)
def test_an_odd_head_means_that_the_commit_is_unknown(workspace: Workspace, head: str) -> None:
    workspace.write(".git/HEAD", head)
    assert head_commit(str(workspace.root)) == ""


def test_without_git_the_commit_is_unknown(tmp_path: Path) -> None:
    assert head_commit(str(tmp_path)) == ""
    os.symlink("/dev/zero", tmp_path / ".git")
    assert head_commit(str(tmp_path)) == ""
