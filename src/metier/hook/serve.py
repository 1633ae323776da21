"""`metier hook HOST`: one JSON object in, one or none out, always exit code 0. Light."""

from __future__ import annotations

import os
import sys
import time
from io import TextIOWrapper

from metier.core.budget import count_tokens, fit
from metier.core.relevance import SCORERS, budget_for, time_of_day
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.hook.cards import ConsideredCard, choose_cards
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.hook.journal import Journal, decision
from metier.hook.request import LONGEST_INPUT, HookRequest
from metier.hook.skills import CHANGED, Suggestion, skills_named, suggest
from metier.hook.used import used_skills
from metier.hosts.table import HOOKS
from metier.storage.lightjson import dump, parse, quoted_short
from metier.storage.places import STATE_VARIABLE, ignored_folders
from metier.storage.workspace import find_workspace, is_root

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from metier.core.budget import Fitted, Overflow

MOST_CHARACTERS = 9_400
"""Of an answer as printed; hosts truncate at 10,000."""
_NESTED = "hookSpecificOutput"
_MOVED = frozenset([STATE_VARIABLE, "XDG_STATE_HOME", "XDG_CONFIG_HOME"])
_MODES = ("off", "monitor", "soft", "on")
_DEFUSED = str.maketrans("<>[]", "‹›()")
"""Tags, comments, fences and chat-template tokens all need one of these."""
_LONGEST_DESCRIPTION = 300
_FITTING = "Skills installed here that may fit this request:"
_USED = "Skills that this session used before; read them again where the task needs them:"
_SUGGESTED = "Skills that were suggested earlier in this session:"
_OWN_ONLY = (
    "only your own skills and cards are used until you run 'metier trust' here, on a terminal"
)
_PASSED_OVER = 5
"""The most cards that are logged without being injected."""


def serve(host: str) -> None:
    """Answer the host that started this process. Never raises; failures go to the journal."""
    started = time.perf_counter()
    journal = Journal()
    try:
        journal.enter(find_workspace())
        _note_that_it_waits(host)
        request = HookRequest(_input())
        workspace = find_workspace(request.folder or None)
        journal.enter(workspace)
        journal.session = request.session
        _warn(journal, workspace)
        request.check(host)
        with ReadOnlyCatalog(journal.catalog) as catalog:
            answer = _Answer(host, request, workspace, journal, catalog)
            text = answer.text()
            if text:
                if isinstance(sys.stdout, TextIOWrapper):
                    sys.stdout.reconfigure(encoding="utf-8")  # whatever the locale says
                sys.stdout.write(envelope(host, request.event, text))
                sys.stdout.flush()
            journal.keep(answer.row(text, (time.perf_counter() - started) * 1e3))
            journal.refresh_if_stale(answer.fresh_for())
    except BaseException as error:  # a failing hook must not block the host
        journal.fail(host, error, (time.perf_counter() - started) * 1e3)
        _forget_output()


def told(host: str, prompt: str, folder: str, journal: Journal) -> tuple[str, str]:
    """What a host's hook would tell its model now, and in which mode; no decision is kept."""
    request = HookRequest({"cwd": folder, **({"prompt": prompt} if HOOKS[host][2] else {})})
    workspace = find_workspace(folder)
    journal.enter(workspace)
    with ReadOnlyCatalog(journal.catalog) as catalog:
        answer = _Answer(host, request, workspace, journal, catalog)
        return answer.text(), answer.mode


def _forget_output() -> None:
    """Drop unwritten output: Python would try again at exit, and fail loudly."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except (OSError, ValueError):
        from metier.core.process import discard_output  # only what fails pays for it

        discard_output()


def _note_that_it_waits(host: str) -> None:
    """Say that it waits for JSON if a person typed the command."""
    if os.isatty(0) and sys.stderr is not None:
        what = "waits for the JSON of its host on standard input; Ctrl-D ends it"
        sys.stderr.write(f"metier hook {host} {what}\n")
        sys.stderr.flush()


def _warn(journal: Journal, workspace: str) -> None:
    """Print what is ignored to standard error."""
    is_silent = not journal.may_speak and is_root(workspace)
    is_due = is_silent or _MOVED & os.environ.keys()
    lines = ignored_folders(workspace=journal.workspace) if is_due else []
    if is_silent and journal.is_new(journal.session):
        lines.append(_OWN_ONLY)
    if lines and sys.stderr is not None:
        sys.stderr.write("".join(f"metier: {line}\n" for line in lines))


def _input() -> dict[str, Any]:
    """The JSON object on stdin. Raises `ValueError`."""
    raw = b""
    while len(raw) <= LONGEST_INPUT and (more := os.read(0, LONGEST_INPUT + 1 - len(raw))):
        raw += more
    if len(raw) > LONGEST_INPUT:
        raise ValueError(f"more than {LONGEST_INPUT} bytes on stdin")
    try:
        value = parse(raw.removeprefix(b"\xef\xbb\xbf").decode(errors="replace"))
    except ValueError as error:
        raise ValueError(f"the input is not JSON: {error}") from None
    if not isinstance(value, dict):
        raise ValueError("stdin is not a JSON object")
    return value


def envelope(host: str, event: str, text: str) -> str:
    """An answer in the host's own form."""
    events, key, _ = HOOKS[host]
    if key != _NESTED:
        return dump({key: text}, quoted_short)
    name = event if event in events else events[0]
    answer = {_NESTED: {"hookEventName": name, "additionalContext": text}}
    return dump(answer, quoted_short)


class _Answer:
    """One decision: which cards and skills, and what is injected of them."""

    def __init__(
        self,
        host: str,
        request: HookRequest,
        workspace: str,
        journal: Journal,
        catalog: ReadOnlyCatalog,
    ) -> None:
        self._host = host
        self._request = request
        self._journal = journal
        self._catalog = catalog
        self.settings = catalog.settings(request.agent)
        self.mode = self._mode_now()
        self._arm, self._scorer = self._chosen_scorer()
        self._cards: list[ConsideredCard] = []
        self._skills: list[Suggestion] = []
        self._heading = _FITTING
        self._tokens = 0
        self._workspace = workspace
        self._is_at_root = os.path.realpath(request.folder or os.getcwd()) == workspace
        """Else the host works in a folder below and needs absolute paths."""

    def fresh_for(self) -> int:
        """The seconds for which the catalog is fresh; 0 if it is not, or not prepared for hooks."""
        if any(skill.outcome == CHANGED for skill in self._skills):
            return 0
        seconds: int = self.settings.get("refreshAfter", 600) if self.settings else 0
        return seconds

    def _mode_now(self) -> str:
        if not self.settings.get("enabled", True):
            return "off"
        mode = self._wanted_mode()
        share = self.settings.get("maxInjectionShare")
        is_killed = mode in ("soft", "on") and self._journal.is_killed(share)
        return "monitor" if is_killed else mode

    def _wanted_mode(self) -> str:
        """The mode of the settings, or a stricter mode of the environment.

        A repository may set variables, so they never loosen what the user set.
        """
        wanted = os.environ.get("METIER_CAPABILITIES")
        mode: str = self.settings.get("mode", "on")
        if mode not in _MODES:
            mode = "monitor"
        if not wanted:
            return mode
        if wanted not in _MODES:
            what = f"METIER_CAPABILITIES is not one of {', '.join(_MODES)} and counts as monitor"
            self._journal.note(self._host, f"{what}: {wanted}")
            wanted = "monitor"
        return min(mode, wanted, key=_MODES.index)

    def _chosen_scorer(self) -> tuple[str, str]:
        """The arm of a comparison, and its scorer."""
        arm, scorer = "", self.settings.get("scorer", "spec")
        both = self.settings.get("compare") or []
        if len(both) == 2 and self._request.session:
            side = int(self._journal.session_hash(self._request.session), 16) % 2
            arm, scorer = "AB"[side], both[side]
        if scorer not in SCORERS:
            self._journal.note(self._host, f"hooks do not know the scorer '{scorer}'; spec is used")
            scorer = "spec"
        return arm, scorer

    def text(self) -> str:
        """The text to inject; may be empty."""
        if self.mode == "off" or not self.settings:
            return ""
        messages = self._request.messages(self.settings["recentMessages"])
        self._cards = choose_cards(
            self._catalog,
            messages,
            self.settings,
            self._scorer,
            self._request.session_type,
            time_of_day(time.localtime().tm_hour),
        )
        suggestions = self.settings["skillSuggestions"]
        if suggestions and self._request.prompt:
            threshold = self.settings["skillThreshold"]
            self._skills = suggest(self._catalog, messages, suggestions, threshold, self._host)
        elif suggestions and self._request.continues:
            self._skills = self._used_before(suggestions)
        text = self._composed()
        session = self._request.session_type
        is_soft = self.mode == "soft" and session in self.settings["softSessionTypes"]
        if self.mode == "on" or is_soft:
            return text
        considered: list[ConsideredCard | Suggestion] = [*self._cards, *self._skills]
        for one in considered:
            one.outcome = self.mode if one.outcome == "injected" else one.outcome
        return ""

    def _used_before(self, most: int) -> list[Suggestion]:
        """The skills that the session used, or else those that were suggested to it."""
        request = self._request
        used = used_skills(request.transcript)
        self._heading = _USED if used else _SUGGESTED
        names = used or self._journal.suggested(request.session)
        return skills_named(self._catalog, names, most, self._host)

    def _composed(self) -> str:
        """The text of the cards and skills that fit, each between its fences."""
        secret = self._journal.secret()
        table = [(int(least), tokens) for least, tokens in self.settings["budgets"].items()]
        length = self._request.conversation_length()
        limit = budget_for(length, self.settings["maxTokens"], table)
        chosen = [card for card in self._cards if not card.outcome]
        parts = [self._card_part(card, secret) for card in chosen]
        fitted = self._fit(parts, limit, REFERENCE_PREAMBLE, self.settings["overflow"])
        for number, card in enumerate(chosen):
            card.tokens = count_tokens(parts[number])
            card.outcome = "injected" if number in fitted.taken else "over-budget"
        text = self._with_skills(fitted.text, secret, limit)
        self._tokens = count_tokens(text)
        return text

    def _card_part(self, card: ConsideredCard, secret: bytes) -> str:
        sql = "SELECT text, path, sha256 FROM card JOIN document USING (key) WHERE key = ?"
        [(text, path, sha256)] = self._catalog.rows(sql, (card.key,))
        return as_reference(
            text, kind="card", id=card.id, source=path, sha256=sha256, secret=secret
        )

    def _with_skills(self, text: str, secret: bytes, limit: int) -> str:
        named = [skill for skill in self._skills if not skill.outcome]
        start = f"{text}{BETWEEN_REFERENCES}" if text else REFERENCE_PREAMBLE
        while named:
            lines = "\n".join(_line(one, self._path(one)) for one in named)
            part = as_reference(
                f"{self._heading}\n{lines}",
                kind="skills", id=str(len(named)), source="metier", secret=secret,
            )  # fmt: skip
            if fitted := self._fit([part], limit, start).text:
                for one in named:
                    one.outcome = "injected"
                return fitted
            named.pop().outcome = "over-budget"
        return text

    def _fit(self, parts: list[str], limit: int, start: str, overflow: Overflow = "stop") -> Fitted:
        return fit(
            parts,
            limit,
            separator=BETWEEN_REFERENCES,
            overflow=overflow,
            start=start,
            fits=lambda text: len(quoted_short(text)) <= MOST_CHARACTERS,
        )

    def _path(self, skill: Suggestion) -> str:
        """The shortest path at which the host finds the skill."""
        inside = os.path.join(self._workspace, skill.path)
        if skill.file not in ("", inside):
            return skill.file
        return skill.path if self._is_at_root else inside

    def row(self, text: str, milliseconds: float) -> dict[str, Any]:
        """The decision for the journal."""
        injected = [card for card in self._cards if card.outcome == "injected"]
        others = [card for card in self._cards if card.outcome != "injected"]
        session = self._request.session
        return decision(
            self._host,
            milliseconds,
            event=self._request.event,
            session=self._journal.session_hash(session) if session else "",
            session_type=self._request.session_type,
            mode=self.mode,
            scorer=self._scorer,
            arm=self._arm,
            cards=[one.as_row() for one in [*injected, *others[:_PASSED_OVER]]],
            skills=[skill.as_row() for skill in self._skills],
            tokens=self._tokens,
            characters=len(text),
            injected=bool(text),
        )


def _line(skill: Suggestion, where: str) -> str:
    about = " ".join(skill.description.split())
    if len(about) > _LONGEST_DESCRIPTION:
        about = f"{about[:_LONGEST_DESCRIPTION]}…"
    shown = f"- '{' '.join(skill.name.split())}': {about} ({where})".translate(_DEFUSED)
    return "".join(char if char.isprintable() else "?" for char in shown)
