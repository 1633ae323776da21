"""Cold, idle and one-file refreshes against the least that any program has to do."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import floor
from benchmarks.corpus import unpack
from benchmarks.folders import trust
from benchmarks.measure import Bar, alternate, cpu, cpu_of_process, least, peak_megabytes
from metier import Catalog
from metier.storage.places import state_room

PYTHON = sys.executable
METIER = str(Path(PYTHON).with_name("metier"))
COLD_BAR, IDLE_BAR, ONE_FILE_BAR, MEMORY_BAR = 2.5, 1.4, 1.5, 5.0
_FLOOR = "× walk + read + words + YAML + insert"
_COLD_IN_A_PROCESS = (
    "import sys; from metier import Catalog; Catalog.open(sys.argv[1], home='/nowhere').refresh()"
)
_FLOOR_IN_A_PROCESS = "import sys; from benchmarks import floor; floor.cold_load(*sys.argv[1:])"


def bars(scratch: Path) -> Iterator[Bar]:
    root, what = unpack(scratch / "refresh")
    workspace = str(root)
    trust(workspace)
    yield _cold(workspace, scratch, what)
    yield _memory(workspace, scratch)
    with Catalog.open(workspace, home="/nowhere") as catalog:
        catalog.refresh()
        yield from _idle_and_one_file(catalog, root, what)
    yield _command(workspace, what)


def _cold(workspace: str, scratch: Path, what: str) -> Bar:
    def floor_once() -> float:
        database = scratch / "floor.db"
        database.unlink(missing_ok=True)
        return cpu(lambda: floor.cold_load(workspace, str(database)))

    def ours_once() -> float:
        _forget(workspace)
        with Catalog.open(workspace, home="/nowhere") as catalog:
            return cpu(catalog.refresh)

    rounds = alternate(7, floor_once, ours_once)
    bare, ours = least(rounds)
    detail = f"{ours:.2f} s against {bare:.2f} s CPU; {what}"
    return Bar("cold refresh", ours / bare, COLD_BAR, _FLOOR, detail)


def _forget(workspace: str) -> None:
    """Remove the catalog."""
    shutil.rmtree(state_room(workspace).path, ignore_errors=True)


def _memory(workspace: str, scratch: Path) -> Bar:
    _forget(workspace)
    ours = peak_megabytes(_COLD_IN_A_PROCESS, workspace)
    bare = peak_megabytes(_FLOOR_IN_A_PROCESS, workspace, str(scratch / "floor-memory.db"))
    detail = f"resident set of {ours:.0f} MB against {bare:.0f} MB"
    return Bar("cold refresh, peak memory", ours / bare, MEMORY_BAR, _FLOOR, detail)


def _idle_and_one_file(catalog: Catalog, root: Path, what: str) -> Iterator[Bar]:
    file = next(root.rglob("SKILL.md"))
    before = (file.read_bytes(), file.stat())
    stamp = 1_000_000_000

    def one_file_once() -> float:
        nonlocal stamp
        stamp += 1
        file.write_bytes(before[0] + f"\n{stamp}\n".encode())
        os.utime(file, (stamp, stamp))
        return cpu(catalog.refresh)

    rounds = alternate(
        15,
        lambda: cpu(lambda: floor.walk(str(root))),
        lambda: cpu(catalog.refresh),
        one_file_once,
    )
    file.write_bytes(before[0])
    os.utime(file, ns=(before[1].st_atime_ns, before[1].st_mtime_ns))
    catalog.refresh()
    walk, idle, changed = least(rounds)
    detail = f"{idle * 1000:.0f} ms against {walk * 1000:.0f} ms CPU; {what}"
    yield Bar("refresh, nothing changed", idle / walk, IDLE_BAR, "× bare walk + stat", detail)
    detail = f"{changed * 1000:.0f} ms against {walk * 1000:.0f} ms CPU"
    unit = "× bare walk + stat"
    yield Bar("refresh, one file changed", changed / walk, ONE_FILE_BAR, unit, detail)


def _command(workspace: str, what: str) -> Bar:
    rounds = alternate(
        11,
        lambda: cpu(lambda: floor.walk(workspace)),
        lambda: cpu_of_process([METIER, "--help"]),
        lambda: cpu_of_process([METIER, "refresh", "--root", workspace], HOME="/nowhere"),
    )
    walk, help_text, command = least(rounds)
    ratio = command / (help_text + IDLE_BAR * walk)
    detail = (
        f"{command * 1000:.0f} ms; --help {help_text * 1000:.0f} ms, "
        f"walk {walk * 1000:.0f} ms CPU; {what}"
    )
    return Bar("`metier refresh`, nothing changed", ratio, 1.0, "× (--help + 1.5 × walk)", detail)
