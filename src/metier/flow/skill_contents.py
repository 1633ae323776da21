"""The contents of a skill as its files are now."""

import os
from typing import NamedTuple

from metier.discover.bundle import Bundle, Listed, main_of, read_bundle
from metier.discover.left_out import LINK_ITSELF
from metier.discover.walk import readable
from metier.flow.entries import read_text
from metier.parse.asks import commands_of, tools_of
from metier.values.documents import Skill
from metier.values.files import Found
from metier.values.reviews import LINK, Contents


class SkillNow(NamedTuple):
    """A skill that was read in whole."""

    name: str
    contents: Contents
    texts: dict[str, str]
    problem: str = ""
    """Why not everything was read; then `contents` is empty."""
    left_out: str = ""
    """Why metier does not use it, whatever its review; some hosts load such skills."""


def read_skill(found: Found, listed: Listed) -> SkillNow:
    """Read all files of a skill. Never raises; what cannot be read is its `problem`."""
    main = main_of(found)
    if main == LINK_ITSELF and os.path.islink(found.folder):
        target = readable(os.readlink(found.folder))
        contents = Contents({LINK_ITSELF: f"{LINK}{target}"})
        return SkillNow(_folder_name(found), contents, {}, left_out=found.detail)
    is_linked_file = bool(found.folder) and not found.excluded
    bundle = read_bundle(listed, main, found.file if is_linked_file else "")
    if bundle.problem:
        return SkillNow(_folder_name(found), Contents(), {}, bundle.problem)
    if found.excluded:
        contents = Contents(bundle.files, bundle.scripts)
        return SkillNow(_folder_name(found), contents, bundle.texts, left_out=found.detail)
    if main not in bundle.files:
        return SkillNow(_folder_name(found), Contents(), {}, f"{main} is gone")
    name, contents, left_out = contents_of(found, bundle)
    return SkillNow(name, contents, bundle.texts, left_out=left_out)


def contents_of(found: Found, bundle: Bundle) -> tuple[str, Contents, str]:
    """The name of a skill, what it consists of and asks for, and why metier does not use it."""
    parsed = read_text(found, bundle.main)
    document = parsed.document
    if not isinstance(document, Skill):
        why = next((one.message for one in parsed.issues if one.is_error), "it cannot be parsed")
        return _folder_name(found), Contents(bundle.files, bundle.scripts), why
    contents = Contents(
        files=bundle.files,
        scripts=bundle.scripts,
        capabilities=tuple(sorted(document.capabilities)),
        tools=tools_of(document.data),
        commands=commands_of(document.data, document.body),
    )
    return document.name, contents, ""


def _folder_name(found: Found) -> str:
    shown = os.path.basename(os.path.dirname(found.path))
    return shown or os.path.basename(found.folder or os.path.dirname(found.file))
