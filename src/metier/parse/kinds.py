"""One parser a kind: bytes → `Parsed`."""

from collections.abc import Callable

from metier.parse.abilities import parse_ability
from metier.parse.agents import parse_agent
from metier.parse.cards import parse_card
from metier.parse.skills import parse_skill
from metier.values.files import Kind, Parsed

PARSERS: dict[Kind, Callable[[bytes, str], Parsed]] = {
    "ability": parse_ability,
    "card": parse_card,
}


def parse_document(
    kind: Kind, raw: bytes, path: str, folder: str = "", *, file: str = "", plugin: str = ""
) -> Parsed:
    """The document of `kind` that the bytes of the file at `path` hold. Never raises.

    `folder` names the file's folder, and `file` the whole place, where the path does not. `plugin`
    brings a skill along.
    """
    if kind == "skill":
        return parse_skill(raw, path, folder=folder, plugin=plugin)
    if kind == "agent":
        return parse_agent(raw, path, file=file)
    return PARSERS[kind](raw, path)
