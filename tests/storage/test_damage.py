"""Databases that are damaged: a right answer or one clear line, whatever the command."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import state_of, trust
from mcp_served import example
from metier.cli import run
from metier.hook.serve import serve
from metier.storage.places import state_home, user_room

pytestmark = pytest.mark.slow

PAGE = 4096
AT_ONCE = 4
"""Commands that are tried on one damaged database."""


class Used(NamedTuple):
    """A workspace in which metier has been used, and the state that it left."""

    root: Path
    home: Path
    kept: Path
    run_id: str


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Used]:
    home, folder = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("damaged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        root = example(folder)
        trust(root, speak=True)
        for words in (
            "refresh",
            "resolve -r web-search",
            "run standard hello --model offline",
            "refresh --background",
        ):
            assert run([*words.split(), "--root", str(root), "-q"]) == 0
        with closing(sqlite3.connect(state_of(root) / "runs.db")) as connection:
            (run_id,) = connection.execute("SELECT id FROM run").fetchone()
        kept = folder / "kept"
        shutil.copytree(home, kept)
        yield Used(root, home, kept, run_id)


@pytest.fixture
def used(prepared: Used, monkeypatch: pytest.MonkeyPatch) -> Used:
    monkeypatch.setenv("HOME", str(prepared.home))
    shutil.rmtree(prepared.home)
    shutil.copytree(prepared.kept, prepared.home)
    return prepared


COMMANDS = (
    "refresh",
    "list skills",
    "list skills --no-refresh --json",
    "list skills --search a --no-refresh",
    "list abilities --json",
    "list cards --json --no-refresh",
    "list agents --json --no-refresh",
    "show skill summarize --no-refresh",
    "list --capability web-search --no-refresh",
    "resolve -r web-search",
    "resolve -r web-search --no-refresh --json",
    "report list",
    "report show last",
    "select review_a_pull_request --no-refresh",
    "inject --task review_the_code --no-refresh",
    "lint",
    "doctor",
    "hook stats",
    "refresh --background",
    "runs list",
    "runs show RUN --json",
    "runs resume RUN",
    "run standard hello --model offline",
)
Damage = Callable[[bytes, random.Random], bytes]


def filled_page(content: bytes, dice: random.Random, filling: bytes) -> bytes:
    start = dice.randrange(len(content) // PAGE) * PAGE
    return content[:start] + filling + content[start + PAGE :]


def swapped_pages(content: bytes, dice: random.Random) -> bytes:
    pages = [content[start : start + PAGE] for start in range(0, len(content), PAGE)]
    one, other = dice.randrange(1, len(pages)), dice.randrange(1, len(pages))
    pages[one], pages[other] = pages[other], pages[one]
    return b"".join(pages)


def other_bytes(content: bytes, dice: random.Random, count: int, last: int = 0) -> bytes:
    changed = bytearray(content)
    for _ in range(count):
        changed[dice.randrange(last or len(content))] = dice.randrange(256)
    return bytes(changed)


DAMAGES: dict[str, Damage] = {
    "one other byte": lambda content, dice: other_bytes(content, dice, 1),
    "another byte in the header": lambda content, dice: other_bytes(content, dice, 1, 100),
    "a hundred other bytes": lambda content, dice: other_bytes(content, dice, 100),
    "a page of noise": lambda content, dice: filled_page(content, dice, dice.randbytes(PAGE)),
    "a page of zeros": lambda content, dice: filled_page(content, dice, bytes(PAGE)),
    "two pages swapped": swapped_pages,
    "cut short": lambda content, dice: content[: dice.randrange(len(content))],
    "noise": lambda content, dice: dice.randbytes(len(content)),
    "text": lambda _content, _dice: b"this is no database at all\n" * 400,
    "nothing": lambda _content, _dice: b"",
}
DATABASES = ("catalog", "runs", "user's catalog")


def database(used: Used, name: str) -> Path:
    if name == "user's catalog":
        return Path(user_room().file("metier.db"))
    return state_of(used.root) / ("runs.db" if name == "runs" else "metier.db")


def assert_all_is_told(
    used: Used, dice: random.Random, capfd: pytest.CaptureFixture[str], most: int = AT_ONCE
) -> None:
    """Every command answers, or says in one clear line why not."""
    for words in dice.sample(COMMANDS, most):
        arguments = words.replace("RUN", used.run_id).split()
        code = run([*(one.replace("_", " ") for one in arguments), "--root", str(used.root)])
        told = capfd.readouterr().err
        assert code in (0, 1, 2, 3), words
        assert "Traceback" not in told, words
        assert "INTERNAL" not in told, words
        assert told.count("error: ") == (code != 0 and "error: " in told), words


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", DATABASES)
@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_damaged_database_is_told_in_one_line_or_makes_no_difference(
    used: Used, damage: str, name: str, seed: int, capfd: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(f"{damage} {name} {seed}")
    file = database(used, name)
    file.write_bytes(DAMAGES[damage](file.read_bytes(), dice))
    assert_all_is_told(used, dice, capfd)


def tables(file: Path) -> list[str]:
    with closing(sqlite3.connect(file)) as connection:
        return [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
            )
        ]


@pytest.mark.parametrize("name", DATABASES)
def test_a_missing_table_is_told_in_one_line_or_makes_no_difference(
    used: Used, name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    sound = database(used, name).read_bytes()
    dice = random.Random(name)
    names = tables(database(used, name))
    assert {"migration"} < set(names)
    for table in names:
        file = database(used, name)
        file.write_bytes(sound)
        with closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA foreign_keys = OFF")
            connection.execute(f"DROP TABLE {table}")
            connection.commit()
        assert_all_is_told(used, dice, capfd, most=3)


@contextmanager
def standard_input(file: Path) -> Iterator[None]:
    before, given = os.dup(0), os.open(file, os.O_RDONLY)
    os.dup2(given, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(before)
        os.close(given)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("damage", list(DAMAGES))
def test_a_hook_over_a_damaged_catalog_ends_well_and_says_nothing_wrong(
    used: Used,
    damage: str,
    seed: int,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    dice = random.Random(f"{damage} {seed}")
    file = database(used, "catalog")
    file.write_bytes(DAMAGES[damage](file.read_bytes(), dice))
    asked = b'{"hook_event_name":"UserPromptSubmit","prompt":"search the web","cwd":%s}'
    given = used.home / "given.json"
    given.write_bytes(asked % f'"{used.root}"'.encode())
    monkeypatch.setattr("metier.hook.journal.Journal.refresh_if_stale", lambda *_: None)
    with standard_input(given):
        serve("claude-code")
    assert "Traceback" not in capfd.readouterr().err


def test_the_state_lies_where_the_tests_look_for_it(used: Used) -> None:
    assert Path(state_home()).is_relative_to(used.home)
    assert all(database(used, name).exists() for name in DATABASES)
