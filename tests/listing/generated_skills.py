"""Skills in our own words, with the lengths that real collections have. The same every time."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

_VERBS = (
    "bake", "brew", "carve", "chart", "clean", "count", "draft", "file", "fold", "graft", "knit",
    "label", "mend", "mix", "pack", "paint", "plan", "polish", "press", "prune", "sail", "sew",
    "sort", "spin", "stack", "tune", "weave", "weigh", "wrap",
)  # fmt: skip
_THINGS = (
    "anchor", "barrel", "basket", "bell", "bench", "boat", "bread", "bridge", "cedar", "clock",
    "compass", "copper", "garden", "harbour", "honey", "kettle", "ladder", "lantern", "linen",
    "market", "meadow", "mirror", "orchard", "parcel", "pepper", "quarry", "saddle", "timber",
    "violin", "window",
)  # fmt: skip
_FILLING = (
    "careful", "daily", "early", "for", "from", "good", "in", "large", "late", "of", "old",
    "quick", "quiet", "small", "the", "to", "warm", "when", "with", "without",
)  # fmt: skip
_LENGTHS = (40, 90, 130, 180, 220, 260, 320, 400, 560, 800)
_TAILS = {7: "Äpfel, naïve Züge – übermorgen.", 11: "Costs < 5 & more > 3."}


class Generated(NamedTuple):
    """One skill to write."""

    name: str
    folder: str
    description: str
    when_to_use: str
    of_user: bool


def generated(count: int) -> list[Generated]:
    """`count` skills; a fifth has another name than its folder, a quarter is the user's own."""
    chance = random.Random(19)
    pairs = [(verb, thing) for verb in _VERBS for thing in _THINGS]
    chance.shuffle(pairs)
    return [_skill(number, *pairs[number], chance) for number in range(count)]


def _skill(number: int, verb: str, thing: str, chance: random.Random) -> Generated:
    name = f"{verb}-{thing}"
    folder = f"{thing}-{verb}-kit" if number % 5 == 4 else name
    length = 1300 if number % 60 == 59 else chance.choice(_LENGTHS)
    text = _sentence(f"{verb.capitalize()} a {thing}", length, chance)
    if tail := _TAILS.get(number % 13):
        text = f"{text} {tail}"
    when = _sentence(f"Asked to {verb}", 120, chance) if number % 6 == 5 else ""
    return Generated(name, folder, text, when, of_user=number % 4 == 3)


def _sentence(start: str, length: int, chance: random.Random) -> str:
    text = start
    while len(text) < length:
        text += " " + chance.choice(chance.choice((_FILLING, _THINGS, _VERBS)))
    return text + "."


def write(skills: Sequence[Generated], project: Path, user: Path) -> None:
    """Write each skill below one of two folders of skills."""
    for skill in skills:
        folder = (user if skill.of_user else project) / skill.folder
        folder.mkdir(parents=True)
        when = f"when_to_use: {skill.when_to_use}\n" if skill.when_to_use else ""
        head = f"---\nname: {skill.name}\ndescription: {skill.description}\n{when}---\n"
        (folder / "SKILL.md").write_text(f"{head}\nDo it.\n", encoding="utf-8")
