"""When a hook may put the text of a workspace into prompts: only while nothing has changed."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Workspace, record_of, state_of, trust
from metier.catalog import Catalog
from metier.config.record import Entry, TrustRecord
from metier.flow.boundary import read_boundary

pytestmark = pytest.mark.slow

PROMPT = json.dumps({"prompt": "please deploy the shop", "session_id": "s"})
CARD = (
    "---\nid: deploy\nname: Deploy\ndescription: How to deploy.\ntriggers:\n  keywords: [deploy]\n"
    "  confidenceThreshold: 0.1\n---\nTHE CARD OF THE WORKSPACE\n"
)
TOOL = '[tools.x]\nargv = ["sh", "tools/x.sh"]\n'


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    workspace.write("metier.toml", TOOL)
    workspace.write("tools/x.sh", "true\n")
    workspace.write("docs/capabilities/deploy.md", CARD)
    profile = {"agentId": "a", "description": "A.", "tools": ["x"]}
    workspace.write("agents/a.json", json.dumps(profile))
    return workspace


def prepare(shop: Workspace) -> None:
    Catalog.for_hooks(read_boundary(str(shop.root), for_host=True)).close()


def said(shop: Workspace, **environ: str) -> str:
    """What a hook prints in a process of its own; no refresh is started behind it."""
    env = {**os.environ, **environ}
    code = (
        "import os, sys; os.posix_spawn = lambda *a, **k: 0\n"
        "sys.argv = ['metier', 'hook', 'claude-code']\n"
        "from metier.__main__ import main; main()"
    )
    finished = subprocess.run(
        [sys.executable, "-c", code],
        cwd=shop.root,
        env=env,
        input=PROMPT,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    return finished.stdout


CHANGES: dict[str, Callable[[Workspace], object]] = {
    "the settings": lambda shop: shop.write("metier.toml", TOOL + "\n"),
    "other settings": lambda shop: shop.write("pyproject.toml", ""),
    "an agent": lambda shop: shop.write("agents/a.json", '{"agentId": "a", "description": "B."}'),
    "a new agent": lambda shop: shop.write("agents/b.json", "{}"),
    "an agent that is gone": lambda shop: (shop.root / "agents/a.json").unlink(),
    "a file that a command names": lambda shop: shop.write("tools/x.sh", "false\n"),
    "the record": lambda shop: TrustRecord().drop(str(shop.root)),
    "times that were set back": lambda shop: os.utime(shop.root / "metier.toml", (1e9, 1e9)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_hook_speaks_for_a_workspace_only_while_nothing_changed(
    change: str, shop: Workspace
) -> None:
    shop.trust(speak=True)
    prepare(shop)
    assert "THE CARD OF THE WORKSPACE" in said(shop)
    CHANGES[change](shop)
    assert said(shop) == ""


OTHERS: dict[str, Callable[[Workspace], object]] = {
    "trusting it": lambda other: other.trust(speak=True),
    "revoking it": lambda other: TrustRecord().drop(str(other.root.resolve())),
}


@pytest.mark.parametrize("change", OTHERS)
def test_a_change_of_another_workspaces_trust_does_not_silence_it(
    change: str, shop: Workspace, tmp_path: Path
) -> None:
    other = Workspace(tmp_path / "other")
    other.write("metier.toml", "")
    other.trust()
    shop.trust(speak=True)
    prepare(shop)
    OTHERS[change](other)
    assert "THE CARD OF THE WORKSPACE" in said(shop)


def test_a_worktree_is_silent_once_its_main_worktree_is_revoked(
    shop: Workspace, tmp_path: Path
) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=shop.root, check=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "all")
    git("worktree", "add", "-q", str(tmp_path / "tree"))
    tree = Workspace(tmp_path / "tree")
    shop.trust(speak=True)
    prepare(tree)
    TrustRecord().put("/other", Entry("sha256:x"))
    assert "THE CARD OF THE WORKSPACE" in said(tree)
    assert TrustRecord().drop(str(shop.root))
    assert said(tree) == ""


def test_a_change_of_the_file_that_all_workspaces_shared_silences_it(
    shop: Workspace, empty_home: Path
) -> None:
    shop.trust(speak=True)
    own = record_of(shop.root)
    shared = own.replace(empty_home / ".config/metier/trust.json")
    prepare(shop)
    assert "THE CARD OF THE WORKSPACE" in said(shop)
    shared.unlink()
    assert said(shop) == ""


def test_a_change_of_prose_does_not_silence_it(shop: Workspace) -> None:
    shop.trust(speak=True)
    prepare(shop)
    shop.skill("another")
    assert "THE CARD OF THE WORKSPACE" in said(shop)


@pytest.mark.parametrize("way", ["untrusted", "trusted without speaking", "digest"])
def test_without_the_users_word_it_does_not_speak(
    way: str, shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way != "untrusted":
        digest = shop.trust()
        if way == "digest":
            TrustRecord().drop(str(shop.root))
            monkeypatch.setenv("METIER_TRUST", digest)
    prepare(shop)
    assert said(shop) == ""
    assert not (state_of(shop.root) / "speak.trust").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_workspace_of_another_user_speaks_only_if_its_user_lists_it_as_safe(
    shop: Workspace, empty_home: Path
) -> None:
    shop.trust(speak=True)
    prepare(shop)
    os.chown(shop.root, 12345, 12345)
    assert said(shop) == ""
    settings = empty_home / ".config/metier/metier.toml"
    settings.write_text(f'safe-directories = ["{shop.root}"]\n')
    prepare(shop)
    assert "THE CARD OF THE WORKSPACE" in said(shop)


def test_a_stamp_that_was_written_by_the_workspace_does_not_count(shop: Workspace) -> None:
    (shop.root / ".metier").mkdir()
    (shop.root / ".metier/speak.trust").write_text("own")
    prepare(shop)
    assert said(shop) == ""


def test_the_workspaces_documents_do_not_change_what_is_said_of_the_users(
    shop: Workspace, empty_home: Path
) -> None:
    mine = empty_home / ".claude/skills/deploy-shop"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text(
        "---\nname: deploy-shop\ndescription: Deploy the shop. Use it to deploy.\n---\nDo.\n"
    )
    prepare(shop)
    before = said(shop)
    assert "deploy-shop" in before
    for number in range(30):
        shop.skill(f"deploy-{number}", "Deploy the shop, please deploy. Use it to deploy.")
    prepare(shop)
    assert said(shop) == before


def test_a_nested_root_does_not_speak(shop: Workspace) -> None:
    (shop.root / "docs/capabilities/deploy.md").unlink()
    shop.write("metier.toml", '[folders]\ncards = ["vendor/cards"]\n')
    shop.write("vendor/cards/deploy.md", CARD)
    shop.write("vendor/.git", "")
    shop.trust(speak=True)
    prepare(shop)
    assert said(shop) == ""
    (shop.root / "vendor/.git").unlink()
    trust(shop.root, speak=True)
    prepare(shop)
    assert "THE CARD OF THE WORKSPACE" in said(shop)
