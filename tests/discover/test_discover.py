"""What the walk meets: in which order, under which path and source, and what it refuses."""

import os
import socket
from pathlib import Path

import pytest

from conftest import Workspace
from metier.config import Config
from metier.discover.roots import missing_folders, roots_for, roots_of_user, skill_root
from metier.discover.walk import discover
from metier.values.files import LARGEST, Found, Kind, Root
from metier.values.settings import Mount

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def walk(workspace: Workspace) -> list[Found]:
    """The skills of the workspace itself."""
    real = os.path.realpath(workspace.root)
    return discover([Root(kind="skill", path=real, boundary=real, label="workspace", rank=0)])


def paths(found: list[Found]) -> list[str]:
    """What may be read."""
    return [one.path for one in found if not one.excluded]


def refusals(found: list[Found]) -> list[tuple[str, str, str]]:
    return [(one.path, one.excluded, one.code) for one in found if one.excluded]


def everything(workspace: Workspace, home: Path, config: Config | None = None) -> list[Found]:
    """All sources but the one folder that belongs to the machine."""
    roots = roots_for(str(workspace.root), config or Config(), str(home))
    return discover(root for root in roots if root.label != "codex-system")


# Order


def test_files_come_bytewise_by_path(workspace: Workspace) -> None:
    for folder in ["a/x", "a", "a-b", "B", "a.b", "_c", "ä", "z"]:
        workspace.skill("any", folder=folder)
    expected = ["B", "_c", "a-b", "a.b", "a", "a/x", "z", "ä"]
    assert paths(walk(workspace)) == [f"{folder}/SKILL.md" for folder in expected]
    raw = [one.path.encode() for one in walk(workspace)]
    assert raw == sorted(raw)


@pytest.mark.invariant(id="DCI-DSC-001")
def test_sources_come_in_the_order_workspace_hosts_mounts(
    workspace: Workspace, tmp_path: Path
) -> None:
    home, outside = Workspace(tmp_path / "home"), Workspace(tmp_path / "outside")
    outside.skill("a", folder="second/a")
    outside.skill("a", folder="first/a")
    home.skill("a", folder=".config/opencode/skills/a")
    home.skill("a", folder=".agents/skills/a")
    home.skill("a", folder=".claude/skills/a")
    workspace.skill("a", folder=".agents/skills/a")
    workspace.skill("a", folder=".claude/skills/a")
    workspace.skill("a", folder="skills/a")
    workspace.skill("z", folder="zzz")
    mounts = (
        Mount(path=str(outside.root / "first"), label="z-first"),
        Mount(path=str(outside.root / "second"), label="a-second"),
    )
    found = everything(workspace, home.root, Config(mounts=mounts))
    assert [(one.source, one.path) for one in found] == [
        ("workspace", "skills/a/SKILL.md"),
        ("workspace", "zzz/SKILL.md"),
        ("claude", ".claude/skills/a/SKILL.md"),
        ("agents", ".agents/skills/a/SKILL.md"),
        ("claude-user", "claude-user/a/SKILL.md"),
        ("agents-user", "agents-user/a/SKILL.md"),
        ("opencode-user", "opencode-user/a/SKILL.md"),
        ("z-first", "z-first/a/SKILL.md"),
        ("a-second", "a-second/a/SKILL.md"),
    ]
    ranks = [one.rank for one in found]
    assert ranks == sorted(ranks)


@pytest.mark.invariant(id="DCI-DSC-001")
def test_the_order_does_not_depend_on_the_order_of_the_roots(
    workspace: Workspace, tmp_path: Path
) -> None:
    home = Workspace(tmp_path / "home")
    home.skill("a", folder=".claude/skills/a")
    home.skill("a", folder=".gemini/skills/a")
    workspace.skill("a")
    roots = roots_for(str(workspace.root), Config(), str(home.root))
    assert discover(roots) == discover(reversed(roots))


# Where skills are found


@pytest.mark.parametrize(
    "folder",
    [
        ".",
        "skills/a",
        "skills/group/a",
        "skills/.curated/a",
        ".hidden/deep/a",
        "packages/web/skills/a",
        "packages/web/.claude/skills/a",
        "a/b/c/d/e/f/g/h",
        "with blank/ü",
        "build",
        "vendor/dist",
    ],
)
def test_a_skill_is_found_at_any_depth_and_in_dot_folders(
    workspace: Workspace, folder: str
) -> None:
    workspace.skill("a", folder=folder)
    expected = "SKILL.md" if folder == "." else f"{folder}/SKILL.md"
    assert paths(walk(workspace)) == [expected]


def test_a_skill_may_stand_inside_the_folder_of_another(workspace: Workspace) -> None:
    workspace.skill("outer", folder="skills/outer")
    workspace.skill("inner", folder="skills/outer/examples/inner")
    assert paths(walk(workspace)) == [
        "skills/outer/SKILL.md",
        "skills/outer/examples/inner/SKILL.md",
    ]


def test_the_packages_of_a_monorepo_each_bring_their_skills(workspace: Workspace) -> None:
    for package in ("api", "web"):
        workspace.skill("build", folder=f"packages/{package}/skills/build")
        workspace.skill("ship", folder=f"packages/{package}/.agents/skills/ship")
    found = walk(workspace)
    assert [(one.path, one.source) for one in found] == [
        ("packages/api/skills/build/SKILL.md", "workspace"),
        ("packages/web/skills/build/SKILL.md", "workspace"),
        ("packages/api/.agents/skills/ship/SKILL.md", "agents"),
        ("packages/web/.agents/skills/ship/SKILL.md", "agents"),
    ]


def test_only_files_with_the_name_of_a_skill_are_met(workspace: Workspace) -> None:
    for name in ("Skill.md", "SKILL.txt", "MYSKILL.md", "SKILL.md.bak", "README.md"):
        workspace.write(f"skills/{name.lower()}-{name}/{name}", "text")
    workspace.write("skills/small/skill.md", "text")
    assert [one.path for one in walk(workspace)] == ["skills/small/skill.md"]


@pytest.mark.parametrize(
    "folder",
    [
        ".git",
        ".git/modules/a",
        ".hg",
        ".svn",
        "node_modules",
        "node_modules/package/skills/a",
        ".venv/lib",
        "venv",
        "lib/site-packages/package",
        "__pycache__",
        ".tox",
        ".metier",
        ".dci",
        "packages/web/node_modules/package",
    ],
)
def test_folders_of_tools_are_not_entered(workspace: Workspace, folder: str) -> None:
    workspace.skill("a", folder=folder)
    assert walk(workspace) == []


def test_a_virtual_environment_of_any_name_is_not_entered(workspace: Workspace) -> None:
    workspace.write("my-env/pyvenv.cfg", "home = /usr/bin\n")
    workspace.skill("a", folder="my-env/lib/a")
    workspace.skill("b", folder="my-env-not/b")
    assert paths(walk(workspace)) == ["my-env-not/b/SKILL.md"]


def test_nothing_beside_the_mark_of_a_virtual_environment_is_found(workspace: Workspace) -> None:
    for number in range(40):
        workspace.skill("a", folder=f"node_modules/p{number}")
        link = workspace.root / f"env/link{number}"
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(workspace.root / f"node_modules/p{number}")
    workspace.skill("b", folder="env")
    workspace.write("env/pyvenv.cfg", "home = /usr/bin\n")
    assert walk(workspace) == []


# Stamps


def test_a_found_file_carries_what_is_needed_to_see_a_change(workspace: Workspace) -> None:
    file = workspace.skill("a")
    (found,) = walk(workspace)
    info = file.stat()
    assert found.file == os.path.realpath(file)
    assert (found.size, found.mtime_ns, found.inode) == (
        info.st_size,
        info.st_mtime_ns,
        info.st_ino,
    )
    assert (found.excluded, found.code, found.detail) == ("", "", "")


# Hosts


@pytest.mark.parametrize(
    ("folder", "source"),
    [
        (".claude/skills/a", "claude"),
        (".agents/skills/a", "agents"),
        (".github/skills/a", "copilot"),
        (".gemini/skills/a", "gemini"),
        (".cursor/skills/a", "cursor"),
        (".opencode/skills/a", "opencode"),
        (".opencode/skill/a", "opencode-old"),
        (".codex/skills/a", "codex"),
        (".openclaw/skills/a", "workspace"),
        (".claude/skills/group/deeper/a", "claude"),
        ("packages/web/.claude/skills/a", "claude"),
        ("packages/web/.github/skills/a", "copilot"),
        (".claude/skills-old/a", "workspace"),
        ("my.claude/skills/a", "workspace"),
        (".claude/commands/a", "workspace"),
        ("skills/a", "workspace"),
    ],
)
def test_a_hosts_folder_in_the_workspace_is_that_hosts(
    workspace: Workspace, folder: str, source: str
) -> None:
    workspace.skill("a", folder=folder)
    (found,) = walk(workspace)
    assert (found.path, found.source) == (f"{folder}/SKILL.md", source)
    assert (found.rank == 0) == (source == "workspace")


@pytest.mark.parametrize(
    ("folder", "label"),
    [
        (".claude/skills", "claude-user"),
        (".claude/plugins/cache/some/plugin/skills", "claude-plugins"),
        (".agents/skills", "agents-user"),
        (".codex/skills", "codex-user"),
        (".copilot/skills", "copilot-user"),
        (".gemini/skills", "gemini-user"),
        (".cursor/skills", "cursor-user"),
        (".config/opencode/skills", "opencode-user"),
        (".config/opencode/skill", "opencode-old-user"),
        (".openclaw/skills", "openclaw-user"),
    ],
)
def test_the_users_folders_are_looked_through_under_their_label(
    workspace: Workspace, tmp_path: Path, folder: str, label: str
) -> None:
    home = Workspace(tmp_path / "home")
    home.skill("a", folder=f"{folder}/a")
    (found,) = everything(workspace, home.root)
    assert found.source == label
    assert found.path.startswith(f"{label}/")
    assert found.path.endswith("/a/SKILL.md" if "plugins" in folder else f"{label}/a/SKILL.md")


def test_nothing_else_in_the_home_folder_is_looked_at(workspace: Workspace, tmp_path: Path) -> None:
    home = Workspace(tmp_path / "home")
    home.skill("a", folder="skills/a")
    home.skill("b", folder=".claude/commands/b")
    assert everything(workspace, home.root) == []


def test_the_users_folders_can_be_switched_off(workspace: Workspace, tmp_path: Path) -> None:
    home = Workspace(tmp_path / "home")
    home.skill("a", folder=".claude/skills/a")
    workspace.skill("b", folder=".claude/skills/b")
    config = Config(host_folders=False)
    found = everything(workspace, home.root, config)
    assert paths(found) == [".claude/skills/b/SKILL.md"]
    assert roots_of_user(Config(), str(home.root)) != []
    assert roots_of_user(config, str(home.root)) == []


def test_a_home_folder_that_is_the_workspace_is_walked_once(workspace: Workspace) -> None:
    workspace.skill("a", folder=".claude/skills/a")
    found = everything(workspace, workspace.root)
    assert [(one.path, one.source) for one in found] == [(".claude/skills/a/SKILL.md", "claude")]


def test_a_users_folder_that_is_a_link_is_followed(workspace: Workspace, tmp_path: Path) -> None:
    home, dotfiles = Workspace(tmp_path / "home"), Workspace(tmp_path / "dotfiles")
    dotfiles.skill("a", folder="skills/a")
    (home.root / ".claude").mkdir(parents=True)
    (home.root / ".claude/skills").symlink_to(dotfiles.root / "skills")
    assert paths(everything(workspace, home.root)) == ["claude-user/a/SKILL.md"]


def users_link(home: Workspace, link: str, target: Path) -> Path:
    """A link in a folder of the user's."""
    place = home.root / link
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)
    return place


def test_a_users_link_to_another_hosts_folder_is_loaded_once(
    workspace: Workspace, tmp_path: Path
) -> None:
    home = Workspace(tmp_path / "home")
    target = home.skill("x", folder=".agents/skills/x")
    users_link(home, ".claude/skills/x", target.parent)
    (found,) = everything(workspace, home.root)
    assert (found.path, found.source, found.excluded) == (
        "claude-user/x/SKILL.md",
        "claude-user",
        "",
    )
    assert (found.file, found.origin) == (os.path.realpath(target), "user")


def test_a_users_link_to_a_checkout_is_followed(workspace: Workspace, tmp_path: Path) -> None:
    home, checkout = Workspace(tmp_path / "home"), Workspace(tmp_path / "checkout")
    checkout.skill("x", folder="x")
    checkout.skill("y", folder="many/y")
    text = checkout.write("z/text.md", "text")
    (text.parent / "SKILL.md").symlink_to("text.md")
    for name in ("x", "many", "z"):
        users_link(home, f".agents/skills/{name}", checkout.root / name)
    users_link(home, ".agents/skills/again", checkout.root / "x")
    found = everything(workspace, home.root)
    assert paths(found) == [f"agents-user/{name}/SKILL.md" for name in ("again", "many/y", "z")]
    assert refusals(found) == []
    checkout.write("x/skill.md", "text")
    found = everything(workspace, home.root)
    assert refusals(found) == [("agents-user/again/skill.md", "unreadable", "IO206")]


def test_a_users_link_to_a_folder_of_somebody_else_is_refused(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = Workspace(tmp_path / "home")
    target = home.skill("x", folder="checkout/x")
    users_link(home, ".claude/skills/x", target.parent)
    monkeypatch.setattr(os, "getuid", lambda: target.stat().st_uid + 1)
    found = everything(workspace, home.root)
    assert refusals(found) == [("claude-user/x", "outside-root", "IO202")]


def test_a_link_inside_an_installed_skill_is_not_the_users(
    workspace: Workspace, tmp_path: Path
) -> None:
    home = Workspace(tmp_path / "home")
    private = home.skill("private", folder="checkout/private")
    for folder in (".claude/skills/x", "linked", ".claude/plugins/cache/market/plugin"):
        home.skill("x", folder=folder)
        users_link(home, f"{folder}/more", private.parent)
        (home.root / folder / "one").mkdir()
        users_link(home, f"{folder}/one/SKILL.md", private)
    users_link(home, ".claude/skills/y", home.root / "linked")
    users_link(home, ".claude/skills/home", home.root)
    found = everything(workspace, home.root)
    assert paths(found) == [
        "claude-user/x/SKILL.md",
        "claude-user/y/SKILL.md",
        "claude-plugins/market/plugin/SKILL.md",
    ]
    assert {code for _, _, code in refusals(found)} == {"IO202"}


@pytest.mark.parametrize("trusted", [True, False])
def test_a_link_out_of_a_workspace_that_nobody_was_shown_is_refused_whoever_owns_its_target(
    workspace: Workspace, tmp_path: Path, trusted: bool
) -> None:
    home = Workspace(tmp_path / "home")
    target = home.skill("x", folder="checkout/x")
    users_link(workspace, ".claude/skills/x", target.parent)
    found = everything(workspace, home.root, Config(is_trusted=trusted))
    assert refusals(found) == [(".claude/skills/x", "outside-root", "IO202")]


# Mounts


def test_a_mount_may_be_relative_to_the_workspace(workspace: Workspace, tmp_path: Path) -> None:
    Workspace(tmp_path / "shared").skill("a", folder="a")
    config = Config(mounts=(Mount(path="../shared", label="team"),))
    assert paths(everything(workspace, tmp_path / "home", config)) == ["team/a/SKILL.md"]


def test_a_mount_that_does_not_exist_is_refused_aloud(workspace: Workspace, tmp_path: Path) -> None:
    workspace.skill("a")
    config = Config(mounts=(Mount(path="../nowhere", label="team"),))
    found = everything(workspace, tmp_path / "home", config)
    assert paths(found) == ["skills/a/SKILL.md"]
    assert refusals(found) == []
    (issue,) = missing_folders(str(workspace.root), config)
    assert (issue.code, issue.message) == ("IO207", "there is no folder '../nowhere' (mounts)")


def test_inside_a_mount_a_hosts_folder_belongs_to_the_mount(
    workspace: Workspace, tmp_path: Path
) -> None:
    Workspace(tmp_path / "shared").skill("a", folder=".claude/skills/a")
    config = Config(mounts=(Mount(path="../shared", label="team"),))
    (found,) = everything(workspace, tmp_path / "home", config)
    assert (found.path, found.source) == ("team/.claude/skills/a/SKILL.md", "team")


def test_where_labels_clash_the_first_source_wins(workspace: Workspace, tmp_path: Path) -> None:
    first = workspace.skill("mine", folder="team/a")
    shared = Workspace(tmp_path / "shared")
    shared.skill("theirs", folder="a")
    second = shared.skill("other", folder="b")
    config = Config(mounts=(Mount(path="../shared", label="team"),))
    found = everything(workspace, tmp_path / "home", config)
    assert [(one.path, one.source, one.file) for one in found] == [
        ("team/a/SKILL.md", "workspace", os.path.realpath(first)),
        ("team/b/SKILL.md", "team", os.path.realpath(second)),
    ]


# One file, once


@pytest.mark.invariant(id="DCI-DSC-005")
def test_one_resolved_file_is_found_once_under_its_first_source(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.skill("a", folder="skills/a")
    shared = Workspace(tmp_path / "shared")
    shared.skill("b", folder="b")
    (tmp_path / "again").symlink_to(shared.root)
    config = Config(
        mounts=(
            Mount(path="skills", label="own"),
            Mount(path="../shared", label="one"),
            Mount(path="../again", label="two"),
        )
    )
    found = everything(workspace, tmp_path / "home", config)
    assert [(one.path, one.source) for one in found] == [
        ("skills/a/SKILL.md", "workspace"),
        ("one/b/SKILL.md", "one"),
    ]


@pytest.mark.invariant(id="DCI-DSC-005")
def test_a_folder_of_the_workspace_cannot_take_the_path_of_the_users(
    workspace: Workspace, tmp_path: Path
) -> None:
    home = Workspace(tmp_path / "home")
    home.skill("a", folder=".claude/skills/a")
    workspace.skill("a", folder="claude-user/a")
    workspace.skill("a", folder=".claude/skills/a")
    found = everything(workspace, home.root)
    assert [(one.path, one.source) for one in found] == [
        (".claude/skills/a/SKILL.md", "claude"),
        ("claude-user/a/SKILL.md", "claude-user"),
    ]


def test_a_file_that_lost_its_path_is_found_through_the_next_source(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.skill("mine", folder="team/a")
    Workspace(tmp_path / "shared").skill("theirs", folder="a")
    config = Config(
        mounts=(Mount(path="../shared", label="team"), Mount(path="../shared", label="again"))
    )
    found = everything(workspace, tmp_path / "home", config)
    assert paths(found) == ["team/a/SKILL.md", "again/a/SKILL.md"]


# Links


def test_a_linked_file_inside_the_root_is_found_under_the_link(workspace: Workspace) -> None:
    target = workspace.write("shared/instructions.md", "text")
    (workspace.root / "skills/a").mkdir(parents=True)
    (workspace.root / "skills/a/SKILL.md").symlink_to("../../shared/instructions.md")
    (found,) = walk(workspace)
    assert (found.path, found.file) == ("skills/a/SKILL.md", os.path.realpath(target))
    assert found.inode == target.stat().st_ino


def test_a_linked_file_beside_its_target_is_found_once(workspace: Workspace) -> None:
    workspace.skill("z", folder="z")
    (workspace.root / "a").mkdir()
    (workspace.root / "a/SKILL.md").symlink_to("../z/SKILL.md")
    assert paths(walk(workspace)) == ["a/SKILL.md"]


def test_a_linked_folder_inside_the_root_is_found_once(workspace: Workspace) -> None:
    workspace.skill("a", folder="skills/a")
    (workspace.root / "again").symlink_to("skills")
    (workspace.root / ".claude").mkdir()
    (workspace.root / ".claude/skills").symlink_to("../skills")
    found = walk(workspace)
    assert [(one.path, one.source) for one in found] == [("skills/a/SKILL.md", "workspace")]


def test_a_linked_folder_that_is_not_walked_otherwise_is_found_under_the_link(
    workspace: Workspace,
) -> None:
    workspace.skill("a", folder="node_modules/package/skills/a")
    (workspace.root / "skills").mkdir()
    (workspace.root / "skills/package").symlink_to("../node_modules/package/skills")
    (found,) = walk(workspace)
    assert found.path == "skills/package/a/SKILL.md"
    assert found.file.endswith("node_modules/package/skills/a/SKILL.md")


def test_a_linked_folder_in_a_linked_folder_is_followed(workspace: Workspace) -> None:
    workspace.skill("a", folder="node_modules/one/a")
    (workspace.root / "node_modules/two").mkdir()
    (workspace.root / "node_modules/two/one").symlink_to("../one")
    (workspace.root / "link").symlink_to("node_modules/two")
    (found,) = walk(workspace)
    assert found.file.endswith("node_modules/one/a/SKILL.md")


def test_a_linked_file_that_leaves_the_root_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    target = Workspace(tmp_path / "outside").skill("a", folder="a")
    (workspace.root / "skills/a").mkdir(parents=True)
    (workspace.root / "skills/a/SKILL.md").symlink_to(target)
    found = walk(workspace)
    assert refusals(found) == [("skills/a/SKILL.md", "outside-root", "IO202")]
    assert str(target) in found[0].detail


@pytest.mark.parametrize("target", ["/nowhere/at/all", "gone.md"])
def test_a_link_to_nothing_says_that_its_target_does_not_exist(
    workspace: Workspace, target: str
) -> None:
    (workspace.root / "skills/a").mkdir(parents=True)
    (workspace.root / "skills/a/SKILL.md").symlink_to(target)
    found = walk(workspace)
    assert refusals(found) == [("skills/a/SKILL.md", "unreadable", "IO201")]
    assert found[0].detail.endswith(f"{target}, which does not exist")


def test_a_linked_folder_that_leaves_the_root_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    Workspace(tmp_path / "outside").skill("a", folder="a")
    (workspace.root / "skills").mkdir()
    (workspace.root / "skills/a").symlink_to(tmp_path / "outside/a")
    (workspace.root / "skills/all").symlink_to(tmp_path / "outside")
    (workspace.root / "elsewhere").symlink_to(tmp_path / "outside/a")
    assert refusals(walk(workspace)) == [
        ("elsewhere", "outside-root", "IO202"),
        ("skills/a", "outside-root", "IO202"),
        ("skills/all", "outside-root", "IO202"),
    ]


@pytest.mark.parametrize("link", ["skills", ".claude/skills"])
def test_a_folder_of_skills_that_leaves_the_root_is_refused(
    workspace: Workspace, tmp_path: Path, link: str
) -> None:
    Workspace(tmp_path / "outside").skill("a", folder="a")
    (workspace.root / link).parent.mkdir(exist_ok=True)
    (workspace.root / link).symlink_to(tmp_path / "outside")
    assert refusals(walk(workspace)) == [(link, "outside-root", "IO202")]


def test_a_linked_folder_without_skills_is_passed_over(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    (workspace.root / "data").symlink_to(tmp_path / "data")
    assert walk(workspace) == []


def test_a_neighbour_whose_name_starts_alike_is_outside(tmp_path: Path) -> None:
    repo, evil = Workspace(tmp_path / "repo"), Workspace(tmp_path / "repo-evil")
    target = evil.skill("a", folder="a")
    (tmp_path / "repo/skills/b").mkdir(parents=True)
    (tmp_path / "repo/skills/a").symlink_to("../../repo-evil/a")
    (tmp_path / "repo/skills/b/SKILL.md").symlink_to(target)
    assert refusals(walk(repo)) == [
        ("skills/a", "outside-root", "IO202"),
        ("skills/b/SKILL.md", "outside-root", "IO202"),
    ]


def test_a_link_that_leaves_and_comes_back_is_inside(workspace: Workspace) -> None:
    workspace.skill("a", folder="node_modules/a")
    inside = f"../{workspace.root.name}/node_modules/a"
    (workspace.root / "link").symlink_to(inside)
    assert paths(walk(workspace)) == ["link/SKILL.md"]


def test_a_chain_of_links_is_judged_by_its_end(workspace: Workspace, tmp_path: Path) -> None:
    target = Workspace(tmp_path / "outside").skill("a", folder="a")
    (workspace.root / "a").mkdir()
    (workspace.root / "a/hop").symlink_to(target)
    (workspace.root / "a/SKILL.md").symlink_to("hop")
    assert refusals(walk(workspace)) == [
        ("a/SKILL.md", "outside-root", "IO202"),
        ("a/hop", "outside-root", "IO202"),
    ]


def test_the_boundary_may_be_wider_than_the_root(workspace: Workspace) -> None:
    target = workspace.write("shared/search.md", "text")
    (workspace.root / "abilities").mkdir()
    (workspace.root / "abilities/search.md").symlink_to(target)
    found = everything(workspace, workspace.root / "no-home")
    assert [(one.kind, one.path, one.excluded) for one in found] == [
        ("ability", "abilities/search.md", "")
    ]


# What cannot be read


def test_a_broken_link_is_refused(workspace: Workspace) -> None:
    (workspace.root / "a").mkdir()
    (workspace.root / "a/SKILL.md").symlink_to("gone.md")
    (workspace.root / "gone-folder").symlink_to("nowhere")
    assert refusals(walk(workspace)) == [("a/SKILL.md", "unreadable", "IO201")]


def test_a_link_to_itself_is_refused(workspace: Workspace) -> None:
    (workspace.root / "a").mkdir()
    (workspace.root / "a/SKILL.md").symlink_to("SKILL.md")
    assert refusals(walk(workspace)) == [("a/SKILL.md", "unreadable", "IO201")]


def test_circles_of_linked_folders_end(workspace: Workspace) -> None:
    workspace.skill("a", folder="skills/a")
    (workspace.root / "skills/a/up").symlink_to("..")
    (workspace.root / "skills/top").symlink_to(workspace.root)
    (workspace.root / "x").symlink_to("y")
    (workspace.root / "y").symlink_to("x")
    (workspace.root / "z").symlink_to("z")
    assert [one.path for one in walk(workspace)] == ["skills/a/SKILL.md"]


def test_a_folder_called_like_a_skill_is_refused(workspace: Workspace) -> None:
    workspace.write("a/SKILL.md/notes.txt", "text")
    found = walk(workspace)
    assert refusals(found) == [("a/SKILL.md", "unreadable", "IO204")]
    assert "folder" in found[0].detail


def test_a_link_to_a_folder_called_like_a_skill_is_refused(workspace: Workspace) -> None:
    (workspace.root / "b").mkdir()
    (workspace.root / "a").mkdir()
    (workspace.root / "a/SKILL.md").symlink_to("../b")
    assert refusals(walk(workspace)) == [("a/SKILL.md", "unreadable", "IO204")]


def test_a_named_pipe_is_refused(workspace: Workspace) -> None:
    (workspace.root / "a").mkdir()
    os.mkfifo(workspace.root / "a/SKILL.md")
    found = walk(workspace)
    assert refusals(found) == [("a/SKILL.md", "unreadable", "IO204")]
    assert "pipe" in found[0].detail


def test_a_socket_is_refused(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    (workspace.root / "a").mkdir()
    monkeypatch.chdir(workspace.root / "a")  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("SKILL.md")
        assert refusals(walk(workspace)) == [("a/SKILL.md", "unreadable", "IO204")]


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_refused_and_the_rest_is_found(
    workspace: Workspace,
) -> None:
    workspace.skill("a", folder="skills/a")
    workspace.skill("b", folder="skills/closed/b")
    closed = workspace.root / "skills/closed"
    closed.chmod(0)
    try:
        found = walk(workspace)
    finally:
        closed.chmod(0o755)
    assert paths(found) == ["skills/a/SKILL.md"]
    assert refusals(found) == [("skills/closed", "unreadable", "IO201")]


def _raw_folder(workspace: Workspace, name: bytes) -> bytes:
    """A folder whose name is not UTF-8, where the file system allows one."""
    folder = os.fsencode(workspace.root) + b"/" + name
    try:
        os.makedirs(folder)
    except OSError:
        pytest.skip("the file system takes only UTF-8")
    return folder


def test_a_name_that_is_not_utf_8_is_refused_and_can_be_shown(workspace: Workspace) -> None:
    folder = _raw_folder(workspace, b"caf\xe9")
    with open(folder + b"/SKILL.md", "w") as file:
        file.write("text")
    workspace.skill("a", folder="café")
    found = walk(workspace)
    assert paths(found) == ["café/SKILL.md"]
    assert refusals(found) == [("caf\\udce9/SKILL.md", "unreadable", "IO205")]
    assert all(one.path.encode() and one.file.encode() for one in found)


def test_names_that_are_not_utf_8_do_not_hide_each_other_nor_a_good_file(
    workspace: Workspace,
) -> None:
    for name in (b"\xe8", b"\xe9"):
        with open(_raw_folder(workspace, name) + b"/SKILL.md", "w") as file:
            file.write("text")
    workspace.skill("a", folder="?")
    found = walk(workspace)
    assert paths(found) == ["?/SKILL.md"]
    assert len(refusals(found)) == 2


def test_a_link_to_a_name_that_is_not_utf_8_does_not_get_through(workspace: Workspace) -> None:
    folder = _raw_folder(workspace, b"a")
    with open(folder + b"/\xe9.md", "w") as file:
        file.write("text")
    os.symlink(b"\xe9.md", folder + b"/SKILL.md")
    (found,) = walk(workspace)
    assert found.file.encode()


def test_a_refusal_can_be_shown_even_if_the_link_leads_to_a_name_that_is_not_utf_8(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = Workspace(tmp_path / "outside")
    os.symlink(_raw_folder(outside, b"\xe9"), os.fsencode(workspace.root) + b"/target")
    (workspace.root / "skills").mkdir()
    (workspace.root / "skills/a").symlink_to("../target")
    ((_, reason, _),) = refusals(walk(workspace))
    assert reason == "outside-root"
    assert walk(workspace)[0].detail.encode()


@pytest.mark.parametrize(
    ("kind", "path", "limit"),
    [
        ("skill", "skills/a/SKILL.md", 1_048_576),
        ("ability", "abilities/a.md", 1_048_576),
        ("card", "docs/capabilities/a.md", 51_200),
        ("agent", "agents/a.yaml", 1_048_576),
    ],
)
def test_a_file_beyond_the_limit_of_its_kind_is_refused(
    workspace: Workspace, kind: Kind, path: str, limit: int
) -> None:
    assert LARGEST[kind] == limit
    file = workspace.write(path, b"x" * limit)
    home = workspace.root / "no-home"
    assert paths(everything(workspace, home)) == [path]
    file.write_bytes(b"x" * (limit + 1))
    found = everything(workspace, home)
    assert refusals(found) == [(path, "too-large", "IO203")]
    assert str(limit + 1) in found[0].detail


def test_an_empty_file_is_found(workspace: Workspace) -> None:
    workspace.write("a/SKILL.md", "")
    assert paths(walk(workspace)) == ["a/SKILL.md"]


def test_an_empty_workspace_has_nothing(workspace: Workspace) -> None:
    assert everything(workspace, workspace.root / "no-home") == []


# The other kinds


def test_md_counts_in_any_case(workspace: Workspace) -> None:
    written = ["skills/a/SKILL.MD", "abilities/a.MD", "agents/b.Md", "docs/capabilities/c.MD"]
    for path in [*written, "docs/capabilities/README.MD", "skills/b/OTHER.MD"]:
        workspace.write(path, "text")
    assert sorted(paths(everything(workspace, workspace.root / "no-home"))) == sorted(written)


def test_of_two_spellings_in_a_folder_one_counts(workspace: Workspace) -> None:
    for path in ("a/SKILL.MD", "a/SKILL.md", "a/skill.md", "b/SKILL.MD", "b/skill.md"):
        workspace.write(path, "text")
    found = walk(workspace)
    assert paths(found) == ["a/SKILL.md", "b/SKILL.MD"]
    assert refusals(found) == [
        (path, "unreadable", "IO206") for path in ("a/SKILL.MD", "a/skill.md", "b/skill.md")
    ]


def test_each_kind_has_its_folder_and_its_suffixes(workspace: Workspace) -> None:
    for path in (
        "abilities/a.md",
        "abilities/a.yaml",
        "abilities/.hidden.md",
        "abilities/deeper/b.md",
        "docs/capabilities/c.md",
        "docs/capabilities/c.json",
        "docs/other.md",
        "agents/d.yaml",
        "agents/e.yml",
        "agents/f.json",
        "agents/g.md",
        "agents/h.toml",
        "other/a.md",
    ):
        workspace.write(path, "text")
    found = everything(workspace, workspace.root / "no-home")
    assert [(one.kind, one.path, one.source) for one in found] == [
        ("ability", "abilities/a.md", "workspace"),
        ("agent", "agents/d.yaml", "workspace"),
        ("agent", "agents/e.yml", "workspace"),
        ("agent", "agents/f.json", "workspace"),
        ("agent", "agents/g.md", "workspace"),
        ("card", "docs/capabilities/c.md", "workspace"),
    ]


def test_one_file_may_be_of_two_kinds(workspace: Workspace) -> None:
    workspace.write("abilities/SKILL.md", "text")
    found = everything(workspace, workspace.root / "no-home")
    assert {(one.kind, one.path) for one in found} == {
        ("skill", "abilities/SKILL.md"),
        ("ability", "abilities/SKILL.md"),
    }


def test_a_folder_of_abilities_outside_the_workspace_shows_its_name(
    workspace: Workspace, tmp_path: Path
) -> None:
    Workspace(tmp_path / "shared").write("know-how/a.md", "text")
    config = Config(abilities=("abilities", "../shared/know-how"))
    (found,) = everything(workspace, tmp_path / "home", config)
    assert (found.path, found.source) == ("know-how/a.md", "know-how")


def test_abilities_in_the_workspace_itself_have_plain_paths(workspace: Workspace) -> None:
    workspace.write("a.md", "text")
    found = everything(workspace, workspace.root / "no-home", Config(abilities=(".",)))
    assert paths(found) == ["a.md"]


def test_a_linked_ability_that_leaves_the_workspace_is_refused(
    workspace: Workspace, tmp_path: Path
) -> None:
    target = Workspace(tmp_path / "outside").write("a.md", "text")
    (workspace.root / "abilities").mkdir()
    (workspace.root / "abilities/a.md").symlink_to(target)
    found = everything(workspace, tmp_path / "home")
    assert refusals(found) == [("abilities/a.md", "outside-root", "IO202")]


@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_a_folder_of_abilities_that_cannot_be_listed_is_refused(workspace: Workspace) -> None:
    workspace.write("abilities/a.md", "text")
    folder = workspace.root / "abilities"
    folder.chmod(0)
    try:
        found = everything(workspace, workspace.root / "no-home")
    finally:
        folder.chmod(0o755)
    assert {(reason, code) for _, reason, code in refusals(found)} == {("unreadable", "IO201")}
    assert {one.kind for one in found} == {"skill", "ability"}


def test_a_root_is_its_own_boundary_and_shows_its_label() -> None:
    root = skill_root("/mnt/team", label="team", rank=30)
    assert (root.kind, root.boundary, root.prefix) == ("skill", "/mnt/team", "team/")
    assert skill_root("/mnt/team", label="team", rank=0, prefix="").prefix == ""
