"""What all peers are measured on: the same folders of skills, and the same tasks."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks.corpus import unpack
from benchmarks.quality.data import (
    Task,
    data_folder,
    read_documents,
    read_tasks,
    with_own_names,
    write_skills,
)

MOST_TASKS = 300
SKILL = "SKILL.md"
SETS = {
    "MetaTool, one tool": "metatool/single",
    "MetaTool, several tools": "metatool/multi",
    "BFCL": "bfcl",
    "CLINC150": "clinc150/k0",
}
GOOD = 20
_SETTINGS = "host-folders = false\n"
_GOOD = "---\nname: chart-{0}\ndescription: Draws chart {0}. Use it for reports.\n---\n\nDraw.\n"
_BAD = {
    "unquoted colon": b"---\nname: bad\ndescription: Use when: charts fail\n---\n\nDraw.\n",
    "YAML date": b"---\nname: bad\ndescription: Draws.\nupdated: 2026-01-31\n---\n\nDraw.\n",
    "no front matter": b"# Draw\n\nDraw a chart.\n",
    "Latin-1": "---\nname: bad\ndescription: Entw\xfcrfe.\n---\n\nDraw.\n".encode("latin-1"),
}
"""Front matter that real collections contain."""


class Input(NamedTuple):
    """Skills, each in a folder below `skills`, and tasks whose relevant ids are folder names."""

    name: str
    skills: Path
    size: int
    tasks: list[Task]


def some_skills(scratch: Path, count: int) -> tuple[Input, str]:
    """Every n-th skill of the corpus in flat folders, and what the corpus is.

    Each task is every second word of the description of a skill, which is to be found again.
    """
    everything, made_of = unpack(scratch / "corpus", count)
    files = sorted(everything.rglob(SKILL))
    plain = [file for file in files if _is_plain(file)]
    chosen = plain[:: max(1, len(plain) // count)][:count]
    skills = _workspace(scratch / "real")
    for file in chosen:
        shutil.copytree(
            file.parent, _free(skills / file.parent.name), ignore=_skills_below(file.parent)
        )
    shutil.rmtree(everything)
    left_out = f"{made_of}, without {len(files) - len(plain):,} that stop the index of a tool"
    return Input("known item", skills, len(chosen), list(_known_items(skills))), left_out


def _skills_below(folder: Path) -> Callable[[str, list[str]], list[str]]:
    """What not to copy: skills in a skill, which some tools find and others do not."""
    return lambda at, _names: [] if at == str(folder) else [SKILL]


def _workspace(root: Path) -> Path:
    skills = root / "skills"
    skills.mkdir(parents=True)
    (root / "metier.toml").write_text(_SETTINGS)
    return skills


def _free(folder: Path) -> Path:
    """The folder, with a number if there is one of that name."""
    number, free = 2, folder
    while free.exists():
        free = folder.with_name(f"{folder.name}-{number}")
        number += 1
    return free


def _known_items(skills: Path) -> Iterator[Task]:
    """Skills with a name of their own: of several with one name, metier keeps the first."""
    names = {folder: _name(folder) for folder in sorted(skills.iterdir())}
    counts = Counter(names.values())
    folders = [folder for folder, name in names.items() if counts[name] == 1]
    for folder in folders[:: max(1, len(folders) // MOST_TASKS)]:
        words = _description(folder / SKILL).split()[:24:2]
        if len(words) > 3:
            yield Task(" ".join(words), frozenset([folder.name]))


def _is_plain(file: Path) -> bool:
    """Whether no tool fails for it; what each does with other files is measured apart."""
    try:
        file.read_text("utf-8")
        matter = _matter(file)
        json.dumps(matter)
    except (UnicodeDecodeError, TypeError):
        return False
    return all(isinstance(matter.get(key, ""), str) for key in ("name", "description"))


def _name(folder: Path) -> str:
    return str(_matter(folder / SKILL).get("name") or folder.name)


def _description(file: Path) -> str:
    return str(_matter(file).get("description") or "")


def _matter(file: Path) -> dict[str, Any]:
    """Front matter as YAML reads it; nothing if it is none."""
    text = file.read_text("utf-8", errors="replace")
    found = text.split("---", 2) if text.startswith("---") else []
    try:
        read: Any = yaml.load(found[1], yaml.CSafeLoader) if len(found) == 3 else {}
    except (yaml.YAMLError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def public_sets(scratch: Path) -> Iterator[Input]:
    """The public sets that are there; a document's folder is its place in the list."""
    data = data_folder()
    for number, (name, folder) in enumerate(SETS.items()):
        if data is None or not (data / folder).is_dir():
            continue
        documents = with_own_names(read_documents(data / folder))
        places = {one.id: f"{place:05}" for place, one in enumerate(documents)}
        root = scratch / f"set-{number}"
        write_skills(root, documents, range(len(documents)))
        tasks = read_tasks(data / folder / "queries.jsonl")
        tasks = tasks[:: max(1, len(tasks) // MOST_TASKS)][:MOST_TASKS]
        tasks = [Task(one.text, frozenset(places[id] for id in one.relevant)) for one in tasks]
        yield Input(name, root / "skills", len(documents), tasks)


def bad_workspaces(scratch: Path) -> Iterator[tuple[str, Path]]:
    """For each kind of bad file, twenty good skills with one bad one among them."""
    for number, (kind, content) in enumerate(_BAD.items()):
        skills = _workspace(scratch / f"bad-{number}")
        for good in range(GOOD):
            (skills / f"chart-{good}").mkdir()
            (skills / f"chart-{good}" / SKILL).write_text(_GOOD.format(good))
        (skills / "bad").mkdir()
        (skills / "bad" / SKILL).write_bytes(content)
        yield kind, skills
