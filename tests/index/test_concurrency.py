"""Several processes at one catalog, and processes that die in the middle of a refresh."""

import random
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.flow.boundary import Boundary
from metier.index.skills import Roots, SkillRepository
from metier.index.store import Store
from metier.load import read_skills
from metier.values.files import Reading
from soak import SOAK

pytestmark = pytest.mark.slow

PROCESSES = 4
SKILLS = 400
KILLS = 60 if SOAK else 6
PATIENCE = 120
"""Seconds after which a child is taken for stuck."""

REFRESH_AND_READ = """
import sys
from metier import Catalog
print("ready", flush=True)
sys.stdin.readline()
with Catalog.open(sys.argv[1]) as catalog:
    changes = catalog.refresh().changes
    assert changes.discovered == int(sys.argv[2]), changes
    for _ in range(10):
        assert len(catalog.skills()) == int(sys.argv[2])
        assert len(catalog.providers("shared")) == int(sys.argv[2])
        assert catalog.refresh().changes.discovered == int(sys.argv[2])
"""
REFRESH = """
import sys
from metier import Catalog
with Catalog.open(sys.argv[1]) as catalog:
    print("ready", flush=True)
    catalog.refresh()
"""


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    """A child that has said that it is ready."""
    child = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


def finish(child: "subprocess.Popen[str]", say: str | None = None) -> tuple[int, str]:
    """Exit code and complaints of a child that is left to its end."""
    _, complaints = child.communicate(say, timeout=PATIENCE)
    return child.returncode, complaints


def contents(catalog: Catalog) -> list[tuple[Any, ...]]:
    """All that the catalog knows, apart from the numbers of its rows."""
    store = catalog.store
    columns = ", ".join(
        name for _, name, *_ in store.rows("PRAGMA table_info(document)") if name != "key"
    )
    return [
        *store.rows(f"SELECT {columns} FROM document ORDER BY path"),
        *store.rows(
            "SELECT capability, path FROM skill_capability JOIN document USING (key) ORDER BY 1, 2"
        ),
    ]


def cold(root: Path) -> list[tuple[Any, ...]]:
    """What a catalog that is built from nothing knows."""
    with Catalog.open(root) as opened:
        same = Boundary(opened.workspace, opened.trust, opened.config)
    with Catalog.in_memory(same) as catalog:
        catalog.refresh()
        return contents(catalog)


def stored(root: Path) -> list[tuple[Any, ...]]:
    """What is in the file now; it must be sound."""
    with Catalog.open(root) as catalog:
        assert catalog.store.damage() == ""
        return contents(catalog)


def write_skills(workspace: Workspace, word: str) -> None:
    for number in range(SKILLS):
        workspace.skill(
            f"s{number}", f"Does {word} things.", extra=f"capabilities: [shared, {word}]"
        )


def test_processes_that_start_at_once_build_one_catalog(workspace: Workspace) -> None:
    write_skills(workspace, "some")
    children = [start(REFRESH_AND_READ, workspace.root, SKILLS) for _ in range(PROCESSES)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [finish(child) for child in children] == [(0, "")] * PROCESSES
    assert stored(workspace.root) == cold(workspace.root)


def test_processes_that_make_the_file_at_once_all_get_it(tmp_path: Path) -> None:
    script = """
import sys
from metier.index.store import Store
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    Store.open(f"{sys.argv[1]}/{number}/metier.db").close()
"""
    children = [start(script, tmp_path) for _ in range(PROCESSES)]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("go\n")
        child.stdin.flush()
    assert [finish(child) for child in children] == [(0, "")] * PROCESSES
    for number in range(20):
        with closing(Store.open(str(tmp_path / str(number) / "metier.db"))) as store:
            assert store.damage() == ""


def test_a_reader_sees_what_another_process_has_written(workspace: Workspace) -> None:
    workspace.skill("a")
    with Catalog.open(workspace.root) as reader:
        reader.refresh()
        workspace.skill("b")
        assert finish(start(REFRESH, workspace.root)) == (0, "")
        assert [row.name for row in reader.skills()] == ["a", "b"]
        assert reader.refresh().changes.unchanged == 2


def test_a_refresh_that_was_overtaken_lists_the_disk_again(workspace: Workspace) -> None:
    gone = workspace.skill("gone")
    workspace.skill("kept")
    path = str(workspace.root / "metier.db")
    with closing(Store.open(path)) as store, closing(Store.open(path)) as another:
        readings: list[Reading] = []

        def read(roots: Roots) -> Reading:
            """Let another refresh in, once, between the listing and the writing."""
            readings.append(read_skills(roots))
            if len(readings) == 1:
                gone.unlink()
                workspace.skill("new")
                SkillRepository(another, read_skills).load_skills_from_disk([workspace.root])
            return readings[-1]

        SkillRepository(another, read_skills).load_skills_from_disk([workspace.root])
        workspace.skill("newer")
        repository = SkillRepository(store, read)
        assert repository.load_skills_from_disk([workspace.root]).total_on_disk == 3
        assert len(readings) == 2
        assert [row.name for row in repository.list_skills()] == ["kept", "new", "newer"]


def from_iso(child: "subprocess.Popen[str]") -> float:
    """How long a child takes that is left to its end."""
    began = time.monotonic()
    assert finish(child) == (0, "")
    return time.monotonic() - began


def kill_after(child: "subprocess.Popen[str]", seconds: float) -> bool:
    """Whether the child was still at work when it was killed."""
    try:
        child.wait(seconds)
    except subprocess.TimeoutExpired:
        child.kill()
    return finish(child)[0] != 0


@pytest.mark.slow
def test_a_killed_refresh_leaves_the_old_or_the_new_catalog(workspace: Workspace) -> None:
    rng = random.Random(20)
    known = {}
    for word in ("new", "former"):
        write_skills(workspace, word)
        known[word] = cold(workspace.root)
    longest = from_iso(start(REFRESH, workspace.root))
    in_time = number = 0
    while number < KILLS or (not in_time and number < 10 * KILLS):
        before, wanted = ("new", "former") if number % 2 else ("former", "new")
        write_skills(workspace, wanted)
        was_killed = kill_after(start(REFRESH, workspace.root), rng.uniform(0, longest))
        after = stored(workspace.root)
        assert after in (known[before], known[wanted])
        in_time += was_killed and after == known[before]
        if not in_time:
            longest *= 0.7  # the machine was busy when it was measured
        number += 1
        assert finish(start(REFRESH, workspace.root)) == (0, "")
        assert stored(workspace.root) == known[wanted]
    assert in_time > 0, "every kill came too late"


@pytest.mark.slow
def test_a_killed_first_refresh_leaves_nothing_or_all(workspace: Workspace) -> None:
    rng = random.Random(21)
    write_skills(workspace, "some")
    whole = cold(workspace.root)
    longest = from_iso(start(REFRESH, workspace.root))
    for _ in range(KILLS // 2):
        for file in workspace.state.iterdir():
            file.unlink()
        kill_after(start(REFRESH, workspace.root), rng.uniform(0, longest))
        assert stored(workspace.root) in ([], whole)
        assert finish(start(REFRESH, workspace.root)) == (0, "")
        assert stored(workspace.root) == whole
