"""What people see of runs: facts, steps, delegated runs, checkpoints."""

import json
import shutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, get_args

import click

from metier.cli.layout import branches, one_line, wrapped
from metier.cli.session import Session, counted
from metier.core.text import printable
from metier.safety.escapes import escaped_json
from metier.values.agents import Checkpoint
from metier.values.runs import DONE, RunRecord, StepRecord, StepState, Usage

COLOURS = {
    "succeeded": "green",
    "failed": "red",
    "rolled_back": "red",
    "rollback_incomplete": "red",
    "cancelled": "yellow",
    "pending": "yellow",
    "running": "cyan",
}
_LONGEST_OUTPUT = 800
_MOST_LINES = 12


class Family(NamedTuple):
    """A run and the runs that it delegated to."""

    run: RunRecord
    children: Sequence["Family"]

    @classmethod
    def of(cls, run: RunRecord, children: Callable[[str], Sequence[RunRecord]]) -> "Family":
        return cls(run, [cls.of(one, children) for one in children(run.run_id)])

    def to_json(self) -> dict[str, Any]:
        return {**self.run.to_json(), "children": [one.to_json() for one in self.children]}


# Words and figures


def duration(seconds: float | None) -> str:
    """`30 ms`, `2.3 s`, `1 min 5 s`"""
    if seconds is None:
        return ""
    if seconds < 0.9995:
        return f"{max(seconds, 0) * 1e3:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def moment(at: float) -> str:
    """Local time."""
    return datetime.fromtimestamp(at).strftime("%Y-%m-%d %H:%M:%S")


def tokens(usage: Usage) -> str:
    return counted(usage.tokens, "token") if usage.tokens else ""


def cost(usage: Usage) -> str:
    """In dollars; empty if no price is known."""
    if not usage.cost:
        return ""
    return f"${usage.cost:.2f}" if usage.cost >= 1 else f"${usage.cost:.4f}"


def state_in_words(state: str) -> str:
    return state.replace("_", " ")


def styled(state: str) -> str:
    return click.style(state_in_words(state), fg=COLOURS.get(state))


def run_seconds(run: RunRecord) -> float | None:
    """At least 0: the clock may be set back during a run."""
    return max(0.0, run.finished - run.created) if run.finished else None


def summary(run: RunRecord, steps: Sequence[StepRecord]) -> str:
    """`run ID succeeded: 8 steps, 1,204 tokens, $0.0123, 2.3 s`"""
    facts = [_steps_in_words(steps), tokens(run.usage), cost(run.usage), duration(run_seconds(run))]
    return f"run {run.run_id} {state_in_words(run.state)}: {', '.join(filter(None, facts))}"


def _steps_in_words(steps: Sequence[StepRecord]) -> str:
    """`8 steps`, `8 steps (1 skipped)`, `8 steps (5 succeeded, 1 failed, 2 blocked)`."""
    states = Counter(step.state for step in steps)
    if set(states) <= set(DONE):
        states.pop("succeeded", None)
    each = ", ".join(f"{states[one]} {one}" for one in get_args(StepState) if states[one])
    return f"{counted(len(steps), 'step')}{f' ({each})' if each else ''}"


def output_text(output: Any) -> str:
    """Text as it is, anything else as JSON."""
    if output is None:
        return ""
    if isinstance(output, str):
        return output
    return escaped_json(json.dumps(output, indent=2, ensure_ascii=False))


def print_output(output: Any) -> None:
    text = output_text(output)
    if text:
        click.echo(printable(text) if sys.stdout.isatty() else text)


def bounded(text: str) -> str:
    """The beginning of a long text."""
    lines = printable(text).splitlines()
    shown = "\n".join(lines[:_MOST_LINES])[:_LONGEST_OUTPUT].rstrip()
    left = len(printable(text).rstrip()) - len(shown)
    return shown if left <= 0 else f"{shown}\n… {counted(left, 'more character')} (--json has all)"


def _lines(text: str) -> list[str]:
    """Wrapped on a terminal, else one line."""
    if not sys.stdout.isatty():
        return [one_line(text)]
    return wrapped(text, shutil.get_terminal_size().columns, "")


def _print_wrapped(title: str, text: str, colour: str | None = None) -> None:
    """`title: text`"""
    lines = _lines(f"{title}: {text}")
    styled = click.style(f"{title}:", fg=colour, bold=True)
    click.echo("\n".join([f"{styled}{lines[0].removeprefix(f'{title}:')}", *lines[1:]]))


# Lists of runs


def print_runs(session: Session, runs: Sequence[RunRecord], total: int) -> None:
    """A short table on a terminal, a full table elsewhere; `total` counts all runs."""
    if sys.stdout.isatty():
        now = time.time()
        rows = []
        for run in runs:
            what = f"{'↳ ' if run.parent_run else ''}{run.agent_id}: {run.task}"
            rows.append([run.run_id, state_in_words(run.state), _ago(now - run.created), what])
        session.print_list(["run", "state", "ago", "what"], rows, "run", total=total)
        return
    columns = ["run", "state", "agent", "began", "took", "parent", "task"]
    session.print_list(columns, [_cells(run) for run in runs], "run", total=total)


def _cells(run: RunRecord) -> list[str]:
    took = duration(run_seconds(run))
    began = moment(run.created)
    return [run.run_id, run.state, run.agent_id, began, took, run.parent_run, run.task]


def _ago(seconds: float) -> str:
    """`5 s`, `3 min`, `2 h`, `4 d`"""
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {word}"
    return f"{max(0, int(seconds))} s"


# One run


def print_run(
    session: Session,
    family: Family,
    steps: Sequence[StepRecord],
    checkpoints: Sequence[Checkpoint],
    queue: str = "",
) -> None:
    run = family.run
    for name, value in [*_facts(run), *_least_signal(steps)]:
        _print_wrapped(name, value)
    click.echo(f"{click.style('state:', bold=True)} {styled(run.state)}")
    if queue:
        _print_wrapped("queue", queue)
    if run.failure:
        step = f", step {run.failure.step}" if run.failure.step else ""
        _print_wrapped("error", f"{run.failure.message} ({run.failure.code}{step})", "red")
        if run.failure.hint:
            _print_wrapped("hint", run.failure.hint)
    print_steps(session, run, steps)
    _print_section("warnings", [line for one in steps for line in _warnings(one)])
    _print_section("injected", [line for step in steps for line in _injected(step)])
    _print_section("delegated", [line for one in family.children for line in _tree(one)])
    _print_section("checkpoints", [_checkpoint(checkpoint) for checkpoint in checkpoints])


def _facts(run: RunRecord) -> list[tuple[str, str]]:
    facts = [("run", run.run_id), ("agent", run.agent_id), ("task", run.task)]
    asked = run.request
    if asked.get("input") is not None:
        facts.append(("input", json.dumps(asked["input"], ensure_ascii=False)[:_LONGEST_OUTPUT]))
    facts += [(key, str(asked[key])) for key in ("model", "execution") if asked.get(key)]
    took = duration(run_seconds(run))
    facts.append(("began", moment(run.created) + (f", took {took}" if took else "")))
    if run.parent_run:
        facts.append(("delegated by", f"step {run.parent_step} of {run.parent_run}"))
    if run.forked_from:
        facts.append(("forked from", run.forked_from))
    used = usage_in_words(run.usage)
    return [*facts, ("used", used)] if used else facts


def _least_signal(steps: Sequence[StepRecord]) -> list[tuple[str, str]]:
    found = {_input(step)["minSignal"] for step in steps if "minSignal" in _input(step)}
    signals = ", ".join(f"{least:g}" for least in sorted(found))
    return [("least signal", f"{signals} (abilities.minSignal)")] if signals else []


def usage_in_words(usage: Usage) -> str:
    """`1,000 tokens in, 204 out, 3 requests, 5 tool calls, $0.0123`"""
    facts = [
        f"{counted(usage.input_tokens, 'token')} in, {usage.output_tokens:,} out"
        if usage.tokens
        else "",
        counted(usage.requests, "request") if usage.requests else "",
        counted(usage.tool_calls, "tool call") if usage.tool_calls else "",
        cost(usage),
    ]
    return ", ".join(filter(None, facts))


def print_steps(session: Session, run: RunRecord, steps: Sequence[StepRecord]) -> None:
    """Without empty columns on a terminal."""
    if steps:
        click.echo()
    columns = ["step", "state", "tries", "took", "tokens", "cost", "error"]
    rows = [_step_cells(run, step) for step in steps]
    if sys.stdout.isatty():
        kept = [at for at, _ in enumerate(columns) if any(row[at] for row in rows)]
        columns, rows = [columns[at] for at in kept], [[row[at] for at in kept] for row in rows]
    session.print_table(columns, rows)


def _step_cells(run: RunRecord, step: StepRecord) -> list[str]:
    return [
        step.id,
        _step_state(run, step),
        str(step.attempts or ""),
        _step_took(step),
        f"{step.usage.tokens:,}" if step.usage.tokens else "",
        cost(step.usage),
        f"{step.failure.code}: {step.failure.message}" if step.failure else "",
    ]


def _step_state(run: RunRecord, step: StepRecord) -> str:
    """A step that was running when the process of its run ended is interrupted."""
    return "interrupted" if step.state == "running" and run.state != "running" else step.state


def _step_took(step: StepRecord) -> str:
    if step.duration_ms is None or step.state == "skipped":
        return ""
    return duration(step.duration_ms / 1e3)


def print_outputs(run: RunRecord, steps: Sequence[StepRecord]) -> None:
    for number, one in enumerate(steps):
        parts = _step_state(run, one), _step_took(one), tokens(one.usage)
        facts = ", ".join(filter(None, parts))
        head = f"{click.style(one_line(one.id), bold=True)} ({facts})"
        click.echo(f"\n{head}" if number else head)
        if one.failure:
            click.echo(f"  {one_line(f'{one.failure.message} ({one.failure.code})')}")
        for line in bounded(output_text(one.output)).splitlines():
            click.echo(f"  {line}".rstrip())


def _print_section(title: str, lines: Sequence[str]) -> None:
    if lines:
        click.echo(f"\n{click.style(title, bold=True)}")
        for line in lines:
            click.echo(line)


def _input(step: StepRecord) -> Mapping[str, Any]:
    return step.input if isinstance(step.input, Mapping) else {}


def _warnings(step: StepRecord) -> list[str]:
    """`number: core ability 'x' is off … (ABILITY_CORE_KEPT)`"""
    found = _input(step).get("warnings") or ()
    return [line for one in found for line in _lines(f"{step.id}: {warning_in_words(one)}")]


def warning_in_words(warning: Mapping[str, Any]) -> str:
    return f"{warning['message']} ({warning['code']})"


def _injected(step: StepRecord) -> list[str]:
    """`number: abilities a, b; providers x; report 2026…`"""
    handed = _input(step)
    facts = []
    for key in ("abilities", "cards", "providers"):
        if handed.get(key):
            facts.append(f"{key} {', '.join(map(str, handed[key]))}")
    for key, words in (("providersLeftOut", "excluded:"), ("report", "report")):
        value = handed.get(key)
        if value:
            facts.append(f"{words} {', '.join(value) if isinstance(value, list) else value}")
    if handed.get("tokens"):
        facts.append(counted(handed["tokens"], "token"))
    return _lines(f"{step.id}: {'; '.join(facts)}") if facts else []


def _tree(family: Family) -> list[str]:
    """`review → reviewer  succeeded  1.2 s  RUN`"""
    run = family.run
    took = duration(run_seconds(run))
    why = f"({run.failure.code})" if run.failure else ""
    facts = "  ".join(filter(None, (styled(run.state), why, took, run.run_id)))
    head = f"{one_line(f'{run.parent_step} → {run.agent_id}')}  {facts}"
    return [head, *branches([_tree(one) for one in family.children])]


def _checkpoint(checkpoint: Checkpoint) -> str:
    at = moment(datetime.fromisoformat(checkpoint.created_at).timestamp())
    return one_line(f"{checkpoint.checkpoint_id}  after {checkpoint.completed_step_id}, {at}")
