"""What the user trusts: powers at a digest, in a record of their own."""

import asyncio
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import Workspace, record_of, trust
from metier import Catalog
from metier.cli import run
from metier.config.powers import Powers
from metier.config.record import Entry, TrustRecord
from metier.errors import TrustError
from metier.flow.boundary import read_boundary
from metier.values.agents import AgentProfile
from metier.values.trust import Trust

pytestmark = pytest.mark.slow

SETTINGS = """
[tools]
allow = ["count"]
[tools.count]
argv = ["sh", "tools/count.sh", "{word}"]
[tools.other]
argv = ["true"]
[models.local]
base-url = "http://127.0.0.1:9/v1"
api-key-env = "LOCAL_KEY"
[mcp.files]
command = "python"
args = ["-m", "servers.files", "--config=servers/config.json"]
env = { BASH_ENV = "servers/env.sh" }
[tools.decoy]
argv = ["sh", "run.sh"]
folder = "tools"
[tools.joined]
argv = ["python", "-mservers.more"]
[tools.inner]
argv = ["sh", "-c", ". ./tools/inner.sh; echo > written.txt"]
[tools.folder]
argv = ["python", "app"]
[tools.linked]
argv = ["./out"]
"""
BOSS = json.dumps(
    {
        "agentId": "boss",
        "description": "Delegates.",
        "workflow": [
            {
                "stepId": "d",
                "type": "delegate",
                "config": {"targetAgent": "worker", "input": {"cmd": "fine"}},
            }
        ],
    }
)
AGENT = {
    "agentId": "worker",
    "description": "Works.",
    "systemPrompt": "Work.",
    "tools": ["count"],
    "workflow": [
        {"stepId": "a", "type": "tool", "config": {"tool": "count", "input": {"word": "x"}}}
    ],
}


@pytest.fixture
def shop(workspace: Workspace) -> Workspace:
    workspace.write("metier.toml", SETTINGS)
    workspace.write("tools/count.sh", "echo counted\n")
    workspace.write("servers/files.py", "")
    workspace.write("servers/config.json", "{}")
    for name in ("run.sh", "tools/run.sh", "tools/inner.sh", "servers/more.py", "servers/env.sh",
                 "app/__main__.py"):  # fmt: skip
        workspace.write(name, "")
    (workspace.root / "out").symlink_to("/bin/true")
    workspace.write("agents/boss.json", BOSS)
    workspace.write("agents/worker.json", json.dumps(AGENT))
    workspace.write("agents/prose.md", "---\nname: prose\ndescription: Writes.\n---\nWrite.\n")
    workspace.skill("a")
    return workspace


def trust_in(workspace: Workspace) -> Trust:
    return read_boundary(str(workspace.root)).trust


def agent(**changes: object) -> str:
    return json.dumps({**AGENT, **changes})


def led_elsewhere(link: Path) -> None:
    link.unlink()
    link.symlink_to("/bin/false")


POWERS: dict[str, Callable[[Workspace], object]] = {
    "a command line": lambda shop: shop.write("metier.toml", SETTINGS.replace("{word}", "-x")),
    "a new command": lambda shop: shop.write("metier.toml", SETTINGS + '[tools.z]\nargv = ["z"]\n'),
    "a consent": lambda shop: shop.write("metier.toml", SETTINGS.replace('"count"]', '"other"]')),
    "an address": lambda shop: shop.write("metier.toml", SETTINGS.replace(":9/", ":10/")),
    "a variable": lambda shop: shop.write("metier.toml", SETTINGS.replace("LOCAL_", "OTHER_")),
    "a mount of other settings": lambda shop: shop.write(
        "pyproject.toml", '[tool.metier]\nmounts = [{ path = "../x", label = "two" }]\n'
    ),
    "a profile of other settings": lambda shop: shop.write(
        "pyproject.toml", "[tool.metier.capabilities.profiles.q]\nmaxTokens = 9\n"
    ),
    "a file behind a decoy": lambda shop: shop.write("tools/run.sh", "echo changed\n"),
    "a module that is joined to its option": lambda shop: shop.write("servers/more.py", "x = 1\n"),
    "a script inside a command line": lambda shop: shop.write("tools/inner.sh", "echo changed\n"),
    "the main file of a folder": lambda shop: shop.write("app/__main__.py", "x = 1\n"),
    "where a link leads": lambda shop: led_elsewhere(shop.root / "out"),
    "a file in the environment of a server": lambda shop: shop.write("servers/env.sh", "x=1\n"),
    "what a delegate is given": lambda shop: shop.write(
        "agents/boss.json", BOSS.replace('"fine"', '"evil"')
    ),
    "when a tool is called": lambda shop: shop.write(
        "agents/worker.json", agent().replace('"type": "tool"', '"type": "tool", "condition": "1"')
    ),
    "a server": lambda shop: shop.write("metier.toml", SETTINGS.replace('"python"', '"sh"')),
    "other settings": lambda shop: shop.write(
        "pyproject.toml", '[tool.metier.probes.x]\nargv = ["x"]\n'
    ),
    "a narrowed setting": lambda shop: shop.write("metier.toml", 'disabled = ["x"]\n' + SETTINGS),
    "a script": lambda shop: shop.write("tools/count.sh", "echo changed\n"),
    "a module": lambda shop: shop.write("servers/files.py", "x = 1\n"),
    "a file behind an option": lambda shop: shop.write("servers/config.json", '{"a": 1}'),
    "a script that is gone": lambda shop: (shop.root / "tools/count.sh").unlink(),
    "an agent's tools": lambda shop: shop.write("agents/worker.json", agent(tools=["other"])),
    "an agent's model": lambda shop: shop.write("agents/worker.json", agent(model="openai:x")),
    "what a tool step is given": lambda shop: shop.write(
        "agents/worker.json", agent().replace('"word": "x"', '"word": "y"')
    ),
    "a delegate": lambda shop: shop.write(
        "agents/worker.json",
        agent(
            workflow=[{"stepId": "d", "type": "delegate", "config": {"targetAgent": "prose"}}],
        ),
    ),
    "a new agent": lambda shop: shop.write("agents/new.json", agent(agentId="new")),
    "an agent that is gone": lambda shop: (shop.root / "agents/prose.md").unlink(),
    "a standard agent": lambda shop: shop.write("agents/s.json", agent(agentId="standard")),
}
HARMLESS: dict[str, Callable[[Workspace], object]] = {
    "a skill": lambda shop: shop.skill("b"),
    "an agent's prose": lambda shop: shop.write("agents/worker.json", agent(systemPrompt="Other.")),
    "a folder inside": lambda shop: shop.write(
        "metier.toml", SETTINGS + '[folders]\nabilities = ["more"]\n'
    ),
    "lint": lambda shop: shop.write("metier.toml", SETTINGS + '[lint]\nignore = ["SK306"]\n'),
    "what a command line writes": lambda shop: shop.write("written.txt", "done\n"),
    "a file that nothing names": lambda shop: shop.write("tools/other.sh", "echo\n"),
    "spaces and comments": lambda shop: shop.write("metier.toml", f"# hello\n\n{SETTINGS}"),
}


@pytest.mark.parametrize("change", POWERS)
def test_any_change_of_a_power_ends_the_trust(change: str, shop: Workspace) -> None:
    shop.trust()
    assert trust_in(shop).state == "trusted"
    POWERS[change](shop)
    assert trust_in(shop).state == "changed"


@pytest.mark.parametrize("change", HARMLESS)
def test_what_is_no_power_leaves_the_trust_as_it_is(change: str, shop: Workspace) -> None:
    shop.trust()
    HARMLESS[change](shop)
    assert trust_in(shop).state == "trusted"


def test_the_digest_of_nothing_is_that_of_its_json() -> None:
    text = json.dumps(Powers().to_json(), sort_keys=True, separators=(",", ":"))
    assert Powers().digest == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
    assert Powers(links={"a": "b"}).digest != Powers().digest != Powers(files={"a": "b"}).digest


def test_the_digest_does_not_depend_on_the_place_or_the_order(shop: Workspace) -> None:
    first = shop.trust()
    moved = shop.root.rename(shop.root.with_name("elsewhere"))
    os.utime(moved / "metier.toml")
    assert trust(moved) == first


def test_the_record_has_what_the_user_agreed_to(shop: Workspace, empty_home: Path) -> None:
    digest = shop.trust(speak=True)
    file = record_of(shop.root)
    entry = json.loads(file.read_text())["workspaces"][str(shop.root)]
    assert (entry["digest"], entry["speak"]) == (digest, True)
    assert entry["keys"] == {"LOCAL_KEY": ["127.0.0.1:9"]}
    assert [(one["tool"], one["agent"]) for one in entry["consents"]] == [("count", "worker")]
    assert file.stat().st_mode & 0o777 == 0o600


def test_the_state_folder_of_the_environment_does_not_move_the_record(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, empty_home: Path
) -> None:
    monkeypatch.setenv("METIER_STATE_DIR", str(tmp_path / "ci"))
    shop.trust()
    assert record_of(shop.root).is_relative_to(empty_home)
    assert record_of(shop.root).exists()
    assert not list((tmp_path).glob(f"ci/**/{record_of(shop.root).name}"))


# Running


def test_an_agent_runs_with_the_tools_that_were_agreed_to(shop: Workspace) -> None:
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert catalog.run_sync("worker", "work").output == "counted"


@pytest.mark.parametrize("way", ["none", "wrong digest"])
def test_without_trust_nothing_runs(way: str, shop: Workspace) -> None:
    digest = shop.trust()
    wanted = "none" if way == "none" else digest[:-1] + ("0" if digest[-1] != "0" else "1")
    with Catalog.open(shop.root, trust=wanted) as catalog:
        catalog.refresh()
        with pytest.raises(TrustError) as caught:
            catalog.run_sync("worker", "work")
        assert caught.value.exit_code == 3
        for call in (catalog.agency.resume, catalog.agency.fork):
            with pytest.raises(TrustError):
                asyncio.run(call("any"))


def test_a_digest_trusts_for_one_catalog_and_records_nothing(
    shop: Workspace, empty_home: Path
) -> None:
    digest = shop.trust()
    TrustRecord().drop(str(shop.root))
    with Catalog.open(shop.root, trust=digest) as catalog:
        catalog.refresh()
        assert catalog.run_sync("worker", "work").success
        assert catalog.trust.speak is False
    assert trust_in(shop).state == "new"


def test_an_agent_that_changes_after_the_digest_does_not_run(shop: Workspace) -> None:
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        shop.write("agents/worker.json", agent(systemPrompt="Other prose."))
        catalog.refresh()
        assert catalog.run_sync("worker", "work").success
        shop.write("agents/worker.json", agent().replace('"word": "x"', '"word": "evil"'))
        catalog.refresh()
        with pytest.raises(TrustError, match="what it can do has changed"):
            catalog.run_sync("worker", "work")


def test_a_command_whose_file_changed_does_not_start(shop: Workspace) -> None:
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        shop.write("tools/count.sh", f"touch {shop.root}/swapped\n")
        result = catalog.run_sync("worker", "work")
    assert not result.success
    assert "tools/count.sh has changed since you trusted" in str(result.run.failure)
    assert not (shop.root / "swapped").exists()


def test_consent_holds_for_the_agent_it_was_given_to(shop: Workspace, empty_home: Path) -> None:
    own = empty_home / "agents"
    own.mkdir()
    (own / "mine.json").write_text(agent(agentId="mine"))
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[folders]\nagents = ["~/agents"]\n')
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert catalog.run_sync("worker", "work").success
        refused = catalog.run_sync("mine", "work")
        assert "needs consent" in str(refused.run.failure)
        catalog.agency.consent.add("count")
        assert catalog.run_sync("mine", "work").success


def test_the_users_own_allow_does_not_cover_a_command_of_the_workspace(
    shop: Workspace, empty_home: Path
) -> None:
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[tools]\nallow = ["count"]\n')
    shop.write("metier.toml", SETTINGS.replace('allow = ["count"]', "allow = []"))
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert "needs consent" in str(catalog.run_sync("worker", "work").run.failure)


def test_a_stored_run_whose_agent_differs_has_no_consent_on_record(shop: Workspace) -> None:
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        first = catalog.run_sync("worker", "work")
        other = dict(first.run.profile)
        changed = json.loads(agent().replace('"word": "x"', '"word": "evil"'))
        other["workflow"] = changed["workflow"]
        catalog.agency.check_stored(AgentProfile.of(other))
        assert not catalog.agency.is_allowed("count", "worker")
        catalog.agency.check_stored(AgentProfile.of(first.run.profile))
        assert catalog.agency.is_allowed("count", "worker")


# The record


@pytest.mark.parametrize(
    "text",
    [
        b"", b"{", b"[]", b"null", b"{}", b'{"version": 2, "workspaces": {}}', b"\xff\xfe",
        b'{"version": 1, "workspaces": []}', b"[" * 100_000,
    ],
)  # fmt: skip
def test_a_record_that_makes_no_sense_trusts_nothing(
    text: bytes, shop: Workspace, empty_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.trust()
    file = record_of(shop.root)
    file.write_bytes(text)
    assert not trust_in(shop).is_trusted
    assert run(["list", "--root", str(shop.root)]) == 0
    assert "the trust record cannot be read" in capsys.readouterr().err
    assert run(["trust", "--accept", f"sha256:{'0' * 64}", "--root", str(shop.root)]) == 2
    assert file.read_bytes() == text


@pytest.mark.parametrize(
    "change",
    [
        {"digest": 5}, {"digest": None}, {"consents": "count"}, {"consents": [{"tool": "x"}]},
        {"keys": []}, {"keys": {"A": "b", "C": 5}}, {"speak": 1}, {"speak": "yes"}, {"powers": []},
    ],
)  # fmt: skip
def test_an_entry_that_was_edited_into_nonsense_trusts_nothing(
    change: dict[str, object], shop: Workspace, empty_home: Path
) -> None:
    shop.trust()
    file = record_of(shop.root)
    data = json.loads(file.read_text())
    data["workspaces"][str(shop.root)].update(change)
    file.write_text(json.dumps(data))
    assert not trust_in(shop).is_trusted


@pytest.mark.parametrize("cut", [2, 10, 100, 400])
def test_a_torn_record_trusts_nothing(cut: int, shop: Workspace, empty_home: Path) -> None:
    shop.trust()
    file = record_of(shop.root)
    file.write_bytes(file.read_bytes()[:-cut])
    assert not trust_in(shop).is_trusted


@pytest.mark.parametrize("kind", ["link", "fifo", "folder", "/dev/zero"])
def test_a_record_that_is_no_regular_file_trusts_nothing(
    kind: str, shop: Workspace, empty_home: Path
) -> None:
    shop.trust()
    file = record_of(shop.root)
    kept = file.rename(file.with_name("kept.json"))
    if kind == "link":
        file.symlink_to(kept)
    elif kind == "fifo":
        os.mkfifo(file)
    elif kind == "folder":
        file.mkdir()
    else:
        file.symlink_to("/dev/zero")
    assert not trust_in(shop).is_trusted


PUT = """
import sys
from metier.config.record import Entry, TrustRecord
for number in range(40):
    TrustRecord().put(f"/workspace/{sys.argv[1]}/{number}", Entry("sha256:x"))
"""


def shared_file(home: Path, *workspaces: str) -> Path:
    """The file that all workspaces shared, as it was written before."""
    known = {one: Entry("sha256:x", speak=True).to_json() for one in workspaces}
    file = home / ".config/metier/trust.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"version": 1, "workspaces": known}))
    return file


def test_two_processes_that_write_lose_nothing(empty_home: Path) -> None:
    shared_file(empty_home, "/workspace/a/0", "/old")
    running = [subprocess.Popen([sys.executable, "-c", PUT, one]) for one in ("a", "b")]
    assert [one.wait(60) for one in running] == [0, 0]
    record = TrustRecord()
    names = [f"/workspace/{process}/{number}" for process in "ab" for number in range(40)]
    assert [name for name in [*names, "/old"] if record.entry(name) is None] == []
    assert not (empty_home / ".config/metier/trust.json").exists()


def test_revoking_forgets_one_workspace_only(shop: Workspace) -> None:
    shop.trust()
    TrustRecord().put("/other", Entry("sha256:x"))
    assert TrustRecord().drop(str(shop.root))
    assert not TrustRecord().drop(str(shop.root))
    assert TrustRecord().entry("/other") is not None
    assert trust_in(shop).state == "new"


def test_the_file_that_all_workspaces_shared_is_read_until_a_change_splits_it(
    empty_home: Path,
) -> None:
    file = shared_file(empty_home, "/one", "/two")
    record = TrustRecord()
    assert (record.entry("/one"), record.entry("/three")) == (Entry("sha256:x", speak=True), None)
    assert file.exists()
    record.put("/three", Entry("sha256:y"))
    assert not file.exists()
    digests = [(record.entry(one) or Entry("")).digest for one in ("/one", "/two", "/three")]
    assert digests == ["sha256:x", "sha256:x", "sha256:y"]


def test_a_workspace_in_the_shared_file_can_be_revoked(empty_home: Path) -> None:
    shared_file(empty_home, "/one", "/two")
    record = TrustRecord()
    assert (record.drop("/one"), record.drop("/one")) == (True, False)
    assert (record.entry("/one"), record.entry("/two") is None) == (None, False)


def test_the_file_of_a_workspace_decides_and_not_the_shared_file(empty_home: Path) -> None:
    record = TrustRecord()
    record.put("/one", Entry("sha256:new"))
    shared_file(empty_home, "/one")
    for _ in range(2):
        assert (record.entry("/one") or Entry("")).digest == "sha256:new"
        record.put("/two", Entry("sha256:y"))


def test_the_file_of_another_workspace_trusts_nothing(shop: Workspace) -> None:
    shop.trust()
    TrustRecord().put("/other", Entry("sha256:x"))
    record_of(shop.root).replace(TrustRecord().files("/other")[0])
    assert TrustRecord().entry("/other") is None


# Owners, worktrees, nested roots


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", [".", "metier.toml"])
def test_a_workspace_of_another_user_is_never_trusted(
    what: str, shop: Workspace, empty_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.trust()
    os.chown(shop.root / what, 12345, 12345)
    assert trust_in(shop).state == "owner"
    monkeypatch.setenv("SUDO_UID", "12345")
    assert trust_in(shop).state == "trusted"
    monkeypatch.setenv("SUDO_UID", "54321")
    assert trust_in(shop).state == "owner"
    folder = empty_home / ".config/metier"
    (folder / "metier.toml").write_text(f'safe-directories = ["{shop.root}"]\n')
    assert trust_in(shop).state == "trusted"


def git(folder: Path, *words: str) -> None:
    named = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def worktree(shop: Workspace) -> Path:
    git(shop.root, "init", "-q")
    git(shop.root, "add", ".")
    git(shop.root, "commit", "-qm", "first")
    made = shop.root.parent / "worktree"
    git(shop.root, "worktree", "add", "-q", str(made))
    return made


def test_a_worktree_of_a_trusted_repository_is_trusted(shop: Workspace, worktree: Path) -> None:
    assert read_boundary(str(worktree)).trust.state == "new"
    shop.trust()
    assert read_boundary(str(worktree)).trust.state == "trusted"
    (worktree / "tools/count.sh").write_text("echo other\n")
    assert read_boundary(str(worktree)).trust.state == "changed"
    assert trust_in(shop).state == "trusted"


def test_a_folder_that_only_says_it_is_a_worktree_is_not(shop: Workspace, tmp_path: Path) -> None:
    git(shop.root, "init", "-q")
    shop.trust()
    fake = tmp_path / "fake"
    shutil.copytree(shop.root, fake, ignore=lambda *_: [".git"])
    for claim in (f"gitdir: {shop.root}/.git", f"gitdir: {shop.root}/.git/worktrees/fake", "x"):
        (fake / ".git").write_text(claim)
        assert read_boundary(str(fake)).trust.state == "new"
    inside = fake / "git"
    inside.mkdir()
    (inside / "gitdir").write_text(str(fake / ".git"))
    (inside / "commondir").write_text(f"{shop.root}/.git")
    (fake / ".git").write_text(f"gitdir: {inside}")
    assert read_boundary(str(fake)).trust.state == "new"


@pytest.mark.parametrize("mark", [".git", "metier.toml"])
def test_trust_ends_at_a_nested_root(mark: str, shop: Workspace, empty_home: Path) -> None:
    shop.skill("nested", folder="vendor/other/skills/nested")
    shop.skill("a", "Does it otherwise. Use it.", folder="vendor/other/skills/a")
    shop.write(f"vendor/other/{mark}", "")
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        origins = {row.path: row.origin for row in catalog.skills(shadowed=True)}
        assert origins == {
            "skills/a/SKILL.md": "workspace",
            "vendor/other/skills/a/SKILL.md": "untrusted",
            "vendor/other/skills/nested/SKILL.md": "untrusted",
        }
        assert catalog.row("skill", "a").path == "skills/a/SKILL.md"


def test_agents_below_a_nested_root_do_not_run(shop: Workspace) -> None:
    shop.write("metier.toml", SETTINGS + '[folders]\nagents = ["agents", "vendor/x/agents"]\n')
    shop.write("vendor/x/agents/evil.json", agent(agentId="evil"))
    shop.write("vendor/x/.git", "")
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        with pytest.raises(TrustError, match="not part of the workspace"):
            catalog.run_sync("evil", "work")


def test_nothing_in_a_command_line_can_hide_from_the_review(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = "a\\nb\\u202Ec\\u200Bd\\U000E0041e\\rf\\u009Bg"
    workspace.write("metier.toml", f'[tools.x]\nargv = ["sh", "-c", "{odd}"]\n')
    assert run(["trust", "--show", "--root", str(workspace.root)]) == 0
    (line,) = (one for one in capsys.readouterr().out.split("\n") if one.startswith("command"))
    assert r"a\nb\u202ec\u200bd\U000e0041e\rf\x9bg" in line


def test_a_default_in_a_schema_is_shown_as_part_of_the_command(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    schema = '{ type = "object", properties = { n = { type = "string", default = "HIDDEN" } } }'
    workspace.write("metier.toml", f'[tools.x]\nargv = ["sh", "-c", "{{n}}"]\nschema = {schema}\n')
    run(["trust", "--show", "--root", str(workspace.root)])
    assert "HIDDEN" in capsys.readouterr().out


def test_a_file_that_is_too_large_to_digest_does_not_start(
    shop: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.config.powers.LARGEST_FILE", 3)
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert not catalog.run_sync("worker", "work").success


@pytest.mark.parametrize(
    "setting",
    ['disabled = ["mine"]', '[folders]\nabilities = ["../outside"]', "host-folders = true"],
)
def test_init_does_not_trust_what_needs_a_look(
    setting: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", f"{setting}\n")
    assert run(["init", "--root", str(workspace.root)]) == 0
    assert "this workspace is not trusted" in capsys.readouterr().err
    assert trust_in(workspace).state == "new"


def test_the_users_consent_for_their_server_is_not_for_the_workspaces(
    workspace: Workspace, empty_home: Path
) -> None:
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    users = '[tools]\nallow = ["srv/*", "srv__x"]\n'
    (folder / "metier.toml").write_text(f'{users}[mcp.srv]\ncommand = "true"\n')
    workspace.write("metier.toml", '[mcp.srv]\ncommand = "evil"\n')
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        assert not catalog.agency.is_allowed("srv__x", "worker")
    (folder / "metier.toml").write_text(users)
    with Catalog.open(workspace.root) as catalog:
        assert catalog.agency.is_allowed("srv__x", "worker")


def test_a_stored_run_whose_agent_is_gone_calls_no_tool_without_a_new_word(
    shop: Workspace, empty_home: Path
) -> None:
    folder = empty_home / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[tools]\nallow = ["mine"]\n[tools.mine]\nargv = ["x"]\n')
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert catalog.agency.is_allowed("mine", "worker")
        catalog.agency.check_stored(AgentProfile.of({**AGENT, "agentId": "gone"}))
        assert not catalog.agency.is_allowed("mine", "gone")


def test_a_skill_of_the_workspace_cannot_take_the_place_of_the_users_by_its_path(
    shop: Workspace, empty_home: Path
) -> None:
    mine = empty_home / ".claude/skills/mine"
    mine.mkdir(parents=True)
    (mine / "SKILL.md").write_text("---\nname: mine\ndescription: Mine. Use it.\n---\nMine.\n")
    shop.skill("mine", "A stranger's. Use it.", folder="claude-user/mine")
    shop.trust()
    with Catalog.open(shop.root) as catalog:
        catalog.refresh()
        assert catalog.row("skill", "mine::claude-user/mine").description == "Mine. Use it."


@pytest.mark.parametrize(
    "text",
    [
        f"disabled = {'1' * 5000}", "[tools.x" + ".a" * 3000 + "]", "[mcp.y]\nargs = 5",
        '[models.x]\nbase-url = "http://[::1"\napi-key-env = "K"',
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["trust", "list", "init"])
def test_settings_that_make_no_sense_are_one_clear_line(
    command: str, text: str, workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", f"{text}\n")
    more = ["--show"] if command == "trust" else []
    code = run([command, *more, "--root", str(workspace.root)])
    told = capsys.readouterr().err
    assert code in (0, 2)
    assert "INTERNAL" not in told
    assert code == 0 or "CONFIG_INVALID" in told


def test_a_setting_name_cannot_forge_a_line(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.write("metier.toml", '[tools."x\\ntrusted: all is fine"]\nargv = ["x"]\n')
    run(["list", "--root", str(workspace.root)])
    assert not [line for line in capsys.readouterr().err.splitlines() if line[:7] == "trusted"]
