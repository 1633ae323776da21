"""Rows of figures as a table for the terminal, as JSON and as a page."""

import re
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from benchmarks.peers.known import METIER, PEERS
from benchmarks.quality.report import aligned, markdown

_TIMES = ("wall", "CPU", "memory", "× metier")
_SCORES = re.compile(r"[\d.]+ / [\d.]+")
"""A cell with two scores, of which more is better."""
_LESS = 0.99
"""What needs this share of metier's figure, or more, needs as much."""


class Row(NamedTuple):
    """One measurement of one tool."""

    what: str
    tool: str
    version: str
    cells: Mapping[str, str]
    """Other results, by the name of their column; `failure` says why there are no figures."""
    wall: float | None = None
    """Seconds."""
    cpu: float | None = None
    """Seconds, user and system."""
    memory: float | None = None
    """Megabytes at the peak."""


class Context(NamedTuple):
    """What a run was made with."""

    date: str
    python: str
    sqlite: str
    system: str
    skills: str
    rounds: int
    is_busy: bool


def ratio(row: Row, rows: Sequence[Row]) -> float | None:
    """The CPU time as a multiple of metier's in the same measurement."""
    own = next((one.cpu for one in rows if (one.what, one.tool) == (row.what, METIER.name)), None)
    return row.cpu / own if row.cpu is not None and own else None


def as_json(rows: Sequence[Row], context: Context) -> dict[str, Any]:
    made = [{**row._asdict(), "cells": dict(row.cells), "ratio": ratio(row, rows)} for row in rows]
    return {"context": context._asdict(), "rows": made}


def terminal(rows: Sequence[Row], context: Context) -> str:
    """What the run was made with, its table, and what the others do better."""
    return "\n\n".join([_run(context), terminal_table(rows), better(rows)])


def terminal_table(rows: Sequence[Row]) -> str:
    """One table, with a heading for each measurement."""
    parts = []
    for what, group in groupby(rows, key=lambda row: row.what):
        lines = aligned(_table(list(group), rows)).splitlines()
        parts.append("\n".join([what, *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts)


def _table(group: Sequence[Row], rows: Sequence[Row]) -> list[list[str]]:
    """A heading and a line for each row; columns that no row fills are left out."""
    named = list(dict.fromkeys(name for row in group for name in row.cells))
    named.sort(key=lambda name: name == "failure")
    table = [["tool", *_TIMES, *named]]
    for row in group:
        tool = f"{row.tool} {row.version}".strip()
        table.append([tool, *_times(row, rows), *(row.cells.get(name, "") for name in named)])
    kept = [place for place in range(len(table[0])) if any(line[place] for line in table[1:])]
    return [[line[place] for place in kept] for line in table]


def _times(row: Row, rows: Sequence[Row]) -> list[str]:
    times = ratio(row, rows)
    return [
        _seconds(row.wall),
        _seconds(row.cpu),
        "" if row.memory is None else f"{row.memory:.0f} MB",
        "" if times is None else f"{times:.2g}" if times < 10 else f"{times:.0f}",
    ]


def _seconds(value: float | None) -> str:
    if value is None:
        return ""
    if value >= 1:
        return f"{value:.2f} s"
    return f"{value * 1e3:.1f} ms" if value >= 1e-3 else f"{value * 1e6:.0f} µs"


def page(rows: Sequence[Row], context: Context) -> str:
    """The comparison as a page, with what the others do better and what was not measured."""
    parts = [
        _opening(context),
        *_tables(rows),
        _BETTER,
        better(rows),
        _strengths(),
        _NOT_MEASURED,
    ]
    return "\n\n".join(parts) + "\n"


def _opening(context: Context) -> str:
    return _OPENING.format(run=_run(context))


def _run(context: Context) -> str:
    run = textwrap.fill(
        f"One run on {context.date}: Python {context.python}, SQLite {context.sqlite}, "
        f"{context.system}; {context.skills}; the least of {context.rounds} rounds.",
        100,
    )
    busy = ["The machine was busy with other work when the run began."] if context.is_busy else []
    alike = [_SYNTHETIC] if "synthetic" in context.skills else []
    return "\n".join([run, *busy, *alike])


def _tables(rows: Sequence[Row]) -> Iterator[str]:
    noted = {""}
    for what, group in groupby(rows, key=lambda row: row.what):
        cells = _table(list(group), rows)
        table = markdown([[cell.replace("|", r"\|") for cell in line] for line in cells])
        note = _note(what)
        yield "\n\n".join([f"## {what[0].upper()}{what[1:]}", *({note} - noted), table])
        noted.add(note)


def _note(what: str) -> str:
    return next((text for start, text in _NOTES.items() if what.startswith(start)), "")


def better(rows: Sequence[Row]) -> str:
    """Where a tool needs less than metier or ranks better, from the figures of the run."""
    own = {row.what: row for row in rows if row.tool == METIER.name}
    found = [(row, _advantages(row, own[row.what])) for row in rows if row.what in own]
    lines = [f"- {row.tool}, {row.what}: {', '.join(said)}" for row, said in found if said]
    return "\n".join(["Measured above, against metier:", "", *(lines or ["- nothing"])])


def _advantages(row: Row, own: Row) -> list[str]:
    costs = {
        "CPU time": (row.cpu, own.cpu),
        "wall time": (row.wall, own.wall),
        "memory": (row.memory, own.memory),
    }
    said = [
        f"{theirs / ours:.2g} × the {name}"
        for name, (theirs, ours) in costs.items()
        if theirs is not None and ours and theirs < _LESS * ours
    ]
    return said + [
        f"{name} {cell} against {own.cells[name]}"
        for name, cell in row.cells.items()
        if _SCORES.fullmatch(cell) and _first(cell) > _first(own.cells.get(name, ""))
    ]


def _first(scores: str) -> float:
    return float(scores.partition(" / ")[0]) if _SCORES.fullmatch(scores) else float("inf")


def _strengths() -> str:
    return "From their documentation, not measured:\n\n" + "\n".join(
        f"- **{peer.name}** ({peer.about}): {' '.join(peer.strengths)}"
        for peer in PEERS.values()
        if peer.strengths
    )


_SYNTHETIC = """\
Synthetic skills share most of their words, so rankings among them say little about any tool: set
METIER_CORPUS to a folder of real ones."""
_OPENING = """\
# Comparison

metier beside tools that do one part of what it does, on the same input in one run.
`make bench-peers` installs them into environments of their own, with pinned versions, and measures
everything anew; `python -m benchmarks.peers --write docs/comparison.md` writes this page.

{run}

Each operation runs in a fresh process, and the tools take turns. CPU is user plus system time,
memory the peak of the process. "× metier" is the tool's CPU time as a multiple of metier's: it
depends little on the machine, while seconds say what one machine showed once. A figure below 1 is
a tool that needs less than metier."""
_NOTES: Mapping[str, str] = {
    "index again": "Where a second process can use what the first one kept.",
    "index 20 good": """\
How many of the 21 skills are there afterwards: 20 if the bad one is left out and the rest stay.""",
    "index": """\
From the start of the process to an index that can be searched. metier reads bodies too, and leaves
out files without front matter and skills whose name another skill has; fastmcp only lists.""",
    "search": """\
One answer of an open index, the median of all tasks. A task is every second word of a skill's own
description, and that skill is to be found again; its name occurs once. skillport indexes names and
descriptions only; metier also says why each skill fires or not.""",
    "ranking": """\
nDCG@10 / hit@1, in percent, at most 300 tasks a set. metier's weights were chosen with these sets
in view, and a sentence encoder ranks some of them better: [quality](quality.md) has intervals.""",
    "lint 20 good": "How many of the 21 files the linter looked at.",
    "lint": """\
The whole command. More findings are not better ones: the rules differ, and nobody has judged the
findings here.""",
    "a step": """\
A durable step that does nothing, without loading the library and making the store: what the engine
and the disk cost. metier and LangGraph wait for the disk at each step; LangGraph's default, async,
writes while the next step runs. metier records steps of several runs in one commit.""",
    "kill": """\
The process is killed when half of the steps are done, and the run is resumed in a new one. A step
is finished when its effect is there: a kill between the effect and the record makes it run again in
every tool. LangGraph's async mode records in the background: how many steps run again varies widely
with how far the disk is behind.""",
}
_BETTER = "## What the others do better"
_NOT_MEASURED = """\
## What was not measured

- DBOS on PostgreSQL, where it is at home: [benchmarks](benchmarks.md) compare a step there.
- Agents in a real host, with a real model: whether a better ranking makes better answers.
- Whether the findings of a linter are right, and what its repairs do.
- skillport as pip installs it today: with LanceDB 0.30 or newer it has no index of words, and
  searches by substrings only. Here it has LanceDB 0.29.
- skillport with embeddings, LangGraph on PostgreSQL, hosted services of any of them.
- Power failure: a kill ends the process, not the machine.
- Other systems than the one of this run; Windows and macOS in particular."""
