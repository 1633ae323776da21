"""Agents of a catalog at work: abilities, cards and skills before the prompt, all in one run."""

import asyncio
import json

import pytest

from metier.core.budget import count_tokens
from metier.errors import UsageError
from metier.flow.running import Agency
from metier.values.runs import RunResult
from run.office import TASK, Office, office
from run.stores import Stores
from run.world import Data, prompt

pytestmark = pytest.mark.slow

__all__ = ["office"]


def handed(result: RunResult) -> Data:
    (step,) = result.steps
    found: Data = step.input
    return found


def code(result: RunResult) -> str:
    return result.run.failure.code if result.run.failure else ""


# Abilities


@pytest.mark.invariant(id="INV-AGT-ABL-001")
def test_ability_text_reaches_the_model_before_the_system_prompt_of_the_same_call(
    office: Office,
) -> None:
    text = office.ability("migrations", "", "tags: [migration]")
    office.agent(prompt("p", "{{ task }}"))
    result = office.run()
    assert office.request.system == f"{text}\n\nBASE"
    assert office.request.messages[0].text == TASK
    assert handed(result)["abilities"] == ["migrations"]
    assert handed(result)["text"] == text


@pytest.mark.invariant(id="INV-AGT-ABL-002")
def test_core_abilities_come_first_in_their_order_whatever_matches(office: Office) -> None:
    office.ability(
        "best", "All about migration review.", "tags: [migration, review]", "priority: 100"
    )
    office.ability("weak", "Nothing that fits.", "priority: 1")
    office.ability("off", "Not enabled.", "enabled: false")
    office.ability("elsewhere", "For others.", "applicableTo: [other]")
    office.agent(prompt("p", "{{ task }}"), abilities={"core": ["elsewhere", "weak", "off"]})
    result = office.run()
    assert handed(result)["abilities"] == ["elsewhere", "weak", "off", "best"]
    places = [
        office.request.system.index(text)
        for text in ("For others.", "Nothing that fits.", "Not enabled.", "All about", "BASE")
    ]
    assert places == sorted(places)


def test_an_ability_that_says_nothing_to_the_task_is_not_handed_over(office: Office) -> None:
    office.ability("other", "Cooking.", "priority: 100")
    office.agent(prompt("p", "{{ task }}"))
    office.run()
    assert office.request.system == "BASE"


@pytest.mark.invariant(id="INV-AGT-ABL-002")
def test_a_core_ability_that_is_not_there_fails_the_step_unsent(office: Office) -> None:
    office.agent(prompt("p"), abilities={"core": ["gone"]})
    assert code(office.run()) == "ABILITY_NOT_FOUND"
    assert office.model.requests == []


@pytest.mark.invariant(id="INV-AGT-ABL-002")
@pytest.mark.invariant(id="INV-AGT-ABL-003")
def test_a_core_that_does_not_fit_fails_the_step_unsent(office: Office) -> None:
    office.ability("core", "x" * 400)
    office.agent(prompt("p"), abilities={"core": ["core"], "maxTokens": 99})
    assert code(office.run()) == "ABILITY_TOKEN_LIMIT_EXCEEDED"
    assert office.model.requests == []


@pytest.mark.invariant(id="INV-AGT-ABL-003")
@pytest.mark.parametrize("most", [60, 120, 10_000])
def test_what_is_handed_over_keeps_to_the_budget_and_tells_what_was_left_out(
    office: Office, most: int
) -> None:
    for number in range(5):
        office.ability(f"a{number}", "migration " * 18, "tags: [migration]")
    office.agent(prompt("p", "{{ task }}"), abilities={"maxTokens": most})
    result = office.run()
    text = office.request.system.removesuffix("\n\nBASE")
    assert count_tokens(text) <= most
    found = handed(result)
    assert found["tokens"] == count_tokens(text)
    left_out = {one["id"] for one in found["skipped"]}
    assert {*found["abilities"], *left_out} == {f"a{number}" for number in range(5)}
    assert len(found["abilities"]) == {60: 1, 120: 2, 10_000: 5}[most]


@pytest.mark.invariant(id="INV-AGT-ABL-003")
def test_the_budget_is_10_000_tokens_unless_the_profile_says_otherwise(office: Office) -> None:
    for number in range(4):
        office.ability(f"a{number}", f"migration {number} " * 999, "tags: [migration]")
    office.agent(prompt("p", "{{ task }}"))
    assert office.catalog.agency.require("worker").ability_tokens == 10_000
    result = office.run()
    assert len(handed(result)["abilities"]) == 3
    assert 7_000 < handed(result)["tokens"] <= 10_000


def test_each_step_is_prepared_for_what_it_asks(office: Office) -> None:
    office.ability("one", "About apples.", "tags: [apples]")
    office.ability("two", "About pears.", "tags: [pears]")
    office.agent(prompt("p", "Sort the apples."), prompt("q", "Sort the pears."))
    office.run()
    first, second = office.model.requests
    assert ("apples" in first.system, "pears" in first.system) == (True, False)
    assert ("apples" in second.system, "pears" in second.system) == (False, True)


# Skills


def test_the_skill_that_provides_what_is_required_is_handed_over_between_marks(
    office: Office,
) -> None:
    office.skill("checker", "data-review", "Read it twice.")
    office.skill("other", "cooking")
    office.agent(prompt("p", "{{ task }}", requires=["data-review"]))
    result = office.run()
    system = office.request.system
    assert "Read it twice." in system
    assert "cooking" not in system
    before, _, after = system.partition("Read it twice.")
    assert "skills/checker" in before
    assert after.rstrip().endswith("BASE")
    assert system.index("Read it twice.") < system.index("BASE")
    assert handed(result)["providers"] == ["checker::skills/checker"]


def test_a_skill_cannot_close_its_own_marks(office: Office) -> None:
    office.skill("checker", "data-review", "Read it.")
    office.agent(prompt("p", "{{ task }}", requires=["data-review"]))
    office.run()
    system = office.request.system
    mark = next(line for line in system.splitlines() if "checker" in line)
    office.workspace.skill(
        "checker", "Does data-review well.", extra="capabilities: [data-review]", body=f"{mark}\nX"
    )
    office.catalog.refresh()
    office.run()
    assert office.model.requests[1].system.count(mark) <= 1


def test_the_report_is_kept_and_named_and_the_outcome_is_recorded(office: Office) -> None:
    office.skill("checker", "data-review")
    office.agent(prompt("p", "{{ task }}", requires=["data-review"]))
    result = office.run()
    report = office.catalog.report(handed(result)["report"])
    assert report["selected"] == ["checker::skills/checker"]
    again = office.catalog.record_outcome("checker::skills/checker", success=False)
    assert again.samples == {"checker::skills/checker": 2}
    assert again.rates == {"checker::skills/checker": 0.5}


@pytest.mark.parametrize("where", ["step", "profile"])
def test_what_nobody_provides_fails_the_step_unsent_with_its_report(
    office: Office, where: str
) -> None:
    office.skill("other", "cooking")
    step = prompt("p", **({"requires": ["data-review"]} if where == "step" else {}))
    office.agent(step, **({"requires": ["data-review"]} if where == "profile" else {}))
    result = office.run()
    assert code(result) == "CAPABILITY_UNRESOLVED"
    assert result.run.failure is not None
    assert "data-review" in result.run.failure.message
    (report,) = office.catalog.report_ids()
    assert report in result.run.failure.message
    assert office.model.requests == []


def test_a_misspelt_capability_fails_with_the_nearest_name(office: Office) -> None:
    office.skill("reviewer", "data-review")
    office.agent(prompt("p", requires=["dta-review"]))
    failure = office.run().run.failure
    assert failure is not None
    assert (failure.code, failure.hint) == ("CAPABILITY_UNRESOLVED", "did you mean 'data-review'?")


def test_a_misspelt_skill_of_an_agent_is_a_warning_of_its_runs(office: Office) -> None:
    office.skill("brave-search", "web-search")
    office.agent(prompt("p"), prompt("q"), skills=["brave-serch"])
    result = office.run()
    assert result.success
    (warning,) = result.warnings
    assert (warning.code, warning.severity) == ("SKILL_NOT_FOUND", "warning")
    assert warning.message == "no skill is called 'brave-serch'"
    assert warning.hint == "did you mean 'brave-search'?"
    office.agent(prompt("p"), skills=["brave-search"])
    office.catalog.refresh()
    assert office.run().warnings == []


def test_the_step_that_failed_for_want_of_a_provider_names_its_report(office: Office) -> None:
    office.agent(prompt("p", requires=["data-review"]))
    result = office.run()
    assert handed(result)["report"] == office.catalog.report_ids()[0]


def test_only_skills_that_the_profile_lists_may_serve(office: Office) -> None:
    office.skill("alpha", "data-review", "By alpha.")
    office.skill("beta", "data-review", "By beta.")
    office.agent(prompt("p", requires=["data-review"]), skills=["beta"])
    office.run()
    assert "By beta." in office.request.system
    assert "By alpha." not in office.request.system
    office.agent(prompt("p", requires=["data-review"]), skills=[])
    office.catalog.refresh()
    assert code(office.run()) == "CAPABILITY_UNRESOLVED"


def test_several_requirements_are_covered_by_several_skills(office: Office) -> None:
    office.skill("alpha", "data-review", "By alpha.")
    office.skill("beta", "release-notes", "By beta.")
    office.agent(prompt("p", requires=["release-notes"]), requires=["data-review"])
    result = office.run()
    assert set(handed(result)["providers"]) == {"alpha::skills/alpha", "beta::skills/beta"}
    assert "By alpha." in office.request.system
    assert "By beta." in office.request.system


def test_core_abilities_come_before_skills_in_the_budget(office: Office) -> None:
    office.ability("core", "c" * 400)
    office.skill("checker", "data-review", "s" * 1_000)
    office.agent(
        prompt("p", requires=["data-review"]), abilities={"core": ["core"], "maxTokens": 400}
    )
    result = office.run()
    assert code(result) == ""
    assert "c" * 400 in office.request.system


def test_what_a_step_requires_comes_before_abilities_that_only_fit_the_task(
    office: Office,
) -> None:
    office.ability("migrations", "a" * 400, "tags: [migration]")
    office.skill("checker", "data-review", "s" * 1_000)
    office.agent(prompt("p", "{{ task }}", requires=["data-review"]), abilities={"maxTokens": 420})
    found = handed(office.run())
    assert (found["abilities"], found["providersLeftOut"]) == ([], [])
    assert "s" * 1_000 in office.request.system


@pytest.mark.invariant(id="INV-AGT-ABL-003")
@pytest.mark.parametrize("more", range(4))
def test_abilities_and_skills_together_keep_to_the_budget(office: Office, more: int) -> None:
    office.ability("core", "c" * 40)
    office.skill("checker", "data-review", "Read it." + "." * more)
    step = prompt("p", "{{ task }}", requires=["data-review"])
    office.agent(step, abilities={"core": ["core"]})
    whole = handed(office.run())["tokens"]
    for number, most in enumerate(range(whole - 3, whole + 3), start=1):
        office.agent(step, abilities={"core": ["core"], "maxTokens": most})
        office.catalog.refresh()
        found = handed(office.run())
        text = office.model.requests[number].system.removesuffix("\n\nBASE")
        assert count_tokens(text) <= most
        assert found["tokens"] == count_tokens(text)


def test_what_does_not_fit_of_the_skills_is_told(office: Office) -> None:
    office.skill("checker", "data-review", "s" * 4_000)
    office.agent(prompt("p", requires=["data-review"]), abilities={"maxTokens": 200})
    result = office.run()
    assert handed(result)["providersLeftOut"] == ["checker::skills/checker"]
    assert office.request.system == "BASE"


def test_a_resumed_step_gets_the_text_of_before_though_files_have_changed(office: Office) -> None:
    office.ability("migrations", "OLD migration text.", "tags: [migration]")
    office.skill("checker", "data-review", "OLD skill text.")
    office.agent(
        prompt("p", "{{ task }}", requires=["data-review"], outputSchema={"type": "integer"})
    )
    result = office.run()
    assert code(result) == "MODEL_OUTPUT_INVALID"
    office.ability("migrations", "NEW migration text.", "tags: [migration]")
    office.skill("checker", "data-review", "NEW skill text.")
    office.catalog.refresh()
    asyncio.run(office.catalog.resume(result.run_id))
    first, second = office.model.requests
    assert first.system == second.system
    assert "OLD" in second.system
    assert len(office.catalog.report_ids()) == 1


def test_an_agent_that_is_disabled_does_not_run(office: Office) -> None:
    office.agent(enabled=False)
    with pytest.raises(UsageError, match="agent 'worker' is disabled"):
        office.run()


@pytest.mark.parametrize("more", [{"enabled": False}, {"bogus": 1}])
def test_standard_is_there_whatever_the_workspace_says_of_it(office: Office, more: Data) -> None:
    own = {"agentId": "standard", "description": "Mine.", **more}
    office.workspace.write("agents/standard.json", json.dumps(own))
    assert [one.agent_id for one in office.catalog.select_agents("zzz")] == ["standard"]
    assert asyncio.run(office.catalog.agency.run("standard", "anything")).success


def test_a_server_that_is_down_stops_only_the_steps_that_need_it(office: Office) -> None:
    office.workspace.write("metier.toml", '[mcp.down]\ncommand = "/no/such/server"\n')
    office.workspace.write(
        "agents/needy.json",
        json.dumps(
            {
                "agentId": "needy",
                "description": "Needs a server.",
                "workflow": [
                    {"stepId": "one", "type": "prompt", "config": {"prompt": "Say it."}},
                    {"stepId": "two", "type": "tool", "config": {"tool": "down__x"}},
                ],
            }
        ),
    )
    office.agent(prompt("p", "{{ task }}"))
    assert office.run().success
    result = asyncio.run(office.catalog.agency.run("needy", TASK))
    assert [one.state for one in result.steps] == ["succeeded", "failed"]
    assert result.run.failure is not None
    assert "'down' cannot be reached" in result.run.failure.message


def test_a_provider_whose_text_was_not_handed_over_gets_no_credit(office: Office) -> None:
    office.skill("checker", "data-review", "s" * 4_000)
    office.agent(prompt("p", "{{ task }}", requires=["data-review"]), abilities={"maxTokens": 50})
    assert handed(office.run())["providersLeftOut"] == ["checker::skills/checker"]
    reliability = office.workspace.root / ".dci" / "state" / "reliability.v1.json"
    assert not reliability.exists()


# The store


def test_runs_go_to_the_store_that_the_agency_is_given(office: Office, stores: Stores) -> None:
    office.agent(prompt("p", "{{ task }}"))
    agency = Agency(office.catalog, lambda: b"secret", stores.open)
    result = asyncio.run(agency.run("worker", "t", model="offline"))
    assert result.success
    assert stores.open().run(result.run_id).state == "succeeded"
    assert office.catalog.agency.store.runs() == []


def test_a_run_of_a_worker_has_the_functions_that_were_registered(office: Office) -> None:
    def shout(text: str) -> str:
        return text.upper()

    agency = office.catalog.agency
    agency.tools.register(shout)
    assert agency.for_one_run().tools.is_tool_available("shout")
