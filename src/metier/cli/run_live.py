"""Progress of a run: lines that change on a terminal, plain lines elsewhere."""

import os
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.cli.layout import colour_wanted, one_line
from metier.cli.run_view import COLOURS, duration, warning_in_words
from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.values.runs import Event

if TYPE_CHECKING:
    from rich.console import Console, OverflowMethod, RenderableType
    from rich.text import Text

MARKS = {"succeeded": "✓", "failed": "✗", "skipped": "–", "compensated": "↺"}
_ENDS = ("succeeded", "failed", "skipped", "blocked", "cancelled", "compensated")
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
TURNS = 10
"""Redraws per second."""
_LONGEST_TEXT = 2_000
_TEXT_LINES = 3
"""Of a streamed answer, if it is the only answer."""


class RunningStep:
    def __init__(self, label: str, started: float) -> None:
        self.label = label
        self.started = started
        self.attempt = 1
        self.doing = ""
        self.text = ""
        """The end of the streamed answer."""
        self.tokens = 0


class Notice(NamedTuple):
    """A line that stays on the screen."""

    label: str
    state: str
    """The state of a step, or `retried`, `started`, `warning`."""
    words: str
    is_echo: bool = False
    """Repeats another notice."""

    def line(self) -> str:
        """`collect: succeeded, 0.3 s`"""
        said = "" if self.state == "retried" else self.state
        return f"{self.label}: {', '.join(one for one in (said, self.words) if one)}"


class Board:
    """The running steps, updated by the events of a run and its delegates."""

    def __init__(self) -> None:
        self.running: dict[tuple[str, str], RunningStep] = {}
        self._above: dict[str, str] = {}
        """Run → the label of its parent step."""

    def take(self, event: Event) -> Notice | None:
        topic, _, what = event.kind.partition(".")
        if topic == "run" and what == "started":
            parent = event.data.get("parentRunId") or "", event.data.get("parentStepId") or ""
            self._above[event.run_id] = f"{self._label(*parent)} › " if parent[0] else ""
            if not parent[0]:
                return Notice(f"run {event.run_id}", "started", one_line(event.data["agent"]))
        elif topic == "step":
            return self._step(event, what)
        else:
            one = self.running.get((event.run_id, event.step_id))
            if one is not None:
                _follow(one, event)
        return None

    def _label(self, run_id: str, step_id: str) -> str:
        return self._above.get(run_id, "") + one_line(step_id)

    def _step(self, event: Event, what: str) -> Notice | None:
        key = event.run_id, event.step_id
        label = self._label(*key)
        if what == "started":
            self.running[key] = RunningStep(label, event.at)
        elif what == "prepared" and event.data.get("warnings"):
            said = "; ".join(map(warning_in_words, event.data["warnings"]))
            return Notice(label, "warning", one_line(said))
        elif what == "retried":
            one = self.running.setdefault(key, RunningStep(label, event.at))
            one.attempt, one.text = event.data["attempt"] + 1, ""
            one.doing = "waits"
            again = f"try {event.data['attempt']} failed, again in {duration(event.data['wait'])}"
            return Notice(label, "retried", f"{again}: {_error(event.data)}", is_echo=True)
        elif what in _ENDS:
            before = self.running.pop(key, None)
            return Notice(label, what, _outcome(event, before), _is_echo(event))
        return None


def _outcome(event: Event, before: RunningStep | None) -> str:
    took = event.data.get("durationMs")
    facts = [duration(took / 1e3) if took is not None and event.kind != "step.skipped" else ""]
    if before is not None:
        facts.append(f"{before.attempt} tries" if before.attempt > 1 else "")
        facts.append(counted(before.tokens, "token") if before.tokens else "")
    notice = ", ".join(one for one in facts if one)
    error = _error(event.data)
    return f"{notice}: {error}" if notice and error else notice or error


def _error(data: Mapping[str, Any]) -> str:
    failure = data.get("error")
    return one_line(f"{failure['message']} ({failure['code']})") if failure else ""


def _is_echo(event: Event) -> bool:
    """Whether a step failed because a step inside it, or of its delegate, did."""
    failure = event.data.get("error") or {}
    return failure.get("code") == "DELEGATION_FAILED" or failure.get("step", "") not in (
        "",
        event.step_id,
    )


def _follow(step: RunningStep, event: Event) -> None:
    data = event.data
    if event.kind == "model.asked":
        step.doing, step.text = f"asks {one_line(data['model'])}", ""
    elif event.kind == "model.text":
        step.text = (step.text + data["text"])[-_LONGEST_TEXT:]
    elif event.kind == "model.answered":
        usage = data["usage"]
        step.tokens += usage["inputTokens"] + usage["outputTokens"]
        step.doing = ""
    elif event.kind == "tool.called":
        step.doing, step.text = f"calls {one_line(data['tool'])}", ""
    elif event.kind == "tool.returned":
        step.doing = ""
    elif event.kind == "delegation.started":
        step.doing = f"→ {one_line(data['to'])}"


# Output


class Progress(NamedTuple):
    show: Callable[[Event], None]
    note: Callable[[str], None]
    tick: Callable[[], object]
    """Redraws; call it `TURNS` times a second."""
    show_cursor: Callable[[], object] = lambda: None
    """Call it before a second Ctrl-C can end the program, which leaves no time for it."""


@contextmanager
def progress(session: Session, *, is_shown: bool = True) -> Iterator[Progress]:
    """Show running steps at the bottom of a terminal."""
    if session.quiet or not is_shown:
        yield Progress(lambda _event: None, session.note, lambda: None)
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _on_terminal() as shown:
            yield shown
    else:
        yield Progress(_plainly(session), session.note, lambda: None)


def _plainly(session: Session) -> Callable[[Event], None]:
    board = Board()

    def show(event: Event) -> None:
        notice = board.take(event)
        if notice is not None:
            session.note(notice.line())

    return show


@contextmanager
def _on_terminal() -> Iterator[Progress]:
    from rich.console import Console  # slow to import
    from rich.live import Live
    from rich.text import Text

    board = Board()
    console = Console(
        stderr=True,
        color_system=None if colour_wanted() is False else "auto",
        highlight=False,
        markup=False,
    )

    def show(event: Event) -> None:
        notice = board.take(event)
        if notice is not None:
            overflow: OverflowMethod = "ellipsis" if notice.is_echo else "fold"
            console.print(_permanent(notice), no_wrap=notice.is_echo, overflow=overflow)

    def note(text: str) -> None:
        console.print(Text(printable(text)))

    with Live(
        get_renderable=lambda: picture(board, console),
        console=console,
        auto_refresh=False,  # its thread would draw between two lines of ours
        transient=True,
        redirect_stdout=False,
    ) as live:
        yield Progress(show, note, live.refresh, console.show_cursor)


def _permanent(notice: Notice) -> "Text":
    """`✓ collect  0.3 s`"""
    from rich.text import Text

    is_plain = notice.state in ("succeeded", "failed")
    said = "" if is_plain or notice.state in ("retried", "started") else notice.state
    line = Text(f"{MARKS.get(notice.state, '·')} ", style=COLOURS.get(notice.state, "dim"))
    line.append(notice.label, style="" if is_plain else "dim")
    words = ", ".join(one for one in (said, notice.words) if one)
    return line.append(f"  {words}", style="" if notice.state == "failed" else "dim")


def picture(board: Board, console: "Console") -> "RenderableType":
    """The running steps that fit, and streamed answers."""
    from rich.console import Group
    from rich.text import Text

    steps = list(board.running.values())
    now, width = time.time(), console.width
    most = max(1, console.height // 2 - 2)
    talking = sum(bool(step.text) for step in steps)
    lines = []
    for one in steps[-most:]:
        facts = [duration(max(0.0, now - one.started)), one.doing]
        facts.append(f"try {one.attempt}" if one.attempt > 1 else "")
        line = Text(_SPINNER[int(now * TURNS) % len(_SPINNER)], style="cyan")
        line.append(f" {one.label}", style="bold")
        line.append("  " + "  ".join(fact for fact in facts if fact), style="dim")
        lines.append(line)
        rows = _TEXT_LINES if talking == 1 else 1
        lines += [Text(f"    {row}", style="dim") for row in _last_rows(one.text, width - 6, rows)]
    if len(steps) > most:
        lines.insert(0, Text(f"  … and {len(steps) - most} more running", style="dim"))
    for line in lines:
        line.no_wrap, line.overflow = True, "ellipsis"
    return Group(*lines)


def _last_rows(text: str, width: int, rows: int) -> list[str]:
    shown = [printable(line).replace("\t", " ") for line in text.splitlines() if line.strip()]
    wrapped = [row for line in shown[-rows:] for row in textwrap.wrap(line, max(width, 10))]
    return wrapped[-rows:]
