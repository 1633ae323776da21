"""SQLite's full-text index, as a program without dependencies would use it."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.protocol import DEPTH, Peer, Search


def _index(skills: Path, state: Path) -> int:
    database = sqlite3.connect(state / "skills.db")
    database.execute(
        "CREATE VIRTUAL TABLE skill USING fts5"
        " (folder UNINDEXED, matter, body, tokenize = 'porter unicode61')"
    )
    database.executemany("INSERT INTO skill VALUES (?, ?, ?)", _rows(skills))
    database.commit()
    (count,) = database.execute("SELECT count(*) FROM skill").fetchone()
    database.close()
    return int(count)


def _rows(skills: Path) -> Iterator[tuple[str, str, str]]:
    for file in sorted(skills.glob("*/SKILL.md")):
        text = file.read_text("utf-8", errors="replace")
        _, _, rest = text.partition("---\n")
        matter, _, body = rest.partition("\n---")
        yield file.parent.name, matter, body or text


def _search(_skills: Path, state: Path) -> Search:
    from metier.core.stems import STOP_WORDS
    from metier.core.text import words

    database = sqlite3.connect(state / "skills.db")

    def search(task: str) -> list[str]:
        kept = [word for word in dict.fromkeys(words(task)) if word not in STOP_WORDS]
        found = database.execute(
            "SELECT folder FROM skill WHERE skill MATCH ? ORDER BY rank LIMIT ?",
            (" OR ".join(f'"{word}"' for word in kept) or '""', DEPTH),
        )
        return [folder for (folder,) in found]

    return search


PEER = Peer(
    name="SQLite FTS5",
    about="the standard library's full-text index; front matter as text, any word of the task",
    strengths=(
        "Comes with Python: nothing to install, and a few dozen lines to write.",
        "Phrases, prefixes, NEAR and boolean queries.",
    ),
    index=_index,
    search=_search,
)
