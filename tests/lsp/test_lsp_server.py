"""`metier lsp` in front of a real client."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from lsprotocol import types

from conftest import Workspace
from lsp_client import Editor, applied, codes, editor

pytestmark = pytest.mark.slow

SKILL = "skills/charts/SKILL.md"
GOOD = """\
---
name: charts
description: Draws charts of any data; use it for pictures of figures.
metadata:
  contract: 'DCI/1 P(drawing) R(data-reading) Pol(min-total-score=0.5)'
---

Draw it.
"""


def edited(root: Path, work: Callable[[Editor], Awaitable[None]], **given: object) -> None:
    async def run() -> None:
        async with editor(root, **given) as opened:  # type: ignore[arg-type]
            await work(opened)

    asyncio.run(run())


def _filled(workspace: Workspace) -> Workspace:
    workspace.write(SKILL, GOOD)
    workspace.skill("reader", extra="capabilities:\n  - data-reading")
    workspace.skill("parser", extra="capabilities:\n  - data-parsing")
    workspace.write(
        "agents/clerk.yaml",
        "agentId: clerk\ndescription: Does the paper work.\nskills:\n  - reader\n",
    )
    return workspace


@pytest.fixture
def charts(workspace: Workspace) -> Workspace:
    return _filled(workspace)


class Shared(NamedTuple):
    """A server for tests that change nothing on disk."""

    root: Path
    run: Callable[[Callable[[Editor], Awaitable[None]]], None]


@pytest.fixture(scope="module")
def shared(homes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    root = tmp_path_factory.mktemp("editor")
    (root / ".git").mkdir()
    _filled(Workspace(root))
    with asyncio.Runner() as runner:
        around = editor(root)
        opened = runner.run(around.__aenter__())
        yield Shared(root, lambda work: runner.run(_awaited(work(opened))))
        runner.run(_awaited(around.__aexit__(None, None, None)))


async def _awaited(work: Awaitable[object]) -> None:
    await work


def test_findings_come_while_typing_and_the_file_stays(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        assert await opened.open(SKILL) == []
        found = await opened.type(SKILL, GOOD.replace("name: charts", "name: Charts!"))
        assert codes(found) == ["SK302"]
        assert found[0].range.start.line == 1
        assert found[0].severity == types.DiagnosticSeverity.Warning
        assert found[0].source == "metier"
        assert await opened.type(SKILL, GOOD) == []

    shared.run(work)
    assert (shared.root / SKILL).read_text() == GOOD


def test_a_file_that_is_not_on_disk_yet_is_checked(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        path = "skills/fresh/SKILL.md"
        found = await opened.open(path, "---\ndescription: Does something new for you.\n---\nGo.\n")
        assert "SK301" in codes(found)

    shared.run(work)
    assert not (shared.root / "skills/fresh").exists()


@pytest.mark.parametrize(
    ("path", "text", "code"),
    [
        ("abilities/typing.md", "---\npriority: 500\n---\nType.\n", "AB502"),
        ("docs/capabilities/desk.md", "---\nid: desk\n---\nA desk.\n", "CD601"),
        ("agents/new.yaml", "agentId: new\n", "AG701"),
        ("metier.toml", '[lint]\nselect = "SK"\n', "CONFIG_INVALID"),
        ("metier.toml", "[lint\n", "CONFIG_INVALID"),
    ],
)
def test_every_kind_of_document_and_the_settings_are_checked(
    shared: Shared, path: str, text: str, code: str
) -> None:
    async def work(opened: Editor) -> None:
        assert code in codes(await opened.open(path, text))

    shared.run(work)


def test_other_files_are_left_alone(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        for path in ("README.md", "src/main.py", "pyproject.toml"):
            item = types.TextDocumentItem(opened.uri(path), "text", 1, "---\nname: X!\n---\n")
            opened.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await opened.open(SKILL)
        assert opened.uri("README.md") not in opened.published_for
        assert opened.uri("pyproject.toml") not in opened.published_for
        assert await opened.hover("README.md", 1, 1) == ""

    shared.run(work)


def test_findings_among_files_come_from_the_catalog_after_a_save(charts: Workspace) -> None:
    async def work(opened: Editor) -> None:
        path = "vendor/charts/SKILL.md"
        text = GOOD.replace("figures", "numbers")
        charts.write(path, text)
        await opened.open(path)
        found = await opened.published(path, lambda found: "XF901" in found)
        assert "skills/charts/SKILL.md" in found[0].message
        renamed = text.replace("name: charts", "name: other-charts")
        await opened.type(path, renamed)
        charts.write(path, renamed)
        opened.save(path)
        await opened.published(path, lambda found: "XF901" not in found)

    edited(charts.root, work)


def test_files_beside_a_skill_are_looked_at_when_it_is_opened_and_saved(charts: Workspace) -> None:
    async def work(opened: Editor) -> None:
        text = f"{GOOD}\nSee [the guide](guide.md).\n"
        charts.write(SKILL, text)
        await opened.open(SKILL)
        [found] = await opened.published(SKILL, lambda found: "SK327" in found)
        assert (found.range.start.line, "guide.md" in found.message) == (9, True)
        typed = await opened.type(SKILL, text.replace("Draw it.", "Draw it.\n\nSlowly."))
        assert [(one.code, one.range.start.line) for one in typed] == [("SK327", 11)]
        assert "**SK327**" in await opened.hover(SKILL, 11, 17)
        assert await opened.type(SKILL, text.replace("See", "Read")) == []
        opened.save(SKILL)
        await opened.published(SKILL, lambda found: "SK327" in found)
        charts.write("skills/charts/guide.md", "Draw slowly.")
        opened.save(SKILL)
        await opened.published(SKILL, lambda found: "SK327" not in found)

    edited(charts.root, work)


def test_a_capability_that_nothing_provides_is_a_note_in_the_editor(charts: Workspace) -> None:
    async def work(opened: Editor) -> None:
        text = GOOD.replace("R(data-reading)", "R(mind-reading)")
        await opened.open(SKILL, text)
        found = await opened.published(SKILL, lambda found: "XF905" in found)
        assert "mind-reading" in next(one.message for one in found if one.code == "XF905")

    edited(charts.root, work, options={"notes": True})


def test_hover_shows_the_page_of_a_finding_and_what_a_key_means(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        await opened.open(SKILL, GOOD.replace("name: charts", "name: Charts!"))
        page = await opened.hover(SKILL, 1, 2)
        assert "**SK302**" in page
        assert "Good:" in page
        assert "**name**" in page
        assert "when to use it" in await opened.hover(SKILL, 2, 3)
        assert await opened.hover(SKILL, 7, 1) == ""

    shared.run(work)


def test_hover_explains_the_clauses_of_a_contract(shared: Shared) -> None:
    line = 4
    written = GOOD.splitlines()[line]

    async def work(opened: Editor) -> None:
        await opened.open(SKILL)
        for text, said in (("P(", "Provides"), ("data-r", "Requires"), ("min-t", "min-total")):
            assert said in await opened.hover(SKILL, line, written.index(text))

    shared.run(work)


def test_keys_values_and_names_are_completed(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        await opened.open(SKILL)
        await opened.type(SKILL, GOOD.replace("metadata:", "dis\nmetadata:"))
        assert "disable-model-invocation" in await opened.complete(SKILL, 3, 3)
        flag = GOOD.replace("metadata:", "user-invocable: \nmetadata:")
        await opened.type(SKILL, flag)
        assert await opened.complete(SKILL, 3, 16) == ["true", "false"]
        contract = GOOD.replace("R(data-reading)", "R(data-")
        await opened.type(SKILL, contract)
        column = contract.splitlines()[4].index("R(data-") + 7
        assert await opened.complete(SKILL, 4, column) == ["data-parsing", "data-reading"]
        agent = "agents/clerk.yaml"
        await opened.open(agent)
        assert await opened.complete(agent, 3, 6) == ["reader"]
        assert await opened.complete(SKILL, 7, 3) == []

    shared.run(work)


@pytest.mark.parametrize(
    ("line", "offered", "not_offered"),
    [
        ("model: so", "sonnet", "haiku"),
        ("allowed-tools: Bash, Re", "Read", "Bash"),
        ("disallowed-tools:\n  - Web", "WebFetch", "Bash"),
        ("hooks:\n  Pre", "PreToolUse", "PostToolUse"),
    ],
)
def test_models_tools_and_hook_events_of_hosts_are_completed(
    shared: Shared, line: str, offered: str, not_offered: str
) -> None:
    async def work(opened: Editor) -> None:
        await opened.open(SKILL)
        await opened.type(SKILL, GOOD.replace("metadata:", f"{line}\nmetadata:"))
        last = line.split("\n")[-1]
        found = await opened.complete(SKILL, 3 + line.count("\n"), len(last))
        assert (offered in found, not_offered in found) == (True, False)

    shared.run(work)


def test_a_completion_replaces_what_is_written(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        await opened.open("agents/clerk.yaml")
        for text, column, start, new in (
            ("execution: par", 14, 11, "parallel"),
            ("execution:", 10, 10, " sequential"),
        ):
            await opened.type("agents/clerk.yaml", f"agentId: clerk\n{text}\n")
            item, *_ = await opened.completions("agents/clerk.yaml", 1, column)
            assert isinstance(item.text_edit, types.TextEdit)
            assert item.text_edit.range.start.character == start
            assert item.text_edit.new_text == new

    shared.run(work)


def test_a_capability_leads_to_its_providers_and_a_name_to_its_skill(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        await opened.open(SKILL)
        column = GOOD.splitlines()[4].index("data-reading") + 3
        provider = [opened.uri("skills/reader/SKILL.md")]
        assert await opened.define(SKILL, 4, column) == provider
        await opened.open("agents/clerk.yaml")
        assert await opened.define("agents/clerk.yaml", 3, 6) == provider
        assert await opened.define("agents/clerk.yaml", 0, 3) == []

    shared.run(work)


def test_one_finding_or_the_whole_file_is_repaired_in_the_editor_only(shared: Shared) -> None:
    text = "---\ndescription: Draws: charts of any data for you.\n---\n\nDraw it.\n"

    async def work(opened: Editor) -> None:
        assert sorted(codes(await opened.open(SKILL, text))) == ["FM104", "SK301"]
        fixes = await opened.actions(SKILL, 1, [types.CodeActionKind.QuickFix])
        quotes = next(one for one in fixes if "FM104" in one.title)
        assert "description: 'Draws: charts" in applied(text, quotes)
        [whole] = await opened.actions(SKILL, 4, [types.CodeActionKind.SourceFixAll])
        assert whole.kind == "source.fixAll.metier"
        repaired = applied(text, whole)
        assert await opened.type(SKILL, repaired) == []
        assert await opened.actions(SKILL, 1) == []

    shared.run(work)
    assert (shared.root / SKILL).read_text() == GOOD


def test_a_wrong_name_becomes_the_folders_by_a_quick_fix_that_says_it_is_unsafe(
    shared: Shared,
) -> None:
    text = GOOD.replace("name: charts", "name: Charts")

    async def work(opened: Editor) -> None:
        await opened.open(SKILL, text)
        [fix] = await opened.actions(SKILL, 1, [types.CodeActionKind.QuickFix])
        assert fix.title == "Repair SK302: invalid skill name (unsafe)"
        assert applied(text, fix) == GOOD

    shared.run(work)


def test_the_outline_has_the_headings_outside_of_code(shared: Shared) -> None:
    text = f"{GOOD}\n# One\n\n## Two ##\n\n```sh\n# no\n```\n\n### Three\n\n# Four\n"

    async def work(opened: Editor) -> None:
        await opened.open(SKILL, text)
        document = types.TextDocumentIdentifier(opened.uri(SKILL))
        asked = opened.client.text_document_document_symbol_async(
            types.DocumentSymbolParams(document)
        )
        one, four = await opened.answer(asked) or ()
        assert isinstance(one, types.DocumentSymbol)
        assert (one.name, four.name) == ("One", "Four")
        [two] = one.children or ()
        assert two.name == "Two"
        assert [three.name for three in two.children or ()] == ["Three"]

    shared.run(work)


def test_columns_are_counted_in_utf16_units(shared: Shared) -> None:
    agent = "agentId: clerk\ndescription: 😀 字 x\nsecond: {first: 😀😀, execution: wrong}\n"

    async def work(opened: Editor) -> None:
        text = GOOD.replace(
            "  contract: 'DCI/1 P(drawing)", "  contract: 'DCI/1 A(say=😀字) P(drawing)"
        )
        await opened.open(SKILL, text)
        line = text.splitlines()[4]
        before = line[: line.index("data-reading") + 2]
        column = len(before.encode("utf-16-le")) // 2
        assert column == len(before) + 1
        assert await opened.define(SKILL, 4, column) == [opened.uri("skills/reader/SKILL.md")]
        found = await opened.open("agents/clerk.yaml", agent)
        [unknown] = [one for one in found if "second" in one.message]
        assert unknown.range.end.character == len(agent.splitlines()[2].encode("utf-16-le")) // 2

    shared.run(work)


# Trust

OWN = '[lint.rules.U001]\ntitle = "draws"\nregex = "Draw"\n'


def test_rules_of_ones_own_count_in_a_trusted_workspace_only(charts: Workspace) -> None:
    charts.write("metier.toml", OWN)

    async def restricted(opened: Editor) -> None:
        assert await opened.open(SKILL) == []
        charts.trust()
        opened.save(SKILL)
        found = await opened.published(SKILL, lambda found: "U001" in found)
        assert found[0].message == "draws"
        assert "draws" in await opened.hover(SKILL, 7, 1)

    edited(charts.root, restricted)


def test_the_workspaces_choice_of_findings_counts_in_the_editor(charts: Workspace) -> None:
    charts.write("metier.toml", '[lint]\nignore = ["SK302"]\n')

    async def work(opened: Editor) -> None:
        assert await opened.open(SKILL, GOOD.replace("name: charts", "name: Charts!")) == []

    edited(charts.root, work)


def test_notes_are_shown_if_the_editor_asks_for_them(charts: Workspace) -> None:
    text = GOOD.replace("metadata:", "house-rule: 1\nmetadata:")

    async def work(opened: Editor) -> None:
        found = await opened.open(SKILL, text)
        assert {one.severity for one in found} == {types.DiagnosticSeverity.Information}

    edited(charts.root, work, options={"notes": True})


def test_wrong_settings_do_not_end_the_server(charts: Workspace) -> None:
    charts.write("metier.toml", "[lint\n")

    async def work(opened: Editor) -> None:
        assert await opened.open(SKILL) == []

    edited(charts.root, work)


def test_the_server_writes_nothing_into_the_workspace(charts: Workspace) -> None:
    def files() -> dict[Path, bytes]:
        return {one: one.read_bytes() for one in charts.root.rglob("*") if one.is_file()}

    before = files()

    async def work(opened: Editor) -> None:
        await opened.open(SKILL)
        await opened.actions(SKILL, 1)
        opened.save(SKILL)
        await opened.complete(SKILL, 3, 0)

    edited(charts.root, work)
    assert files() == before


# Bad messages

BAD = [
    b'{"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"nonsense": 1}}',
    b"{not json",
    b"[]",
    b'"text"',
    b"null",
    b'{"jsonrpc": "1.0"}',
    b'{"jsonrpc": "2.0", "id": 7, "method": "no/such/method", "params": {}}',
    b'{"jsonrpc": "2.0", "id": 8, "method": "textDocument/hover", "params": {}}',
    b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument":'
    b' {"uri": "file:///nowhere/SKILL.md", "version": 1}, "contentChanges": []}}',
    b'{"jsonrpc": "2.0", "id": 9, "result": {}}',
    b"\xff\xfe",
]


def test_a_bad_message_never_ends_the_server(shared: Shared) -> None:
    async def work(opened: Editor) -> None:
        server = opened.client._server
        assert server is not None
        assert server.stdin is not None
        for body in BAD:
            server.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        server.stdin.write(b"Garbage\r\n\r\nContent-Length: x\r\n\r\n")
        assert await opened.open(SKILL) == []
        assert codes(await opened.type(SKILL, "---\n\udfff".encode(errors="replace").decode()))

    shared.run(work)
