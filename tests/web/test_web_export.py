"""The pages as static files: complete, readable without the server, and without prompts."""

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import validate

import metier
from cli.run_workspace import Agents, agents, prompt, tool
from conftest import Workspace, trust
from metier.catalog import Catalog
from metier.cli.web import command
from metier.config import Config
from metier.errors import UsageError
from metier.web.exporting import (
    MARKER,
    Address,
    Exporter,
    address_of,
    without_prompts,
    write_export,
)
from usage.recorded import ClaudeCode, claude_home

pytestmark = pytest.mark.slow

__all__ = ["agents"]

SCHEMAS = Path(metier.__file__).parent / "schemas"
HOSTILE = "<script>alert(1)</script><form action=/do/refresh><button>go</button></form>"
LINK = re.compile(r'(?:href|src)="([^"]*)"')


def export(workspace: Workspace, folder: Path, **options: Any) -> int:
    config = Config(host_folders=True)
    with Catalog.open(workspace.root, config=config) as catalog:
        catalog.refresh()
        return write_export(str(folder), Exporter(catalog, **options).files())


@pytest.fixture
def filled(workspace: Workspace, empty_home: Path) -> Workspace:
    for number in range(3):
        workspace.skill(f"skill-{number}", f"Rotate the certificates of the gateway {number}")
    workspace.skill("hostile", HOSTILE, folder=".claude/skills/hostile")
    workspace.write("skills/bad/SKILL.md", "no front matter")
    return workspace


def test_every_link_of_an_exported_page_leads_to_a_file(filled: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    count = export(filled, folder)
    pages = sorted(folder.glob("*.html"))
    assert {"index.html", "overview.html", "listing.html", "overlap.html"} <= {
        one.name for one in pages
    }
    for page in pages:
        links = [unescape(link) for link in LINK.findall(page.read_text())]
        assert links
        for link in links:
            if not link.startswith(("#", "http://", "https://")):
                assert (folder / link.partition("#")[0]).is_file(), (page.name, link)
    assert count == sum(1 for one in folder.rglob("*") if one.is_file()) - 1
    assert any("skill-1" in one.name for one in pages)


def test_exported_pages_have_nothing_that_needs_the_server(
    filled: Workspace, tmp_path: Path
) -> None:
    export(filled, tmp_path / "out")
    pages = list((tmp_path / "out").glob("*.html"))
    assert pages
    for page in pages:
        text = page.read_text()
        assert not re.search(r"<(form|script|input|button|textarea)\b", text), page.name
        assert " hx-" not in text
        assert str(filled.root) not in text
        if page.name != "index.html":
            assert "script-src 'none'" in text
            assert text.count("<h1") == 1


@pytest.fixture
def finished(agents: Agents) -> Agents:
    """Two runs, one of which failed, and a stored report; texts of users have SECRET in them."""
    agents.skill("one", "Look things up", extra="capabilities: [search]")
    say = tool("say", "say", given={"text": "{{ task }}"})
    agents.agent("asks", say, prompt("ask", "Answer this: {{ task }}"))
    agents.agent("breaks", tool("a", "fail"))
    agents.metier("run", "asks", "SECRET-TASK", "--input", '{"n": "SECRET-INPUT"}')
    agents.metier("run", "breaks", "SECRET-TASK")
    assert agents.metier("resolve", "-r", "search", "--", "SECRET-QUERY").returncode == 0
    trust(agents.root)
    return agents


def all_text(folder: Path) -> str:
    return "".join(one.read_text() for one in folder.rglob("*") if one.is_file())


def test_runs_and_reports_are_exported_without_what_was_asked(
    finished: Agents, tmp_path: Path
) -> None:
    folder = tmp_path / "out"
    export(finished, folder)
    pages = {one.name for one in folder.glob("*.html")}
    assert {"runs.html", "agents.html", "reports.html"} <= pages
    [failed, _] = [one["runId"] for one in finished.runs("list")]
    [page] = folder.glob(f"run-{failed.lower().replace('.', '-')}-*.html")
    assert "TOOL_EXECUTION_ERROR" in page.read_text()
    assert f"<h1>{failed}</h1>" in page.read_text()
    assert len(list(folder.glob("report-*.html"))) == 1
    steps = json.loads(page.with_suffix(".json").read_text())["steps"]
    assert [(one["stepId"], one["state"], one["sent"]) for one in steps] == [("a", "failed", {})]
    assert "SECRET" not in all_text(folder)


def test_runs_are_exported_with_prompts_if_asked_for(finished: Agents, tmp_path: Path) -> None:
    export(finished, tmp_path / "out", with_prompts=True)
    text = all_text(tmp_path / "out")
    for one in ("Answer this: SECRET-TASK", "SECRET-INPUT", "SECRET-QUERY"):
        assert one in text


@pytest.mark.parametrize("name", ["which", "resolve", "inject"])
def test_pages_that_answer_say_that_they_need_the_inspector(
    filled: Workspace, tmp_path: Path, name: str
) -> None:
    export(filled, tmp_path / "out")
    text = (tmp_path / "out" / f"{name}.html").read_text()
    assert "it needs the live inspector: <code>metier web</code>" in text
    assert "Prompts and tasks of users are left out" in text


def test_a_document_is_exported_once_and_links_to_what_is_not_are_disabled(
    filled: Workspace, tmp_path: Path
) -> None:
    export(filled, tmp_path / "out")
    [page] = [one for one in (tmp_path / "out").glob("document-*") if "skill-1" in one.name]
    assert '<a role="link" aria-disabled="true">Show it on the map</a>' in page.read_text()
    [kind] = (tmp_path / "out").glob("catalog-skill-*.html")
    assert re.search('<a role="link" aria-disabled="true"><span>active', kind.read_text())


def test_json_twins_are_exported_too(filled: Workspace, tmp_path: Path) -> None:
    export(filled, tmp_path / "out")
    found = json.loads((tmp_path / "out" / "overlap.json").read_text())
    assert found["clusters"]["total"] == 1


def test_an_earlier_export_is_replaced(filled: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    export(filled, folder)
    (folder / "own.txt").write_text("mine")
    before = {one.name for one in folder.glob("document-*")}
    shutil.rmtree(filled.root / "skills" / "skill-0")
    export(filled, folder)
    assert {one.name for one in folder.glob("document-*")} < before
    assert (folder / "own.txt").read_text() == "mine"


def test_a_folder_of_something_else_is_left_alone(filled: Workspace, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "thesis.html").write_text("mine")
    for marker in (None, "[", '{"files": "all"}'):
        if marker is not None:
            (folder / MARKER).write_text(marker)
        with pytest.raises(UsageError, match="other files"):
            export(filled, folder)
    with pytest.raises(UsageError, match="needs a folder"):
        export(filled, folder / "thesis.html")
    assert (folder / "thesis.html").read_text() == "mine"


def test_an_interrupted_export_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    write_export(str(folder), iter([("overview.html", b"old")]))

    def interrupted() -> Iterator[tuple[str, bytes]]:
        yield "overview.html", b"new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_export(str(folder), interrupted())
    assert (folder / "overview.html").read_bytes() == b"old"
    assert sorted(os.listdir(folder)) == [MARKER, "overview.html", "static"]


def test_what_a_killed_export_left_is_removed_by_the_next(tmp_path: Path) -> None:
    folder, own = tmp_path / "out", tmp_path / "own"
    own.mkdir()
    (own / "thesis.html").write_text("mine")
    page = [("overview.html", b"page")]
    write_export(str(folder), iter(page))
    os.symlink(own, folder / ".metier-linked00")
    (folder / ".metier-notes").mkdir()
    (folder / ".metier-ab_cd012").mkdir()
    (folder / ".metier-ab_cd012" / "overview.html").write_text("half")

    def during_another() -> Iterator[tuple[str, bytes]]:
        write_export(str(folder), iter(page))
        yield from page

    write_export(str(folder), during_another())
    assert sorted(os.listdir(folder)) == [
        ".metier-linked00", ".metier-notes", MARKER, "overview.html", "static",
    ]  # fmt: skip
    assert (own / "thesis.html").read_text() == "mine"


def test_a_forged_marker_removes_no_other_file(filled: Workspace, tmp_path: Path) -> None:
    folder, other = tmp_path / "out", tmp_path / "other.html"
    folder.mkdir()
    other.write_text("mine")
    names = ["../other.html", str(other), "static/../../other.html", 7]
    (folder / MARKER).write_text(json.dumps({"files": names}))
    os.symlink(other, folder / "overview.html")
    export(filled, folder)
    assert other.read_text() == "mine"
    assert not (folder / "overview.html").is_symlink()


def test_the_command_exports_and_says_how_much(filled: Workspace, tmp_path: Path) -> None:
    folder = str(tmp_path / "out")
    made = CliRunner().invoke(
        command, ["--root", str(filled.root), "--export", folder, "--json"], standalone_mode=False
    )
    told = json.loads(made.stdout)
    validate(told, json.loads((SCHEMAS / "web-exported.v1.schema.json").read_text()))
    assert told["folder"] == folder
    assert told["files"] > 10
    wrong = CliRunner().invoke(command, ["--with-prompts"], standalone_mode=False)
    assert isinstance(wrong.exception, UsageError)


def test_missed_prompts_are_exported_only_if_asked_for(
    filled: Workspace, tmp_path: Path, empty_home: Path
) -> None:
    filled.trust()
    filled.skill("forms", "Fill in PDF forms", folder=".claude/skills/forms")
    day = time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86_400))
    lines = ClaudeCode(str(filled.root), day=day)
    told = [lines.user("Fill in the secret PDF forms"), lines.says("Done"), lines.user("Thanks")]
    claude_home(empty_home, told)
    for with_prompts in (False, True):
        export(filled, tmp_path / "out", with_prompts=with_prompts)
        files = [one.read_text() for one in (tmp_path / "out").iterdir() if one.is_file()]
        assert any("the secret PDF" in text for text in files) == with_prompts


def test_what_users_asked_is_left_out() -> None:
    data = {"runs": {"latest": [{"task": "secret", "state": "x"}]}, "task": None, "tasks": ["a"]}
    assert without_prompts(data) == {
        "runs": {"latest": [{"task": "", "state": "x"}]},
        "task": None,
        "tasks": ["a"],
    }


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        ("/catalog?page=2", (Address("catalog", (("page", "2"),)), False)),
        ("/overlap.json", (Address("overlap"), True)),
        (
            "/catalog?kind=skill&page=2",
            (Address("catalog", (("kind", "skill"), ("page", "2"))), False),
        ),
        ("/catalog?kind=skill&state=active", None),
        ("/catalog?kind=skill&kind=agent", None),
        ("/catalog?sort=-name", None),
        ("/which?task=x", None),
        ("/document.json?id=x", None),
        ("//evil.example/catalog", None),
        ("/do/refresh", None),
    ],
)
def test_only_some_links_are_followed(href: str, expected: object) -> None:
    assert address_of(href) == expected


def test_files_have_plain_names_that_differ() -> None:
    one = Address("document", (("id", "../../etc/passwd"), ("kind", "skill")))
    two = Address("document", (("id", "../../etc passwd"), ("kind", "skill")))
    assert re.fullmatch(r"[a-z0-9-]+\.html", one.file)
    assert one.file != two.file
