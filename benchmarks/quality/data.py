"""The sets: public documents and tasks that are read from a folder beside the repository.

METIER_BENCH names another folder. Nothing of it is kept: documents become SKILL.md files in a
temporary workspace.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

REPOSITORY = Path(__file__).resolve().parents[2]
SIBLING = REPOSITORY.parent / "shared" / "bench"


class Document(NamedTuple):
    """What a SKILL.md is written from."""

    id: str
    name: str
    description: str
    body: str = ""
    examples: Sequence[str] = ()

    @property
    def text(self) -> str:
        """All of it, as one field."""
        return "\n".join(filter(None, [self.name, self.description, self.body, *self.examples]))


class Task(NamedTuple):
    """A prompt with the ids of the documents that fit it; none fits chatter."""

    text: str
    relevant: frozenset[str] = frozenset()


class Case(NamedTuple):
    """A prompt for which the author of a skill said whether the skill should fire."""

    skill: str
    text: str
    should_fire: bool


def data_folder() -> Path | None:
    """The folder of the sets, if it is there."""
    folder = Path(os.environ.get("METIER_BENCH") or SIBLING)
    return folder if folder.is_dir() else None


def read_documents(folder: Path) -> list[Document]:
    return [
        Document(
            row["id"],
            row["name"],
            row["description"],
            row.get("body") or "",
            row.get("examples") or (),
        )
        for row in _rows(folder / "corpus.jsonl")
    ]


def read_tasks(file: Path, stride: int = 1) -> list[Task]:
    """Every `stride`-th task that has a relevant document."""
    rows = [row for row in _rows(file) if row["relevant"]]
    return [Task(row["text"], frozenset(row["relevant"])) for row in rows[::stride]]


def read_chatter(*files: Path) -> list[Task]:
    """The prompts that no document fits."""
    return [Task(row["text"]) for file in files for row in _rows(file) if not row["relevant"]]


def read_cases(file: Path) -> list[Case]:
    return [Case(row["skill"], row["query"], row["should_trigger"]) for row in _rows(file)]


def _rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def with_own_names(documents: Iterable[Document]) -> list[Document]:
    """The documents, so that none hides another of its name.

    Names that occur again get underscores at their end: different names with the same words.
    """
    taken: set[str] = set()
    own = []
    for document in documents:
        name = document.name
        while name in taken:
            name += "_"
        taken.add(name)
        own.append(document._replace(name=name))
    return own


def write_skills(root: Path, documents: Sequence[Document], order: Iterable[int]) -> None:
    """A workspace with one folder for each document, made in the given order.

    The folder is named by the document's place in the list, and so says nothing about it.
    """
    root.mkdir()
    (root / "metier.toml").write_text("host-folders = false\n")
    for number in order:
        folder = root / "skills" / f"{number:05}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(_as_skill(documents[number]), "utf-8")


def place_of(path: str) -> int:
    """The place in the list of the document whose SKILL.md has that path."""
    return int(os.path.basename(os.path.dirname(path)))


def _as_skill(document: Document) -> str:
    matter: dict[str, Any] = {"name": document.name, "description": document.description}
    if document.examples:
        matter["examples"] = list(document.examples)
    return f"---\n{_yaml(matter)}---\n\n{document.body}\n"


def _yaml(matter: dict[str, Any]) -> str:
    text: str = yaml.dump(matter, Dumper=yaml.CSafeDumper, allow_unicode=True, sort_keys=False)
    return text
