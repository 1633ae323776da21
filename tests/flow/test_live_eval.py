"""Live evaluations as runs, with scripted models."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.errors import ModelError, TrustError, UsageError
from metier.evals.verdicts import LiveReport
from metier.flow.live_eval import LivePlan, LiveSettings, planned, report_of, resume, start
from metier.flow.live_tries import ROUNDS
from metier.flow.running import Agency
from metier.run.models import Price, ScriptedModel
from metier.run.postgres_store import PostgresRunStore
from metier.values.evals import LIVE_AGENT, EvalCase
from metier.values.models import ModelReply, ModelRequest, ToolCall
from metier.values.runs import RunResult, Usage

BELL = EvalCase(task="ring the bell at noon", skills=["bell"])
SOUP = EvalCase(task="cook a soup with leeks", skills=["soup"], not_skills=["bell"])
REST = EvalCase(task="how tall is the tower", nothing=True)
COST = Usage(100, 10, 0.01, 1)


def calls(*made: tuple[str, dict[str, Any]]) -> ModelReply:
    return ModelReply("", [ToolCall(f"c{n}", *one) for n, one in enumerate(made)], COST)


def skill(name: str) -> ModelReply:
    return calls(("Skill", {"skill": name}))


class Asked:
    """A model that answers each task by a plan of its own, in any order."""

    name = "scripted:test"

    def __init__(self, **answers: list[Any]) -> None:
        """Word of a task → what is replied in each turn; then a text."""
        self.answers = answers
        self.requests: list[ModelRequest] = []

    async def respond(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        task = request.messages[0].text
        turns = next((turns for word, turns in self.answers.items() if word in task), [])
        turn = sum(message.role == "assistant" for message in request.messages)
        reply = turns[turn] if turn < len(turns) else ModelReply("Done.", usage=COST)
        if callable(reply):
            reply = reply()
        if isinstance(reply, Exception):
            raise reply
        assert isinstance(reply, ModelReply)
        return reply

    @property
    def tasks(self) -> list[str]:
        """The tasks of which a conversation began, in order."""
        return [one.messages[0].text for one in self.requests if len(one.messages) == 1]


def _always(value: Any) -> Any:
    return lambda *_: value


class Trial:
    """A workspace with skills of Claude Code, and a model."""

    def __init__(self, workspace: Workspace, host: str = "claude-code") -> None:
        self.workspace = workspace
        self.host = host
        folder = ".agents/skills" if host == "codex" else ".claude/skills"
        for name, about in (
            ("bell", "Rings the bell of the tower. Use it to ring a bell."),
            ("soup", "Cooks soup with vegetables. Use it to cook a soup."),
        ):
            workspace.skill(name, about, folder=f"{folder}/{name}", body=f"How to {name}.")
        workspace.write("metier.toml", "")
        workspace.trust()
        self.catalog = Catalog.open(workspace.root)
        self.catalog.refresh()

    def use(self, model: Any, price: Price | None = None) -> None:
        agency = self.catalog.agency
        agency.model = _always(model)  # type: ignore[method-assign]
        agency.price = _always(price)  # type: ignore[method-assign]

    def plan(self, *cases: EvalCase, **settings: Any) -> LivePlan:
        defaults = {"model": "scripted:test", "host": self.host, "backoff_ms": 0}
        offline = self.catalog.evaluate(cases=cases, host=self.host)
        return planned(self.catalog, offline, LiveSettings(**{**defaults, **settings}))

    def start(self, *cases: EvalCase, **settings: Any) -> RunResult:
        return asyncio.run(start(self.catalog, self.plan(*cases, **settings)))

    def resume(self, run_id: str, max_cost: float | None = None) -> RunResult:
        return asyncio.run(resume(self.catalog, run_id, max_cost=max_cost))


def reported(result: RunResult) -> LiveReport:
    return report_of(result.run, result.steps)


@pytest.fixture
def trial(workspace: Workspace) -> Iterator[Trial]:
    made = Trial(workspace)
    yield made
    made.catalog.close()


def test_the_model_sees_the_listing_of_the_host_its_tools_and_the_task(trial: Trial) -> None:
    model = Asked(bell=[skill("bell")])
    trial.use(model)
    result = trial.start(BELL, tries=1)
    assert result.success
    first, second = model.requests
    assert first.system == trial.catalog.listing("claude-code").listing.rendered()
    assert "- bell: Rings the bell" in first.system
    assert [one.name for one in first.tools] == ["Skill", "Read", "Bash"]
    assert [one.text for one in first.messages] == [BELL.task]
    assert second.messages[-1].text.strip() == "How to bell."


def test_another_skill_first_is_no_miss_and_all_calls_count(trial: Trial) -> None:
    trial.use(
        Asked(
            bell=[
                calls(("Bash", {"command": "ls"}), ("Skill", {"skill": "soup"})),
                skill("nobody"),
                skill("bell"),
            ]
        )
    )
    result = trial.start(BELL, tries=1)
    [case] = reported(result).results
    assert (case.right, case.tries) == (1, 1)
    assert case.loaded == {"soup": 1, "bell": 1}
    [step] = result.steps
    assert [one["tool"] for one in step.output["calls"]] == ["Bash", "Skill", "Skill", "Skill"]
    assert step.usage.tool_calls == 4


def test_each_case_tells_how_many_tries_loaded_what(trial: Trial) -> None:
    turns = iter([skill("soup"), skill("bell"), calls(("Bash", {"command": "ls"}))])
    trial.use(Asked(soup=[lambda: next(turns)], tall=[skill("bell")], bell=[]))
    report = reported(trial.start(BELL, SOUP, REST, tries=3, concurrency=1))
    bell, soup, rest = report.results
    assert (bell.right, bell.nothing) == (0, 3)
    assert (soup.right, soup.forbidden, soup.nothing) == (1, 1, 1)
    assert rest.forbidden == 3
    assert report.figures["recall"].value == pytest.approx(1 / 6)
    assert report.figures["falseFires"].value == pytest.approx(1 / 3)
    assert report.figures["speaksWrongly"].value == 1.0


def test_live_and_offline_verdicts_are_compared(trial: Trial) -> None:
    trial.use(Asked(bell=[skill("bell")], soup=[]))
    report = reported(trial.start(BELL, SOUP, REST))
    assert [one.offline for one in report.results] == [True, True, True]
    assert report.agreement.both_pass == 2
    assert [one.case.task for one in report.differing] == [SOUP.task]


def test_a_model_that_never_stops_calling_tools_is_judged_by_what_it_loaded(trial: Trial) -> None:
    model = Asked(bell=[skill("bell")] * (ROUNDS + 5))
    trial.use(model)
    [case] = reported(trial.start(BELL, tries=1)).results
    assert (case.right, case.errors) == (1, 0)
    assert len(model.requests) == ROUNDS + 1


def test_codex_loads_a_skill_by_reading_its_file(workspace: Workspace) -> None:
    trial = Trial(workspace, "codex")
    model = Asked(bell=[])
    trial.use(model)
    trial.start(BELL, tries=1)
    [listed] = [line for line in model.requests[0].system.splitlines() if "- bell:" in line]
    place = listed.partition("(file: ")[2].removesuffix(")")
    trial.use(Asked(bell=[calls(("exec_command", {"cmd": f"cat {place}"}))]))
    report = reported(trial.start(BELL, tries=1))
    assert report.results[0].right == 1
    whole = str(workspace.root / ".agents/skills/bell/SKILL.md")
    trial.use(Asked(bell=[calls(("exec_command", {"cmd": f"head -50 {whole}"}))]))
    assert reported(trial.start(BELL, tries=1)).results[0].right == 1
    trial.catalog.close()


# Errors


def test_errors_that_may_pass_are_retried_and_then_counted_apart(trial: Trial) -> None:
    busy = ModelError("busy", kind="rateLimit")
    once = iter([busy, skill("bell")])
    model = Asked(bell=[lambda: next(once)], soup=[busy])
    trial.use(model)
    result = trial.start(BELL, SOUP, tries=1)
    bell, soup = reported(result).results
    assert (bell.right, bell.errors) == (1, 0)
    assert (soup.tries, soup.errors, soup.live) == (0, 1, None)
    assert model.tasks.count(SOUP.task) == 3
    assert not result.success


def test_a_refusal_is_not_retried_and_a_resume_asks_again(trial: Trial) -> None:
    model = Asked(soup=[ModelError("refused")], bell=[skill("bell")])
    trial.use(model)
    result = trial.start(BELL, SOUP, tries=1)
    assert model.tasks.count(SOUP.task) == 1
    again = Asked(soup=[skill("soup")])
    trial.use(again)
    result = trial.resume(result.run_id)
    assert again.tasks == [SOUP.task]
    assert result.success
    assert [one.right for one in reported(result).results] == [1, 1]


# A run


def test_a_resume_asks_only_tries_that_have_no_answer(trial: Trial) -> None:
    agency, asked = trial.catalog.agency, 0

    class Dies(Asked):
        async def respond(self, request: ModelRequest) -> ModelReply:
            nonlocal asked
            asked += 1
            if asked > 4:
                raise KeyboardInterrupt
            return await super().respond(request)

    trial.use(Dies())
    with pytest.raises(KeyboardInterrupt):
        trial.start(BELL, SOUP, tries=4, concurrency=1)
    [run] = agency.store.runs()
    before = [one.id for one in agency.store.steps(run.key) if one.state == "succeeded"]
    assert len(before) == 4
    model = Asked(bell=[skill("bell")])
    trial.use(model)
    result = trial.resume(run.run_id)
    assert result.success
    assert len(model.tasks) == 4
    assert sum(one.tries for one in reported(result).results) == 8


def test_any_resume_of_the_run_goes_on_with_it(trial: Trial) -> None:
    trial.use(Asked(bell=[ModelError("refused")]))
    result = trial.start(BELL, tries=2)
    trial.use(Asked(bell=[skill("bell")]))
    again = asyncio.run(trial.catalog.resume(result.run_id))
    assert again.success
    assert reported(again).results[0].right == 2


@pytest.mark.slow
def test_an_evaluation_on_shared_state_is_resumed(trial: Trial, postgres: str) -> None:
    store = PostgresRunStore(postgres, "live-eval")
    agency = Agency(trial.catalog, lambda: b"secret", lambda: store)
    trial.catalog.__dict__["agency"] = agency
    trial.use(Asked(bell=[ModelError("refused")], soup=[skill("soup")]))
    result = trial.start(BELL, SOUP)
    assert not result.success
    model = Asked(bell=[skill("bell")])
    trial.use(model)
    again = trial.resume(result.run_id)
    assert again.success
    assert model.tasks == [BELL.task] * 3
    assert [one.right for one in reported(again).results] == [3, 3]


def test_more_tries_than_a_profile_may_have_steps(trial: Trial) -> None:
    model = Asked()
    trial.use(model)
    result = trial.start(*[REST] * 50, tries=3)
    assert result.success
    assert len(model.tasks) == 150


def test_no_more_tries_at_a_time_than_allowed(trial: Trial) -> None:
    class Counting(Asked):
        now = most = 0

        async def respond(self, request: ModelRequest) -> ModelReply:
            self.now += 1
            self.most = max(self.most, self.now)
            for _ in range(5):
                await asyncio.sleep(0)
            self.now -= 1
            return await super().respond(request)

    model = Counting()
    trial.use(model)
    trial.start(BELL, SOUP, REST, tries=4, concurrency=3)
    assert model.most == 3


def test_another_run_is_not_resumed_as_an_evaluation(trial: Trial) -> None:
    trial.use(ScriptedModel(["answer"]))
    result = trial.catalog.run_sync("standard", "hello")
    with pytest.raises(UsageError, match="is not a live evaluation"):
        trial.resume(result.run_id)


# Cost


def test_the_estimate_counts_the_listing_the_tasks_and_a_skill(trial: Trial) -> None:
    trial.use(Asked(), Price(1.0, 10.0))
    once, thrice = (trial.plan(BELL, SOUP, tries=tries).estimate for tries in (1, 3))
    count = trial.catalog.count_tokens
    listing = count(trial.catalog.listing("claude-code").listing.rendered())
    assert (once.cases, once.tries, once.requests) == (2, 2, 4)
    assert once.usage.input_tokens > 4 * listing
    assert thrice.usage.input_tokens == 3 * once.usage.input_tokens
    assert once.cost == pytest.approx(
        once.usage.input_tokens / 1e6 + once.usage.output_tokens / 1e5
    )
    trial.use(Asked())
    assert trial.plan(BELL).estimate.cost is None


def test_an_evaluation_stops_at_its_largest_cost_and_goes_on_with_a_larger_one(
    trial: Trial,
) -> None:
    trial.use(Asked(bell=[skill("bell")]), Price(1.0, 1.0))
    result = trial.start(BELL, tries=10, concurrency=1, max_cost=0.05)
    assert result.run.failure is not None
    assert result.run.failure.code == "RUN_LIMIT_EXCEEDED"
    assert 0.05 < result.usage.cost <= 0.06 + 1e-9
    report = reported(result)
    assert (report.results[0].tries, report.errors, report.unfinished) == (2, 0, 8)
    again = trial.resume(result.run_id, max_cost=1.0)
    assert again.success
    assert reported(again).results[0].right == 10


def test_a_largest_cost_needs_a_price(trial: Trial) -> None:
    trial.use(Asked())
    with pytest.raises(UsageError, match="price of 'scripted:test'") as error:
        trial.plan(BELL, max_cost=1.0)
    assert "set input and output in [models.scripted.test]" in error.value.hint


# What is asked


def test_cases_about_no_skill_and_cases_that_teach_are_left_out(trial: Trial) -> None:
    trial.use(Asked())
    plan = trial.plan(
        BELL,
        EvalCase(task="x", agents=["someone"]),
        EvalCase(task="y", skills=["bell"], training=True),
    )
    assert len(plan.input["cases"]) == 1
    assert plan.notes == [
        "2 cases are skipped: they are for training, are not scored, or name no skill"
    ]
    with pytest.raises(UsageError, match="no case expects or forbids a skill"):
        trial.plan(EvalCase(task="x", agents=["someone"]))


def test_too_many_tries_are_refused(trial: Trial) -> None:
    trial.use(Asked())
    with pytest.raises(UsageError, match="101 cases with 100 tries are over 10,000 tries"):
        trial.plan(*[REST] * 101, tries=100)


def test_skills_that_the_model_cannot_see_are_named(trial: Trial) -> None:
    trial.workspace.skill("attic", "Cleans attics.", folder="skills/attic")
    trial.catalog.refresh()
    trial.use(Asked())
    plan = trial.plan(
        EvalCase(task="clean the attic", skills=["attic"]), EvalCase(task="x", skills=["nobody"])
    )
    assert plan.notes == [
        "1 case is skipped: it is for training, is not scored, or names no skill",
        "claude-code does not show the model: attic",
    ]


def test_an_untrusted_workspace_asks_no_model(workspace: Workspace) -> None:
    workspace.skill("bell", "Rings the bell.", folder=".claude/skills/bell")
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        settings = LiveSettings("offline", "claude-code")
        with pytest.raises(TrustError, match="asking a model needs trust"):
            planned(catalog, catalog.evaluate(cases=[BELL]), settings)


def test_nothing_is_written_into_the_workspace_or_the_home(trial: Trial, empty_home: Path) -> None:
    trial.use(Asked(bell=[skill("bell"), calls(("Bash", {"command": "touch made"}))]))
    before = _tree(trial.workspace.root), _tree(empty_home / ".claude")
    assert trial.start(BELL, SOUP).success
    assert (_tree(trial.workspace.root), _tree(empty_home / ".claude")) == before


def _tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in files}


def test_the_run_is_listed_under_its_own_name(trial: Trial) -> None:
    trial.use(Asked())
    result = trial.start(BELL, SOUP, tries=2)
    assert result.run.agent_id == LIVE_AGENT
    assert result.run.task == "2 cases, 2 tries each, listed as in claude-code"
    assert {one.id for one in result.steps} >= {"case-1-try-1", "case-2-try-2"}
