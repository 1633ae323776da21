"""The floors: the least that any program has to do, written as plain as possible."""

import os
import re
import sqlite3

import yaml


def walk(root: str) -> list[tuple[str, int, int]]:
    """Every SKILL.md with its size and time: `os.scandir` and `stat`, nothing else."""
    found = []
    stack = [root]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
                elif entry.name == "SKILL.md":
                    info = entry.stat(follow_symlinks=False)
                    found.append((entry.path, info.st_size, info.st_mtime_ns))
    return found


def front_matter(text: str) -> str:
    """What stands between the fences."""
    if not text.startswith("---"):
        return ""
    end = text.find("\n---", 3)
    return text[3:end] if end > 0 else ""


def cold_load(root: str, database: str) -> int:
    """Walk, read, find the words of bodies, parse front matter with PyYAML's C loader, insert.

    All rows are inserted in one transaction.
    """
    rows = []
    words = re.compile(r"\w+")
    for path, size, mtime in walk(root):
        with open(path, "rb") as file:
            text = file.read().decode(errors="replace")
        matter = front_matter(text)
        words.findall(text, len(matter))
        try:
            data = yaml.load(matter, yaml.CSafeLoader)
        except yaml.YAMLError:
            data = None
        if not isinstance(data, dict):
            data = {}
        rows.append((path, size, mtime, str(data.get("name")), str(data.get("description"))))
    connection = sqlite3.connect(database)
    with connection:
        connection.execute(
            "CREATE TABLE skill (path TEXT PRIMARY KEY, size, mtime, name TEXT, description TEXT)"
        )
        connection.executemany("INSERT INTO skill VALUES (?, ?, ?, ?, ?)", rows)
    connection.close()
    return len(rows)
