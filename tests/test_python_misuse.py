"""Wrong uses of the public API: one clear error each, before anything is done."""

import asyncio
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from metier import (
    Agent,
    Catalog,
    Config,
    ConfigError,
    Event,
    InvalidDocumentError,
    MetierError,
    NotFoundError,
    UsageError,
    abilities_for_task,
    inject_abilities,
    load_abilities,
    tool,
)
from metier.mcp import asgi_app
from metier.run.models import ScriptedModel, model_for
from metier.testing import (
    ModelReply,
    ModelRequest,
    RecordedModel,
    Workspace,
    assert_injected,
    assert_which,
)
from metier.types import EvalCase

Call = Callable[[Catalog], object]
CLERK = Agent("clerk", "Answers letters.")


@pytest.fixture
def catalog(metier_workspace: Workspace) -> Catalog:
    metier_workspace.skill("pdf-tables", "Extracts tables from PDF files.")
    return metier_workspace.catalog()


def double(number: int) -> int:
    return 2 * number


@dataclass
class Unfinished:
    """Has a field of a type that is nowhere."""

    order: "Nowhere"  # type: ignore[name-defined]  # noqa: F821


def unfinished(what: Unfinished) -> int:
    return id(what)


class Numbers:
    """Has no name."""

    async def respond(self, request: ModelRequest) -> ModelReply:
        return ModelReply(request.system)


async def _in_a_loop(call: Callable[[], object]) -> None:
    call()


async def _listen(_event: Event) -> None: ...


def wrong(value: Any) -> Any:
    """A value that no type checker lets through."""
    return value


A_MODEL = "'model' must be a name such as openai:gpt-5, or an object with a 'name' and 'async def"
TOOLS = "'tools' must be a list of functions and of names of tools"
WRONG_USES: dict[str, tuple[Call, str]] = {
    "a model that is None": (lambda c: c.run_sync(CLERK, "x", model=wrong(None)), A_MODEL),
    "a model that is a number": (lambda c: c.run_sync(CLERK, "x", model=wrong(5)), "not 5"),
    "a model without a name": (lambda c: c.run_sync(CLERK, "x", model=wrong(Numbers())), "Numbers"),
    "a class as a model": (
        lambda c: c.run_sync(CLERK, "x", model=wrong(ScriptedModel)),
        "not the class ScriptedModel",
    ),
    "a stream of no model": (lambda c: c.stream(CLERK, "x", model=wrong(None)), A_MODEL),
    "an agent without a model": (lambda _: Agent("a", "b", model=wrong(None)), A_MODEL),
    "a task that is None": (
        lambda c: c.run_sync(CLERK, wrong(None)),
        "'task' must be a string, not",
    ),
    "an agent that is a mapping": (
        lambda c: c.run_sync(wrong({"agentId": "a"}), "x"),
        "'agent' must be the id of an agent, or an Agent, not a dict",
    ),
    "a listener that is a number": (
        lambda c: c.run_sync(CLERK, "x", on_event=wrong(5)),
        "'on_event' must be a function, not 5",
    ),
    "an async listener": (
        lambda c: c.run_sync(CLERK, "x", on_event=wrong(_listen)),
        "'on_event' must not be async",
    ),
    "a profile that is added": (lambda c: c.add(wrong({})), "'agent' must be an Agent, not a dict"),
    "a run id that is None": (lambda c: c.resume_sync(wrong(None)), "'run_id' must be a string"),
    "a resume with a number": (lambda c: c.resume_sync("x", model=wrong(5)), A_MODEL),
    "a stream of no run": (lambda c: c.stream_resume(wrong(None)), "'run_id' must be a string"),
    "a cancelled number": (lambda c: c.cancel(wrong(5)), "'run_id' must be a string"),
    "consent to nothing": (lambda c: c.allow_tools("a", " "), "the name of a tool is empty"),
    "a catalog by its class": (
        lambda c: wrong(Catalog)(c.workspace),
        "a Catalog is not made by its class",
    ),
    "consent to an unknown tool": (lambda c: c.allow_tools("pay"), "there is no tool 'pay'"),
    "a catalog of nothing": (
        lambda _: wrong(Catalog)(),
        "a Catalog is not made by its class",
    ),
    "consent to a list": (lambda c: c.allow_tools(wrong(["a"])), "'names' must be a string"),
    "a run inside a loop": (
        lambda c: asyncio.run(_in_a_loop(lambda: c.run_sync(CLERK, "x"))),
        "cannot be called inside a running event loop",
    ),
    "tools in a text": (lambda _: Agent("a", "b", tools="double"), f"{TOOLS}, not the string 'dou"),
    "one tool": (lambda _: Agent("a", "b", tools=wrong(double)), f"{TOOLS}, not a function"),
    "the result of a tool": (
        lambda _: Agent("a", "b", tools=wrong([double(2)])),
        f"{TOOLS}; it contains 4",
    ),
    "a class as a tool": (
        lambda _: Agent("a", "b", tools=[Numbers]),
        "it contains the class Numbers",
    ),
    "a lambda": (lambda _: Agent("a", "b", tools=[lambda: 1]), "not a valid tool name"),
    "a tool with *args": (lambda _: Agent("a", "b", tools=[print]), "the function 'print' takes"),
    "a method without its object": (
        lambda _: Agent("a", "b", tools=[Numbers.respond]),
        "'Numbers.respond' is a method without its object",
    ),
    "a type that is not there": (
        lambda _: Agent("a", "b", tools=[unfinished]),
        "a parameter of the function 'unfinished': its type needs another that is not defined",
    ),
    "@tool of a text": (lambda _: wrong(tool)("name"), "must be a function, not the string 'name'"),
    "@tool of a built-in": (lambda _: tool(len), "the function 'len' cannot be marked as a tool"),
    "a name that is a number": (lambda _: tool(name=wrong(5)), "'name' must be a string or None"),
    "instructions that are None": (
        lambda _: Agent("a", "b", instructions=wrong(None)),
        "'instructions' must not be None",
    ),
    "more that is a list": (lambda _: Agent("a", "b", more=wrong([])), "'more' must be a mapping"),
    "a key in more that is None": (
        lambda _: Agent("a", "b", more=wrong({None: 1})),
        "'more' must be a mapping of other keys of a profile; None is a key in it",
    ),
    "a field in more in another spelling": (
        lambda _: Agent("a", "b", more={"system_prompt": "x"}),
        "'systemPrompt' is not one of",
    ),
    "a field in more": (
        lambda _: Agent("a", "b", more={"agentId": "x"}),
        "'agentId' is not one of",
    ),
    "an agent of a path": (lambda _: Agent.of(wrong("agents/a.yaml")), "'profile' must be a profi"),
    "a state of runs": (lambda c: c.runs(state=wrong("done")), "'state' must be one of pending, r"),
    "no limit of runs": (
        lambda c: c.runs(limit=wrong(None)),
        "'limit' must be a whole number of at least",
    ),
    "runs of an Agent": (
        lambda c: c.runs(agent=wrong(CLERK)),
        "'agent' must be a string, not an Age",
    ),
    "a run that is a number": (
        lambda c: c.run_result(wrong(5)),
        "'run_id' must be a string, not 5",
    ),
    "a limit of reports": (lambda c: c.reports(-1), "'limit' must be a whole number of at least 0"),
    "a report that is None": (
        lambda c: c.report(wrong(None)),
        "'report_id' must be a string, not No",
    ),
    "which of a list": (lambda c: c.which(wrong(["x"])), "'task' must be a string, not a list"),
    "which of a host": (lambda c: c.which("x", host=wrong(5)), "'host' must be a string or None"),
    "which up to a text": (lambda c: c.which("x", limit=wrong("a")), "'limit' must be a whole num"),
    "a capability in a text": (
        lambda c: c.resolve("web-search"),
        "'requires' must be a list of strings, not the string 'web-search'",
    ),
    "a capability of a number": (lambda c: c.resolve(wrong([5])), "list of strings; it contains 5"),
    "a mode": (lambda c: c.resolve(["a"], mode=wrong("fast")), "'mode' must be one of strict, bes"),
    "a policy of numbers": (
        lambda c: c.resolve(["a"], policy=wrong({"min-total-score": 0.5})),
        "'min-total-score' must be a string, not 0.5",
    ),
    "a policy in a list": (
        lambda c: c.resolve(["a"], policy=wrong(["x"])),
        "'policy' must be a mapp",
    ),
    "a decision": (
        lambda c: c.resolve(
            ["a"], policy={"on-missing-required": "offer-emulation"}, decide=wrong(lambda _: "yes")
        ),
        "'decision' must be one of emulate, continue-with-partial, abort, not the string 'yes'",
    ),
    "messages with roles": (
        lambda c: c.inject(wrong([{"role": "user", "content": "x"}])),
        "'messages' must be a string or a list of strings; it contains a dict",
    ),
    "core abilities in a text": (lambda c: c.inject("x", core="style"), "'core' must be a list of"),
    "a budget in a text": (
        lambda c: c.inject("x", budget=wrong("a")),
        "'budget' must be a whole n",
    ),
    "a task for agents": (
        lambda c: c.select_agents(wrong(None)),
        "'task' must be a string, not None",
    ),
    "agents of an unknown team": (
        lambda c: c.select_agents("x", team="nope"),
        "there is no team 'nope'",
    ),
    "a kind of documents": (
        lambda c: c.row(wrong("skil"), "sql"),
        "'kind' must be one of skill, ability, card, agent, not the string 'skil'",
    ),
    "a name of a document": (
        lambda c: c.row("skill", wrong(None)),
        "'wanted' must be a string, not",
    ),
    "names of several": (
        lambda c: c.names(wrong("skills")),
        "'kind' must be one of skill, ability",
    ),
    "a page of nothing": (
        lambda c: c.page("skill", limit=0),
        "'limit' must be a whole number of at least",
    ),
    "a page after a number": (
        lambda c: c.page("skill", limit=1, after=wrong(4)),
        "'after' must be a string, not 4",
    ),
    "a search": (lambda c: c.skills(search=wrong(4)), "'search' must be a string or None, not 4"),
    "providers of a number": (
        lambda c: c.providers(wrong(5)),
        "'capability' must be a string, not 5",
    ),
    "a document by its name": (
        lambda c: c.document(wrong("sql")),
        "'row' must be a Row, such as catalog.row('skill', NAME), not the string 'sql'",
    ),
    "agents that name a name": (lambda c: c.agents_naming(wrong("sql")), "'skill' must be a Row, "),
    "the agents that fit, up to a text": (
        lambda c: c.select_agents("x", wrong("3")),
        "'limit' must be a whole number of at least 1, not the string '3'",
    ),
    "an overlap of a text": (
        lambda c: c.overlap(least=wrong("x")),
        "'least' must be a number from",
    ),
    "an overlap above 1": (
        lambda c: c.overlap(least=2),
        "'least' must be a number from 0 to 1, no",
    ),
    "a context in a text": (
        lambda c: c.listing("claude-code", context=wrong("x")),
        "'context' must be a whole number of at least 1",
    ),
    "a context below 0": (
        lambda c: c.listing("claude-code", -1),
        "whole number of at least 1, not -1",
    ),
    "cases of texts": (
        lambda c: c.evaluate(cases=wrong(["x"])),
        "'cases' must be a list of EvalCase; it contains the string 'x'",
    ),
    "a case whose task is a number": (
        lambda c: c.evaluate(cases=[EvalCase(task=wrong(3), nothing=True)]),
        "'cases[0].task' must be a string, not 3",
    ),
    "a case whose skills are a text": (
        lambda c: c.evaluate(cases=[EvalCase(task="x", skills="pdf-tables")]),
        "'cases[0].skills' must be a list of strings, not the string 'pdf-tables'",
    ),
    "a case that expects nothing in particular": (
        lambda c: c.evaluate(cases=[EvalCase(task="x")]),
        "cases[0] does not say what is expected",
    ),
    "an unknown host of an evaluation": (
        lambda c: c.evaluate(host="claude-cod"),
        "'claude-cod' is not a host",
    ),
    "evaluation files in a text": (
        lambda c: c.evaluate("cases.json"),
        "'files' must be a list of strings, not the string 'cases.json'",
    ),
    "the report of a number": (lambda c: c.keep_report(wrong(3)), "what catalog.resolve returned"),
    "usage of nothing": (lambda c: c.usage(wrong(None)), "'question' must be a metier.types.Usage"),
    "a folder that is a number": (lambda _: load_abilities(wrong(3)), "'directory' must be a path"),
    "abilities in a text": (
        lambda _: abilities_for_task(wrong("x"), "y"),
        "'abilities' must be a list of Ability, not the string 'x'",
    ),
    "an injection of nothing": (
        lambda _: inject_abilities(wrong(None)),
        "'selection' must be what abilities_for_task returned, not None",
    ),
    "a depth in a text": (
        lambda c: c.resolve(["a"], depth=wrong("2")),
        "'depth' must be a whole nu",
    ),
    "a depth below 0": (
        lambda c: c.resolve(["a"], depth=-1),
        "a whole number of at least 0, not -1",
    ),
    "only one skill, in a text": (
        lambda c: c.resolve(["a"], only="sql"),
        "'only' must be a list of",
    ),
    "a host that is a number": (
        lambda c: c.resolve(["a"], host=wrong(5)),
        "'host' must be a string o",
    ),
    "a type of session": (
        lambda c: c.inject("x", session_type=wrong("bogus")),
        "'session_type' must be one of main, isolated, not the string 'bogus'",
    ),
    "a time limit in a text": (
        lambda _: tool(timeout=wrong("x")),
        "'timeout' must be a number of s",
    ),
    "a name with spaces": (lambda _: tool(name="my tool!"), "'my tool!' is not a valid tool name"),
    "settings in a mapping": (
        lambda c: Catalog.open(c.workspace, config=wrong({})),
        "'config' must be a metier.Config, not a dict",
    ),
    "a root that is a number": (lambda _: Catalog.open(wrong(5)), "'root' must be a path, not 5"),
    "an application without a catalog": (lambda _: asgi_app(wrong(".")), "must be an open Catalog"),
    "an alias table that is nowhere": (
        lambda c: c.resolve(["a"], alias_file=Path("/nope")),
        "no such alias table",
    ),
    "an alias table that is a number": (
        lambda c: c.resolve(["a"], alias_file=wrong(3)),
        "'alias_file' must be a path, not 3",
    ),
    "a decision that is a number": (
        lambda c: c.resolve(["a"], decide=wrong(3)),
        "'decide' must be a function, not 3",
    ),
    "a signal in a text": (
        lambda c: c.inject("x", min_signal=wrong("x")),
        "'min_signal' must be a number or None, not the string 'x'",
    ),
    "a progress that is a number": (
        lambda c: c.overlap(on_progress=wrong(3)),
        "'on_progress' must be a function, not 3",
    ),
    "filters in a mapping": (
        lambda c: c.browse(wrong({})),
        "'query' must be a metier.types.Browse, not a dict",
    ),
    "a listing in a text": (
        lambda c: c.measure_listing(wrong("x")),
        "'found' must be what catalog.listing returned, not the string 'x'",
    ),
    "a limit of tokens in a text": (
        lambda _: inject_abilities(abilities_for_task([], "x"), wrong("x")),
        "'max_tokens' must be a whole number of at least 0",
    ),
    "a host in a text": (lambda c: asgi_app(c, allow_hosts="example.org"), "'allow_hosts' must be"),
    "no requests at once": (
        lambda c: asgi_app(c, max_requests=0),
        "whole number of at least 1, not 0",
    ),
    "a script in a text": (lambda _: ScriptedModel("hello"), "'replies' must be a list of replies"),
    "a script of numbers": (
        lambda _: ScriptedModel(wrong([5])),
        "5 is not a text, a ModelReply, a",
    ),
    "a recorded name": (
        lambda _: RecordedModel("x.json", wrong("offline")),
        "'model' must be an ob",
    ),
    "a model that is no name": (
        lambda _: model_for(wrong(None)),
        "'name' must be a string, not None",
    ),
    "skills in a list": (
        lambda c: assert_which(c, "x", wrong(["pdf-tables"])),
        "'skills' must be a string, not a list",
    ),
    "a text as a result": (
        lambda c: assert_injected(c, wrong("x"), "a"),
        "what inject or run return",
    ),
    "an injection without its catalog": (
        lambda c: assert_injected(wrong(c.inject("x")), wrong("a")),
        "'catalog' must be a Catalog, not an Injection",
    ),
}


WRONG_SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"trust_user": "nope"}, "'trust_user' must be one of "),
    ({"agent_scorer": "z"}, "'agent_scorer' must be one of spec, learned, not 'z'"),
    ({"disabled": "x"}, "'disabled' must be a tuple of strings, not the string 'x'"),
    ({"cards": (3,)}, "'cards' must be a tuple of strings, not a tuple"),
    ({"abilities": 3}, "'abilities' must be a tuple of strings, not 3"),
    ({"mounts": "x"}, "'mounts' must be a tuple, not the string 'x'"),
    ({"capabilities": ()}, "'capabilities' must be a CapabilitiesConfig, not a tuple"),
    ({"trust_sources": ()}, "'trust_sources' must be a mapping, not a tuple"),
    ({"keep_days": 0}, "'keep_days' must be from 1 to "),
]


@pytest.mark.parametrize(("fields", "said"), WRONG_SETTINGS)
def test_a_wrong_field_of_a_built_config_is_named(
    fields: dict[str, Any], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError) as caught:
        Catalog.open(tmp_path, config=Config(**fields))
    assert said in caught.value.message


@pytest.mark.parametrize("name", WRONG_USES)
def test_a_wrong_argument_is_named_with_what_is_expected(name: str, catalog: Catalog) -> None:
    call, said = WRONG_USES[name]
    with pytest.raises(UsageError) as caught:
        call(catalog)
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert catalog.runs() == []


def test_a_text_in_place_of_a_list_is_hinted_at_as_a_list(catalog: Catalog) -> None:
    with pytest.raises(UsageError) as caught:
        catalog.resolve("web-search")
    assert caught.value.hint == "requires=['web-search']"


def test_a_hint_about_options_names_the_arguments_too(catalog: Catalog) -> None:
    for asked in ({}, {"consumer": "pdf-tables"}):
        with pytest.raises(UsageError) as caught:
            catalog.resolve(**wrong(asked))
        assert "requires=[…]" in caught.value.hint


@pytest.mark.parametrize(
    ("answer", "said"),
    [("a text", "must answer with a ModelReply, not the string 'a text'"), (None, "not None")],
)
def test_a_model_that_answers_with_something_else_is_named(
    answer: object, said: str, catalog: Catalog
) -> None:
    class Odd:
        name = "odd:model"

        async def respond(self, request: ModelRequest) -> Any:
            assert request.messages
            return answer

    (error,) = catalog.run_sync(CLERK, "x", model=Odd()).errors
    assert (error.code, said in error.message) == ("MODEL_ERROR", True)
    assert "odd:model" in error.message


def test_a_model_that_cannot_be_awaited_is_named(catalog: Catalog) -> None:
    class Blocking:
        name = "blocking:model"

        def respond(self, request: ModelRequest) -> ModelReply:
            return ModelReply(request.system)

    (error,) = catalog.run_sync(CLERK, "x", model=wrong(Blocking())).errors
    assert error.message == "the model blocking:model cannot be awaited: write 'async def respond'"


def test_a_script_may_raise_any_exception(catalog: Catalog) -> None:
    (error,) = catalog.run_sync(CLERK, "x", model=ScriptedModel([ValueError("no luck")])).errors
    assert "no luck" in error.message


def test_a_type_without_a_schema_is_told_in_one_line() -> None:
    class Odd: ...

    def use(odd: Odd) -> int:
        return id(odd)

    use.__annotations__["odd"] = Odd
    with pytest.raises(UsageError) as caught:
        Agent("a", "b", tools=[use])
    assert "'use' has a parameter of a type without schema" in caught.value.message.replace(
        "test_a_type_without_a_schema_is_told_in_one_line.<locals>.", ""
    )
    assert "\n" not in caught.value.message


def test_a_workspace_of_a_test_is_not_left(metier_workspace: Workspace, tmp_path: Path) -> None:
    for path in ("../beside.txt", str(tmp_path / "beside.txt")):
        with pytest.raises(UsageError, match="outside of the workspace"):
            metier_workspace.write(path, "x")
    assert not (tmp_path / "beside.txt").exists()


def test_wrong_fields_of_an_agent_are_errors_of_its_document() -> None:
    for name, value in (
        ("tags", "x"),
        ("workflow", [5]),
        ("model", "gpt-5"),
        ("more", {"limts": {}}),
    ):
        with pytest.raises(InvalidDocumentError):
            Agent("a", "b", **wrong({name: value}))
    assert issubclass(InvalidDocumentError, MetierError)


def test_an_unknown_key_of_a_step_is_told_which_keys_there_are() -> None:
    step = {"stepId": "one", "type": "tool", "config": {"tool": "double", "args": {}}}
    with pytest.raises(InvalidDocumentError) as caught:
        Agent("a", "b", workflow=[step])
    assert caught.value.hint == "the keys here are tool, input"


@pytest.mark.parametrize(
    ("step", "hint"),
    [
        ({"typ": "prompt", "config": {"prompt": "x"}}, "did you mean 'type', not 'typ'?"),
        ({"type": "promt", "config": {"prompt": "x"}}, "did you mean 'prompt'?"),
        ({"type": "prompt", "config": {"promt": "x"}}, "did you mean 'prompt', not 'promt'?"),
        ({"type": "prompt"}, "add 'config:'"),
    ],
)
def test_a_misspelt_key_of_a_step_is_recognized(step: dict[str, Any], hint: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        Agent("a", "b", workflow=[{"stepId": "one", **step}])
    assert caught.value.hint == hint


def test_an_empty_name_of_a_document_is_told_as_such(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError, match="the name of the skill is empty"):
        catalog.row("skill", "")


def test_a_refresh_of_a_deleted_workspace_is_an_error(tmp_path: Path) -> None:
    root = tmp_path / "deleted"
    root.mkdir()
    (root / "metier.toml").touch()
    with Catalog.open(root) as catalog:
        catalog.refresh()
        shutil.rmtree(root)
        with pytest.raises(UsageError, match="the workspace is not a folder"):
            catalog.refresh()


def test_a_listener_that_fails_is_logged_once(
    catalog: Catalog, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(event: Event) -> None:
        raise ValueError(event.kind)

    assert catalog.run_sync(CLERK, "x", model="offline", on_event=fail).success
    assert [one.message for one in caplog.records if "on_event" in one.message] == [
        "on_event failed at 'run.started'; it is not logged again"
    ]
