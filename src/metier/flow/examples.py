"""The examples that teach: those of documents, of training cases, and those that users record.

Light: a refresh with nothing to learn imports no more than this.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metier.config import Config
from metier.errors import StoreError
from metier.index.store import Store
from metier.storage.room import Room
from metier.storage.workspace import TAUGHT_BY
from metier.values.examples import Example
from metier.values.files import Kind

if TYPE_CHECKING:  # slow to import, and few workspaces have evaluation files
    from metier.values.evals import EvalCase

RECORDED = "examples.v1.jsonl"
MOST_RECORDED = 1_000
LONGEST_TASK = 2_000
LARGEST = 4_000_000
CASES_FOLDER = "evals"
CASE_FILES = (".json", ".jsonl", ".yaml", ".yml")
MOST_CASE_FILES = 200
MOST_TRAINING = 2_000
KINDS: tuple[Kind, ...] = ("skill", "agent")


class ExampleFile:
    """The recorded examples of one workspace, in the user's state folder."""

    def __init__(self, room: Room) -> None:
        self._room = room

    def examples(self) -> list[Example]:
        """Those that can be read, oldest first."""
        try:
            lines = self._room.read(RECORDED, LARGEST).splitlines()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._error(error) from None
        return [one for one in map(_parsed, lines) if one is not None][-MOST_RECORDED:]

    def record(self, example: Example) -> None:
        """Add an example; beyond the most, the oldest go. Raises `StoreError`."""
        known = [one for one in self.examples() if one.id != example.id]
        self._write([*known, example][-MOST_RECORDED:])

    def remove(self, ids: Iterable[str]) -> int:
        """Remove examples by their ids; how many there were. Raises `StoreError`."""
        gone, known = frozenset(ids), self.examples()
        kept = [one for one in known if one.id not in gone]
        if len(kept) < len(known):
            self._write(kept)
        return len(known) - len(kept)

    def _write(self, examples: Sequence[Example]) -> None:
        lines = [json.dumps(_row(one), ensure_ascii=False) for one in examples]
        try:
            self._room.write(RECORDED, "".join(f"{line}\n" for line in lines).encode())
        except OSError as error:
            raise self._error(error) from None

    def _error(self, error: OSError) -> StoreError:
        return StoreError(
            f"the recorded examples cannot be used: {error.strerror}", where=self._room.path
        )


def recorded(kind: Kind, name: str, task: str, *, is_for: bool) -> Example:
    """An example to record."""
    text = task.encode(errors="replace").decode()
    return Example(kind, name, " ".join(text.split())[:LONGEST_TASK], is_for, "recorded")


def _row(example: Example) -> dict[str, Any]:
    return {"kind": example.kind, "name": example.name, "task": example.task, "for": example.is_for}


def _parsed(line: bytes) -> Example | None:
    try:
        row = json.loads(line)
        kind, name, task, is_for = row["kind"], row["name"], row["task"], row["for"]
    except (ValueError, TypeError, KeyError):
        return None
    texts = isinstance(name, str) and isinstance(task, str) and isinstance(is_for, bool)
    return Example(kind, name, task, is_for, "recorded") if texts and kind in KINDS else None


def _of_case(case: "EvalCase") -> Iterator[Example]:
    for name in case.skills:
        yield Example("skill", name, case.task, True, case.file)
    for name in case.not_skills or ([""] if case.nothing else []):
        yield Example("skill", name, case.task, False, case.file)
    for name in case.agents:
        yield Example("agent", name, case.task, True, case.file)


class Examples:
    """All examples of a catalog, and what is learnt from them."""

    def __init__(self, store: Store, room: Room | None, workspace: str, config: Config) -> None:
        self._store = store
        self._workspace = workspace
        self._config = config
        self._room = room if config.is_trusted else None
        """Nothing of an untrusted workspace teaches."""

    def learn(self) -> None:
        """Learn again from examples that have changed; quick if none has."""
        state = self.state()
        if self._store.setting(TAUGHT_BY) == state:
            return
        from metier.index.learned import learn  # loads the word table

        taught = self.taught()
        for kind in KINDS:
            is_wanted = kind == "skill" or self._config.agent_scorer == "learned"
            learn(self._store, kind, [one for one in taught if one.kind == kind], is_wanted)
        self._store.remember(TAUGHT_BY, state)

    def state(self) -> str:
        """Changes with the recorded examples, the files of cases and the settings."""
        files = [os.stat(path) for path in self._case_files()]
        if self._room is not None and (info := self._room.info(RECORDED)):
            files.append(info)
        state = " ".join(f"{info.st_mtime_ns}-{info.st_size}" for info in files)
        scorer = self._config.agent_scorer
        return f"{scorer} {state}" if state or scorer != "spec" else ""

    def _case_files(self) -> list[str]:
        """The evaluation files in the workspace's own folder of them."""
        if self._room is None or not self._config.is_workspace:
            return []
        try:
            with os.scandir(os.path.join(self._workspace, CASES_FOLDER)) as entries:
                files = [one.path for one in entries if one.is_file(follow_symlinks=False)]
        except OSError:
            return []
        return sorted(path for path in files if path.endswith(CASE_FILES))[:MOST_CASE_FILES]

    def taught(self) -> list[Example]:
        """The examples from outside the documents."""
        if self._room is None:
            return []
        return [*self._training(), *ExampleFile(self._room).examples()]

    def _training(self) -> list[Example]:
        """The cases that are marked as training."""
        files = self._case_files()
        if not files:
            return []
        from metier.flow.eval_cases import cases_of  # few workspaces have evaluation files

        cases = cases_of(files, self._workspace, lambda _folder: "").cases
        found = [one for case in cases if case.training for one in _of_case(case)]
        return found[:MOST_TRAINING]

    def record(self, kind: Kind, name: str, task: str, *, is_for: bool) -> Example:
        """Record an example and learn from it. Raises `StoreError` if there is nowhere to."""
        example = recorded(kind, name, task, is_for=is_for)
        self._recorded().record(example)
        self.learn()
        return example

    def remove(self, ids: Iterable[str]) -> int:
        """Remove recorded examples by their ids, and learn anew; how many there were."""
        removed = self._recorded().remove(ids)
        self.learn()
        return removed

    def _recorded(self) -> ExampleFile:
        if self._room is None:
            raise StoreError(
                "examples are recorded in trusted workspaces only", where=self._workspace
            )
        return ExampleFile(self._room)

    def all(self) -> list[Example]:
        """Every example, those of documents first."""
        rows = self._store.rows(
            "SELECT kind, handle, text FROM example JOIN document USING (key)"
            " WHERE state = 'active' AND origin != 'untrusted' ORDER BY kind DESC, handle, place"
        )
        own = [Example(kind, name, text, True, "front matter") for kind, name, text in rows]
        return own + self.taught()

    def agent_chances(self, task: str) -> Mapping[str, float]:
        """Agent → chance by its example tasks; empty unless the settings want it."""
        if self._config.agent_scorer != "learned":
            return {}
        from metier.core.ranking import Task
        from metier.index.pools import pool_of

        chances = pool_of(self._store, "agent").chances(Task(task))
        rows = self._store.rows("SELECT key, handle FROM document WHERE kind = 'agent'")
        return {handle: chances[key] for key, handle in rows if key in chances}
