"""An incremental refresh: what it counts, what it writes, and that it equals a cold build."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.flow.boundary import Boundary
from metier.values.loads import Changes
from metier.values.settings import Mount
from soak import examples

pytestmark = pytest.mark.slow

BATCHES = 600
"""Files enough for a refresh to visit the database three times."""


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    with Catalog.open(workspace.root) as opened:
        yield opened


@pytest.fixture
def observer(workspace: Workspace, catalog: Catalog) -> Iterator[sqlite3.Connection]:
    """Another connection to the same file."""
    with closing(sqlite3.connect(catalog.store.path)) as connection:
        yield connection


def counts(changes: Changes) -> tuple[int, int, int, int]:
    return changes.added, changes.changed, changes.removed, changes.unchanged


def contents(catalog: Catalog) -> dict[str, list[tuple[Any, ...]]]:
    """All that the catalog knows, apart from the numbers of its rows."""
    columns = ", ".join(
        name for _, name, *_ in catalog.store.rows("PRAGMA table_info(document)") if name != "key"
    )
    return {
        "documents": catalog.store.rows(f"SELECT {columns} FROM document ORDER BY kind, path"),
        "capabilities": catalog.store.rows(
            "SELECT capability, path FROM skill_capability LEFT JOIN document USING (key)"
            " ORDER BY 1, 2"
        ),
    }


def cold(catalog: Catalog) -> dict[str, list[tuple[Any, ...]]]:
    """What a catalog that is built from nothing knows."""
    same = Boundary(catalog.workspace, catalog.trust, catalog.config)
    with Catalog.in_memory(same) as fresh:
        assert fresh.refresh().changes.added == len(contents(fresh)["documents"])
        return contents(fresh)


def states(catalog: Catalog) -> dict[str, str]:
    """Path → state, with the reason of those that are left out."""
    return {
        path: reason or state
        for path, state, reason in catalog.store.rows("SELECT path, state, reason FROM document")
    }


def rewrite(file: Path, text: str, seconds: int) -> None:
    """Give a file other content and a time long past that it did not have."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    os.utime(file, (1_000_000_000 + seconds, 1_000_000_000 + seconds))


def test_every_file_is_added_changed_removed_or_unchanged(
    workspace: Workspace, catalog: Catalog
) -> None:
    files = [workspace.skill(name) for name in "abcd"]
    workspace.write("abilities/x.md", "---\nabilityId: x\n---\nKnow.\n")
    assert counts(catalog.refresh().changes) == (5, 0, 0, 0)
    assert counts(catalog.refresh().changes) == (0, 0, 0, 5)
    files[0].unlink()
    rewrite(files[1], files[1].read_text() + "More.\n", 1)
    workspace.skill("e")
    changes = catalog.refresh().changes
    assert counts(changes) == (1, 1, 1, 3)
    assert changes.discovered == 5
    assert changes.included == {"skill": 4, "ability": 1, "card": 0, "agent": 0}


def test_a_touch_is_no_change(workspace: Workspace, catalog: Catalog) -> None:
    file = workspace.skill("a")
    catalog.refresh()
    os.utime(file, (1_100_000_000, 1_100_000_000))
    assert counts(catalog.refresh().changes) == (0, 0, 0, 1)
    assert contents(catalog) == cold(catalog)


def test_an_edit_within_the_clock_tick_is_seen(workspace: Workspace, catalog: Catalog) -> None:
    file = workspace.skill("a", "Does one thing now.")
    now = time.time_ns()
    os.utime(file, ns=(now, now))
    catalog.refresh()
    edited = file.read_text().replace("Does one", "Does six")
    file.write_text(edited)
    os.utime(file, ns=(now, now))
    assert counts(catalog.refresh().changes) == (0, 1, 0, 0)
    assert catalog.row("skill", "a").description == "Does six thing now."


def test_a_file_with_a_time_to_come_is_looked_at_each_time(
    workspace: Workspace, catalog: Catalog
) -> None:
    future = time.time_ns() + 10**15
    for description in ("Sees it.", "Says it.", "Uses it."):
        os.utime(workspace.skill("a", description), ns=(future, future))
        catalog.refresh()
        assert catalog.row("skill", "a").description == description


def test_nothing_is_written_when_nothing_has_changed(
    workspace: Workspace, catalog: Catalog, observer: sqlite3.Connection
) -> None:
    for name in "abc":
        workspace.skill(name)
    workspace.write("skills/bad/SKILL.md", "no front matter")
    catalog.refresh()
    files = [Path(catalog.store.path + end) for end in ("", "-wal")]
    version = observer.execute("PRAGMA data_version").fetchone()
    before = [file.read_bytes() for file in files]
    catalog.refresh()
    assert observer.execute("PRAGMA data_version").fetchone() == version
    assert [file.read_bytes() for file in files] == before
    workspace.skill("d")
    catalog.refresh()
    assert observer.execute("PRAGMA data_version").fetchone() != version


def test_nobody_sees_half_a_refresh(
    workspace: Workspace, catalog: Catalog, observer: sqlite3.Connection
) -> None:
    select = "SELECT path, sha256, state FROM document ORDER BY path"
    old_files = [workspace.skill(f"old-{number}") for number in range(10)]
    catalog.refresh()
    before = observer.execute(select).fetchall()
    seen: list[list[tuple[Any, ...]]] = []
    statements: list[str] = []
    for file in old_files[:5]:
        file.unlink()
    rewrite(old_files[5], old_files[5].read_text() + "More.\n", 1)
    for number in range(BATCHES):
        workspace.skill(f"new-{number}")
    catalog.store.connection.set_trace_callback(statements.append)
    catalog.refresh(lambda *_: seen.append(observer.execute(select).fetchall()))
    catalog.store.connection.set_trace_callback(None)
    assert len(seen) == 3
    assert all(rows == before for rows in seen)
    assert len(observer.execute(select).fetchall()) == BATCHES + 5
    controls = [one for one in statements if one.startswith(("BEGIN", "COMMIT", "ROLLBACK"))]
    assert controls == ["BEGIN IMMEDIATE", "COMMIT"]


def test_a_refresh_that_is_broken_off_changes_nothing(
    workspace: Workspace, catalog: Catalog
) -> None:
    gone = workspace.skill("a")
    catalog.refresh()
    before = contents(catalog)
    gone.unlink()
    workspace.skill("b")

    def give_up(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalog.refresh(give_up)
    assert contents(catalog) == before
    assert counts(catalog.refresh().changes) == (1, 0, 1, 0)


def test_progress_counts_the_files_that_are_read(workspace: Workspace, catalog: Catalog) -> None:
    calls: list[tuple[int, int]] = []
    for number in range(BATCHES):
        workspace.skill(f"s{number}")
    catalog.refresh(lambda *call: calls.append(call))
    assert calls == [(250, BATCHES), (500, BATCHES), (BATCHES, BATCHES)]
    calls.clear()
    workspace.skill("one-more")
    catalog.refresh(lambda *call: calls.append(call))
    assert calls == [(1, 1)]


def test_a_file_that_no_longer_parses_loses_its_row(workspace: Workspace, catalog: Catalog) -> None:
    file = workspace.skill("a", extra="capabilities: [read]")
    catalog.refresh()
    rewrite(file, "---\nname: a\n---\n# No description\n", 1)
    changes = catalog.refresh().changes
    assert counts(changes) == (0, 1, 0, 0)
    assert (changes.included["skill"], changes.excluded) == (0, 1)
    assert catalog.skills() == []
    assert catalog.providers("read") == []
    assert list(catalog.find("skill", "a")) == []
    assert contents(catalog) == cold(catalog)


def test_a_setting_is_honoured_though_no_file_has_changed(workspace: Workspace) -> None:
    workspace.skill("a", extra="capabilities: [read]")
    workspace.skill("b", extra="capabilities: [read]")
    for disabled, left in (((), ["a", "b"]), (("a",), ["b"]), (("b::skills/b",), ["a"])):
        with Catalog.open(workspace.root, config=Config(disabled=disabled)) as catalog:
            changes = catalog.refresh().changes
            assert catalog.providers("read") == [row.name for row in catalog.skills()] == left
            assert changes.excluded == len(disabled)
            assert contents(catalog) == cold(catalog)


def test_the_first_by_source_order_is_active_and_the_next_takes_its_place(
    workspace: Workspace, catalog: Catalog
) -> None:
    first = workspace.skill("a", "The first.", folder="skills/z")
    host = workspace.skill("a", "The second.", folder=".claude/skills/a")
    workspace.skill("a", "The third.", folder=".cursor/skills/a")
    workspace.skill("a", "The first.", folder=".gemini/skills/a")
    catalog.refresh()
    assert states(catalog) == {
        "skills/z/SKILL.md": "active",
        ".claude/skills/a/SKILL.md": "shadowed",
        ".cursor/skills/a/SKILL.md": "shadowed",
        ".gemini/skills/a/SKILL.md": "duplicate-content",
    }
    first.unlink()
    changes = catalog.refresh().changes
    assert (changes.included["skill"], changes.excluded) == (3, 0)
    assert states(catalog) == {
        ".claude/skills/a/SKILL.md": "active",
        ".cursor/skills/a/SKILL.md": "shadowed",
        ".gemini/skills/a/SKILL.md": "shadowed",
    }
    rewrite(host, host.read_text().replace("name: a", "name: b"), 1)
    catalog.refresh()
    assert states(catalog)[".gemini/skills/a/SKILL.md"] == "active"
    assert [row.name for row in catalog.skills()] == ["a", "b"]
    assert contents(catalog) == cold(catalog)


@pytest.mark.parametrize("names", [20, 520])
def test_many_names_are_settled_as_a_few_are(
    workspace: Workspace, catalog: Catalog, names: int
) -> None:
    """Beyond five hundred names another way of asking is used."""
    for number in range(names):
        workspace.skill(f"s{number}", "The second.", folder=f"b/{number}")
    catalog.refresh()
    for number in range(names):
        workspace.skill(f"s{number}", f"Number {number % 2}.", folder=f"a/{number}")
        workspace.skill(f"s{number}", "Number 1.", folder=f"c/{number}")
    changes = catalog.refresh().changes
    assert (changes.included["skill"], changes.excluded) == (names * 5 // 2, names // 2)
    assert {row.path[0] for row in catalog.skills()} == {"a"}
    assert contents(catalog) == cold(catalog)


def test_an_empty_workspace_has_an_empty_catalog(catalog: Catalog) -> None:
    changes = catalog.refresh().changes
    assert counts(changes) == (0, 0, 0, 0)
    assert changes.discovered == 0


SKILL_TEXTS = [
    *(f"---\nname: {name}\ndescription: {word}\ncapabilities: [{name}, c]\n---\nDo.\n"
      for name in ("a", "b") for word in ("One.", "Two.")),
    "---\nname: a\n---\n", "---\ndescription: d: e\n---\n", "nothing", "", "\0",
    "---\nname: b\ndescription: d\nenabled: false\n---\n",
]  # fmt: skip
ABILITY_TEXTS = [f"---\nabilityId: {name}\npriority: 5\n---\nKnow.\n" for name in ("x", "y", "?")]
FOLDERS = ("", "one/", "two/deep/", ".claude/skills/x/", "../mounted/m/")
SKILLS = st.sampled_from([f"{folder}SKILL.md" for folder in FOLDERS])
ABILITIES = st.sampled_from(["abilities/1.md", "abilities/2.md"])
Step = tuple[str, str, str]
"""A verb and what it needs: a path, a text, names."""
STEPS: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("write"), SKILLS, st.sampled_from(SKILL_TEXTS)),
    st.tuples(st.just("write"), SKILLS, st.sampled_from(SKILL_TEXTS[:4])),
    st.tuples(st.just("write"), ABILITIES, st.sampled_from(ABILITY_TEXTS)),
    st.tuples(st.just("delete"), SKILLS | ABILITIES, st.just("")),
    st.tuples(st.just("disable"), st.just(""), st.sampled_from(["", "a", "b::one a::."])),
    st.just(("touch", "", "")),
)
ROUNDS = st.lists(st.lists(STEPS, min_size=1, max_size=4), min_size=2, max_size=10)


@examples(40)
@given(ROUNDS)
def test_whatever_happened_an_incremental_refresh_equals_a_cold_build(
    rounds: list[list[Step]],
) -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder, "workspace")
        root.mkdir()
        rewrite(root / "SKILL.md", SKILL_TEXTS[0], 0)
        rewrite(root / "../mounted/m/SKILL.md", SKILL_TEXTS[1], 0)
        mounts = (Mount(path="../mounted", label="m"),)
        clock = count(1)
        with Catalog.open(root, config=Config(mounts=mounts)) as catalog:
            for steps in ([], *rounds):
                for verb, path, text in steps:
                    if verb == "write":
                        rewrite(root / path, text, next(clock))
                    elif verb == "delete":
                        (root / path).unlink(missing_ok=True)
                    elif verb == "disable":
                        catalog.config = Config(disabled=tuple(text.split()), mounts=mounts)
                    else:
                        touch_all(root.parent, next(clock))
                assert_up_to_date(catalog, catalog.refresh().changes)


def touch_all(folder: Path, seconds: int) -> None:
    for file in folder.rglob("*.md"):
        os.utime(file, (1_000_000_000 + seconds, 1_000_000_000 + seconds))


def assert_up_to_date(catalog: Catalog, changes: Changes) -> None:
    on_disk = len(list(Path(catalog.workspace).parent.rglob("*.md")))
    assert changes.added + changes.changed + changes.unchanged == on_disk
    assert changes.discovered == sum(changes.included.values()) + changes.excluded == on_disk
    assert contents(catalog) == cold(catalog)


def test_an_edit_that_keeps_size_and_time_is_seen(workspace: Workspace) -> None:
    file = workspace.skill("a", "The first text, used when needed.")
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        before = file.stat()
        workspace.skill("a", "Another text, is used when asked.")
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert (file.stat().st_size, file.stat().st_mtime_ns) == (
            before.st_size,
            before.st_mtime_ns,
        )
        catalog.refresh()
        assert catalog.row("skill", "a").description.startswith("Another")
