"""The examples in examples/python, with scripted models on this machine."""

import asyncio
import importlib.util
import io
import json
import tokenize
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from asgi_served import listening
from conftest import REPOSITORY
from mcp_served import called, data_of, environment, example
from metier import Catalog
from openai_server import ToolWanted, openai_server

pytestmark = pytest.mark.slow

EXAMPLES = REPOSITORY / "examples" / "python"
SKILL = "invoice-check"
MISSPELT = "invoce-check"
MISSED = f"no skill is called '{MISSPELT}'. did you mean '{SKILL}'?"
TASK = "check the disputed invoice"


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", environment()["NO_PROXY"])
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return example(tmp_path)


@pytest.fixture
def catalog(root: Path) -> Iterator[Catalog]:
    with Catalog.open(root) as made:
        made.refresh()
        yield made


def test_every_example_is_in_the_table() -> None:
    table = (EXAMPLES / "README.md").read_text()
    files = list(EXAMPLES.glob("*.py"))
    assert files
    for file in files:
        assert f"`{file.name}`" in table


@pytest.mark.parametrize("name", ["langgraph_skills", "openai_agents_skills", "pydantic_ai_agent"])
def test_another_framework_takes_20_lines(name: str) -> None:
    """Of code: without docstrings, comments, empty lines, and the program that calls it."""
    code = (EXAMPLES / f"{name}.py").read_text().partition("\nif __name__")[0]
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    tokens = [one for one in tokens if one.type not in (tokenize.COMMENT, tokenize.NL)]
    lines = {
        line
        for before, token, after in zip(tokens, tokens[1:], tokens[2:], strict=False)
        if token.type not in _LAYOUT
        and not (token.type == tokenize.STRING and before.type in _LAYOUT and after.type in _LAYOUT)
        for line in range(token.start[0], token.end[0] + 1)
    }
    assert 10 < len(lines) <= 20


_LAYOUT = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


def test_pydantic_ai_runs_the_same_agent(catalog: Catalog) -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart, ToolReturnPart
    from pydantic_ai.models.function import AgentInfo, FunctionModel

    seen: list[str] = []

    def scripted(messages: list[Any], info: AgentInfo) -> ModelResponse:
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart):
            return ModelResponse(parts=[TextPart(f"It is {last.content}.")])
        seen.append(info.instructions or "")
        return ModelResponse(parts=[ToolCallPart("order_status", {"number": 7})])

    module = loaded("pydantic_ai_agent")
    task = "write the commit message for order 7"
    answer = module.answer(catalog, task, FunctionModel(scripted))
    assert asyncio.run(answer) == "It is shipped."
    assert module.SUPPORT.instructions in seen[0]
    least = catalog.config.ability_signal
    injected = catalog.inject(task, agent="support", min_signal=least).text
    assert injected
    assert injected in seen[0]
    ours = catalog.run_sync(module.SUPPORT, task, model="offline")
    assert ours.success


def test_langgraph_uses_skills_as_tools(catalog: Catalog) -> None:
    pytest.importorskip("langgraph", reason="langgraph is not installed: pip install langgraph")
    from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
    from langchain_core.messages import AIMessage, BaseMessage

    class Scripted(FakeMessagesListChatModel):
        def bind_tools(self, tools: Any, **_: Any) -> Any:
            assert [tool.__name__ for tool in tools] == ["find_skills", "read_skill"]
            return self

    def call(name: str, /, **args: str) -> AIMessage:
        return AIMessage("", tool_calls=[{"name": name, "args": args, "id": name}])

    script: list[BaseMessage] = [
        call("find_skills", task=TASK),
        call("read_skill", name=MISSPELT),
        call("read_skill", name=SKILL),
        AIMessage("Done."),
    ]
    graph = loaded("langgraph_skills").graph_of(catalog, Scripted(responses=script))
    _, _, found, _, missed, _, read, last = graph.invoke({"messages": [("user", TASK)]})["messages"]
    assert found.content.startswith(f"{SKILL}: ")
    assert missed.content == MISSED
    assert read.content == body_of(catalog)
    assert last.content == "Done."


def test_the_openai_agents_sdk_uses_skills_as_tools(catalog: Catalog) -> None:
    agents = pytest.importorskip(
        "agents", reason="openai-agents is not installed: pip install openai-agents"
    )
    from openai import AsyncOpenAI

    agents.set_tracing_disabled(True)
    script = (
        ToolWanted("find_skills", {"task": TASK}),
        ToolWanted("read_skill", {"name": MISSPELT}),
        ToolWanted("read_skill", {"name": SKILL}),
    )

    async def main(url: str) -> str:
        async with AsyncOpenAI(base_url=url, api_key="none") as client:
            model = agents.OpenAIChatCompletionsModel("small", client)
            answer: str = await loaded("openai_agents_skills").answer(catalog, TASK, model)
            return answer

    with openai_server(*script, "Done.") as server:
        assert asyncio.run(main(server.url)) == "Done."
        results = [
            one["content"] for one in server.requests[-1]["messages"] if one["role"] == "tool"
        ]
    assert results[0].startswith(f"{SKILL}: ")
    assert results[1:] == [MISSED, body_of(catalog)]


def body_of(catalog: Catalog) -> str:
    return str(catalog.document(catalog.row("skill", SKILL)).body)


def test_an_application_has_a_catalog_of_its_own(root: Path) -> None:
    with listening(loaded("asgi_catalog").make_app(str(root))) as origin:
        with urllib.request.urlopen(f"{origin}/which?task=check+the+disputed+invoice") as answer:
            assert json.load(answer) == [SKILL]
        with urllib.request.urlopen(f"{origin}/which?task=thanks,+go+on") as answer:
            assert json.load(answer) == []
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(f"{origin}/which")
        before = data_of(called(f"{origin}/metier/mcp", "skill_list"))["total"]
        (root / "skills" / "haiku").mkdir()
        (root / "skills" / "haiku" / "SKILL.md").write_text(
            "---\nname: haiku\ndescription: Writes haiku about the seasons.\n---\n\nCount.\n"
        )
        request = urllib.request.Request(f"{origin}/refresh", method="POST")
        with urllib.request.urlopen(request) as answer:
            assert json.load(answer) == {"added": 1, "removed": 0}
        assert data_of(called(f"{origin}/metier/mcp", "skill_list"))["total"] == before + 1


def test_an_agent_with_python_tools_on_a_local_server(
    catalog: Catalog, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pydantic_ai")
    with openai_server(503, ToolWanted("order_status", {"number": 7}), "It is shipped.") as server:
        answer = loaded("local_model").answer(catalog, server.url, "small", "where is order 7?")
        assert asyncio.run(answer).strip() == "It is shipped."
        first, last = server.requests[0], server.requests[-1]
    assert [one["function"]["name"] for one in first["tools"]] == ["order_status", "shipping_days"]
    assert [one["content"] for one in last["messages"] if one["role"] == "tool"] == ["shipped"]
    assert capsys.readouterr().out.strip() == "It is shipped."
