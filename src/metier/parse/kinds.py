"""The parser of each kind: bytes → `Parsed`."""

from collections.abc import Callable

from metier.parse.abilities import parse_ability
from metier.parse.agents import parse_agent
from metier.parse.cards import parse_card
from metier.parse.skills import parse_skill
from metier.values.files import Kind, Parsed

_PARSERS: dict[Kind, tuple[Callable[..., Parsed], tuple[str, ...]]] = {
    "skill": (parse_skill, ("folder", "plugin")),
    "ability": (parse_ability, ()),
    "card": (parse_card, ()),
    "agent": (parse_agent, ("file",)),
}
"""Each parser with the arguments that it takes besides bytes and path."""


def parse_document(
    kind: Kind, raw: bytes, path: str, folder: str = "", *, file: str = "", plugin: str = ""
) -> Parsed:
    """The document of `kind` in `raw`. Never raises.

    `path` is what people are shown; `folder` is the name of the file's folder, `file` its full
    path and `plugin` the plugin of a skill.
    """
    parse, names = _PARSERS[kind]
    given = {"folder": folder, "file": file, "plugin": plugin}
    return parse(raw, path, **{name: given[name] for name in names})
