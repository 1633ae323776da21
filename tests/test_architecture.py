"""The one hard rule: ground ← stages (never each other) ← flow ← catalog ← surfaces."""

import ast
import subprocess
import sys
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import metier

PACKAGE = Path(metier.__file__).parent
TESTS = Path(__file__).parent
GROUND = ("errors", "core", "safety", "storage", "findings", "values", "config", "hosts")
STAGES = (
    *("discover", "parse", "lint", "index", "select", "resolve", "inject", "run"),
    *("listing", "usage", "evals", "encode", "inspection"),
)
ABOVE_THE_STAGES = ("flow", "catalog", "load")
MAY_IMPORT = {
    "errors": (),
    "core": ("errors",),
    **dict.fromkeys(GROUND[2:], GROUND),
    **dict.fromkeys(STAGES, GROUND),
    "flow": (*GROUND, *STAGES),
    "rules": GROUND,
    "load": (*GROUND, *STAGES, "flow"),
    "catalog": (*GROUND, *STAGES, "flow"),
    "types": (*GROUND, *STAGES, "flow"),
    "hook": GROUND,
    "install": (*GROUND, *ABOVE_THE_STAGES),
    "serving": (*GROUND, *ABOVE_THE_STAGES),
    "mcp": (*GROUND, *ABOVE_THE_STAGES, "serving"),
    "lsp": (*GROUND, *ABOVE_THE_STAGES, "serving"),
    "web": (*GROUND, *ABOVE_THE_STAGES, "serving"),
    "cli": (*GROUND, *ABOVE_THE_STAGES, "hook", "install", "serving", "mcp", "lsp", "web"),
    "testing": (*GROUND, "run", *ABOVE_THE_STAGES),
    "metier": (*GROUND, *STAGES, *ABOVE_THE_STAGES),
    "__main__": ("storage", "hosts", "hook", "cli"),
}
"""What each folder may import besides itself: ground ← stages ← flow ← catalog ← surfaces."""


def modules() -> list[tuple[str, Path]]:
    found = []
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE).with_suffix("").parts
        found.append((".".join(part for part in parts if part != "__init__") or "metier", file))
    return found


def imports_of(file: Path) -> set[str]:
    """Modules of metier that a file imports anywhere, without the leading `metier.`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("metier"):
            inner = (node.module or "").removeprefix("metier").lstrip(".")
            found |= {inner} if inner else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("metier.")
                for alias in node.names
                if alias.name.startswith("metier.")
            }
    return {name for name in found if name and not name.startswith("__")}


def top(module: str) -> str:
    return module.split(".")[0]


@pytest.mark.parametrize(("module", "file"), modules(), ids=lambda value: str(value))
def test_a_module_imports_only_what_its_folder_may(module: str, file: Path) -> None:
    home = top(module)
    imported = {top(name) for name in imports_of(file)}
    assert imported - {home, *MAY_IMPORT[home], "errors"} == set()


def test_folders_do_not_import_each_other_in_a_circle() -> None:
    graph: dict[str, set[str]] = {}
    for module, file in modules():
        above = graph.setdefault(top(module), set())
        above |= {top(name) for name in imports_of(file)} - {top(module)}
    TopologicalSorter(graph).prepare()


def test_no_import_cycle() -> None:
    graph = {module: imports_of(file) for module, file in modules() if module != "metier"}
    known = set(graph)
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " → ".join((*trail, module))
        if module in done:
            return
        for name in graph[module]:
            if name in known and name != module:
                visit(name, (*trail, module))
        done.add(module)

    for module in sorted(graph):
        if not module.startswith("cli") and module != "__main__":
            visit(module, ())


def test_the_door_is_short_sorted_and_true() -> None:
    names = metier.__all__
    assert names == sorted(names)
    assert len(names) <= 30
    for name in names:
        assert getattr(metier, name) is not None


def test_no_module_is_longer_than_450_lines() -> None:
    long = {
        str(file.relative_to(PACKAGE)): lines
        for _, file in modules()
        if (lines := file.read_text().count("\n")) > 450
    }
    assert long == {}


def test_no_function_is_longer_than_60_lines() -> None:
    long = {
        f"{file.relative_to(PACKAGE)}: {node.name}": lines
        for _, file in modules()
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > 60
    }
    assert long == {}


def test_there_is_no_drawer_for_leftovers() -> None:
    stems = {file.stem for _, file in modules()}
    assert stems & {"utils", "util", "helpers", "common", "misc"} == set()


def test_tests_import_modules_and_no_two_files_share_a_name() -> None:
    files = [file for file in TESTS.rglob("*.py") if "node_modules" not in file.parts]
    names = Counter(file.stem for file in files)
    assert [name for name, times in names.items() if times > 1] == []
    assert set(names) & sys.stdlib_module_names == set()
    imported = {
        str(file.relative_to(TESTS)): node.module
        for file in files
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").rpartition(".")[2].startswith("test_")
    }
    assert imported == {}


def test_nothing_that_is_ignored_is_kept_in_the_repository() -> None:
    repository = Path(__file__).parents[1]
    if not (repository / ".git").exists():
        pytest.skip("not a git checkout")
    ignored = subprocess.run(
        ["git", "ls-files", "--cached", "--ignored", "--exclude-standard"],
        cwd=repository,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ignored.stdout == ""
