"""Rules for the text of a skill: one pass each, and none over a text without what they look for."""

import re
from functools import cache
from itertools import islice

from metier.core.fences import Fences, fences_in, is_inline_code
from metier.lint.noting import Findings
from metier.values.skills import Skill

_TAKES_ARGUMENTS = ("argument-hint", "arguments")
_ARGUMENTS = "$ARGUMENTS"
_HOME = r"(?<![\w/.~-])(?:/home/|/Users/|[A-Za-z]:\\Users\\)([A-Za-z][\w.-]*)"
_NOBODY = frozenset(
    {
        "user", "username", "user1", "you", "your", "yourname", "your-name", "your-user", "name",
        "your-username", "youruser", "yourusername", "me", "myname", "my-user", "myuser", "someone",
        "somebody", "person", "alice", "bob", "jane", "john", "johndoe", "jdoe", "foo", "bar",
        "example", "ubuntu", "runner", "node", "vscode", "app", "codespace", "linuxbrew", "shared",
        "public", "default", "admin", "dev", "developer", "agent", "claude", "sandbox", "pi",
        "ec2-user", "debian", "vagrant", "docker", "jovyan", "xxx",
    }
)  # fmt: skip
"""Names of home folders that mean no person: placeholders, and accounts of images."""
_LATEST = "@latest"
_LATEST_VERSION = r"@latest(?![\w.-])"
_RUNNERS = frozenset({"npx", "bunx", "pnpx", "uvx", "dlx"})
_END_OF_COMMAND = r"[|;&`]"
_MOST_COMMANDS = 50
_LONGEST_COMMAND = 300
_SEEN = bytes(range(32, 127)) + b"\t\n\r"
_PHRASE = (
    r"(?i:ignore[^.\n]{0,40}previous[^.\n]{0,40}instructions|disregard[^.\n]{0,200}above"
    r"|new instructions[^\w\s]{0,3}:)"
)
_MOST_PHRASES = 20
_LONGEST_PHRASE = 400


def lint_body(skill: Skill, found: Findings) -> None:
    """Findings in the instructions of a skill."""
    body = skill.body
    raw = body.encode(errors="surrogatepass")  # searched faster than text with wide characters
    unclosed = fences_in(body).unclosed if _may_be_unclosed(raw) else -1
    if unclosed >= 0:
        hint = "add a line with the same fence where the code ends"
        found.add_in_body("SK324", "nothing closes this code fence", unclosed, hint)
    if b"$" in raw:
        _check_replaced(skill, found)
    if b"/home/" in raw or b"/Users/" in raw or b"\\Users\\" in raw:
        _check_homes(body, found)
    if b"@latest" in raw:
        _check_latest(body, found)
    if _may_hide(raw):
        _check_hidden(body, found)
    if _may_override(raw.lower()):
        _check_overrides(body, found)


def _may_be_unclosed(raw: bytes) -> bool:
    """Whether a fence may be unclosed, without looking at lines; few texts are."""
    return raw.count(b"```") % 2 == 1 or b"~~~" in raw


def _may_hide(raw: bytes) -> bool:
    """Whether a text may contain characters that people do not see."""
    rest = raw.translate(None, _SEEN)
    if not rest:
        return False
    from metier.safety.disguise import may_hide  # many texts are plain

    return may_hide(rest.decode(errors="surrogatepass"))


def _may_override(lower: bytes) -> bool:
    """Whether a text has the words of a phrase that overrides instructions."""
    if b"disregard" in lower or b"new instructions" in lower:
        return True
    return b"ignore" in lower and b"previous" in lower


def _check_hidden(body: str, found: Findings) -> None:
    from metier.safety.disguise import find_hidden

    hidden = find_hidden(body)
    if hidden:
        more = f", and {len(hidden) - 1} others" if len(hidden) > 1 else ""
        line, hint = found.body_line + hidden[0].line - 1, "delete it, unless the language needs it"
        found.add_at("SZ805", f"{hidden[0].message}{more}", line, hint, hidden[0].column)


def _check_overrides(body: str, found: Findings) -> None:
    """Report the first phrase that is not disguised."""
    from metier.safety.disguise import find_override_phrases

    for match in islice(re.finditer(_PHRASE, body), _MOST_PHRASES):
        at = match.start()
        for one in find_override_phrases(body[at : at + _LONGEST_PHRASE]):
            hint = "reword it, or check where the skill comes from"
            found.add_in_body("SZ806", one.message, at, hint)
            return


def _check_replaced(skill: Skill, found: Findings) -> None:
    """Report the first `$1` in code that is not meant as an argument of the skill."""
    takes = _ARGUMENTS in skill.body or any(key in skill.data for key in _TAKES_ARGUMENTS)
    for title, pattern in _replaced().items():
        if not pattern.search(skill.body):
            continue
        fences = fences_in(skill.body)
        places = [
            match.start()
            for match in pattern.finditer(skill.body)
            if _is_replaced(skill.body, match.start(), fences, takes=takes)
        ]
        if places:
            more = f", and {len(places) - 1} more" if len(places) > 1 else ""
            shown = skill.body[places[0] : places[0] + 2]
            message = f"{title} replaces '{shown}'{more} in code with an argument of the skill"
            hint = f"write '\\{shown}', or keep the code in a file beside SKILL.md"
            found.add_in_body("SK323", message, places[0], hint)


@cache
def _replaced() -> dict[str, re.Pattern[str]]:
    """What each host replaces by an argument."""
    from metier.hosts.known import HOSTS  # few texts have a dollar sign

    hosts = HOSTS.values()
    return {host.title: re.compile(host.values.replaced) for host in hosts if host.values}


def _is_replaced(body: str, at: int, fences: Fences, *, takes: bool) -> bool:
    before = body[
        max(body.rfind("\n", max(at - _LONGEST_COMMAND, 0), at) + 1, at - _LONGEST_COMMAND) : at
    ]
    if before.endswith("\\") or not (fences.holds(at) or is_inline_code(body, at)):
        return False
    return not takes or ("awk" in before and before.count("'") % 2 == 1)


def _start_of_line(body: str, at: int) -> int:
    """Where the line around a position starts, or its last 300 characters do."""
    first = max(at - _LONGEST_COMMAND, 0)
    return body.rfind("\n", first, at) + 1 or first


def _check_homes(body: str, found: Findings) -> None:
    places = {
        match[1]: match.start()
        for match in re.finditer(_HOME, body)
        if match[1].lower().strip(".") not in _NOBODY
    }
    if places:
        name, at = min(places.items(), key=lambda place: place[1])
        message = f"'{body[at : body.find(name, at) + len(name)]}' is the folder of one user"
        hint = "write ~, $HOME, or a path relative to the skill"
        found.add_in_body("SK325", message, at, hint)


def _check_latest(body: str, found: Findings) -> None:
    for match in islice(re.finditer(_LATEST_VERSION, body), _MOST_COMMANDS):
        at = match.start()
        start = _start_of_line(body, at)
        *before, name = _words(re.split(_END_OF_COMMAND, body[start:at])[-1])
        if name and not _RUNNERS.isdisjoint(before):
            message = f"'{name}{_LATEST}' runs whatever version is the newest on that day"
            found.add_in_body("SK326", message, at - len(name), f"name a version: {name}@1.2.3")
            return


def _words(command: str) -> list[str]:
    return [word.strip("\"'[](),") for word in command.split(" ")]
