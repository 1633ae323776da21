"""The conformance suite of spec 4: cases as data, run against this implementation."""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any, NamedTuple

from metier.config import Config
from metier.core.paths import is_inside
from metier.core.unread import why_not_json
from metier.errors import MetierError, UsageError
from metier.flow.boundary import workspace_of
from metier.flow.reading import read_documents, workspace_roots
from metier.flow.resolving import Resolver
from metier.index.refresh import refresh_documents
from metier.index.store import Store
from metier.values.resolution import ResolveRequest

CASES = "cases"
NEAR = 1e-9
"""The tolerance for numbers."""
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
    """A field of a report that is not as expected; values as JSON."""

    path: str
    expected: str
    found: str


class CaseResult(NamedTuple):
    id: str
    title: str
    passed: bool
    differences: tuple[Difference, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "differences": [one._asdict() for one in self.differences]}


def run_suite(folder: str | os.PathLike[str]) -> list[CaseResult]:
    """Run every case below `folder`. Raises `UsageError` for an unreadable suite."""
    return [_run(case) for case in read_suite(folder)]


def read_suite(folder: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """The cases below `folder`. Raises `UsageError` for none, or an invalid case."""
    cases = os.path.join(folder, CASES)
    try:
        names = sorted(name for name in os.listdir(cases) if name.endswith(".json"))
    except OSError as error:
        raise _bad_suite(error.strerror or "it cannot be read", cases) from None
    if not names:
        raise _bad_suite("it has no cases", cases)
    return [_read(os.path.join(cases, name)) for name in names]


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            case: dict[str, Any] = json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        raise _bad_suite(f"not a JSON file: {why_not_json(error)}", file) from None
    problem = _problem(case)
    if not problem and os.path.basename(file) != f"{case['id']}.json":
        problem = f"the id '{case['id']}' is not the name of the file"
    if problem:
        raise _bad_suite(problem, file)
    return case


def _problem(case: Any) -> str:
    """Why `case` cannot be run; see `case.schema.json`."""
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
        return "the content of a file is text"
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
    """The full report of a query; only `error` when it is rejected."""
    workspace = workspace_of(os.path.join(root, *query.get("start", "").split("/")))
    if not is_inside(workspace, root):
        raise UsageError(
            "temporary folders are in another workspace",
            where=workspace,
            hint="set TMPDIR to a folder outside any checkout",
        )
    aliases = query.get("aliases")
    request = ResolveRequest(
        requires=query.get("requires", ()),
        query=query.get("text", ""),
        consumer=query.get("consumer"),
        mode=query.get("mode"),
        policy={key: _text(value) for key, value in query.get("policy", {}).items()},
        alias_file=os.path.join(root, *aliases.split("/")) if aliases else None,
        host=query.get("host"),
        decide=lambda _: query.get("decision"),
        divergence=query.get("divergence", True),
    )
    config = Config(host_folders=False)
    with closing(Store.in_memory()) as store:
        roots, _ = workspace_roots(workspace, config, root, None)
        refresh_documents(store, lambda: read_documents(roots))
        try:
            return Resolver(store, workspace, config).resolve(request).full_report()
        except MetierError as error:
            return {"error": error.code.lower()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def compare(expected: Any, found: Any, path: str = "") -> Iterator[Difference]:
    """Where `found` is not as `expected`.

    Objects are compared by the expected keys ({} must be empty), numbers to `NEAR`. An object
    against a list names rows by their ids; null means no such row.
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
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            yield from compare(one, other, f"{path}[{number}]")
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
