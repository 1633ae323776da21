"""The patterns of inspections, from text files beside this one.

A file has definitions (`@name@ = …`) and sections: a heading in brackets, then a pattern a line.
Every gap in a pattern has a bound, so that the time grows with the text only.
"""

import os
import re
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

_FOLDER = os.path.dirname(__file__)
_DEFINITION = re.compile(r"(@\w+@) = (.*)")
_HINT, _PROGRAMS_ONLY = "hint: ", "programs only"


class Section(NamedTuple):
    heading: str
    patterns: tuple[str, ...]
    hint: str = ""
    in_prose: bool = True
    """Whether Markdown is searched as well, not only programs."""

    def compiled(self, prepare: Callable[[str], str] = str) -> re.Pattern[str]:
        joined = "|".join(f"(?:{prepare(one)})" for one in self.patterns)
        return re.compile(joined, re.IGNORECASE)


@cache
def sections(name: str) -> tuple[Section, ...]:
    """The sections of a file, in order."""
    with open(os.path.join(_FOLDER, f"{name}.txt"), encoding="utf-8") as file:
        lines = [line.rstrip("\n") for line in file]
    known: dict[str, str] = {}
    found: list[Section] = []
    for line in lines:
        definition = _DEFINITION.fullmatch(line)
        if definition is not None:
            known[definition[1]] = _expanded(definition[2], known)
        elif line.startswith("[") and line.endswith("]"):
            found.append(Section(line[1:-1], ()))
        elif line and not line.startswith("#"):
            found[-1] = _with_line(found[-1], _expanded(line, known))
    return tuple(found)


def _expanded(text: str, known: dict[str, str]) -> str:
    for name, value in known.items():
        text = text.replace(name, value)
    return text


def _with_line(section: Section, line: str) -> Section:
    if line.startswith(_HINT):
        return section._replace(hint=line.removeprefix(_HINT))
    if line == _PROGRAMS_ONLY:
        return section._replace(in_prose=False)
    return section._replace(patterns=(*section.patterns, line))
