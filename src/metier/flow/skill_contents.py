"""The contents of a skill as its files are now."""

import os
from typing import NamedTuple

from metier.discover.bundle import Bundle, Listed, main_of, read_bundle
from metier.flow.entries import read_text
from metier.parse.asks import commands_of, tools_of
from metier.values.documents import Skill
from metier.values.files import Found
from metier.values.reviews import Contents


class SkillNow(NamedTuple):
    """A skill that was read in whole."""

    name: str
    contents: Contents
    texts: dict[str, str]
    problem: str = ""
    """Why not everything was read; then `contents` is empty."""


def read_skill(found: Found, listed: Listed) -> SkillNow:
    """Read all files of a skill. Never raises; what cannot be read is its `problem`."""
    main = main_of(found)
    bundle = read_bundle(listed, main, found.file if found.folder else "")
    if bundle.problem:
        return SkillNow(_folder_name(found), Contents(), {}, bundle.problem)
    if main not in bundle.files:
        return SkillNow(_folder_name(found), Contents(), {}, f"{main} is gone")
    name, contents = contents_of(found, bundle)
    return SkillNow(name, contents, bundle.texts)


def contents_of(found: Found, bundle: Bundle) -> tuple[str, Contents]:
    """The name of a skill, and what it consists of and asks for."""
    document = read_text(found, bundle.main).document
    if not isinstance(document, Skill):
        return _folder_name(found), Contents(bundle.files, bundle.scripts)
    return document.name, Contents(
        files=bundle.files,
        scripts=bundle.scripts,
        capabilities=tuple(sorted(document.capabilities)),
        tools=tools_of(document.data),
        commands=commands_of(document.data, document.body),
    )


def _folder_name(found: Found) -> str:
    return os.path.basename(found.folder or os.path.dirname(found.file))
