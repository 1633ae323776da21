"""The pytest plugin and `metier.testing`, used as a project would use them."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metier import Agent, ModelError, NotFoundError, UsageError
from metier.testing import (
    CassetteError,
    Message,
    ModelReply,
    ModelRequest,
    RecordedModel,
    ScriptedModel,
    ToolCall,
    Workspace,
    assert_injected,
    assert_not_injected,
    assert_silent,
    assert_which,
)

USERS_TEST = '''
from metier import Agent, tool
from metier.testing import ModelReply, ScriptedModel, ToolCall, assert_injected, assert_which

asked = []


@tool
def add(a: int, b: int) -> int:
    """A sum."""
    return a + b


def live():
    asked.append(1)
    call = ModelReply("", [ToolCall("1", "add", {"a": 1, "b": 2})])
    return ScriptedModel([call, "The key is hunter2hunter2: 3"], name="provider:model")


def test_sums(metier_workspace, metier_cassette):
    metier_workspace.ability("arithmetic", "Add digit by digit.", tags=["sum"], priority=90)
    core = {"abilities": {"core": ["arithmetic"]}}
    agent = Agent("adder", "Adds numbers.", tools=[add], more=core)
    catalog = metier_workspace.catalog()
    result = catalog.run_sync(agent, "sum of 1 and 2", model=metier_cassette(live))
    assert result.success, result.errors[0].message
    assert result.output.endswith(": 3")
    assert_injected(catalog, result, "arithmetic")
    print("ASKED", len(asked))


def test_routing(metier_workspace):
    metier_workspace.skill("pdf-tables", "Extracts tables from PDF files.")
    metier_workspace.skill("haiku", "Writes haiku about the seasons.")
    assert_which(metier_workspace.catalog(), "extract the tables of this PDF file", "pdf-tables")
'''


def _pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PROVIDER_API_KEY": "hunter2hunter2", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-s", "-q"]
    return subprocess.run(
        [*command, "-p", "no:cacheprovider", *options],
        cwd=folder, env=env, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.slow
def test_a_project_records_a_run_once_and_replays_it_without_the_model(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(USERS_TEST)
    recorded = _pytest(tmp_path, "--metier-record")
    assert recorded.returncode == 0, recorded.stdout
    assert "ASKED 1" in recorded.stdout
    cassette = tmp_path / "cassettes" / "test_mine.test_sums.json"
    text = cassette.read_text()
    assert "hunter2" not in text
    assert str(tmp_path) not in text
    replayed = _pytest(tmp_path)
    assert replayed.returncode == 0, replayed.stdout
    assert "ASKED 0" in replayed.stdout
    again = _pytest(tmp_path, "--metier-record")
    assert again.returncode == 0
    assert cassette.read_text() == text
    (tmp_path / "test_mine.py").write_text(USERS_TEST.replace("sum of 1", "sum of 4"))
    changed = _pytest(tmp_path)
    assert changed.returncode == 1
    assert "messages of a request changed from" in changed.stdout
    assert "sum of 4" in changed.stdout
    assert "record it again with pytest --metier-record" in changed.stdout


SEVERAL = """
import pytest
from metier.testing import Message, ModelRequest, ScriptedModel


class TestOne:
    async def ask(self, model):
        return (await model.respond(ModelRequest("", [Message("user", "x")]))).text

    @pytest.mark.parametrize("path", ["a/b", "../../../out"])
    def test_it(self, metier_cassette, path):
        import asyncio

        first = metier_cassette(lambda: ScriptedModel(["first"]))
        second = metier_cassette(lambda: ScriptedModel(["second"]))
        assert asyncio.run(self.ask(second)) == "second"
        assert asyncio.run(self.ask(first)) == "first"


class TestTwo(TestOne):
    pass
"""


@pytest.mark.slow
def test_every_model_of_every_test_has_a_cassette_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(SEVERAL)
    for options in (["--metier-record"], []):
        assert _pytest(tmp_path, *options).returncode == 0
    names = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.json"))
    assert len(names) == 8
    assert all(re.fullmatch(r"cassettes/test_mine\.Test\w+\.test_it[^/]+", one) for one in names)


def test_a_key_is_left_out_however_json_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER_API_KEY", 'hunter2"hunter2')
    _recorded(tmp_path / "c.json", 'The key is hunter2"hunter2')
    assert "hunter2" not in (tmp_path / "c.json").read_text()


def _request(text: str) -> ModelRequest:
    return ModelRequest("system", [Message("user", text)])


async def _ask(model: RecordedModel, *texts: str) -> list[str]:
    return [(await model.respond(_request(text))).text for text in texts]


def _recorded(path: Path, *replies: str) -> None:
    model = RecordedModel(path, ScriptedModel(replies))
    asyncio.run(_ask(model, *(f"ask {reply}" for reply in replies)))
    model.close()


def test_replies_are_found_by_their_request_in_any_order(tmp_path: Path) -> None:
    _recorded(tmp_path / "c.json", "a", "b")
    model = RecordedModel(tmp_path / "c.json")
    assert asyncio.run(_ask(model, "ask b", "ask a")) == ["b", "a"]
    with pytest.raises(CassetteError, match="asks once more than was recorded"):
        asyncio.run(_ask(model, "ask a"))


def test_a_recording_in_which_the_model_fails_leaves_the_earlier_cassette(tmp_path: Path) -> None:
    _recorded(tmp_path / "c.json", "a")
    before = (tmp_path / "c.json").read_bytes()
    model = RecordedModel(tmp_path / "c.json", ScriptedModel(["b"]))
    with pytest.raises(ModelError):
        asyncio.run(_ask(model, "ask b", "ask c"))
    model.close()
    assert (tmp_path / "c.json").read_bytes() == before


def test_a_request_that_is_answered_when_it_is_repeated_is_recorded(tmp_path: Path) -> None:
    model = RecordedModel(tmp_path / "c.json", ScriptedModel([ModelError("down"), "a"]))
    with pytest.raises(ModelError):
        asyncio.run(_ask(model, "ask a"))
    asyncio.run(_ask(model, "ask a"))
    model.close()
    assert asyncio.run(_ask(RecordedModel(tmp_path / "c.json"), "ask a")) == ["a"]


def test_a_changed_request_is_named(tmp_path: Path) -> None:
    _recorded(tmp_path / "c.json", "a")
    with pytest.raises(CassetteError, match=r'messages of a request changed from "text": "ask a"'):
        asyncio.run(_ask(RecordedModel(tmp_path / "c.json"), "ask z"))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 2}', '{"version": 1}'])
def test_a_damaged_cassette_is_one_clear_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(CassetteError, match="cannot be read"):
        RecordedModel(tmp_path / "c.json")
    with pytest.raises(CassetteError, match="there is no cassette yet; record one: pytest"):
        RecordedModel(tmp_path / "other.json")


def test_tool_calls_and_usage_survive_the_cassette(tmp_path: Path) -> None:
    reply = ModelReply("", [ToolCall("1", "add", {"a": [1, None]})])
    model = RecordedModel(tmp_path / "c.json", ScriptedModel([reply]))
    asyncio.run(model.respond(_request("x")))
    model.close()
    again = asyncio.run(RecordedModel(tmp_path / "c.json").respond(_request("x")))
    assert again == reply
    assert json.loads((tmp_path / "c.json").read_text())["model"] == "scripted:test"


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path / "shop", tmp_path)
    made.skill("pdf-tables", "Extracts tables from PDF files.")
    made.skill("haiku", "Writes haiku about the seasons.")
    made.ability("style", "Write short sentences.", tags=["letter"])
    return made


def test_an_assertion_on_skills_says_what_fired_and_why(shop: Workspace) -> None:
    catalog = shop.catalog()
    found = assert_which(catalog, "extract the tables of this PDF file", "pdf-tables")
    assert found.named[0].name == "pdf-tables"
    assert_silent(catalog, "thanks, that was all")
    with pytest.raises(AssertionError, match="haiku should fire, but pdf-tables did\n  "):
        assert_which(catalog, "extract the tables of this PDF file", "haiku")
    with pytest.raises(AssertionError, match="nothing should fire, but pdf-tables did"):
        assert_silent(catalog, "extract the tables of this PDF file")
    shop.close()


def test_an_assertion_on_text_looks_into_injections_and_runs(shop: Workspace) -> None:
    catalog = shop.catalog()
    injection = catalog.inject("write a letter")
    assert_injected(catalog, injection, "style")
    assert_not_injected(catalog, injection, "pdf-tables")
    with pytest.raises(AssertionError, match="pdf-tables should be injected, but style was"):
        assert_injected(catalog, injection, "pdf-tables")
    agent = Agent("clerk", "Writes letters.", more={"abilities": {"core": ["style"]}})
    result = catalog.run_sync(agent, "write a letter", model=ScriptedModel(["Dear"]))
    assert_injected(catalog, result, "style")
    with pytest.raises(AssertionError, match="style should not be injected"):
        assert_not_injected(catalog, result, "style")
    shop.close()


def test_an_assertion_fails_for_a_name_that_no_document_has(shop: Workspace) -> None:
    catalog = shop.catalog()
    injection = catalog.inject("write a letter")
    for call, meant in (
        (lambda: assert_not_injected(catalog, injection, "stile"), "style"),
        (lambda: assert_injected(catalog, injection, "style", "stile"), "style"),
        (lambda: assert_which(catalog, "x", "pdf-tables", "pdf-table"), "pdf-tables"),
    ):
        with pytest.raises(NotFoundError) as caught:
            call()
        assert caught.value.hint == f"did you mean '{meant}'?"
    shop.close()


def test_a_card_needs_only_its_name_and_triggers(metier_workspace: Workspace) -> None:
    trigger = {"keywords": ["billing"], "confidenceThreshold": 0.1}
    metier_workspace.card("billing", "The team for bills.", triggers=trigger)
    catalog = metier_workspace.catalog()
    assert_injected(catalog, catalog.inject("billing"), "billing")


def test_an_assertion_says_that_a_document_is_excluded(metier_workspace: Workspace) -> None:
    metier_workspace.card("billing", "The team for bills.", triggers="billing")
    catalog = metier_workspace.catalog()
    with pytest.raises(AssertionError, match="; excluded, and metier lint says why: billing"):
        assert_injected(catalog, catalog.inject("billing"), "billing")


def test_two_workspaces_with_the_same_files_inject_the_same_text(tmp_path: Path) -> None:
    texts = []
    for name in ("a", "b"):
        made = Workspace(tmp_path / name, tmp_path)
        made.card(
            "orders",
            "Orders are in the table `orders`.",
            triggers={"keywords": ["order"], "confidenceThreshold": 0.1},
            name="Orders",
            description="Where orders are.",
        )
        texts.append(made.catalog().inject("which order").text)
        made.close()
    assert texts[0] == texts[1]
    assert "table `orders`" in texts[0]


def test_a_failed_assertion_shows_the_line_of_the_test(metier_workspace: Workspace) -> None:
    metier_workspace.ability("style", "Write short sentences.")
    catalog = metier_workspace.catalog()
    with pytest.raises(AssertionError) as caught:
        assert_injected(catalog, catalog.inject("x", limit=0), "style")
    shown = [entry.name for entry in caught.traceback.filter(caught)]
    assert shown == ["test_a_failed_assertion_shows_the_line_of_the_test"]


def test_an_assertion_without_names_is_misuse(metier_workspace: Workspace) -> None:
    catalog = metier_workspace.catalog()
    result = catalog.run_sync(Agent("clerk", "Writes."), "a letter", model="offline")
    for check in (assert_injected, assert_not_injected):
        with pytest.raises(UsageError, match="the assertion has no names"):
            check(catalog, result)


def test_a_cassette_is_given_a_function_that_makes_the_model(metier_cassette: Any) -> None:
    with pytest.raises(UsageError, match="must be a function that makes a model") as caught:
        metier_cassette(ScriptedModel(["Done."]))
    assert caught.value.hint == "metier_cassette(lambda: model)"
