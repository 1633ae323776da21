"""Agents, tools and runs from Python: the public names of `metier`."""

import asyncio
import builtins
import collections.abc
import json
import os
import pathlib
import re
import subprocess
import sys
import traceback
import typing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pydantic
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metier
import metier.mcp
import metier.rules
import metier.run.models
import metier.testing
import metier.types
from conftest import REPOSITORY, Workspace
from metier import (
    Agent,
    Catalog,
    Event,
    InvalidDocumentError,
    ModelReply,
    ModelRequest,
    NotFoundError,
    StoreError,
    ToolContext,
    TrustError,
    UsageError,
    tool,
)
from metier.index.store import Store
from metier.run.models import ScriptedModel
from metier.values.agents import AgentProfile
from metier.values.models import ToolCall


@tool
def double(number: int) -> int:
    """Twice a number."""
    return 2 * number


@tool(name="shout", timeout=5)
def louder(text: str, context: ToolContext) -> str:
    """A text in capitals."""
    return f"{text.upper()} {context.agent_id}"


def _asks_for(name: str, **args: Any) -> ModelReply:
    return ModelReply("", [ToolCall("1", name, args)])


def _clerk(*replies: ModelReply | str, tools: Any = (double, louder), **more: Any) -> Agent:
    model = ScriptedModel(replies)
    return Agent("clerk", "Answers letters.", tools=tools, model=model, **more)


@pytest.fixture
def catalog(workspace: Workspace) -> Any:
    workspace.trust()
    with Catalog.open(workspace.root) as opened:
        opened.refresh()
        yield opened


# Answers with a structure


class Order(pydantic.BaseModel):
    number: int
    state: str


class Unwritable(pydantic.BaseModel):
    made_by: collections.abc.Callable[[], int]


def _reader(schema: Any, **step: Any) -> Agent:
    config = {"prompt": "{{ task }}", "outputSchema": schema}
    inner = {"stepId": "read", "type": "prompt", "config": config}
    model = ScriptedModel(['{"number": 7, "state": "shipped"}'])
    return Agent("reader", "Reads.", workflow=[step | {"config": {"steps": [inner]}}], model=model)


def test_a_model_of_pydantic_is_an_output_schema(catalog: Catalog) -> None:
    agent = _reader(Order, stepId="all", type="parallel")
    assert agent == _reader(Order.model_json_schema(), stepId="all", type="parallel")
    result = catalog.run_sync(agent, "Order 7 is here.")
    assert result.success, result.errors
    assert result.steps[0].output == {"number": 7, "state": "shipped"}


@pytest.mark.parametrize(
    ("schema", "message"),
    [(int, "the class int"), (dict, "the class dict"), ({1}, "a set"), (1, "a number")],
)
def test_an_output_schema_of_another_type_says_which(schema: Any, message: str) -> None:
    with pytest.raises(InvalidDocumentError, match=f"must be a mapping, not {message}\n"):
        _reader(schema, stepId="all", type="parallel")


def test_a_model_of_pydantic_without_a_json_schema_is_named() -> None:
    with pytest.raises(UsageError, match="there is no JSON Schema of the class Unwritable: "):
        _reader(Unwritable, stepId="all", type="parallel")


# Misspelt names


def test_a_misspelt_name_in_a_template_says_where_and_the_nearest_name() -> None:
    step = {"stepId": "s", "type": "prompt", "config": {"prompt": "Do {{ taks }}"}}
    with pytest.raises(InvalidDocumentError) as caught:
        Agent("clerk", "Writes.", workflow=[step])
    said = "agent 'clerk': 'workflow[0].config.prompt': nothing is called 'taks' here"
    assert (caught.value.message, caught.value.hint) == (said, "did you mean 'task'?")


def test_a_misspelt_description_is_named_before_the_missing_one() -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        Agent.of({"agentId": "clerk", "descripton": "Writes."})
    assert caught.value.message == "agent 'clerk': unknown key 'descripton'"
    assert caught.value.hint == "did you mean 'description'?"


# Tools


def test_a_tool_stays_a_function_that_can_be_called() -> None:
    assert double(21) == 42
    assert louder("a", ToolContext(agent_id="b")) == "A b"


def test_an_agent_calls_the_functions_that_it_was_made_with(catalog: Catalog) -> None:
    result = catalog.run_sync(_clerk(_asks_for("double", number=4), "It is 8."), "double 4")
    assert (result.state, result.output) == ("succeeded", "It is 8.")
    assert result.usage.tool_calls == 1


def test_the_options_of_a_tool_count(catalog: Catalog) -> None:
    agent = _clerk(_asks_for("shout", text="hi"), "done")
    events: list[Event] = []
    assert catalog.run_sync(agent, "shout", on_event=events.append).success
    assert isinstance(agent.own_model, ScriptedModel)
    assert agent.own_model.requests[1].messages[-1].text == "HI clerk"
    assert "louder" not in agent.to_profile()["tools"]


def test_two_agents_may_share_a_function(catalog: Catalog) -> None:
    first = _clerk("one")
    second = Agent("other", "Answers, too.", tools=[double], model=ScriptedModel(["two"]))
    assert [catalog.run_sync(one, "x").output for one in (first, second)] == ["one", "two"]


def test_an_agent_can_be_defined_again_with_another_function_of_that_name(catalog: Catalog) -> None:
    def greet() -> str:
        return "first"

    catalog.add(_clerk(tools=[greet]))

    def greet() -> str:  # type: ignore[no-redef]
        return "second"

    agent = _clerk(_asks_for("greet"), "ok", tools=[greet])
    assert catalog.run_sync(agent, "x").success
    assert isinstance(agent.own_model, ScriptedModel)
    assert agent.own_model.requests[1].messages[-1].text == "second"


def _user(name: str, user: str) -> Agent:
    """An agent with two steps that call `whoami`, which answers `user`."""

    async def whoami() -> str:
        await asyncio.sleep(0)
        return user

    steps = [
        {"stepId": step, "type": "tool", "config": {"tool": "whoami"}, "outputs": [step]}
        for step in ("first", "second")
    ]
    return Agent(name, "Answers.", tools=[whoami], workflow=steps)


def _answers(result: Any) -> list[Any]:
    return [result.outputs["first"], result.outputs["second"]]


def test_two_agents_may_have_different_functions_of_one_name(catalog: Catalog) -> None:
    one, other = _user("one", "alice"), _user("other", "bob")
    catalog.add(one)
    catalog.add(other)
    assert _answers(catalog.run_sync("one", "x")) == ["alice", "alice"]
    assert _answers(catalog.run_sync("other", "x")) == ["bob", "bob"]


def test_an_agent_that_is_defined_again_during_a_run_does_not_change_the_run(
    catalog: Catalog,
) -> None:
    def redefine(event: Event) -> None:
        if event.kind == "step.succeeded":
            catalog.add(_user("support", "bob"))

    first = catalog.run_sync(_user("support", "alice"), "x", on_event=redefine)
    assert _answers(first) == ["alice", "alice"]
    assert _answers(catalog.run_sync("support", "x")) == ["bob", "bob"]


def test_runs_at_the_same_time_keep_their_functions_and_prompts_apart(catalog: Catalog) -> None:
    def support(user: str) -> tuple[Agent, ScriptedModel]:
        def whoami() -> str:
            return user

        model = ScriptedModel([_asks_for("whoami"), lambda asked: asked.messages[-1].text])
        made = Agent("support", f"Helps {user}.", instructions=f"Help {user}.", tools=[whoami])
        return made, model

    users = ["alice", "bob", "carol"]
    made = [support(user) for user in users]

    async def all_of_them() -> list[Any]:
        runs = (catalog.run(agent, "x", model=model) for agent, model in made)
        return [result.output for result in await asyncio.gather(*runs)]

    assert asyncio.run(all_of_them()) == users
    systems = [model.requests[0].system for _, model in made]
    assert systems == [f"Help {user}." for user in users]


def test_a_delegate_keeps_the_functions_that_its_callers_run_was_started_with(
    catalog: Catalog,
) -> None:
    def redefine(event: Event) -> None:
        if event.kind == "step.started" and event.step_id == "ask":
            catalog.add(_user("support", "bob"))

    catalog.add(_user("support", "alice"))
    step = {"stepId": "ask", "type": "delegate", "config": {"targetAgent": "support", "task": "x"}}
    chief = Agent("chief", "Delegates.", workflow=[step])
    assert catalog.run_sync(chief, "x", on_event=redefine).output == "alice"
    assert catalog.run_sync(chief, "x").output == "bob"


def test_an_agents_own_function_comes_before_a_tool_of_the_catalog(catalog: Catalog) -> None:
    catalog.agency.tools.register(tool(name="whoami")(lambda: "everyone"))
    assert _answers(catalog.run_sync(_user("own", "alice"), "x")) == ["alice", "alice"]
    steps = _user("other", "bob").workflow
    other = Agent("other", "Answers.", tools=["whoami"], workflow=steps)
    assert _answers(catalog.run_sync(other, "x")) == ["everyone", "everyone"]


def test_no_agent_can_call_a_function_of_another(catalog: Catalog) -> None:
    catalog.add(_user("support", "alice"))
    other = Agent("other", "Answers.", tools=["whoami"], workflow=_user("x", "y").workflow)
    result = catalog.run_sync(other, "x")
    assert [one.code for one in result.errors] == ["TOOL_NOT_FOUND"]
    assert "give the agent such a function" in result.errors[0].hint


def test_a_run_is_resumed_with_the_functions_of_the_agent_with_its_id(catalog: Catalog) -> None:
    def broken() -> str:
        raise ValueError("not yet")

    steps = _user("support", "").workflow
    first = Agent("support", "Answers.", tools=[tool(name="whoami")(broken)], workflow=steps)
    failed = catalog.run_sync(first, "x")
    assert failed.state == "failed"
    catalog.add(_user("other", "bob"))
    catalog.add(_user("support", "alice"))
    assert _answers(catalog.resume_sync(failed.run_id)) == ["alice", "alice"]


# Agents


def test_an_agent_is_equal_to_the_one_of_its_profile() -> None:
    agent = _clerk(instructions="Be brief.", more={"limits": {"steps": 3}}, tags=("a", "b"))
    again = Agent.of(json.loads(json.dumps(agent.to_profile())))
    assert again == agent
    assert again.to_profile() == agent.to_profile()
    assert Agent.of(AgentProfile.of(agent.to_profile())) == agent
    assert AgentProfile.of(agent.to_profile()).limits.steps == 3


@pytest.mark.parametrize(
    "content",
    [
        {"exampleTasks": ["write a letter"], "keywords": ["letter"]},
        {"core_abilities": ["tone"], "system-prompt": "Be brief."},
        {"workflow": [{"step_id": "a", "type": "prompt", "config": {"prompt": "Write."}}]},
    ],
    ids=["flat", "spelling", "steps"],
)
def test_the_content_of_a_file_is_spelt_as_in_files(
    content: dict[str, Any], catalog: Catalog
) -> None:
    content = {"agentId": "clerk", "description": "Answers letters.", **content}
    agent = Agent.of(content)
    file = Path(catalog.workspace, "agents", "clerk.json")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content))
    catalog.refresh()
    (profile,) = (one for one in catalog.agents() if one.agent_id == "clerk")
    assert Agent.of(profile) == agent
    assert Agent.of(agent.to_profile()) == agent


def test_more_takes_the_keys_of_files_too() -> None:
    flat = _clerk(more={"exampleTasks": ["write a letter"]})
    assert flat == _clerk(more={"selectionMetadata": {"exampleTasks": ["write a letter"]}})


_WORDS = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(
    description=_WORDS,
    instructions=st.text(max_size=20),
    tags=st.lists(_WORDS, max_size=3),
    tools=st.none() | st.lists(st.sampled_from(["a", "b", double, louder]), unique=True),
    skills=st.none() | st.lists(_WORDS, max_size=2),
    limits=st.dictionaries(st.sampled_from(["steps", "tokens"]), st.integers(1, 9)),
)
def test_every_agent_survives_the_way_through_its_profile(
    limits: dict[str, int], description: str, **fields: Any
) -> None:
    more = {"limits": limits} if limits else {}
    agent = Agent("an-agent", description, more=more, **fields)
    assert Agent.of(agent.to_profile()) == agent


def test_what_excludes_a_file_is_an_error_in_python() -> None:
    with pytest.raises(InvalidDocumentError, match="an agent"):
        Agent("an agent", "Has a space in its id.")
    step = {"stepId": "a", "type": "prompt", "config": {}}
    with pytest.raises(InvalidDocumentError, match="prompt"):
        Agent("a", "b", workflow=[step])


def test_an_agent_cannot_take_the_id_of_a_file(workspace: Workspace) -> None:
    workspace.write("agents/clerk.yaml", "agentId: clerk\ndescription: A file.\n")
    workspace.trust()
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        with pytest.raises(UsageError) as raised:
            catalog.add(_clerk())
        assert raised.value.where == "agents/clerk.yaml"


def test_a_run_can_delegate_to_an_agent_of_python(catalog: Catalog) -> None:
    catalog.add(_clerk("from the clerk"))
    step = {"stepId": "ask", "type": "delegate", "config": {"targetAgent": "clerk", "task": "x"}}
    chief = Agent("chief", "Delegates.", workflow=[step])
    result = catalog.run_sync(chief, "x")
    assert result.success
    assert result.output == "from the clerk"


def test_runs_at_the_same_time_keep_their_models_apart(catalog: Catalog) -> None:
    agent = Agent("clerk", "Answers letters.")
    models = [ScriptedModel([f"answer {number}"]) for number in range(5)]

    async def all_of_them() -> list[Any]:
        runs = (catalog.run(agent, "x", model=model) for model in models)
        return [result.output for result in await asyncio.gather(*runs)]

    assert asyncio.run(all_of_them()) == [f"answer {number}" for number in range(5)]


def test_a_run_is_resumed_with_the_model_that_it_was_started_with(catalog: Catalog) -> None:
    steps = [
        {"stepId": name, "type": "prompt", "config": {"prompt": name}} for name in ("one", "two")
    ]
    agent = Agent("clerk", "Answers letters.", workflow=steps)
    failed = catalog.run_sync(agent, "x", model=ScriptedModel(["first"]))
    assert failed.state == "failed"
    again = ScriptedModel(["second"])
    result = catalog.resume_sync(failed.run_id, model=again)
    assert (result.state, result.output, len(again.requests)) == ("succeeded", "second", 1)


def _two_steps(calls: list[str], **more: Any) -> Agent:
    """An agent with a tool that notes its call, and then a prompt."""

    def note() -> str:
        calls.append("called")
        return "noted"

    steps = [
        {"stepId": "note", "type": "tool", "config": {"tool": "note"}},
        {"stepId": "say", "type": "prompt", "config": {"prompt": "Say it."}},
    ]
    return Agent("clerk", "Answers letters.", tools=[note], workflow=steps, **more)


@pytest.mark.parametrize("model", ["nosuch", "nosuch:m"])
def test_a_wrong_model_is_an_error_before_anything_is_stored(catalog: Catalog, model: str) -> None:
    calls: list[str] = []
    with pytest.raises(UsageError, match="'nosuch'"):
        catalog.run_sync(_two_steps(calls), "x", model=model)
    assert (calls, catalog.runs()) == ([], [])


def test_a_wrong_model_of_an_agent_fails_its_run_before_the_first_step(catalog: Catalog) -> None:
    calls: list[str] = []
    result = catalog.run_sync(_two_steps(calls, model="nosuch:m"), "x")
    assert (result.state, calls) == ("failed", [])
    assert result.errors[0].message.startswith("agent 'clerk': no provider of models is called")


def test_a_wrong_default_model_fails_a_run_before_the_first_step(workspace: Workspace) -> None:
    workspace.write("metier.toml", '[models]\ndefault = "nosuch:m"\n')
    workspace.trust()
    calls: list[str] = []
    with Catalog.open(workspace.root) as catalog:
        result = catalog.run_sync(_two_steps(calls), "x")
    assert (result.state, calls) == ("failed", [])
    assert result.errors[0].message.startswith("[models] default: no provider of models is called")


def test_a_wrong_model_of_a_delegate_fails_the_run_before_the_first_step(catalog: Catalog) -> None:
    calls: list[str] = []
    step = {"stepId": "ask", "type": "delegate", "config": {"targetAgent": "poet"}}
    catalog.add(Agent("poet", "Writes.", model="nosuch:m"))
    clerk = _two_steps(calls)
    chief = Agent(
        "chief", "Delegates.", tools=list(clerk.functions.values()),
        workflow=[clerk.workflow[0], step],
    )  # fmt: skip
    result = catalog.run_sync(chief, "x")
    assert (result.state, calls) == ("failed", [])
    assert result.errors[0].message.startswith("agent 'poet': no provider of models is called")


def test_a_workflow_without_prompts_needs_no_model(catalog: Catalog) -> None:
    agent = _two_steps([], model="nosuch:m")
    tools = list(agent.functions.values())
    alone = Agent("a", "Notes.", tools=tools, workflow=agent.workflow[:1], model="nosuch:m")
    assert catalog.run_sync(alone, "x").success


def test_a_resume_without_the_model_object_says_so_before_the_next_step(catalog: Catalog) -> None:
    def note() -> str:
        calls.append("called")
        if len(calls) == 1:
            raise ValueError("not yet")
        return "noted"

    calls: list[str] = []
    steps = _two_steps([]).workflow
    agent = Agent("clerk", "Answers letters.", tools=[note], workflow=steps)
    model = ScriptedModel(["done"])
    failed = catalog.run_sync(agent, "x", model=model)
    again = catalog.resume_sync(failed.run_id)
    assert (again.state, calls) == ("failed", ["called"])
    assert "resume(run_id, model=" in again.errors[0].hint
    assert catalog.resume_sync(failed.run_id, model=model).output == "done"


# Streams and stored runs


async def _events(catalog: Catalog, agent: Agent) -> tuple[list[str], Any]:
    async with catalog.stream(agent, "x") as stream:
        kinds = [event.kind async for event in stream]
    return kinds, stream.result


def test_a_stream_has_every_event_and_then_the_result(catalog: Catalog) -> None:
    kinds, result = asyncio.run(_events(catalog, _clerk(_asks_for("double", number=1), "two")))
    assert (kinds[0], kinds[-1], result.output) == ("run.started", "run.finished", "two")
    assert {"step.started", "model.answered", "tool.called"} <= set(kinds)
    heard: list[Event] = []
    catalog.run_sync(_clerk(_asks_for("double", number=1), "two"), "x", on_event=heard.append)
    assert kinds == [event.kind for event in heard]


def test_the_result_of_a_stream_is_not_there_before_the_last_event(catalog: Catalog) -> None:
    async def peek() -> None:
        async with catalog.stream(_clerk("a"), "x") as stream:
            with pytest.raises(UsageError, match="has not ended"):
                _ = stream.result
            assert [event.kind async for event in stream][-1] == "run.finished"
            assert stream.result.output == "a"

    asyncio.run(peek())


def test_a_closed_stream_cancels_its_run(catalog: Catalog) -> None:
    started = asyncio.Event()

    class Slow:
        name = "slow:model"

        async def respond(self, request: ModelRequest) -> ModelReply:
            assert request.messages
            started.set()
            await asyncio.Event().wait()
            raise AssertionError("unreachable")

    async def leave_early() -> str:
        async with catalog.stream(Agent("clerk", "Waits.", model=Slow()), "x") as stream:
            event = await anext(stream)
            await started.wait()
        with pytest.raises(UsageError, match="was cancelled"):
            _ = stream.result
        return event.run_id

    run_id = asyncio.run(leave_early())
    assert catalog.run_result(run_id).state == "cancelled"


def test_a_run_that_ended_before_its_stream_was_left_keeps_its_result(catalog: Catalog) -> None:
    async def main() -> None:
        async with catalog.stream(Agent("clerk", "Writes."), "x", model="offline") as stream:
            await anext(stream)
        assert stream.result.success

    asyncio.run(main())


def test_a_stream_outside_async_with_starts_nothing(catalog: Catalog) -> None:
    async def ask() -> None:
        stream = catalog.stream(_clerk("a"), "x")
        with pytest.raises(UsageError, match="inside 'async with'"):
            await anext(stream)
        async with stream:
            pass
        with pytest.raises(UsageError, match="inside 'async with'"):
            await anext(stream)

    asyncio.run(ask())
    assert catalog.runs() == []


def test_a_stream_raises_what_keeps_a_run_from_starting(catalog: Catalog) -> None:
    async def ask() -> None:
        async with catalog.stream("nobody", "x") as stream:
            await anext(stream)

    with pytest.raises(NotFoundError):
        asyncio.run(ask())


def test_run_sync_inside_an_event_loop_says_what_to_do(catalog: Catalog) -> None:
    async def inside(call: Any, *args: Any) -> None:
        with pytest.raises(UsageError) as raised:
            call(*args)
        assert raised.value.hint.startswith("await catalog.")

    asyncio.run(inside(catalog.run_sync, "standard", "x"))
    asyncio.run(inside(catalog.resume_sync, "some-run"))


def test_the_errors_of_a_run_say_why_no_step_was_started(catalog: Catalog) -> None:
    result = catalog.run_sync(Agent("lost", "Has no tools.", tools=["no_such_tool"]), "go")
    assert [error.code for error in result.errors] == ["TOOL_NOT_FOUND"]
    assert result.to_json()["errors"][0]["hint"]


def test_a_traceback_has_the_hint_and_no_other_error(workspace: Workspace) -> None:
    with Catalog.open(workspace.root) as untrusted, pytest.raises(TrustError) as caught:
        untrusted.run_sync(_clerk("x"), "go")
    shown = "".join(traceback.format_exception(caught.value))
    assert f"where: {workspace.root}" in shown
    assert "hint: metier trust" in shown
    assert "During handling" not in shown


def test_a_catalog_of_another_thread_is_named(catalog: Catalog) -> None:
    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="another thread") as caught:
        pool.submit(catalog.which, "a task").result()
    assert caught.value.hint == "call catalog.new_connection() or Catalog.open in each thread"


def test_another_connection_has_the_agents_that_were_added(catalog: Catalog) -> None:
    def answer() -> str:
        with catalog.new_connection() as own:
            return str(own.run_sync("clerk", "double 4").output)

    catalog.add(_clerk(_asks_for("double", number=4), "It is 8."))
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(answer).result() == "It is 8."


def test_a_closed_catalog_says_that_it_is_closed(workspace: Workspace) -> None:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
    with pytest.raises(StoreError, match="is closed"):
        catalog.which("a task")


def test_two_functions_of_one_name_are_rejected() -> None:
    @tool(name="double")
    def other(number: int) -> int:
        return number

    with pytest.raises(UsageError, match="two tools are called 'double'"):
        Agent("clerk", "Counts.", tools=[double, other])
    assert Agent("clerk", "Counts.", tools=[double, double]).functions == {"double": double}


def test_stored_runs_and_reports_are_listed_newest_first(catalog: Catalog) -> None:
    first, second = (catalog.run_sync(_clerk(one), f"task {one}") for one in "ab")
    assert [row.run_id for row in catalog.runs()] == [second.run_id, first.run_id]
    assert [row.task for row in catalog.runs(text="task a")] == ["task a"]
    assert catalog.runs(state="failed") == []
    assert catalog.run_result(first.run_id).output == "a"
    ids = [catalog.resolve([name]).report for name in ("web-search", "web-fetch")]
    for report in ids:
        catalog.report_store.keep(report)
    assert [one.id for one in catalog.reports()] == [ids[1].id, ids[0].id]
    assert len(catalog.reports(limit=1)) == 1


def test_every_public_name_is_there() -> None:
    assert {"Agent", "Catalog", "Event", "RunResult", "tool"} <= set(metier.__all__)
    for name in metier.__all__:
        assert getattr(metier, name) is not None
    assert (Path(metier.__file__).parent / "py.typed").is_file()


def test_a_name_that_moved_answers_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"import Store from metier\.index\.store"):
        assert metier.Store is Store  # type: ignore[attr-defined]


def test_a_catalog_that_another_thread_closes_stays_open(catalog: Catalog) -> None:
    catalog.runs()
    with ThreadPoolExecutor(1) as pool, pytest.raises(StoreError, match="another thread"):
        pool.submit(catalog.close).result()
    assert catalog.run_sync(_clerk("Done"), "a task").success


@pytest.mark.parametrize(
    "question",
    [Catalog.runs, Catalog.reports, Catalog.report_ids, Catalog.folders, Catalog.__enter__],
)
def test_a_closed_catalog_answers_nothing(workspace: Workspace, question: Any) -> None:
    catalog = Catalog.open(workspace.root)
    catalog.close()
    catalog.close()
    with pytest.raises(StoreError, match="is closed") as caught:
        question(catalog)
    assert caught.value.hint == "open another"


def test_every_type_in_the_reference_can_be_imported() -> None:
    """Those of arguments, of results, and of their fields, but for what only metier reads."""
    page = (REPOSITORY / "docs" / "reference" / "python.md").read_text()
    blocks = "\n".join(re.findall(r"^```python\n(.*?)^```", page, re.M | re.S))
    code = re.sub(r"#.*|\"[^\"\n]*\"|'[^'\n]*'", "", blocks)
    named = set(re.findall(r"(?<![\w.])[A-Z][a-z]\w*", code))
    homes = [builtins, typing, collections.abc, os, pathlib]
    homes += [metier, metier.types, metier.testing, metier.mcp, metier.run.models, metier.rules]
    public = {name for home in homes for name in (getattr(home, "__all__", None) or dir(home))}
    assert len(named) > 100
    inner = {"Call", "Compared", "Difference", "Host", "HostSettings", "HostSkill", "Listing"}
    inner |= {"MappingProxyType", "Prepare", "Reading", "Sent", "State"}
    assert named - public == inner


def test_the_types_are_there_under_their_names_sorted_and_loaded_on_demand() -> None:
    assert metier.types.__all__ == sorted(metier.types.HOMES)
    for name in metier.types.__all__:
        assert getattr(metier.types, name) is not None
    assert set(metier.types.__all__).isdisjoint(metier.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Whihc'"):
        _ = metier.types.Whihc  # type: ignore[attr-defined]
    code = "import sys, metier.types; print([name for name in sys.modules if 'metier.' in name])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "['metier.types']"
