"""The measurements: each yields rows, for every peer that can do it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from benchmarks.peers.inputs import GOOD, Input, bad_workspaces
from benchmarks.peers.processes import Done, Failed, Outcome, Tool
from benchmarks.peers.protocol import Runs
from benchmarks.peers.report import Row
from benchmarks.quality.metrics import hit, ndcg

RUNS, STEPS = 20, 10
KILLED_STEPS, KILLS = 100, 3
_FAILURE = "failure.txt"


class Measuring:
    """Measures tools below a folder; runs are stored in one on a disk."""

    def __init__(self, tools: Sequence[Tool], scratch: Path, rounds: int, disk: Path) -> None:
        self._tools = tools
        self._scratch = scratch
        self._rounds = rounds
        self._disk = disk

    def index(self, given: Input) -> Iterator[Row]:
        """Once with empty state, then again with nothing changed."""
        tools = [tool for tool in self._tools if tool.peer.index]
        first = self._rounds_of(tools, lambda tool: self._index(tool, given, self._new()))
        yield from self._rows(f"index {given.size:,} skills", first, _skills_cell)
        kept = [tool for tool in tools if tool.peer.keeps_index]
        states = self._indexed(kept, given)
        again = self._rounds_of(kept, lambda tool: self._index(tool, given, states[tool.peer.name]))
        yield from self._rows("index again, nothing changed", again, _skills_cell)

    def search(self, given: Input) -> Iterator[Row]:
        """Time and memory of one answer, on the skills of `index`."""
        tools = [tool for tool in self._tools if tool.peer.search]
        states = self._indexed(tools, given)
        found = self._rounds_of(
            tools, lambda tool: self._search(tool, given, states[tool.peer.name])
        )
        yield from self._rows(
            f"search {given.size:,} skills, {len(given.tasks)} tasks",
            found,
            lambda result: {"nDCG@10 / hit@1": quality(result["answers"], given)},
            inner=True,
        )

    def quality(self, sets: Sequence[Input]) -> Iterator[Row]:
        """How well public sets are ranked; measured once, it is the same every time."""
        for tool in self._tools:
            if tool.peer.search and sets:
                cells = {one.name: self._quality(tool, one) for one in sets}
                yield self._row("ranking of public sets", tool, cells)

    def _quality(self, tool: Tool, given: Input) -> str:
        states = self._indexed([tool], given)
        outcome = self._search(tool, given, states[tool.peer.name])
        if isinstance(outcome, Failed):
            return f"fails: {outcome.reason}"
        return quality(outcome.result["answers"], given)

    def lint(self, given: Input) -> Iterator[Row]:
        tools = [tool for tool in self._tools if tool.peer.lint]
        done = self._rounds_of(tools, lambda tool: tool.lint(given.skills))
        yield from self._rows(
            f"lint {given.size:,} skills",
            done,
            lambda linted: {"files": f"{linted.skills:,}", "findings": f"{linted.findings:,}"},
        )

    def steps(self) -> Iterator[Row]:
        yield from self._steps("after", f"a step, {RUNS} runs of {STEPS} one after the other")
        yield from self._steps("together", f"a step, {RUNS} runs of {STEPS} at a time")

    def _steps(self, mode: str, what: str) -> Iterator[Row]:
        tools = [tool for tool in self._tools if tool.peer.runs]
        done = self._rounds_of(
            tools, lambda tool: tool.work("steps", mkdtemp(dir=self._disk), RUNS, STEPS, mode)
        )
        yield from self._rows(what, done, lambda _result: {}, inner=True)

    def kills(self) -> Iterator[Row]:
        for tool in self._tools:
            if tool.peer.runs:
                counts: Counter[str] = sum((self._killed(tool) for _ in range(KILLS)), Counter())
                cells = _kill_cells(counts, tool.peer.runs)
                yield self._row(
                    f"kill -9 in a run of {KILLED_STEPS} steps, {KILLS} times", tool, cells
                )

    def bad_files(self) -> Iterator[Row]:
        """Whether one bad file hides the others."""
        spaces = dict(bad_workspaces(self._new()))
        for tool in self._tools:
            if tool.peer.index:
                made = {kind: tool.work("index", at, self._new()) for kind, at in spaces.items()}
                cells = _bad_cells(made, lambda count: f"{count}")
                yield self._row(f"index {GOOD} good skills and a bad one", tool, cells)
        for tool in self._tools:
            if tool.peer.lint:
                linted = {kind: tool.lint(at) for kind, at in spaces.items()}
                cells = _bad_cells(linted, lambda done: f"{done.skills}")
                yield self._row(f"lint {GOOD} good skills and a bad one", tool, cells)

    def _killed(self, tool: Tool) -> Counter[str]:
        """Kill a run half-way and resume it: what was finished, repeated and lost."""
        state = Path(mkdtemp(dir=self._disk))
        side = state / "side.txt"

        def is_half_way() -> bool:
            return side.exists() and side.read_text().count("end ") >= KILLED_STEPS // 2

        tool.kill("start", state, KILLED_STEPS, when=is_half_way)
        before = side.read_text() if side.exists() else ""
        outcome = tool.work("resume", state, KILLED_STEPS)
        after = side.read_text().removeprefix(before) if side.exists() else ""
        return kill_counts(before, after, failed=isinstance(outcome, Failed))

    def _indexed(self, tools: Sequence[Tool], given: Input) -> dict[str, Path]:
        """The folders in which each tool has indexed the skills, or has failed to."""
        states = {tool.peer.name: self._new() for tool in tools}
        for tool in tools:
            outcome = self._index(tool, given, states[tool.peer.name])
            if isinstance(outcome, Failed):
                (states[tool.peer.name] / _FAILURE).write_text(outcome.reason)
        return states

    def _index(self, tool: Tool, given: Input, state: Path) -> Outcome:
        return tool.work("index", given.skills, state)

    def _search(self, tool: Tool, given: Input, state: Path) -> Outcome:
        if (state / _FAILURE).exists():
            return Failed((state / _FAILURE).read_text())
        tasks = state / "tasks.json"
        tasks.write_text(json.dumps([task.text for task in given.tasks]))
        return tool.work("search", given.skills, state, tasks)

    def _new(self) -> Path:
        return Path(mkdtemp(dir=self._scratch))

    def _rounds_of(
        self, tools: Sequence[Tool], call: Callable[[Tool], Outcome]
    ) -> list[tuple[Tool, list[Outcome]]]:
        """The tools take turns; what else the machine does then disturbs none more than another."""
        turns = [[call(tool) for tool in tools] for _ in range(self._rounds)]
        return [(tool, [turn[place] for turn in turns]) for place, tool in enumerate(tools)]

    def _row(self, what: str, tool: Tool, cells: Mapping[str, str]) -> Row:
        return Row(what, tool.peer.name, tool.environment.version, cells)

    def _rows(
        self,
        what: str,
        outcomes: Sequence[tuple[Tool, list[Outcome]]],
        cells: Callable[[Any], Mapping[str, str]],
        *,
        inner: bool = False,
    ) -> Iterator[Row]:
        """`inner`: the worker measured the times itself, without start and loading."""
        for tool, rounds in outcomes:
            done = [one for one in rounds if isinstance(one, Done)]
            failed = [one for one in rounds if isinstance(one, Failed)]
            if failed:
                yield self._row(what, tool, {"failure": failed[0].reason})
                continue
            times = [_times(one, inner=inner) for one in done]
            yield self._row(what, tool, cells(done[-1].result))._replace(
                wall=min(wall for wall, _ in times),
                cpu=min(cpu for _, cpu in times),
                memory=min(one.cost.memory for one in done),
            )


def quality(answers: Sequence[Sequence[str]], given: Input) -> str:
    """nDCG@10 and hit@1 over the tasks, in percent."""
    pairs = list(zip(answers, given.tasks, strict=True))
    gain = sum(ndcg(found, task.relevant) for found, task in pairs) / len(pairs)
    hits = sum(hit(found, task.relevant) for found, task in pairs) / len(pairs)
    return f"{gain * 100:.1f} / {hits * 100:.1f}"


def _skills_cell(count: int) -> dict[str, str]:
    return {"skills": f"{count:,}"}


def _times(done: Done, *, inner: bool) -> tuple[float, float]:
    if inner:
        return done.result["wall"], done.result["cpu"]
    return done.cost.wall, done.cost.cpu


def _bad_cells(outcomes: Mapping[str, Outcome], text: Callable[[Any], str]) -> dict[str, str]:
    """A cell for each kind of bad file, and the first failure."""
    cells = {
        kind: "fails" if isinstance(one, Failed) else text(one.result)
        for kind, one in outcomes.items()
    }
    failed = [one.reason for one in outcomes.values() if isinstance(one, Failed)]
    return {**cells, "failure": failed[0]} if failed else cells


def _kill_cells(counts: Counter[str], runs: Runs) -> dict[str, str]:
    cells = {
        "finished steps that ran again": f"{counts['repeated']} of {counts['finished']}",
        "steps lost": f"{counts['lost']}",
        "resumed by": runs.resumed_by,
    }
    if counts["failed"]:
        cells["failure"] = f"could not resume, {counts['failed']} of {KILLS} times"
    return cells


def kill_counts(before: str, after: str, *, failed: bool) -> Counter[str]:
    """From what steps wrote before a kill and after it: what was finished, repeated and lost."""
    finished = _ends(before)
    return Counter(
        finished=len(finished),
        repeated=len(finished & _ends(after)),
        lost=KILLED_STEPS - len(finished | _ends(after)),
        failed=int(failed),
    )


def _ends(side: str) -> set[str]:
    return {line for line in side.splitlines() if line.startswith("end ")}
