"""The logs of hooks: their decisions, verdicts on these, the kill switch, failed refreshes.

`decisions.jsonl` has a decision or a verdict in each line; hooks rename a large file to
`decisions.1.jsonl`.
"""

import json
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from datetime import datetime
from functools import partial
from hashlib import blake2b
from typing import Any, BinaryIO, NamedTuple, TypeVar

from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError
from metier.storage.hook_files import DECISIONS, FLAG, LOG, OLDER_DECISIONS, RESUMED, STATE
from metier.storage.room import Room

_Value = TypeVar("_Value")
ReadLines = Callable[[], Iterator[bytes]]
INJECTED = "injected"
"""Every other outcome says why a card or skill was not injected."""
HELD_BACK = ("monitor", "soft")
"""Outcomes of what only the mode kept from being injected."""
SHORTEST_PREFIX = 4
LONGEST_LINE = 1 << 20
"""In bytes."""
LATEST = 253_370_764_800.0
"""The year 9999: earlier times can be printed in any time zone."""
LARGEST_LOG = 1 << 40
"""In effect no limit: hooks rotate the file."""
_MOST_BYTES = 1 << 20
_LARGEST = 10.0**12
_REASON_LENGTH = 1_000
_MOST_COMPARED, _MOST_NAMED = 1_000, 3


class Considered(NamedTuple):
    """A card or skill that was considered for a decision."""

    name: str
    """The id of a card, the handle of a skill."""
    score: float
    outcome: str


class Decision(NamedTuple):
    """What a hook did for one request."""

    id: str
    at: float
    """Seconds since 1970."""
    host: str
    event: str
    mode: str
    scorer: str
    arm: str
    """`A` or `B` when two scorers are compared, else empty."""
    cards: tuple[Considered, ...]
    skills: tuple[Considered, ...]
    tokens: int
    injected: bool
    milliseconds: float
    error: str

    def to_json(self) -> dict[str, Any]:
        return {
            **self._asdict(),
            "cards": [card._asdict() for card in self.cards],
            "skills": [skill._asdict() for skill in self.skills],
        }


class DecisionRow(NamedTuple):
    """A line of the log: a decision, or a verdict on a decision."""

    id: str
    at: float
    line: str


class _Label(NamedTuple):
    decision: str
    right: bool
    at: float


class Decisions:
    """Decisions, oldest first. Each iteration reads the log again."""

    def __init__(self, lines: ReadLines, labels: Mapping[str, bool]) -> None:
        self.labels = labels
        """Decision id → whether a person found it right; the last verdict counts."""
        self._lines = lines
        self._skipped: int | None = None

    def __iter__(self) -> Iterator[Decision]:
        skipped = 0
        for entry in _entries(self._lines):
            if entry is None:
                skipped += 1
            elif isinstance(entry, Decision):
                yield entry
        self._skipped = skipped

    @property
    def skipped(self) -> int:
        """How many lines were invalid when the log was last read."""
        if self._skipped is None:
            deque(self, maxlen=0)
        return self._skipped or 0


def read_decisions(room: Room) -> Decisions:
    """The log of a workspace; invalid lines are counted. Raises `OSError`."""
    return decisions_of(partial(_lines, room))


def decisions_of(lines: ReadLines) -> Decisions:
    """The decisions and verdicts in the lines of a log, which are read again each time."""
    entries = _entries(lines, holding=b'"label"')
    labels = {entry.decision: entry.right for entry in entries if isinstance(entry, _Label)}
    return Decisions(lines, labels)


def label(
    room: Room, decision_id: str, right: bool, *, now: Callable[[], float] = time.time
) -> str:
    """Record a verdict on a decision, by id or prefix; its full id. Raises `NotFoundError`."""
    found = _find(room, decision_id)
    entry = {"label": found, "right": right, "at": round(now(), 3)}
    room.append(DECISIONS, f"{json.dumps(entry)}\n".encode(), LARGEST_LOG, mend=True)
    return found


def kill_switch(room: Room) -> str:
    """Why hooks inject nothing, whatever their settings; empty while the switch is off."""
    if not room.has(FLAG):
        return ""
    try:
        text = room.read(FLAG).decode(errors="replace")
    except OSError:
        text = ""
    reason = text.partition("\n")[0][:_REASON_LENGTH].strip()
    return reason or "no reason is given"


def killed_since(room: Room) -> float | None:
    """When the kill switch was turned on, in seconds since 1970; None while it is off."""
    info = room.info(FLAG)
    return info.st_mtime if info is not None else None


class Failure(NamedTuple):
    at: float
    """Seconds since 1970."""
    what: str


def failed_refresh(room: Room, catalog: Room | None = None) -> Failure | None:
    """The last failed refresh for hooks, unless another has succeeded since."""
    info = (catalog or room).info(STATE)
    refreshed = int(info.st_mtime) if info is not None else 0  # the log has whole seconds
    for who, failure in _logged(room):
        if who == "refresh":
            return failure if failure.at >= refreshed else None
    return None


def failures(room: Room) -> dict[tuple[str, int], str]:
    """Host and second → what went wrong then, as the log of hooks has it."""
    return {(who, int(failure.at)): failure.what for who, failure in _logged(room)}


def why_failed(decision: Decision, known: Mapping[tuple[str, int], str]) -> str:
    """The reason among the `failures`, or else only the type of the error."""
    second = int(decision.at)  # the row is written after the line of the log
    for at in (second, second - 1):
        what = known.get((decision.host, at), "")
        if what.startswith(f"{decision.error}: "):
            return what
    return decision.error


def _logged(room: Room) -> Iterator[tuple[str, Failure]]:
    """Who logged what, the latest first."""
    try:
        lines = room.tail(LOG, _MOST_BYTES)[0].decode(errors="replace").splitlines()
    except OSError:
        return
    for line in reversed(lines):
        when, _, text = line.partition(" ")
        who, _, what = text.partition(": ")
        with suppress(ValueError, OverflowError, OSError):
            yield who, Failure(datetime.fromisoformat(when).timestamp(), what)


def resume(room: Room) -> None:
    """Turn the kill switch off. Raises `OSError`."""
    room.write(RESUMED, b"")
    with suppress(FileNotFoundError):
        room.remove(FLAG)


# Reading


def _entries(lines: ReadLines, holding: bytes = b"") -> Iterator[Decision | _Label | None]:
    """Each line that holds a text, parsed, oldest first; None if it is invalid."""
    for line in lines():
        if holding not in line or line.isspace():
            continue
        yield _entry(line)


def _lines(room: Room) -> Iterator[bytes]:
    """The lines of both files, each once even if they rotate meanwhile."""
    with ExitStack() as stack:
        newer = _open(room, DECISIONS, stack)  # first: it may be renamed
        older = _open(room, OLDER_DECISIONS, stack)
        if newer and older and os.path.sameopenfile(newer.fileno(), older.fileno()):
            older = None
        for file in (older, newer):
            if file:
                yield from _bounded_lines(file)


def _open(room: Room, name: str, stack: ExitStack) -> BinaryIO | None:
    try:
        return stack.enter_context(open(room.open(name, os.O_RDONLY), "rb"))
    except FileNotFoundError:
        return None


def _bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; a NUL in place of a line that is too long."""
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                line = file.readline(LONGEST_LINE)
            line = b"\0"
        yield line


def parse_line(line: bytes) -> str:
    """The identity of a decision or verdict; empty for a line that is neither."""
    entry = _entry(line)
    if entry is None:
        return ""
    return entry.id if isinstance(entry, Decision) else f"label {line.decode()}"


def row_of(line: bytes) -> DecisionRow | None:
    """A line as it is stored once in shared state; None if it cannot be."""
    entry = _entry(line)
    if entry is None:
        return None
    text = line.decode().strip()
    if isinstance(entry, Decision):
        key = entry.id
    else:
        key = f"label {blake2b(text.encode(), digest_size=16).hexdigest()}"
    return DecisionRow(key, entry.at, text) if key.isprintable() else None


def decision_rows(room: Room) -> Iterator[DecisionRow]:
    """Each valid line of a log, once. Raises `OSError`."""
    known = set()
    for line in _lines(room):
        row = row_of(line)
        if row is not None and row.id not in known:
            known.add(row.id)
            yield row


def last_answers(rooms: Iterable[Room]) -> dict[str, float]:
    """When the hook of each host last answered, from the ends of the logs."""
    found: dict[str, float] = {}
    for room in rooms:
        with suppress(OSError):
            tail, _ = room.tail(DECISIONS, _MOST_BYTES)
            for line in tail.split(b"\n"):
                entry = _entry(line)
                if isinstance(entry, Decision) and entry.mode != "failed":
                    found[entry.host] = max(entry.at, found.get(entry.host, 0.0))
    return found


def _entry(line: bytes) -> Decision | _Label | None:
    try:
        return _parse(line)
    except (ValueError, TypeError, LookupError, RecursionError):
        return None


def _parse(line: bytes) -> Decision | _Label:
    """A parsed line. Raises one of several errors if it is invalid."""
    data = json.loads(line.decode())
    if "label" in data:
        decision, right = _name(data["label"]), _truth(data["right"])
        return _Label(decision, right, _number(data.get("at", 0), 0, LATEST))
    return Decision(
        id=_name(data["id"]),
        at=_number(data["at"], 0, LATEST),
        host=_name(data["host"]),
        event=_text(data.get("event", "")),
        mode=_name(data["mode"]),
        scorer=_text(data.get("scorer", "")),
        arm=_text(data.get("arm", "")),
        cards=_considered(data["cards"], score=1, outcome=3),
        skills=_considered(data["skills"], score=2, outcome=3),
        tokens=_count(data["tokens"]),
        injected=_truth(data["injected"]),
        milliseconds=_number(data["milliseconds"], 0, _LARGEST),
        error=_text(data.get("error", "")),
    )


def _considered(rows: Any, *, score: int, outcome: int) -> tuple[Considered, ...]:
    """A card is `[id, score, threshold, outcome, …]`; a skill `[handle, path, score, outcome]`."""
    if not isinstance(rows, list):
        raise TypeError
    return tuple(
        Considered(_name(row[0]), _number(row[score], -_LARGEST, _LARGEST), _name(row[outcome]))
        for row in rows
    )


def _text(value: str) -> str:
    return _checked(value, isinstance(value, str))


def _name(value: str) -> str:
    return _checked(value, isinstance(value, str) and bool(value))


def _truth(value: bool) -> bool:
    return _checked(value, isinstance(value, bool))


def _number(value: float, least: float, most: float) -> float:
    is_one = type(value) in (int, float) and least <= value <= most  # NaN is not
    return float(_checked(value, is_one))


def _count(value: int) -> int:
    return _checked(value, type(value) is int and 0 <= value <= _LARGEST)


def _checked(value: _Value, is_right: bool) -> _Value:
    if not is_right:
        raise TypeError
    return value


# Verdicts


def _find(room: Room, wanted: str) -> str:
    """The id that is `wanted`, or the only id with that prefix. Raises `NotFoundError`."""
    recent: deque[str] = deque(maxlen=_MOST_COMPARED)
    beginning: dict[str, None] = {}
    for entry in _entries(partial(_lines, room)):
        if not isinstance(entry, Decision):
            continue
        if entry.id == wanted:
            return wanted
        if len(wanted) >= SHORTEST_PREFIX and entry.id.startswith(wanted):
            beginning[entry.id] = None
        recent.append(entry.id)
    if len(beginning) == 1:
        return next(iter(beginning))
    if beginning:
        raise NotFoundError(
            f"{len(beginning):,} decisions begin with '{wanted}'", hint=_latest(list(beginning))
        )
    raise NotFoundError(
        f"no decision is called '{wanted}'",
        where=room.file(DECISIONS),
        hint=did_you_mean(wanted, recent, _latest(list(recent))),
    )


def _latest(ids: list[str]) -> str:
    if not ids:
        return "metier hook install HOST"
    return f"the latest: {', '.join(reversed(ids[-_MOST_NAMED:]))}"
