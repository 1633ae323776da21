"""The parser of each kind: bytes → `Parsed`."""

from collections.abc import Callable

from metier.parse.abilities import parse_ability
from metier.parse.agents import parse_agent
from metier.parse.cards import parse_card
from metier.parse.skills import parse_skill
from metier.values.files import Kind, Parsed

_PARSERS: dict[Kind, Callable[[bytes, str, str, str, str], Parsed]] = {
    "skill": lambda raw, path, folder, _, plugin: parse_skill(
        raw, path, folder=folder, plugin=plugin
    ),
    "ability": lambda raw, path, *_: parse_ability(raw, path),
    "card": lambda raw, path, *_: parse_card(raw, path),
    "agent": lambda raw, path, _, file, *__: parse_agent(raw, path, file=file),
}


def parse_document(
    kind: Kind, raw: bytes, path: str, folder: str = "", *, file: str = "", plugin: str = ""
) -> Parsed:
    """The document of `kind` in `raw`. Never raises.

    `path` is what people are shown; `folder` is the name of the file's folder, `file` its full
    path and `plugin` the plugin of a skill.
    """
    return _PARSERS[kind](raw, path, folder, file, plugin)
