"""The parser of each kind: bytes → `Parsed`."""

from collections.abc import Callable
from functools import cache

from metier.values.files import Kind, Parsed

Parser = Callable[[bytes, str, str, str, str], Parsed]


@cache
def _parser(kind: Kind) -> Parser:
    """The parser of a kind, loaded when a file of that kind is read."""
    if kind == "skill":
        from metier.parse.skills import parse_skill

        return lambda raw, path, folder, _, plugin: parse_skill(
            raw, path, folder=folder, plugin=plugin
        )
    if kind == "ability":
        from metier.parse.abilities import parse_ability

        return lambda raw, path, *_: parse_ability(raw, path)
    if kind == "card":
        from metier.parse.cards import parse_card

        return lambda raw, path, *_: parse_card(raw, path)
    from metier.parse.agents import parse_agent

    return lambda raw, path, _, file, *__: parse_agent(raw, path, file=file)


def parse_document(
    kind: Kind, raw: bytes, path: str, folder: str = "", *, file: str = "", plugin: str = ""
) -> Parsed:
    """The document of `kind` in `raw`. Never raises.

    `path` is what people are shown; `folder` is the name of the file's folder, `file` its full
    path and `plugin` the plugin of a skill.
    """
    return _parser(kind)(raw, path, folder, file, plugin)
