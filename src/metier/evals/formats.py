"""The formats of evaluation files → cases. A bad case never stops the rest.

A file is JSON, JSON Lines or YAML. Rows are read by what they have, not by the name of their
format: the formats in use differ little, and people mix them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from metier.core.names import loose_key
from metier.evals.keys import NO_TASK, is_own, meant, meant_cases, unknown, without_task
from metier.values.evals import CaseProblem, EvalCase

LARGEST_FILE = 8 * 1024 * 1024
MOST_CASES = 20_000
LONGEST_TASK = 20_000
_LONGEST_NAME = 300
_MOST_NAMES = 100
_DEEPEST = 5
_MOST_PROBLEMS = 20
_MOST_SHOWN = 5

LoadYaml = Callable[[str], tuple[Any, Sequence[str]]]
"""The value of a YAML text, and what is wrong with it. Raises `ValueError`."""

_TASK = (
    "task", "query", "q", "prompt", "request", "userrequest", "usermessage", "input", "trigger",
    "intent", "question", "text",
)  # fmt: skip
"""Keys of the task, the best first; all keys without `_` and `-`, in lower case."""
_ROWS = ("cases", "queries", "evals", "testcases", "tests", "triggertests")
"""Keys of lists or tables of rows."""
_UNSAID = "it says neither which skill should fire nor that none should"
_POSITIVE = ("shouldtriggerprompts", "shouldtrigger", "positive")
_NEGATIVE = ("shouldnottriggerprompts", "shouldnottrigger", "negative")
_SKILL = ("skill", "skillname")
_EXPECTED = ("expectedskill", "expectedskills", "expectedprimaryskill", "expectedwinner")
_FIRES = ("shouldtrigger", "should", "shouldfire", "shouldactivate")
_YES = {"true", "yes", "trigger", "should-trigger", "should_trigger", "positive"}
_NO = {
    "false", "no", "no_trigger", "no-trigger", "should-not-trigger", "should_not_trigger",
    "negative",
}  # fmt: skip
_NONE = {"", "none", "null", "nothing"}
_OTHER_KEYS = {*_TASK, *_SKILL, *_EXPECTED, *_FIRES, "expected", "type", "routingexpect"}
_BAD_LINE = object()
"""A line of JSON Lines whose problem is reported already."""


class CaseFile(NamedTuple):
    """What one file holds."""

    cases: list[EvalCase]
    problems: list[CaseProblem]
    notes: Sequence[str] = ()


class NoCasesError(ValueError):
    """The file holds something else."""


def read_cases(raw: bytes, file: str, *, skill: str, load_yaml: LoadYaml) -> CaseFile:
    """The cases of a file; `skill` is the skill beside which it lies, if any.

    Raises `ValueError` if it cannot be read, `NoCasesError` if it holds no cases.
    """
    value, flaws = _value(raw, file, load_yaml)
    reader = _Reader(file)
    reader.problems += [CaseProblem(file, flaw) for flaw in flaws[:_MOST_PROBLEMS]]
    reader.read(value, skill, is_positive=False, depth=0)
    if not reader.cases and not reader.problems and not reader.is_ours:
        raise NoCasesError("it has no cases that say what should fire")
    return CaseFile(reader.cases, [*reader.problems, *reader.grouped_problems()], reader.notes())


def _value(raw: bytes, file: str, load_yaml: LoadYaml) -> tuple[Any, Sequence[str]]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("the file is not UTF-8") from None
    if not text.strip():
        raise NoCasesError("the file is empty")
    if file.lower().endswith((".yaml", ".yml")):
        return load_yaml(text)
    flaws: list[str] = []
    if file.lower().endswith(".jsonl"):
        return list(_lines(text, flaws)), flaws
    try:
        return _json(text, flaws), flaws
    except json.JSONDecodeError as error:
        raise ValueError(f"not valid JSON: {error.msg}, line {error.lineno}") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _lines(text: str, flaws: list[str]) -> Iterator[Any]:
    """The values of JSON Lines, without the lines that are wrong."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            yield _json(line, flaws)
        except (ValueError, RecursionError):
            flaws.append(f"line {number} is not valid JSON")
            yield _BAD_LINE


def _json(text: str, flaws: list[str]) -> Any:
    """A JSON value; of two equal keys the first counts, as in YAML."""

    def table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                flaws.append(f"key '{_short(key)}' appears twice; the first one is used")
            found.setdefault(key, value)
        return found

    return json.loads(text, object_pairs_hook=table)


class _Reader:
    """Collects the cases of one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.count = 0
        """Rows that were seen."""
        self.cases: list[EvalCase] = []
        self.problems: list[CaseProblem] = []
        """Those of the file."""
        self.faults: dict[str, list[int]] = {}
        """What is wrong with cases → their numbers."""
        self.is_ours = False
        """Whether a fault is in what is clearly a case."""
        self._within = ""
        """The key of the list that is read."""
        self._unknown: dict[str, int] = {}
        """Keys that mean nothing → in how many cases."""

    def read(self, value: Any, skill: str, *, is_positive: bool, depth: int) -> None:
        """Read rows; `is_positive` if a row without a word on it means that the skill fires."""
        if isinstance(value, list):
            for row in value:
                before = self.count
                if isinstance(row, dict):
                    self._table(row, skill, is_positive=is_positive, depth=depth + 1)
                    if self.count == before and not _holds_rows(row):
                        fault = without_task(row, _loose(row))
                        self._complain(fault or NO_TASK, is_ours=bool(fault))
                elif row is _BAD_LINE:
                    self.count += 1
                else:
                    text = "it is null" if row is None else "it is not a table with a task"
                    self._complain(text, is_ours=depth > 0)
        elif isinstance(value, dict):
            self._table(value, skill, is_positive=is_positive, depth=depth + 1)
            if not depth and not self.count and (text := meant_cases(value)):
                self.problems.append(CaseProblem(self._file, text))

    def _table(
        self, table: Mapping[str, Any], skill: str, *, is_positive: bool, depth: int
    ) -> None:
        row = _loose(table)
        holds_rows = depth == 1 and any(isinstance(row.get(key), list) for key in _ROWS)
        if _first(row, _TASK) is not None and not holds_rows:
            fault = meant(table, row) if is_own(row) else ""
            if fault:
                self._complain(fault)
                return
            self._row(row, skill, is_positive=is_positive)
            for key in unknown(table, _OTHER_KEYS) if "task" in row else ():
                self._unknown[key] = self._unknown.get(key, 0) + 1
            return
        if depth > _DEEPEST:
            return
        own = _text(_first(row, _SKILL)) or skill
        for keys, fires in ((_POSITIVE, True), (_NEGATIVE, False)):
            for key in keys:
                if isinstance(row.get(key), list):
                    self._prompts(row[key], own, fires)
        for key in _ROWS:
            if isinstance(row.get(key), list | dict):
                self._within = key
                self.read(row[key], own, is_positive=key == "evals", depth=depth)

    def _prompts(self, prompts: Sequence[Any], skill: str, fires: bool) -> None:
        """A list of prompts for which one skill fires, or does not."""
        for prompt in prompts:
            row = {loose_key(key): one for key, one in prompt.items()} if _is_table(prompt) else {}
            task = _first(row, _TASK) if row else prompt
            expects = {"skills": (skill,)} if fires else {"not_skills": (skill,)}
            self._add(task, expects if skill else {}, row)

    def _row(self, row: Mapping[str, Any], skill: str, *, is_positive: bool) -> None:
        own = _text(_first(row, _SKILL)) or skill
        try:
            expects = _expects(row, own)
        except ValueError as error:
            self._complain(str(error))
            return
        if not expects and own and (is_positive or _first(row, _SKILL)):
            expects = {"skills": (own,)}
        self._add(_first(row, _TASK), expects, row)

    def _add(self, task: Any, expects: Mapping[str, Any], row: Mapping[str, Any]) -> None:
        self.count += 1
        if self.count > MOST_CASES:
            if self.count == MOST_CASES + 1:
                text = f"only the first {MOST_CASES:,} cases of a file are read"
                self.problems.append(CaseProblem(self._file, text))
            return
        fault = _fault(task, expects)
        if fault:
            self.count -= 1
            is_ours = fault != _UNSAID or ("task" in row and self._within == "cases")
            self._complain(fault, is_ours=is_ours)
            return
        try:
            case = EvalCase(task=_clean(task), **expects, file=self._file, number=self.count)
            self.cases.append(replace(case, **_details(row)))
        except ValueError as error:
            self.count -= 1
            self._complain(str(error))

    def _complain(self, text: str, *, is_ours: bool = True) -> None:
        self.count += 1
        self.is_ours |= is_ours
        self.faults.setdefault(text, []).append(self.count)

    def grouped_problems(self) -> list[CaseProblem]:
        """A line for each fault, with the first case that has it."""
        found = []
        for text, (first, *others) in self.faults.items():
            more = f", as in {len(others)} more" if others else ""
            found.append(CaseProblem(self._file, f"{text}{more}", first))
        return found[:_MOST_PROBLEMS]

    def notes(self) -> list[str]:
        """A line for the keys that mean nothing."""
        if not self._unknown or not self.cases:
            return []
        keys = ", ".join(f"'{_short(key)}'" for key in list(self._unknown)[:_MOST_SHOWN])
        more = len(self._unknown) - _MOST_SHOWN
        return [f"{self._file}: unknown in cases: {keys}{f' and {more} more' if more > 0 else ''}"]


def _loose(table: Mapping[str, Any]) -> dict[str, Any]:
    """With loose keys; of two that are equal then, the first counts."""
    return {loose_key(key): value for key, value in reversed(list(table.items()))}


def _holds_rows(table: Mapping[str, Any]) -> bool:
    return not _loose(table).keys().isdisjoint((*_ROWS, *_POSITIVE, *_NEGATIVE))


def _fault(task: Any, expects: Mapping[str, Any]) -> str:
    if not isinstance(task, str):
        return "the task is not text"
    if not task.strip():
        return "the task is empty"
    if len(task) > LONGEST_TASK:
        return f"the task has more than {LONGEST_TASK:,} characters"
    if not expects:
        return _UNSAID
    return ""


# What a row expects


def _expects(row: Mapping[str, Any], skill: str) -> dict[str, Any]:
    """The fields of a case that say what should fire. Raises `ValueError`."""
    found = _own_format(row)
    for more in (_routing(row), _expected_skill(row, skill), _fires(row, skill)):
        for key, value in more.items():
            found.setdefault(key, value)
    if found.get("nothing") and found.get("skills"):
        raise ValueError("it expects both a skill and nothing")
    right = found.get("skills", ())
    wrong = [name for name in found.get("not_skills", ()) if name not in right]
    if found.get("not_skills"):
        found["not_skills"] = tuple(wrong)
    return {key: value for key, value in found.items() if value}


def _own_format(row: Mapping[str, Any]) -> dict[str, Any]:
    fields = {"skills": "skills", "notskills": "not_skills", "agents": "agents", "cards": "cards"}
    found: dict[str, Any] = {
        name: _names(row[key], key) for key, name in fields.items() if row.get(key) is not None
    }
    if _flag(row, "nothing"):
        found["nothing"] = True
    return found


def _routing(row: Mapping[str, Any]) -> dict[str, Any]:
    expect = row.get("routingexpect")
    if not isinstance(expect, dict):
        return {}
    expect = {loose_key(key): value for key, value in expect.items()}
    wanted = _names(expect.get("mustinclude"), "must_include")
    limit = expect.get("maxskills")
    if limit is None and _yes(expect.get("allowextra")) is False:
        limit = len(wanted)
    if isinstance(limit, int) and limit == 0 and not wanted:
        return {"nothing": True}
    return {
        "skills": wanted,
        "not_skills": _names(expect.get("mustnotinclude"), "must_not_include"),
        "every": bool(wanted),
        "most": _limit(limit, "max_skills"),
    }


def _expected_skill(row: Mapping[str, Any], skill: str) -> dict[str, Any]:
    """`null` means that nothing should fire; beside a skill, that this skill should not."""
    for key in _EXPECTED:
        if key not in row:
            continue
        names = _names(row[key], key) if not _is_none(row[key]) else ()
        if names:
            others = {"not_skills": (skill,)} if _yes(_first(row, _FIRES)) is False else {}
            return {"skills": names, **(others if skill else {})}
        return {"not_skills": (skill,)} if skill else {"nothing": True}
    return {}


def _fires(row: Mapping[str, Any], skill: str) -> dict[str, Any]:
    """`should_trigger: true`, or the name of the skill; `expected: trigger`; `type: negative`."""
    words = [key for key in ("expected", "type") if _is_word(row.get(key))]
    key = next((key for key in (*_FIRES, *words) if key in row), "")
    if not key:
        return {}
    said = row[key]
    fires = False if _is_none(said) else _yes(said)
    if fires is None and isinstance(said, str):
        return {"skills": _names(said, "should_trigger")}
    if fires is None:
        raise ValueError("should_trigger is neither true nor false nor the name of a skill")
    if skill:
        return {"skills": (skill,)} if fires else {"not_skills": (skill,)}
    if fires:
        raise ValueError("it names no skill, and its file is not beside one")
    return {"nothing": True}


def _is_word(value: Any) -> bool:
    """Whether a text says that a skill fires or does not."""
    return isinstance(value, str) and value.strip().lower() in _YES | _NO


def _yes(value: Any) -> bool | None:
    """True, false, or neither."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    word = value.strip().lower() if isinstance(value, str) else None
    return True if word in _YES else False if word in _NO else None


def _flag(row: Mapping[str, Any], key: str) -> bool:
    value = row.get(key)
    if value is None:
        return False
    said = _yes(value)
    if said is None:
        raise ValueError(f"{key} is neither true nor false")
    return said


def _limit(value: Any, key: str) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{key} is not a whole number of at least 0")
    return value


def _details(row: Mapping[str, Any]) -> dict[str, Any]:
    """The other fields of our own format. Raises `ValueError`."""
    found: dict[str, Any] = {
        name: True for name in ("every", "training") if name in row and _flag(row, name)
    }
    if "most" in row:
        found["most"] = _limit(row["most"], "most")
    source, tags = row.get("source"), row.get("tags")
    if isinstance(source, str):
        found["source"] = _clean(source)[:_LONGEST_NAME]
    if isinstance(tags, list):
        found["tags"] = tuple(_clean(tag)[:_LONGEST_NAME] for tag in _only_texts(tags))
    return found


# Values


def _names(value: Any, key: str) -> tuple[str, ...]:
    """A name, or a list of names. Raises `ValueError`."""
    values = [value] if isinstance(value, str) else [] if value is None else value
    if not isinstance(values, list) or not all(isinstance(one, str) for one in values):
        raise ValueError(f"{key} is not a name or a list of names")
    names = tuple(dict.fromkeys(_clean(one) for one in values if not _is_none(one)))
    if len(names) > _MOST_NAMES or any(len(name) > _LONGEST_NAME for name in names):
        raise ValueError(f"{key} has too many or too long names")
    return names


def _is_none(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().lower() in _NONE)


def _first(row: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _text(value: Any) -> str:
    return _clean(value)[:_LONGEST_NAME] if isinstance(value, str) else ""


def _clean(text: str) -> str:
    """Without lone surrogates, which cannot be written."""
    return text.encode(errors="replace").decode().strip()


def _is_table(value: Any) -> bool:
    return isinstance(value, dict)


def _only_texts(values: Sequence[Any]) -> Iterator[str]:
    return (value for value in values[:_MOST_NAMES] if isinstance(value, str))


def _short(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"
