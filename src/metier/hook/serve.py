"""`metier hook HOST`: one JSON object in, one or none out, always exit code 0. Light."""

from __future__ import annotations

import os
import sys
import time
from io import TextIOWrapper

from metier.core.relevance import SCORERS, budget_for, time_of_day
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.hook.cards import MetCard, choose_cards
from metier.hook.journal import Journal
from metier.hook.request import LONGEST_INPUT, Asked
from metier.hook.skills import Suggestion, suggest
from metier.hook.store import ReadOnlyCatalogue
from metier.storage.lightjson import dump, parse, quoted_short
from metier.storage.places import STATE_VARIABLE, ignored_folders
from metier.storage.workspace import find_workspace, is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_CHARACTERS = 9_400
"""Of an answer; hosts cut what is longer than 10,000, or show a part of it."""
_EVENTS = ("UserPromptSubmit", "BeforeAgent", "SessionStart", "SubagentStart")
"""The events whose name is echoed; the first two are those of hosts that name none."""
_MOVED = frozenset([STATE_VARIABLE, "XDG_STATE_HOME", "XDG_CONFIG_HOME"])
"""Variables that may be ignored."""
_MODES = ("off", "monitor", "soft", "on")
_DEFUSED = str.maketrans("<>[]", "‹›()")
"""Tags, comments, marks and chat-template tokens all need one of these."""
_LONGEST_DESCRIPTION = 300
_CHARACTERS_PER_TOKEN = 4
_PASSED_OVER = 5
"""Cards that were not injected and are logged with their score."""


def serve(host: str) -> None:
    """Answer the host that has started this process. Never raises, never says why in public."""
    started = time.perf_counter()
    journal = Journal()
    try:
        journal.enter(find_workspace())
        _say_what_is_awaited(host)
        asked = Asked(_given())
        workspace = find_workspace(asked.folder or None)
        journal.enter(workspace)
        _warn(journal, workspace)
        asked.check(host)
        with ReadOnlyCatalogue(journal.catalogue) as catalogue:
            answer = _Answer(host, asked, workspace, journal, catalogue)
            text = answer.text()
            if text:
                if isinstance(sys.stdout, TextIOWrapper):
                    sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale says
                sys.stdout.write(envelope(host, asked.event, text))
                sys.stdout.flush()
            journal.keep(answer.row(text, (time.perf_counter() - started) * 1e3))
            journal.refresh_if_stale(answer.fresh_for())
    except BaseException as error:  # a hook that fails must not stand in anybody's way
        journal.fail(host, error, (time.perf_counter() - started) * 1e3)
        _forget_output()


def _forget_output() -> None:
    """Drop what could not be written: Python would try again at the end, and fail in public."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        from metier.core.process import discard_output  # only what fails pays for it

        discard_output()


def _say_what_is_awaited(host: str) -> None:
    """Tell a person who typed the command that it waits for a host's JSON."""
    if os.isatty(0) and sys.stderr is not None:
        what = "waits for the JSON of its host on standard input; Ctrl-D ends it"
        sys.stderr.write(f"metier hook {host} {what}\n")
        sys.stderr.flush()


def _warn(journal: Journal, workspace: str) -> None:
    """Say on standard error what is not used; the host's answer has no word of it."""
    lines = ignored_folders(workspace=journal.workspace) if _MOVED & os.environ.keys() else []
    if not journal.may_speak and is_root(workspace):
        lines.append("only your own skills and cards are used: this workspace may not speak")
    if lines and sys.stderr is not None:
        sys.stderr.write("".join(f"metier: {line}\n" for line in lines))


def _given() -> dict[str, Any]:
    """What stands on stdin. Raises `ValueError`."""
    raw = b""
    while len(raw) <= LONGEST_INPUT and (more := os.read(0, LONGEST_INPUT + 1 - len(raw))):
        raw += more
    if len(raw) > LONGEST_INPUT:
        raise ValueError(f"more than {LONGEST_INPUT} bytes on stdin")
    given = parse(raw.decode("utf-8-sig", errors="replace"))
    if not isinstance(given, dict):
        raise ValueError("stdin holds no JSON object")
    return given


def envelope(host: str, event: str, text: str) -> str:
    """An answer in the host's own form."""
    if host == "cursor":
        return dump({"additional_context": text}, quoted_short)
    if host in ("copilot", "opencode", "openclaw"):
        return dump({"additionalContext": text}, quoted_short)
    name = event if event in _EVENTS else _EVENTS[host == "gemini"]
    answer = {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}
    return dump(answer, quoted_short)


class _Answer:
    """One decision: which cards and skills, and what of them is said."""

    def __init__(
        self,
        host: str,
        asked: Asked,
        workspace: str,
        journal: Journal,
        catalogue: ReadOnlyCatalogue,
    ) -> None:
        self._host = host
        self._asked = asked
        self._journal = journal
        self._catalogue = catalogue
        self.settings = _for_agent(self._catalogue.settings(), asked.agent)
        self._mode = self._mode_now()
        self._arm, self._scorer = self._chosen_scorer()
        self._cards: list[MetCard] = []
        self._skills: list[Suggestion] = []
        self._tokens = 0
        asked_in = os.path.realpath(asked.folder or os.getcwd())
        self._workspace = workspace
        self._is_asked_there = asked_in == workspace
        """Not where the host works in a folder below: it needs whole paths."""

    def fresh_for(self) -> int:
        """The seconds for which the catalogue is fresh; 0 when it was not prepared for hooks."""
        is_prepared = bool(self.settings) and self._catalogue.setting("stems") != ""
        seconds: int = self.settings.get("refreshAfter", 600) if is_prepared else 0
        return seconds

    def _mode_now(self) -> str:
        if not self.settings.get("enabled", True):
            return "off"
        mode = self._wanted_mode()
        share = self.settings.get("maxInjectionShare")
        if mode in ("soft", "on") and self._journal.is_killed(share):
            mode = "monitor"
        return mode

    def _wanted_mode(self) -> str:
        """The mode of the settings, or a stricter one of the environment.

        A repository can have a host set variables, so none of them loosens what the user set.
        """
        told = os.environ.get("METIER_CAPABILITIES")
        mode: str = self.settings.get("mode", "on")
        if mode not in _MODES:
            mode = "monitor"
        if not told:
            return mode
        if told not in _MODES:
            what = f"METIER_CAPABILITIES is none of {', '.join(_MODES)} and counts as monitor"
            self._journal.note(self._host, f"{what}: {told}")
            told = "monitor"
        return min(mode, told, key=_MODES.index)

    def _chosen_scorer(self) -> tuple[str, str]:
        """The arm of a comparison, and the scorer that it uses."""
        arm, scorer = "", self.settings.get("scorer", "spec")
        both = self.settings.get("compare") or []
        if len(both) == 2 and self._asked.session:
            place = int(self._journal.session_hash(self._asked.session), 16) % 2
            arm, scorer = "AB"[place], both[place]
        if scorer not in SCORERS:
            self._journal.note(self._host, f"hooks do not know the scorer '{scorer}'; spec is used")
            scorer = "spec"
        return arm, scorer

    def text(self) -> str:
        """What the host is to add to the context; empty for nothing."""
        if self._mode == "off" or not self.settings:
            return ""
        messages = self._asked.messages(self.settings["recentMessages"])
        self._cards = choose_cards(
            self._catalogue,
            messages,
            self.settings,
            self._scorer,
            self._asked.session_type,
            time_of_day(time.localtime().tm_hour),
        )
        suggestions = self.settings["skillSuggestions"]
        if suggestions and self._asked.prompt:
            threshold = self.settings["skillThreshold"]
            self._skills = suggest(self._catalogue, messages, suggestions, threshold, self._host)
        text = self._composed()
        if not self._is_silent():
            return text
        for card in self._cards:
            card.outcome = self._mode if card.outcome == "injected" else card.outcome
        for skill in self._skills:
            skill.outcome = self._mode if skill.outcome == "injected" else skill.outcome
        return ""

    def _is_silent(self) -> bool:
        if self._mode == "soft":
            return self._asked.session_type not in self.settings["softSessionTypes"]
        return self._mode == "monitor"

    def _composed(self) -> str:
        """The text of the cards and skills that fit, each between its marks."""
        secret = self._journal.secret()
        length = self._asked.conversation_length()
        table = [(int(least), tokens) for least, tokens in self.settings["budgets"].items()]
        tokens = budget_for(length, self.settings["maxTokens"], table)
        room = tokens * _CHARACTERS_PER_TOKEN
        text, stopped = "", False
        for card in self._cards:
            if card.outcome:
                continue
            body, path, sha256 = self._catalogue.rows(
                "SELECT text, path, sha256 FROM card JOIN document USING (key) WHERE key = ?",
                (card.key,),
            )[0]
            part = as_reference(
                body, kind="card", id=card.id, source=path, sha256=sha256, secret=secret
            )
            card.tokens = -(-len(part) // _CHARACTERS_PER_TOKEN)
            longer = f"{text}{BETWEEN_REFERENCES}{part}" if text else f"{REFERENCE_PREAMBLE}{part}"
            if len(longer) <= room and _is_short(longer) and not stopped:
                text, card.outcome = longer, "injected"
            else:
                card.outcome = "over-budget"
                if self.settings["overflow"] == "stop":
                    stopped = True
        return self._with_skills(text, secret, room)

    def _where(self, one: Suggestion) -> str:
        """The file of a skill; as short as the host can find it."""
        inside = os.path.join(self._workspace, one.path)
        if one.file not in ("", inside):
            return one.file
        return one.path if self._is_asked_there else inside

    def _with_skills(self, text: str, secret: bytes, room: int) -> str:
        named = [one for one in self._skills if not one.outcome]
        while named:
            lines = "\n".join(_line(one, self._where(one)) for one in named)
            part = as_reference(
                f"Skills installed here that may fit this request:\n{lines}",
                kind="skills", id=str(len(named)), source="metier", secret=secret,
            )  # fmt: skip
            longer = f"{text}{BETWEEN_REFERENCES}{part}" if text else f"{REFERENCE_PREAMBLE}{part}"
            if len(longer) <= room and _is_short(longer):
                for one in named:
                    one.outcome = "injected"
                text = longer
                break
            named.pop().outcome = "over-budget"
        self._tokens = -(-len(text) // _CHARACTERS_PER_TOKEN)
        return text

    def row(self, text: str, milliseconds: float) -> dict[str, Any]:
        """This decision as it is logged."""
        injected = [one for one in self._cards if one.outcome == "injected"]
        others = [one for one in self._cards if one.outcome != "injected"]
        session = self._asked.session
        return {
            "id": "",
            "at": round(time.time(), 3),
            "host": self._host,
            "event": self._asked.event,
            "session": self._journal.session_hash(session) if session else "",
            "session_type": self._asked.session_type,
            "mode": self._mode,
            "scorer": self._scorer,
            "arm": self._arm,
            "cards": [one.as_row() for one in [*injected, *others[:_PASSED_OVER]]],
            "skills": [one.as_row() for one in self._skills],
            "tokens": self._tokens,
            "characters": len(text),
            "injected": bool(text),
            "milliseconds": round(milliseconds, 3),
            "error": "",
        }


def _for_agent(settings: dict[str, Any], agent: str) -> dict[str, Any]:
    """The settings with those of the agent's profile over them."""
    profile = settings.get("agents", {}).get(agent) if agent else None
    if not profile:
        return settings
    own = settings["profiles"].get(profile, {})
    if "maxTokens" in own:
        settings = {**settings, "budgets": {}}
    return {**settings, **own}


def _is_short(text: str) -> bool:
    """Whether hosts take all of it, as it is printed."""
    return len(quoted_short(text)) <= MOST_CHARACTERS


def _line(one: Suggestion, where: str) -> str:
    about = " ".join(one.description.split())
    if len(about) > _LONGEST_DESCRIPTION:
        about = f"{about[:_LONGEST_DESCRIPTION]}…"
    shown = f"- '{' '.join(one.name.split())}': {about} ({where})".translate(_DEFUSED)
    return "".join(char if char.isprintable() else "?" for char in shown)
