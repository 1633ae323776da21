"""What examples teach, where they come from, and when."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from metier import Catalog
from metier.errors import StoreError
from metier.flow import examples as flow_examples
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.hook.skills import suggest
from metier.index import learned
from metier.values.which import RankedDocument

YAML = """
cases:
  - {task: ship the thing to prod, skills: [deploy-app], training: true}
  - {task: look at my notes, notSkills: [web-search], training: true}
  - {task: how are you doing today, nothing: true, training: true}
  - {task: send it live, skills: [deploy-app]}
"""


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.skill(
        "pdf-tables",
        "Extracts tables from PDF files.",
        extra="examples: [pull the price list out of this, get the numbers of the annual report]",
    )
    workspace.skill("web-search", "Searches the web for facts.")
    workspace.skill("deploy-app", "Deploys an application to servers.")
    workspace.trust()
    return workspace


@pytest.fixture
def catalog(filled: Workspace) -> Iterator[Catalog]:
    with Catalog.open(filled.root) as opened:
        opened.refresh()
        yield opened


def first(catalog: Catalog, task: str) -> RankedDocument:
    return catalog.which(task, everything=False).skills[0]


def taught(catalog: Catalog) -> dict[str, float]:
    """The evidence that examples add, by skill."""
    found = catalog.which("ship the thing to prod", everything=False).skills
    return {one.name: one.parts["examples"] for one in found if "examples" in one.parts}


def test_a_skill_fires_for_a_task_like_its_examples(catalog: Catalog) -> None:
    found = first(catalog, "grab the numbers from the yearly report")
    assert (found.name, found.fires) == ("pdf-tables", True)
    assert found.parts["examples"] > 2
    assert sum(found.parts.values()) == pytest.approx(found.evidence)


def test_a_skill_without_examples_says_nothing_of_them(catalog: Catalog) -> None:
    skills = catalog.which("search the web", everything=False).skills
    assert [one.name for one in skills if "examples" in one.parts] == ["pdf-tables"]


def test_a_recorded_task_teaches_and_is_listed_until_it_is_removed(catalog: Catalog) -> None:
    assert not taught(catalog).keys() & {"deploy-app"}
    example = catalog.examples.record("skill", "deploy-app", "ship it to prod", is_for=True)
    assert taught(catalog)["deploy-app"] > 2
    assert example in catalog.examples.all()
    assert catalog.examples.remove([example.id]) == 1
    assert "deploy-app" not in taught(catalog)
    assert example not in catalog.examples.all()


def test_a_recorded_failure_teaches_that_a_task_is_not_for_the_skill(catalog: Catalog) -> None:
    task = "get the numbers of the weather report"
    before = first(catalog, task).evidence
    for words in (task, "numbers of the weather", "the weather report of today"):
        catalog.examples.record("skill", "pdf-tables", words, is_for=False)
    assert first(catalog, task).evidence < before


def test_training_cases_teach_and_others_do_not(filled: Workspace, catalog: Catalog) -> None:
    filled.write("evals/routing.yaml", YAML)
    catalog.refresh()
    assert taught(catalog)["deploy-app"] > 2
    found = [one for one in catalog.examples.all() if one.source == "evals/routing.yaml"]
    assert [(one.name, one.task, one.is_for) for one in found] == [
        ("deploy-app", "ship the thing to prod", True),
        ("web-search", "look at my notes", False),
        ("", "how are you doing today", False),
    ]


def test_no_case_is_scored_that_taught(filled: Workspace, catalog: Catalog) -> None:
    filled.write("evals/routing.yaml", YAML)
    catalog.refresh()
    evaluation = catalog.evaluate()
    scored = [one.case.task for one in evaluation.results if not one.is_training]
    assert scored == ["send it live"]
    assert evaluation.training == 3


def test_examples_of_an_untrusted_workspace_teach_nothing(workspace: Workspace) -> None:
    workspace.skill("a", "Does a.", extra="examples: [ship it to prod]")
    workspace.write("evals/routing.yaml", YAML)
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        assert "examples" not in first(catalog, "ship it to prod").parts
        assert catalog.examples.all() == []
        with pytest.raises(StoreError, match="trusted"):
            catalog.examples.record("skill", "a", "ship it", is_for=True)


def test_examples_of_one_workspace_do_not_teach_in_another(
    catalog: Catalog, tmp_path: Path
) -> None:
    catalog.examples.record("skill", "deploy-app", "ship it to prod", is_for=True)
    other = Workspace(tmp_path / "other")
    other.skill("deploy-app", "Deploys an application to servers.")
    other.trust()
    with Catalog.open(other.root) as opened:
        opened.refresh()
        assert opened.examples.all() == []
        assert "examples" not in first(opened, "ship it to prod").parts


def test_nothing_is_fitted_again_while_no_example_changes(
    filled: Workspace, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted: list[str] = []
    real = learned._fit

    def noted(*given: Any) -> None:
        fitted.append(given[1])
        real(*given)

    monkeypatch.setattr(learned, "_fit", noted)
    catalog.refresh()
    filled.skill("another", "Does something else.")
    catalog.refresh()
    assert fitted == []
    filled.skill("more", "Does more.", extra="examples: [do it once more]")
    catalog.refresh()
    assert fitted == ["skill"]


def test_the_hook_names_what_which_names(filled: Workspace, catalog: Catalog) -> None:
    task = "grab the numbers from the yearly report"
    assert catalog.room is not None
    with ReadOnlyCatalog(catalog.room) as rows:
        suggested = suggest(rows, [task], 3, 2.85)
    named = catalog.which(task, everything=False).named
    assert [(one.name, one.score) for one in suggested if not one.outcome] == [
        (one.name, one.evidence) for one in named
    ]


_DIGEST = """
import sys
from hashlib import sha256
from metier import Catalog
with Catalog.open(sys.argv[1]) as catalog:
    catalog.store.connection.execute("DELETE FROM learned")
    catalog.store.connection.execute("DELETE FROM learned_word")
    catalog.store.connection.commit()
    catalog.refresh()
    rows = catalog.store.rows("SELECT * FROM learned_word ORDER BY kind, gram")
    rows += catalog.store.rows("SELECT kind, mean, directions, scale FROM learned")
    print(sha256(repr(rows).encode()).hexdigest())
"""


def test_equal_examples_give_equal_bytes_on_any_processor(filled: Workspace) -> None:
    found = set()
    for core in ("Haswell", "Prescott"):
        filled.skill("more", f"Does more than {core}.")
        surroundings = os.environ | {"OPENBLAS_CORETYPE": core}
        asked = subprocess.run(
            [sys.executable, "-c", _DIGEST, str(filled.root)],
            env=surroundings, capture_output=True, text=True, check=True,
        )  # fmt: skip
        found.add(asked.stdout)
    assert len(found) == 1


def test_recorded_examples_are_bounded(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow_examples, "MOST_RECORDED", 3)
    for number in range(5):
        catalog.examples.record("skill", "deploy-app", f"ship it {number}", is_for=True)
    tasks = [one.task for one in catalog.examples.all() if one.source == "recorded"]
    assert tasks == ["ship it 2", "ship it 3", "ship it 4"]


def test_damaged_lines_of_recorded_examples_are_left_out(catalog: Catalog) -> None:
    catalog.examples.record("skill", "deploy-app", "ship it", is_for=True)
    assert catalog.room is not None
    line = catalog.room.read(flow_examples.RECORDED)
    bad = [b"not json", b"[]", b'{"kind": "card", "name": "x", "task": "y", "for": true}']
    catalog.room.write(flow_examples.RECORDED, b"\n".join([*bad, line]))
    assert [one.task for one in catalog.examples.all() if one.source == "recorded"] == ["ship it"]


AGENT = """
---
name: {name}
description: {about}
selectionMetadata: {selection}
---
Do it.
"""
SHIP = ["ship it to prod", "roll out the release", "put the new version live"]
READ = ["summarize this paper", "what does the article say", "explain the study"]


@pytest.fixture
def agents(workspace: Workspace) -> Workspace:
    ship = {"exampleTasks": SHIP, "notForTasks": ["roll out the pasta"]}
    for name, about, selection in (
        ("shipper", "Ships software to servers and users.", ship),
        ("reader", "Reads long texts and says what is in them.", {"exampleTasks": READ}),
    ):
        text = AGENT.format(name=name, about=about, selection=json.dumps(selection))
        workspace.write(f"agents/{name}.md", text.lstrip())
    return workspace


def selected(workspace: Workspace, task: str) -> list[tuple[str, Mapping[str, float]]]:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return [(one.agent_id, one.parts) for one in catalog.select_agents(task)]


def test_agents_are_selected_by_what_they_learnt_if_the_settings_say_so(agents: Workspace) -> None:
    task = "please roll out our new release"
    agents.trust()
    assert selected(agents, task) == [("standard", {})]
    agents.write("metier.toml", '[selection]\nscorer = "learned"\n')
    agents.trust()
    [(name, parts), *_] = selected(agents, task)
    assert (name, list(parts)) == ("shipper", ["learned"])


def test_what_an_agent_is_not_for_counts_whatever_it_learnt(agents: Workspace) -> None:
    agents.write("metier.toml", '[selection]\nscorer = "learned"\n')
    agents.trust()
    assert "shipper" in dict(selected(agents, "roll out the release"))
    found = dict(selected(agents, "roll out the pasta"))
    assert "shipper" not in found
    assert all(parts.get("learned", 0) < 0.6 for parts in found.values())


def test_a_taught_sentence_names_its_skill_among_many_that_share_its_words(
    filled: Workspace,
) -> None:
    for number in range(40):
        filled.skill(f"ship-{number}", f"Ships the thing number {number} of the prod team.")
    with Catalog.open(filled.root) as opened:
        opened.refresh()
        opened.examples.record("skill", "deploy-app", "ship the thing to prod", is_for=True)
        named = opened.which("ship the thing to prod", everything=False).named
        assert [one.name for one in named][:1] == ["deploy-app"]
