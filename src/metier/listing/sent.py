"""The listing in a request that a host sent, as names and texts."""

import re
from collections.abc import Iterator
from html import unescape
from itertools import repeat
from typing import Any, NamedTuple

from metier.listing.recorder import Request

_CLAUDE = "skills are available for use with the Skill tool:\n\n"
_CLAUDE_END = re.compile(r"\n</system-reminder>|\n\n(?!TRIGGER|SKIP)")
_CODEX = re.compile(r"^- ([^:]+(?::[^: ]+)?): (?:(.*) )?\(file: (.*)\)$")
_XML = re.compile(
    r"  <skill>\n    <name>(.*)</name>\n    <description>((?s:.*?))</description>\n"
    r"    <location>(.*)</location>\n  </skill>"
)

_COPILOT = re.compile(
    r"<skill>\n  <name>(.*)</name>\n  <description>((?s:.*?))</description>\n"
    r"  <location>(.*)</location>\n</skill>"
)
_COPILOT_NAMES = re.compile(r"^[^<\n]*?: (.+?)(?:\.\.\. and \d+ more)?$", re.M)
"""After the entries: the names of skills that did not fit."""


class Sent(NamedTuple):
    """One skill in a request."""

    name: str
    text: str
    place: str = ""


def strings(value: Any) -> Iterator[str]:
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from strings(inner)


def listing_text(host: str, requests: list[Request]) -> str:
    """The listing as it stood in the first request that has one; empty for none."""
    begin = _BEGINS[host]
    texts = (text for request in requests for text in strings(request.body))
    found = next((text for text in texts if begin in text), "")
    after = found.partition(begin)[2]
    if host == "claude-code":
        return _CLAUDE_END.split(after)[0]
    if host == "codex":
        return after.partition("\n</skills_instructions>")[0]
    return after.partition("\n</available_skills>")[0]


_BEGINS = {
    "claude-code": _CLAUDE,
    "codex": "### Available skills\n",
    "copilot": "\n<available_skills>\n",
    "gemini": "\n<available_skills>\n",
    "opencode": "\n<available_skills>\n",
}


def sent_skills(host: str, requests: list[Request]) -> list[Sent]:
    """The skills that a host listed, in its order."""
    text = listing_text(host, requests)
    if host == "claude-code":
        return [_claude(entry) for entry in re.split(r"\n(?=- )", text) if entry]
    if host == "codex":
        found = (_CODEX.match(line) for line in text.split("\n"))
        return [Sent(match[1], match[2] or "", match[3]) for match in found if match]
    if host == "copilot":
        return list(_copilot(text))
    return [Sent(*match.groups()) for match in _XML.finditer(text)]


def _copilot(text: str) -> Iterator[Sent]:
    at = text.rfind("</skill>")
    for name, about, place in _COPILOT.findall(text):
        yield Sent(name, unescape(about), place)
    for names in _COPILOT_NAMES.findall(text[max(at, 0) :]):
        yield from map(Sent, names.split(", "), repeat(""))


def _claude(entry: str) -> Sent:
    name, _, text = entry.removeprefix("- ").partition(": ")
    return Sent(name, text)
