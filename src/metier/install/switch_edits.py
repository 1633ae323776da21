"""Edits of a host's settings that switch one skill off or on; all else keeps its characters."""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import tomlkit

from metier.core.coerce import mapping_of
from metier.hosts.model import Written
from metier.install import splice, toml_edits

_MISSING = object()


class SwitchedSkill(NamedTuple):
    """Where the settings of a host switch one skill."""

    written: Written
    name: str
    """What the settings call the skill."""
    home: str = ""
    """What relative paths in the settings begin at."""

    @property
    def steps(self) -> tuple[str, ...]:
        return (*self.written.keys, self.name, *self.written.inner)


class BeforeSwitch(NamedTuple):
    """What was there before a skill was switched off, besides the text."""

    made: int = 0
    """How many of the keys were there; those after them were made."""
    had: tuple[Any, ...] = ()
    """The value that was replaced, if any, at the last key that was there."""


def parse(text: str, is_toml: bool) -> Any:
    """Raises `ValueError`."""
    return toml_edits.parse(text) if is_toml else splice.parse(text)


def is_off(text: str, switched: SwitchedSkill) -> bool:
    """Whether these settings alone switch the skill off. Raises `ValueError`."""
    if switched.written.form == "tables":
        return any(one.get("enabled") is False for one in _tables(toml_edits.parse(text), switched))
    data = splice.parse(text)
    if switched.written.form == "list":
        found = _at(data, switched.written.keys)
        return isinstance(found, list) and switched.name in found
    return bool(_at(data, switched.steps) == switched.written.value)


# Off


def switched_off(text: str, switched: SwitchedSkill) -> tuple[str, BeforeSwitch]:
    """The settings with the skill off. Raises `ValueError` where that cannot be written."""
    if switched.written.form == "tables":
        return _table_off(text, switched)
    text = text if text.strip("\ufeff \t\r\n") else "{}\n"
    if switched.written.form == "list":
        return _listed(text, switched)
    data, default = splice.parse(text), switched.written.default
    found = _at(data, switched.written.keys)
    if default and isinstance(found, str):
        keys = switched.written.keys
        return splice.replace(text, keys, _with_default(switched, found)), BeforeSwitch(
            len(keys), (found,)
        )
    old = _at(data, switched.steps)
    if old is not _MISSING:
        return splice.replace(text, switched.steps, switched.written.value), BeforeSwitch(
            len(switched.steps), (old,)
        )
    return _added(text, switched.steps, switched.written.value)


def _listed(text: str, switched: SwitchedSkill) -> tuple[str, BeforeSwitch]:
    keys = switched.written.keys
    found = _at(splice.parse(text), keys)
    if isinstance(found, list):
        return splice.add(text, keys, switched.name), BeforeSwitch(len(keys))
    if found is not _MISSING:
        raise ValueError(f"'{'.'.join(keys)}' is not a list")
    return _added(text, keys, [switched.name])


def _added(text: str, steps: Sequence[str], value: Any) -> tuple[str, BeforeSwitch]:
    """Add a value and the objects around it that are missing."""
    data, there = splice.parse(text), 0
    while there < len(steps) and _at(data, steps[: there + 1]) is not _MISSING:
        there += 1
    around = _at(data, steps[:there])
    if not isinstance(around, dict):
        named = ".".join(steps[:there])
        raise ValueError(f"'{named}' is not an object" if named else "they are not an object")
    for key in reversed(steps[there + 1 :]):
        value = {key: value}
    return splice.add(text, steps[:there], value, key=steps[there]), BeforeSwitch(there)


def _table_off(text: str, switched: SwitchedSkill) -> tuple[str, BeforeSwitch]:
    document = tomlkit.parse(text)
    for table in _tables(document, switched):
        old = table.get("enabled", _MISSING)
        table["enabled"] = False
        kept = () if old is _MISSING else (bool(old),)
        return document.as_string(), BeforeSwitch(len(switched.written.keys), kept)
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline * 2 if text.strip() else ""
    new = text.rstrip() + gap + _block(switched).replace("\n", newline)
    toml_edits.parse(new)
    return new, BeforeSwitch()


def _block(switched: SwitchedSkill) -> str:
    path = tomlkit.item(switched.name).as_string()
    return f"[[{'.'.join(switched.written.keys)}]]\npath = {path}\nenabled = false\n"


# On


def switched_on(text: str, switched: SwitchedSkill, taken: BeforeSwitch = BeforeSwitch()) -> str:  # noqa: B008  # immutable
    """The settings without the switch; what it replaced is back. Raises `ValueError`."""
    if switched.written.form == "tables":
        return _table_on(text, switched, taken)
    if switched.written.form == "list":
        names = _at(splice.parse(text), switched.written.keys)
        while isinstance(names, list) and switched.name in names:
            text = splice.remove(text, (*switched.written.keys, names.index(switched.name)))
            names = _at(splice.parse(text), switched.written.keys)
        return _without_empty(text, switched.written.keys, taken.made)
    if taken.had and taken.made == len(switched.steps):
        return splice.replace(text, switched.steps, taken.had[0])
    found = _at(splice.parse(text), switched.written.keys)
    if taken.had and found == _with_default(switched, taken.had[0]):
        return splice.replace(text, switched.written.keys, taken.had[0])
    text = splice.remove(text, switched.steps)
    return _without_empty(text, switched.steps[:-1], taken.made)


def _with_default(switched: SwitchedSkill, default: Any) -> dict[str, Any]:
    """A map in place of a value that was for every skill."""
    return {switched.written.default: default, switched.name: switched.written.value}


def _without_empty(text: str, steps: Sequence[str], made: int) -> str:
    """Remove objects and lists that are empty, as far as they were made."""
    for end in range(len(steps), made, -1):
        if _at(splice.parse(text), steps[:end]) in ({}, []):
            text = splice.remove(text, steps[:end])
    return text


def _table_on(text: str, switched: SwitchedSkill, taken: BeforeSwitch) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    block = _block(switched).replace("\n", newline)
    if not taken.had and text.count(block) == 1:
        before, after = text.split(block)
        rest = after.lstrip("\r\n")
        return before + rest if rest else before.rstrip() + (newline if before.strip() else "")
    document = tomlkit.parse(text)
    for table in _tables(document, switched):
        table["enabled"] = True
    return document.as_string()


def _tables(data: Any, switched: SwitchedSkill) -> list[Any]:
    """The tables for this skill."""
    found = _at(data, switched.written.keys)
    tables = [one for one in found if mapping_of(one)] if isinstance(found, list) else []
    wanted = {os.path.realpath(switched.name), os.path.realpath(os.path.dirname(switched.name))}
    return [one for one in tables if _path(one, switched.home) in wanted]


def _path(table: Any, home: str) -> str:
    return os.path.realpath(os.path.join(home, str(table.get("path") or "")))


def is_same(left: str, right: str, is_toml: bool) -> bool:
    """Whether two texts are the same settings, whatever their layout. Raises `ValueError`."""
    return toml_edits.same(left, right) if is_toml else splice.same(left, right)


def is_empty(text: str, is_toml: bool) -> bool:
    return toml_edits.is_blank(text) if is_toml else splice.parse(text) == {}


def _at(data: Any, steps: Sequence[str]) -> Any:
    for step in steps:
        if not isinstance(data, dict) or step not in data:
            return _MISSING
        data = data[step]
    return data
