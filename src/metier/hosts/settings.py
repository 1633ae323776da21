"""The hosts that can call metier: where their settings lie and what an entry looks like."""

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from metier.core.nearest import nearest
from metier.errors import UsageError

Scope = Literal["project", "user"]
SCOPES: tuple[Scope, ...] = ("project", "user")


class Entry(NamedTuple):
    """How a command hook is written into a host's settings."""

    event: str
    key: str = "command"
    """The key that the command stands under."""
    in_group: bool = True
    """Whether entries stand in `{"hooks": […]}` groups, or in the event's list itself."""
    limits: Mapping[str, int] = {}
    """How long the host waits, under the host's own key and in its own unit."""
    has_type: bool = True
    version: int | None = None
    """The version that the file must name, where the host asks for one."""

    @property
    def kind(self) -> dict[str, Any]:
        """What every entry must say."""
        return {"type": "command"} if self.has_type else {}

    def value(self, command: Sequence[str]) -> dict[str, Any]:
        """The entry that runs `command`."""
        return {**self.kind, self.key: shlex.join(command), **self.limits}


class Host(NamedTuple):
    """One agent host."""

    name: str
    title: str
    project: str | None
    """Its settings file, or the folder of its plugin, below the workspace."""
    user: str | None
    """The same below the home folder."""
    entry: Entry | None
    """None for a host that takes a plugin instead."""
    next_step: str
    """What is left to do after installing."""
    moved_by: tuple[str, str] = ("", "")
    """An environment variable, and the folder below the home folder that it replaces."""


HOSTS: dict[str, Host] = {
    host.name: host
    for host in (
        Host(
            "claude-code",
            "Claude Code",
            ".claude/settings.json",
            ".claude/settings.json",
            Entry("UserPromptSubmit", limits={"timeout": 10}),
            "start a new session of Claude Code; /hooks lists it",
            ("CLAUDE_CONFIG_DIR", ".claude"),
        ),
        Host(
            "codex",
            "Codex CLI",
            ".codex/hooks.json",
            ".codex/hooks.json",
            Entry("UserPromptSubmit", limits={"timeout": 10}),
            "start Codex and trust the hook with /hooks: until then it is skipped",
            ("CODEX_HOME", ".codex"),
        ),
        Host(
            "gemini",
            "Gemini CLI",
            ".gemini/settings.json",
            ".gemini/settings.json",
            Entry("BeforeAgent", limits={"timeout": 10_000}),
            "start a new session of Gemini CLI",
        ),
        Host(
            "copilot",
            "Copilot CLI",
            ".github/hooks/metier.json",
            ".copilot/hooks/metier.json",
            Entry("sessionStart", key="bash", in_group=False, limits={"timeoutSec": 10}, version=1),
            "start a new session of Copilot CLI",
            ("COPILOT_HOME", ".copilot"),
        ),
        Host(
            "cursor",
            "Cursor",
            ".cursor/hooks.json",
            ".cursor/hooks.json",
            Entry("sessionStart", in_group=False, has_type=False, version=1),
            "start a new chat in Cursor",
        ),
        Host(
            "opencode",
            "opencode",
            ".opencode/plugins",
            ".config/opencode/plugins",
            None,
            "start opencode anew",
            ("XDG_CONFIG_HOME", ".config"),
        ),
        Host(
            "openclaw",
            "OpenClaw",
            ".openclaw/extensions/metier",
            ".openclaw/extensions/metier",
            None,
            "openclaw plugins enable metier, then openclaw gateway restart",
            ("OPENCLAW_STATE_DIR", ".openclaw"),
        ),
    )
}


def host_named(name: str, hosts: Mapping[str, Host] = HOSTS) -> Host:
    """The host called `name`; UsageError when there is none."""
    if name in hosts:
        return hosts[name]
    near = nearest(name, hosts)
    meant = f"; did you mean '{near}'?" if near else ""
    raise UsageError(f"no host is called '{name}'{meant}", hint=f"hosts: {', '.join(hosts)}")


def place_of(
    host: Host,
    scope: Scope,
    workspace: str,
    home: str,
    environ: Mapping[str, str],
    *,
    command: str = "hook install",
) -> str:
    """The file or folder that is written to; UsageError when the host has none for `scope`.

    `command` is what somebody typed; the hint is to type it with the other scope.
    """
    below = {"project": host.project, "user": host.user}
    if scope not in below:
        raise UsageError(f"no scope is called '{scope}'", hint=f"scopes: {', '.join(SCOPES)}")
    place = below[scope]
    if place is None:
        other = next(one for one in SCOPES if below[one] is not None)
        raise UsageError(
            f"{host.title} has no {scope} settings that metier can write",
            hint=f"metier {command} {host.name} --{other}",
        )
    if scope == "project":
        return os.path.join(workspace, place)
    variable, folder = host.moved_by
    moved = environ.get(variable, "") if variable else ""
    if os.path.isabs(moved):
        return os.path.join(moved, os.path.relpath(place, folder))
    return os.path.join(home, place)


def is_ours(command: object, host: str) -> bool:
    """Whether a command of a settings file runs `metier hook HOST`, wherever metier lies."""
    return _around(command, host) is not None


def is_as_installed(command: object, host: str) -> bool:
    """Whether a command has the form that installing writes: a whole path, nothing around it.

    That is the script `metier`, or `python -P -m metier` where there is none.
    """
    before, after = _around(command, host) or ([], [])
    is_form = len(before) == 1 or before[1:] == ["-P", "-m", "metier"]
    return is_form and os.path.isabs(before[0]) and not after


def is_by_hand(command: object, host: str) -> bool:
    """Whether somebody wrote a command that runs `metier hook HOST` in another form.

    One that gives it options is none: with options a hook does nothing. Nor is `python -m metier`
    without -P, which would import from the folder that the host works in.
    """
    before, after = _around(command, host) or ([], ["-"])
    has_options = bool(after) and after[0].startswith("-")
    return not has_options and not is_unsafe(before) and not is_as_installed(command, host)


def is_unsafe(words: Sequence[str]) -> bool:
    """Whether a command runs `python -m metier` with the current folder on Python's path."""
    for place in range(1, len(words)):
        flags, module = words[place - 1], words[place]
        if module == "metier" and flags.startswith("-") and flags.endswith("m"):
            return not any(map(_is_safe_flag, words[:place]))
    return False


def _is_safe_flag(word: str) -> bool:
    """Whether a word of a command keeps the current folder off Python's path."""
    if word.startswith("PYTHONSAFEPATH="):
        return word != "PYTHONSAFEPATH="
    return word.startswith("-") and not word.startswith("--") and bool(set(word) & {"P", "I"})


def _around(command: object, host: str) -> tuple[list[str], list[str]] | None:
    """The words of a command up to metier, and those after `hook HOST`; None without these."""
    try:
        words = shlex.split(command) if isinstance(command, str) else []
    except ValueError:
        return None
    for end, word in enumerate(words, start=1):
        if os.path.basename(word) == "metier" and words[end : end + 2] == ["hook", host]:
            return words[:end], words[end + 2 :]
    return None
