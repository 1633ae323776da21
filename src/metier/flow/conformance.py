"""The conformance suite of spec 4: cases that are data alone, run by this implementation."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from metier.catalog import Catalog
from metier.config import Config
from metier.core.paths import is_inside
from metier.core.unread import why_not_json
from metier.errors import MetierError, UsageError
from metier.flow.boundary import Boundary, workspace_of
from metier.values.trust import Trust

CASES = "cases"
"""The folder of a suite that holds its cases, one a file."""
NEAR = 1e-9
"""How far two numbers may lie apart and still be equal."""
_KEYS = {"id": str, "title": str, "rules": list, "files": dict, "query": dict, "expect": dict}
_QUERY = {
    "requires": list,
    "text": str,
    "consumer": str,
    "mode": str,
    "policy": dict,
    "host": str,
    "divergence": bool,
    "decision": str,
    "aliases": str,
    "start": str,
}
_ABSENT = object()


class Difference(NamedTuple):
    """One field of a report that is not as expected."""

    path: str
    """`candidates[ID].S_total`"""
    expected: str
    """As JSON."""
    found: str
    """As JSON, or `nothing`."""


class CaseResult(NamedTuple):
    """How one case went."""

    id: str
    title: str
    passed: bool
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "differences": [one._asdict() for one in self.differences]}


def run_suite(folder: str | os.PathLike[str]) -> list[CaseResult]:
    """Run every case below `folder`, in the order of their ids.

    Nothing is written but a temporary folder for each case. Raises `UsageError` for a suite
    that cannot be read; then no case has been run.
    """
    return [_run(case) for case in read_suite(folder)]


def read_suite(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The cases below `folder`. Raises `UsageError` when there are none, or for a bad one."""
    cases = os.path.join(folder, CASES)
    try:
        names = sorted(name for name in os.listdir(cases) if name.endswith(".json"))
    except OSError as error:
        raise _bad_suite(error.strerror or "it cannot be read", cases) from None
    if not names:
        raise _bad_suite("it holds no case", cases)
    return [_read(os.path.join(cases, name)) for name in names]


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            case = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        raise _bad_suite(f"not a JSON file: {why_not_json(error)}", file) from None
    problem = _problem(case)
    if not problem and os.path.basename(file) != f"{case['id']}.json":
        problem = f"the id '{case['id']}' is not the name of the file"
    if problem:
        raise _bad_suite(problem, file)
    checked: dict[str, Any] = case
    return checked


def _problem(case: Any) -> str:
    """What keeps `case` from being run; `case.schema.json` says more."""
    if not isinstance(case, dict):
        return "a case is a JSON object"
    for key, kind in _KEYS.items():
        if not isinstance(case.get(key), kind):
            return f"'{key}' is missing or of the wrong type"
    for key, value in case["query"].items():
        if key not in _QUERY:
            return f"'{key}' is not a key of a query"
        if not isinstance(value, _QUERY[key]):
            return f"'{key}' of the query is of the wrong type"
    named = [case["query"][key] for key in ("aliases", "start") if key in case["query"]]
    for path in [*case["files"], *named]:
        if not _stays_inside(path):
            return f"'{path}' leaves the folder of the case"
    if not all(isinstance(text, str) for text in case["files"].values()):
        return "the content of a file is a text"
    return ""


def _stays_inside(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return "" not in parts and "." not in parts and ".." not in parts and ":" not in parts[0]


def _bad_suite(message: str, where: str) -> UsageError:
    return UsageError(f"the suite cannot be run: {message}", where=where, hint="see its README.md")


def _run(case: Mapping[str, Any]) -> CaseResult:
    with tempfile.TemporaryDirectory(prefix="metier-conformance-") as folder:
        root = os.path.realpath(folder)
        _write(root, case["files"])
        found = _report(root, case["query"])
    differences = tuple(compare(case["expect"], found))
    return CaseResult(case["id"], case["title"], not differences, differences)


def _write(root: str, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        file = os.path.join(root, *path.split("/"))
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)


def _report(root: str, query: Mapping[str, Any]) -> dict[str, Any]:
    """The full report of the run that `query` asks for; `error` alone when it is refused."""
    start = os.path.join(root, *query.get("start", "").split("/"))
    config = Config(host_folders=False)
    boundary = Boundary(workspace_of(start), Trust("trusted"), config)  # its files are ours
    with Catalog.in_memory(boundary, home=root) as catalog:
        if not is_inside(catalog.workspace, root):
            raise UsageError(
                "temporary folders lie in another workspace",
                where=catalog.workspace,
                hint="set TMPDIR to a folder outside any checkout",
            )
        catalog.refresh()
        aliases = query.get("aliases")
        try:
            made = catalog.resolve(
                query.get("requires", ()),
                query.get("text", ""),
                consumer=query.get("consumer"),
                mode=query.get("mode"),
                policy={key: _text(value) for key, value in query.get("policy", {}).items()},
                alias_file=os.path.join(root, *aliases.split("/")) if aliases else None,
                host=query.get("host"),
                decide=lambda _: query.get("decision"),
                divergence=query.get("divergence", True),
            )
        except MetierError as error:
            return {"error": error.code.lower()}
        return made.full_report().data


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def compare(expected: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Where `found` is not as `expected`.

    Objects are compared by the keys that are expected (an empty one must be empty), lists
    exactly, numbers to `NEAR`. An object against a list of rows names the rows by their ids;
    null stands for no such row.
    """
    if expected == {} and isinstance(found, dict):
        if found:
            yield Difference(path, "{}", _json(found))
    elif isinstance(expected, dict) and isinstance(found, list):
        rows = {row["id"]: row for row in found if isinstance(row, dict) and "id" in row}
        for key, value in expected.items():
            if value is not None or key in rows:
                yield from compare(value, rows.get(key, _ABSENT), f"{path}[{key}]")
    elif isinstance(expected, dict) and isinstance(found, dict):
        for key, value in expected.items():
            yield from compare(value, found.get(key, _ABSENT), f"{path}.{key}".lstrip("."))
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for place, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from compare(one, other, f"{path}[{place}]")
    elif not _is_equal(expected, found):
        shown = "nothing" if found is _ABSENT else _json(found)
        yield Difference(path, _json(expected), shown)


def _is_equal(expected: Any, found: Any) -> bool:
    if _is_number(expected) and _is_number(found):
        return bool(abs(expected - found) <= NEAR)
    return type(expected) is type(found) and bool(expected == found)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
