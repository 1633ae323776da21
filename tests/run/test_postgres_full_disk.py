"""PostgreSQL whose disk is full: runs stop with a clear error, and continue later."""

import asyncio
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import psycopg
import pytest

from metier.errors import StoreError
from metier.run.postgres_store import PostgresRunStore
from metier.run.tool import ToolContext
from run.world import Data, World, agent, do

SIZE = "32m"
"""A new database takes about 8 MB."""
LONG = 4_000_000
"""Characters of an output that does not fit."""


@contextmanager
def small_disk(owner: int) -> Iterator[Path]:
    """A file system of a few megabytes that belongs to a user; skips where none can be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="metier-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE},mode=0755", "tmpfs", str(folder)]
    try:
        if os.geteuid() or shutil.which("mount") is None:
            pytest.skip("only root can mount a small file system")
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"no small file system can be mounted: {mounted.stderr.strip()}")
        try:
            folder.chmod(0o755)
            (folder / "tables").mkdir(mode=0o700)
            os.chown(folder / "tables", owner, owner)
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


@pytest.fixture
def disk(postgres: str) -> Iterator[Path]:
    data = psycopg.conninfo.conninfo_to_dict(postgres)["host"]
    with small_disk(os.stat(str(data)).st_uid) as folder:
        yield folder


@pytest.fixture
def database(postgres: str, disk: Path) -> Iterator[str]:
    """The address of a database whose tables are on the small disk."""
    name = f"test_{secrets.token_hex(6)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE TABLESPACE {name} LOCATION '{disk / 'tables'}'")
        connection.execute(f"CREATE DATABASE {name} TABLESPACE {name}")
        yield psycopg.conninfo.make_conninfo(postgres, dbname=name)
        (disk / "filler").unlink(missing_ok=True)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.execute(f"DROP TABLESPACE {name}")


def fill(disk: Path) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"\0" * 65_536)
    assert shutil.disk_usage(disk).free == 0


@pytest.mark.parametrize("count", [1, 3])
def test_a_full_disk_stops_runs_and_the_steps_before_are_kept(
    database: str, disk: Path, count: int
) -> None:
    with closing(PostgresRunStore(database, "team")) as store:
        world = World(store=store)
        full = asyncio.Event()

        async def long(_args: Data, _context: ToolContext) -> str:
            if not full.is_set():
                fill(disk)
                full.set()
            return secrets.token_hex(LONG // 2)

        world.acts["b"] = long
        profile = agent(do("a"), do("b"), do("c"))

        async def together() -> list[object]:
            runs = [world.runner().run(profile, "t") for _ in range(count)]
            return list(await asyncio.gather(*runs, return_exceptions=True))

        stopped = asyncio.run(together())
        assert [one.code for one in stopped if isinstance(one, StoreError)] == [
            "STORE_FULL"
        ] * count
        (disk / "filler").unlink()
        world.acts["b"] = iter([1] * count)
        for run in store.runs():
            assert world.resume(run.run_id).success
            assert world.kept(store.run(run.run_id)) == dict.fromkeys("abc", "succeeded")
        assert [world.calls.count(step) for step in "abc"] == [count, 2 * count, count]
