"""Recordings of listings that real hosts sent: names and lengths only."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from listing.generated_skills import generated
from metier.listing.rules import Scope, Skill

FOLDER = Path(__file__).parent / "recordings"


class Recording(NamedTuple):
    """What one request listed."""

    host: str
    version: str
    generated: int
    """The generated skills on disk."""
    context: int
    budget: int | None
    """Set where it does not follow from the context alone."""
    roots: dict[str, str]
    """The folders of skills, by scope."""
    own: list[dict[str, Any]]
    """The host's own skills: name, and the length of their text in characters and bytes."""
    uses: dict[str, float]
    shown: list[tuple[str, int]]
    """Each entry's name and the length of its text, in order."""

    def skills(self) -> list[Skill]:
        return [*map(self._own, self.own), *self._generated()]

    def _own(self, given: dict[str, Any]) -> Skill:
        root = self.roots.get("system", "")
        scope: Scope = "system" if root else "own"
        name = given["name"]
        return Skill(
            name=name,
            folder=name,
            description=stand_in(given["characters"], given["bytes"]),
            path=f"{root}/{name}/SKILL.md",
            root=root,
            scope=scope,
            is_fixed=given["isFixed"],
        )

    def _generated(self) -> list[Skill]:
        skills = []
        for given in generated(self.generated):
            scope: Scope = "user" if given.of_user else "project"
            skills.append(
                Skill(
                    name=given.name,
                    folder=given.folder,
                    description=given.description,
                    when_to_use=given.when_to_use,
                    path=f"{self.roots[scope]}/{given.folder}/SKILL.md",
                    root=self.roots[scope],
                    scope=scope,
                    uses=self.uses.get(given.folder, 0),
                )
            )
        return skills


def stand_in(characters: int, size: int) -> str:
    """A text of so many characters that takes `size` bytes."""
    for wide, letter in ((0, "x"), (1, "ä"), (2, "–")):
        if wide == 0 and characters == size:
            return letter * characters
        if wide and (size - characters) % wide == 0 and (size - characters) // wide <= characters:
            count = (size - characters) // wide
            return "x" * (characters - count) + letter * count
    raise ValueError(f"{characters} characters cannot take {size} bytes")


def recordings() -> list[Recording]:
    found = sorted(FOLDER.glob("*.json"))
    return [Recording(**json.loads(file.read_text(encoding="utf-8"))) for file in found]
