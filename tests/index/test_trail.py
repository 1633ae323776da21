"""A refresh of unchanged folders lists none of them, and misses nothing that a walk would see."""

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from conftest import Workspace, boundary_of
from metier.catalog import Catalog
from metier.config import Config
from metier.discover import trail, walk
from metier.values.settings import Mount

Change = Callable[[], object]
CONFIG = Config(host_folders=True, is_trusted=True)
LATER = 10_000_000_000
ABILITY = "---\nid: one\nname: One\ndescription: One.\n---\n\nOne.\n"


@pytest.fixture
def elsewhere(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("elsewhere")


@pytest.fixture
def old_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file counts as changed long ago."""
    late = SimpleNamespace(time_ns=lambda: time.time_ns() + LATER)
    monkeypatch.setattr("metier.index.refresh.time", late)


@pytest.fixture
def catalog(workspace: Workspace, old_files: None) -> Iterator[Catalog]:
    workspace.skill("deploy", "Deploys.")
    workspace.skill("review", "Reviews.", folder="skills/review")
    with Catalog.in_memory(boundary_of(workspace.root, CONFIG)) as made:
        yield made


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that a walk has listed."""
    seen: list[str] = []
    scandir = os.scandir

    def noting(folder: str) -> Any:
        seen.append(folder)
        return scandir(folder)

    fake = SimpleNamespace(**{**vars(os), "scandir": noting})
    monkeypatch.setattr(walk, "os", fake)
    return seen


def settled(catalog: Catalog, scratch: Path) -> None:
    """Refresh until nothing is left to do; what happens next happens at a later time."""
    catalog.refresh()
    catalog.refresh()
    later_than(time.time_ns(), scratch)


def later_than(moment: int, scratch: Path) -> None:
    """Wait for the clock of the file system to pass `moment`."""
    probe = scratch / "probe"
    while True:
        probe.write_text("")
        os.utime(probe)
        if probe.stat().st_ctime_ns > moment:
            return


def documents(catalog: Catalog) -> list[tuple[Any, ...]]:
    return catalog.store.rows(
        "SELECT kind, path, rank, state, reason, shadowed_by, source, file, sha256, name, plugin,"
        " origin FROM document ORDER BY kind, path"
    )


def fresh(catalog: Catalog, workspace: Workspace) -> list[tuple[Any, ...]]:
    """What a catalog holds that is built from nothing."""
    with Catalog.in_memory(boundary_of(workspace.root, catalog.config)) as new:
        new.refresh()
        return documents(new)


def test_an_unchanged_tree_is_not_listed_again(
    catalog: Catalog, listed: list[str], elsewhere: Path
) -> None:
    settled(catalog, elsewhere)
    listed.clear()
    changes = catalog.refresh().changes
    assert listed == []
    assert (changes.added, changes.changed, changes.removed, changes.unchanged) == (0, 0, 0, 2)


def test_a_kept_trail_writes_nothing_more(catalog: Catalog, elsewhere: Path) -> None:
    settled(catalog, elsewhere)
    before = catalog.store.version()
    catalog.refresh()
    assert catalog.store.version() == before


def test_a_tree_that_was_just_changed_is_listed_again(
    workspace: Workspace, listed: list[str]
) -> None:
    workspace.skill("deploy", "Deploys.")
    with Catalog.in_memory(boundary_of(workspace.root, CONFIG)) as catalog:
        catalog.refresh()
        catalog.refresh()
        listed.clear()
        catalog.refresh()
        assert str(workspace.root) in listed


def test_other_settings_are_walked_for(
    workspace: Workspace, catalog: Catalog, listed: list[str], elsewhere: Path
) -> None:
    settled(catalog, elsewhere)
    Workspace(elsewhere).skill("mounted", "Mounted.")
    catalog.config = CONFIG._replace(mounts=(Mount(str(elsewhere), "more"),))
    catalog.refresh()
    assert documents(catalog) == fresh(catalog, workspace)


def test_a_refresh_with_nothing_to_do_does_not_wait_for_a_writer(
    workspace: Workspace, old_files: None
) -> None:
    workspace.skill("deploy", "Deploys.")
    with (
        Catalog.open(workspace.root) as catalog,
        closing(sqlite3.connect(catalog.store.path, isolation_level=None)) as other,
    ):
        catalog.refresh()
        other.execute("BEGIN IMMEDIATE")
        assert catalog.refresh().changes.unchanged == 1
        other.execute("ROLLBACK")
        assert catalog.store.rows("PRAGMA busy_timeout") != [(0,)]


def mark(path: Path) -> None:
    path.mkdir(parents=True, exist_ok=True)


def link(path: Path, target: Path | str) -> None:
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(target)


def remove(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    else:
        shutil.rmtree(path, ignore_errors=True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.is_dir() and not path.is_dir():
        path.write_text(text)


def move(path: Path, to: Path) -> None:
    if path.exists() and not to.exists():
        path.rename(to)


def skill(name: str) -> str:
    return f"---\nname: {name}\ndescription: Does {name}.\n---\n\nText.\n"


def changes_to(root: Path, home: Path, elsewhere: Path, rng: Random) -> list[Change]:
    """Every way in which a tree may change, with places drawn at random."""
    folder = root / rng.choice(["", "a", "a/b", ".claude/skills/c"])
    name = rng.choice(["SKILL.md", "SKILL.md", "skill.MD"])
    users = home / ".claude" / "skills"
    cache = home / ".claude" / "plugins"
    own = elsewhere / rng.choice(["x", "y"])
    version = rng.choice(["1", "2"])
    installed = {"plugins": {"p@m": {"installPath": str(cache / "cache" / "m" / "p" / version)}}}
    return [
        lambda: write(folder / name, skill(rng.choice("klmn"))),
        lambda: remove(folder / name),
        lambda: remove(folder) if folder != root else None,
        lambda: move(root / "a", root / "z"),
        lambda: move(root / "z", root / "a"),
        lambda: mark(folder / rng.choice(["node_modules", "sub", ".git"])),
        lambda: remove(folder / ".git") if folder != root else None,
        lambda: write(folder / "pyvenv.cfg", "") if folder != root else None,
        lambda: remove(folder / "pyvenv.cfg"),
        lambda: write(
            folder / ".claude-plugin" / "plugin.json", json.dumps({"name": rng.choice("pq")})
        ),
        lambda: remove(folder / ".claude-plugin"),
        lambda: link(root / "skills" / "linked", rng.choice([folder, own, root / "none"])),
        lambda: link(root / "to" / "SKILL.md", folder / name),
        lambda: link(users / "mine", own),
        lambda: write(own / name, skill("own")),
        lambda: write(own / "deep" / "SKILL.md", skill("deep")),
        lambda: remove(own),
        lambda: write(users / "yours" / name, skill("yours")),
        lambda: write(root / "abilities" / "one.md", ABILITY),
        lambda: write(root / "abilities" / "metier.toml", ""),
        lambda: remove(root / "abilities"),
        lambda: write(cache / "cache" / "m" / "p" / version / "skills" / "s" / name, skill("s")),
        lambda: write(cache / "installed_plugins.json", json.dumps(installed)),
        lambda: mark(folder / "SKILL.md") if not (folder / "SKILL.md").exists() else None,
    ]


@pytest.mark.parametrize("seed", range(4))
def test_after_any_change_a_refresh_finds_what_a_fresh_walk_finds(
    workspace: Workspace, catalog: Catalog, empty_home: Path, elsewhere: Path, seed: int
) -> None:
    rng = Random(seed)
    scratch = elsewhere.parent
    for _ in range(60):
        settled(catalog, scratch)
        for _ in range(rng.randint(1, 2)):
            rng.choice(changes_to(workspace.root, empty_home, elsewhere, rng))()
        catalog.refresh()
        assert documents(catalog) == fresh(catalog, workspace)


def edited_in_place(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    yield
    write(root / "skills" / "review" / "SKILL.md", skill("other"))


def manifest_edited_in_place(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    manifest = root / "skills" / ".claude-plugin" / "plugin.json"
    write(manifest, '{"name": "one"}')
    yield
    write(manifest, '{"name": "two"}')


def other_version_installed(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    plugins = home / ".claude" / "plugins"
    folder = plugins / "cache" / "m" / "p"
    for version in ("1", "2"):
        write(folder / version / "skills" / "s" / "SKILL.md", skill(f"s{version}"))

    def install(version: str) -> None:
        noted = {"plugins": {"p@m": {"installPath": str(folder / version)}}}
        write(plugins / "installed_plugins.json", json.dumps(noted))

    install("1")
    yield
    install("2")


def installed_through_a_link_that_moves(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    plugins = home / ".claude" / "plugins"
    folder = plugins / "cache" / "m" / "p"
    for version in ("1", "2"):
        write(folder / version / "skills" / "s" / "SKILL.md", skill(f"s{version}"))
    noted = {"plugins": {"p@m": {"installPath": str(elsewhere / "current")}}}
    write(plugins / "installed_plugins.json", json.dumps(noted))
    link(elsewhere / "current", folder / "1")
    yield
    link(elsewhere / "current", folder / "2")


def mark_in_an_ability_folder(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    write(root / "abilities" / "one.md", ABILITY)
    yield
    mark(root / "abilities" / ".git")


def mark_above_the_target_of_a_link(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    write(root / "node_modules" / "package" / "kit" / "SKILL.md", skill("kit"))
    link(root / "skills" / "kit", root / "node_modules" / "package" / "kit")
    yield
    mark(root / "node_modules" / "package" / ".git")


def ability_in_a_new_folder(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    yield
    write(root / "abilities" / "one.md", ABILITY)


def ability_in_a_folder_that_is_not_walked(
    root: Path, home: Path, elsewhere: Path
) -> Iterator[None]:
    link(root / "abilities", root / "node_modules" / "abilities")
    write(root / "node_modules" / "abilities" / "one.md", ABILITY)
    yield
    write(root / "node_modules" / "abilities" / "two.md", ABILITY.replace("one", "two"))


def linked_folder_of_the_user_that_becomes_a_skill(
    root: Path, home: Path, elsewhere: Path
) -> Iterator[None]:
    (elsewhere / "kit" / "deep").mkdir(parents=True)
    link(home / ".claude" / "skills" / "kit", elsewhere / "kit")
    yield
    write(elsewhere / "kit" / "deep" / "SKILL.md", skill("deep"))


def link_whose_way_moves(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    for name in ("one", "two"):
        write(root / "node_modules" / name / "kit" / "SKILL.md", skill("kit"))
    link(root / "node_modules" / "current", root / "node_modules" / "one")
    link(root / "skills" / "kit", root / "node_modules" / "current" / "kit")
    yield
    link(root / "node_modules" / "current", root / "node_modules" / "two")


def link_whose_target_appears(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    link(root / "skills" / "kit", root / "node_modules" / "kit")
    yield
    write(root / "node_modules" / "kit" / "SKILL.md", skill("kit"))


def linked_file_edited_in_place(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    write(root / "node_modules" / "text.md", skill("kit"))
    link(root / "skills" / "kit" / "SKILL.md", root / "node_modules" / "text.md")
    yield
    write(root / "node_modules" / "text.md", skill("other"))


def skill_in_an_empty_folder(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    mark(root / "skills" / "empty")
    yield
    write(root / "skills" / "empty" / "SKILL.MD", skill("kit"))


def environment_around_skills(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    yield
    write(root / "skills" / "pyvenv.cfg", "")


def renamed_folder(root: Path, home: Path, elsewhere: Path) -> Iterator[None]:
    yield
    move(root / "skills" / "review", root / "skills" / "renamed")


def folder_that_takes_the_place_of_another(
    root: Path, home: Path, elsewhere: Path
) -> Iterator[None]:
    write(elsewhere / "kit" / "SKILL.md", skill("kit"))
    yield
    remove(root / "skills" / "review")
    move(elsewhere / "kit", root / "skills" / "review")


@pytest.mark.parametrize(
    "scene",
    [
        edited_in_place,
        manifest_edited_in_place,
        other_version_installed,
        installed_through_a_link_that_moves,
        mark_in_an_ability_folder,
        mark_above_the_target_of_a_link,
        ability_in_a_new_folder,
        ability_in_a_folder_that_is_not_walked,
        linked_folder_of_the_user_that_becomes_a_skill,
        link_whose_way_moves,
        link_whose_target_appears,
        linked_file_edited_in_place,
        skill_in_an_empty_folder,
        environment_around_skills,
        renamed_folder,
        folder_that_takes_the_place_of_another,
    ],
)
def test_what_a_walk_depends_on_is_seen_to_change(
    workspace: Workspace,
    catalog: Catalog,
    empty_home: Path,
    elsewhere: Path,
    listed: list[str],
    scene: Callable[[Path, Path, Path], Iterator[None]],
) -> None:
    play = scene(workspace.root, empty_home, elsewhere)
    next(play)
    settled(catalog, elsewhere.parent)
    listed.clear()
    before = documents(catalog)
    catalog.refresh()
    assert listed == []
    next(play, None)
    catalog.refresh()
    assert documents(catalog) == fresh(catalog, workspace) != before


def test_a_trail_of_earlier_settings_is_not_followed(
    workspace: Workspace, catalog: Catalog, elsewhere: Path
) -> None:
    settled(catalog, elsewhere.parent)
    Workspace(elsewhere).skill("mounted", "Mounted.")
    catalog.config = CONFIG._replace(mounts=(Mount(str(elsewhere), "more"),))
    catalog.refresh()
    catalog.config = CONFIG
    catalog.refresh()
    assert documents(catalog) == fresh(catalog, workspace)


def test_a_new_file_in_a_folder_that_the_user_names_is_seen(
    workspace: Workspace, catalog: Catalog, elsewhere: Path
) -> None:
    catalog.config = CONFIG._replace(user_folders=(("ability", str(elsewhere)),))
    settled(catalog, elsewhere.parent)
    write(elsewhere / "one.md", ABILITY)
    catalog.refresh()
    assert f"{elsewhere.name}/one.md" in [row[1] for row in documents(catalog)]
    assert documents(catalog) == fresh(catalog, workspace)


@pytest.mark.parametrize("size", [1, 2, 3, 500])
def test_every_path_of_every_part_is_watched(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(trail, "_PART", size)
    names = ["a", "a-b", "a.b", "a/b", "a/b-c", "a/b/c", "ab", "é", "z/z/z"]
    files = [elsewhere / name / "SKILL.md" for name in names]
    for file in files:
        write(file, "one")
    steps = trail.Steps()
    steps.paths += ["/", str(elsewhere), *(str(one) for one in elsewhere.rglob("*"))]
    for path in map(Path, steps.paths[1:]):
        kept = steps.trail("", 0, time.time_ns() + LATER)
        assert kept is not None
        assert trail.is_unchanged(kept)
        later_than(time.time_ns(), elsewhere.parent)
        os.utime(path)
        assert not trail.is_unchanged(kept)


def test_a_part_whose_folder_is_gone_has_changed(elsewhere: Path) -> None:
    write(elsewhere / "there" / "SKILL.md", "one")
    steps = trail.Steps()
    steps.paths.append(str(elsewhere / "there" / "SKILL.md"))
    kept = steps.trail("", 0, time.time_ns() + LATER)
    assert kept is not None
    assert trail.is_unchanged(kept)
    shutil.rmtree(elsewhere / "there")
    assert not trail.is_unchanged(kept)


def test_a_folder_that_may_only_be_searched_still_has_a_trail(elsewhere: Path) -> None:
    if not hasattr(os, "O_PATH"):
        pytest.skip("this system opens a folder only to read it")
    write(elsewhere / "closed" / "open" / "SKILL.md", "one")
    write(elsewhere / "closed" / "other" / "SKILL.md", "one")
    steps = trail.Steps()
    steps.paths += [str(elsewhere / "closed" / name / "SKILL.md") for name in ("open", "other")]
    os.chmod(elsewhere / "closed", 0o311)
    try:
        kept = steps.trail("", 0, time.time_ns() + LATER)
        assert kept is not None
        assert trail.is_unchanged(kept)
    finally:
        os.chmod(elsewhere / "closed", 0o755)
