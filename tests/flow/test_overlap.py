"""Which skills compete for the same tasks, and what separates them."""

import json
import os
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from conftest import Workspace
from metier import Catalog
from metier.errors import NotFoundError, UsageError
from metier.values.overlap import Collision, Edit, Overlap, OverlapPair

SUBJECTS = [
    "Reviews contracts of suppliers for missing signatures.",
    "Draws maps of bicycle routes through a town.",
    "Tunes the indexes of a database that answers slowly.",
    "Translates menus of restaurants into sign language.",
    "Plans the watering of a garden by the weather.",
    "Sorts photographs by the faces that they show.",
    "Transcribes interviews and marks who is speaking.",
    "Checks passwords against lists of stolen ones.",
]


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    """Skills about different things, so that words are rare, in a trusted workspace."""
    for number, text in enumerate(SUBJECTS):
        workspace.skill(f"other-{number}", text)
    workspace.trust()
    return workspace


def overlap(workspace: Workspace, *skills: str, least: float = 0.6, limit: int = 10,
            host: str | None = None) -> Overlap:  # fmt: skip
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return catalog.overlap(skills, least=least, limit=limit, host=host)


def named(found: Overlap) -> list[tuple[str, str]]:
    return [(pair.first, pair.second) for pair in found.pairs]


def only(found: Overlap) -> OverlapPair:
    [pair] = found.pairs
    return pair


# Who competes


@pytest.mark.parametrize("count", [0, 1])
def test_nothing_competes_in_a_small_catalog(workspace: Workspace, count: int) -> None:
    for number in range(count):
        workspace.skill(f"skill-{number}", SUBJECTS[number])
    found = overlap(workspace)
    assert (found.skills, found.pairs, found.same, found.clusters) == (count, [], [], [])
    assert found.highest == 0
    assert found.above(0.0) == 0


def test_skills_about_different_things_do_not_compete(filled: Workspace) -> None:
    assert overlap(filled).pairs == []


def test_a_skill_that_is_copied_under_another_name_overlaps_fully(filled: Workspace) -> None:
    filled.skill("copied", SUBJECTS[0])
    found = overlap(filled)
    [same] = found.same
    assert same.names == ["copied", "other-0"]
    assert same.text == SUBJECTS[0]
    assert found.highest == 1
    assert found.above(0.99) == 1
    assert found.pairs == []  # there is nothing to tell about them


def test_other_spaces_are_the_same_text(filled: Workspace) -> None:
    filled.skill("copied", SUBJECTS[0].replace(" ", "  "))
    assert [one.names for one in overlap(filled).same] == [["copied", "other-0"]]


def test_nearly_the_same_words_overlap_nearly_fully(filled: Workspace) -> None:
    filled.skill("copied", SUBJECTS[0].replace("missing", "forgotten"))
    pair = only(overlap(filled))
    assert (pair.first, pair.second) == ("copied", "other-0")
    assert 0.8 < pair.overlap < 1
    assert pair.paths == ("skills/copied/SKILL.md", "skills/other-0/SKILL.md")


def test_shared_words_are_told_the_rarest_first(filled: Workspace) -> None:
    filled.skill("towns", "Draws maps of footpaths through a town in winter.")
    filled.skill("draws", "Draws comic strips.")
    pair = only(overlap(filled, least=0.3))
    assert pair.shared[-1] == "draws"  # three skills have it
    assert set(pair.shared) == {"draws", "maps", "town"}


def test_examples_count_like_the_description(filled: Workspace) -> None:
    filled.skill("a", "Handles paper.", extra="examples: [fold a crane from paper]")
    filled.skill("b", "Handles birds.", extra="examples: [fold a crane from paper]")
    assert named(overlap(filled, least=0.5)) == [("a", "b")]


def test_words_that_a_skill_is_not_for_are_not_shared(filled: Workspace) -> None:
    filled.skill("a", "Fills in forms about taxes.")
    filled.skill("b", "Moulds clay. Not for forms about taxes.")
    assert overlap(filled, "a", least=0.1).pairs == []


def test_a_skill_that_only_its_user_starts_does_not_compete(filled: Workspace) -> None:
    filled.skill("copied", f"{SUBJECTS[0]} Fast.", extra="disable-model-invocation: true")
    found = overlap(filled, "copied")
    assert (found.skills, found.pairs) == (len(SUBJECTS), [])
    assert found.notes == ["'copied' is not compared: only the user starts it"]


def test_a_shadowed_copy_does_not_compete(filled: Workspace) -> None:
    filled.skill("other-0", f"{SUBJECTS[0]} Fast.", folder=".claude/skills/other-0")
    found = overlap(filled, ".claude/skills/other-0", "skills/other-0")
    assert (found.skills, found.pairs) == (len(SUBJECTS), [])
    [note] = found.notes
    assert note.startswith("'other-0' is not compared: it is shadowed by ")


def test_skills_that_no_host_loads_together_do_not_compete(filled: Workspace) -> None:
    filled.skill("a", "Fills in forms about taxes.", folder=".claude/skills/a")
    filled.skill("b", "Fills in forms about taxes.", folder=".gemini/skills/b")
    filled.skill("c", "Fills in forms about taxes soon.", folder=".gemini/skills/c")
    found = overlap(filled)
    assert found.same == []
    assert named(found) == [("b", "c")]
    assert overlap(filled, host="claude-code").highest == 0
    assert named(overlap(filled, host="gemini")) == [("b", "c")]


def test_documents_of_an_untrusted_workspace_are_compared(workspace: Workspace) -> None:
    workspace.skill("a", SUBJECTS[0])
    workspace.skill("b", f"{SUBJECTS[0]} Now.")
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        assert not catalog.trust.is_trusted
        assert named(catalog.overlap()) == [("a", "b")]


def test_chinese_descriptions_compete_by_their_characters(filled: Workspace) -> None:
    filled.skill("a", "合并多个表格文件并生成年度财务报告。")
    filled.skill("b", "合并多个表格文件并生成季度财务报告。")
    pair = only(overlap(filled))
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.shared == ["合并多个表格文件并生成", "度财务报告"]
    assert [(one.skill, one.rival) for one in pair.collisions] == [("a", "b"), ("b", "a")]


# Which of them


def test_only_what_competes_with_a_skill_is_told(filled: Workspace) -> None:
    for number in (0, 1):
        filled.skill(f"again-{number}", f"{SUBJECTS[number]} Again.")
    assert sorted(named(overlap(filled))) == [("again-0", "other-0"), ("again-1", "other-1")]
    found = overlap(filled, "other-1")
    assert named(found) == [("again-1", "other-1")]
    assert found.skills == len(SUBJECTS) + 2
    filled.skill("copied", SUBJECTS[0])
    assert overlap(filled, "other-1").same == []
    assert len(overlap(filled, "copied").same) == 1


def test_an_unknown_skill_is_an_error_with_the_nearest_name(filled: Workspace) -> None:
    with pytest.raises(NotFoundError) as error:
        overlap(filled, "other-11")
    assert "other-1" in error.value.hint


def test_an_unknown_host_is_an_error(filled: Workspace) -> None:
    with pytest.raises(UsageError):
        overlap(filled, host="emacs")


def test_a_limit_leaves_out_pairs_and_counts_them(filled: Workspace) -> None:
    for number in range(3):
        filled.skill(f"again-{number}", f"{SUBJECTS[number]} Again.")
    found = overlap(filled, limit=2)
    assert len(found.pairs) == 2
    assert len(found.overlaps) == 3
    assert found.to_json()["pairCount"] == 3


# Clusters


def test_skills_that_each_compete_with_another_are_a_cluster(filled: Workspace) -> None:
    for name, more in (("x", "Now."), ("y", "Now and then."), ("z", "Then.")):
        filled.skill(name, f"{SUBJECTS[2]} {more}")
    filled.skill("copied", SUBJECTS[2])
    [cluster] = overlap(filled).clusters
    assert cluster.names == ["copied", "other-2", "x", "y", "z"]
    assert set(cluster.words) <= {"tunes", "indexes", "database", "answers", "slowly"}
    assert len(cluster.words) == 4
    assert 0.6 < cluster.highest <= 1


def test_two_skills_are_no_cluster(filled: Workspace) -> None:
    filled.skill("again", f"{SUBJECTS[2]} Now.")
    found = overlap(filled)
    assert len(found.pairs) == 1
    assert found.clusters == []


# Collisions, and edits that end them


PDFS = "Extracts tables from PDF invoices. Use when reading tables in PDF invoices of suppliers."
SCANS = "Extracts tables from PDF scans. Use when reading tables in PDF scans of newspapers."


@pytest.fixture
def rivals(filled: Workspace) -> Workspace:
    filled.skill("invoice-tables", PDFS)
    filled.skill("scan-tables", SCANS)
    return filled


def test_tasks_of_one_for_which_the_other_fires_are_collisions(rivals: Workspace) -> None:
    pair = only(overlap(rivals))
    assert [(one.task, one.skill, one.rival, one.is_ahead) for one in pair.collisions] == [
        ("read tables in PDF invoices of suppliers", "invoice-tables", "scan-tables", False),
        ("read tables in PDF scans of newspapers", "scan-tables", "invoice-tables", False),
    ]


def edited(workspace: Workspace, pair: OverlapPair, texts: dict[str, str]) -> None:
    """Do what the edits of a pair say."""
    for edit in pair.edits:
        text = texts[edit.skill]
        text = f"{' '.join(edit.add)}. {text}" if edit.add else text
        text = f"{text} Not for {', '.join(edit.not_for)}." if edit.not_for else text
        texts[edit.skill] = text
        workspace.skill(edit.skill, json.dumps(text))


def test_after_the_edits_no_task_collides(rivals: Workspace) -> None:
    texts = {"invoice-tables": PDFS, "scan-tables": SCANS}
    pair = only(overlap(rivals))
    assert pair.separates
    assert pair.collisions
    assert {edit.skill for edit in pair.edits} == texts.keys()
    edited(rivals, pair, texts)
    with Catalog.open(rivals.root) as catalog:
        catalog.refresh()
        for one in pair.collisions:
            found = catalog.which(one.task)
            assert one.skill in [skill.name for skill in found.named]
            assert one.rival not in [skill.name for skill in found.skills if skill.fires]


def test_no_word_of_an_edit_can_be_left_out(rivals: Workspace) -> None:
    pair = only(overlap(rivals))
    texts = {"invoice-tables": PDFS, "scan-tables": SCANS}
    assert any(edit.not_for for edit in pair.edits)
    for edit in pair.edits:
        for left_out in edit.not_for:
            fewer = [word for word in edit.not_for if word != left_out]
            clause = f" Not for {', '.join(fewer)}." if fewer else ""
            rivals.skill(edit.skill, json.dumps(texts[edit.skill] + clause))
            with Catalog.open(rivals.root) as catalog:
                catalog.refresh()
                found = [
                    catalog.which(one.task) for one in pair.collisions if one.rival == edit.skill
                ]
                fires = [one.fires for answer in found for one in answer.skills
                         if one.name == edit.skill]  # fmt: skip
            assert any(fires)
        rivals.skill(edit.skill, texts[edit.skill])


def test_no_edit_says_that_a_skill_is_not_for_a_form_of_its_own_words(filled: Workspace) -> None:
    text = "Runbook of pods in kubernetes. Use when"
    filled.skill("pod-diagnostic", f"{text} pods restart in a cluster.")
    filled.skill("pod-helper", f"{text} you diagnose pods.")
    pair = only(overlap(filled))
    assert ("diagnose pods", "pod-diagnostic") in [(one.task, one.rival) for one in pair.collisions]
    assert pair.edits == []


def test_skills_with_the_same_tasks_get_no_edit(filled: Workspace) -> None:
    text = "Use when extracting tables from PDF invoices."
    filled.skill("a", f"Handles suppliers. {text}")
    filled.skill("b", f"Handles accounts. {text}")
    pair = only(overlap(filled))
    assert any(one.is_ahead for one in pair.collisions)
    assert pair.edits == []
    assert not pair.separates


def test_a_pair_whose_tasks_do_not_collide_needs_no_edit(filled: Workspace) -> None:
    filled.skill("a", "Licence: see the vendor's gateway terms. Use when feeding hens at noon.")
    filled.skill("b", "Licence: see the vendor's gateway terms. Use when baking bread at night.")
    pair = only(overlap(filled, least=0.4))
    assert (pair.collisions, pair.edits) == ([], [])


# What never changes an answer


def test_the_order_of_files_does_not_matter(workspace: Workspace) -> None:
    texts = [f"{text} Again." for text in SUBJECTS[:3]] + SUBJECTS[:4] + [SUBJECTS[0]]
    skills = [(f"skill-{number}", text) for number, text in enumerate(texts)]
    answers = set()
    for seed in range(3):
        Random(seed).shuffle(skills)
        for name, text in skills:
            workspace.skill(name, text)
            with Catalog.open(workspace.root) as catalog:
                catalog.refresh()
        answers.add(json.dumps(overlap(workspace).to_json()))
        for name, _ in skills:
            os.remove(workspace.root / "skills" / name / "SKILL.md")
    assert len(answers) == 1


@pytest.fixture
def catalog(rivals: Workspace) -> Iterator[Catalog]:
    with Catalog.open(rivals.root) as opened:
        opened.refresh()
        yield opened


def test_pairs_are_cached_until_the_catalog_changes(catalog: Catalog, rivals: Workspace) -> None:
    seen: list[int] = []
    catalog.overlap(on_progress=lambda done, _: seen.append(done))
    first = len(seen)
    found = catalog.overlap(on_progress=lambda done, _: seen.append(done))
    assert len(seen) - first == len(found.pairs)  # nothing is compared again
    rivals.skill("third", PDFS.replace("suppliers", "neighbours"))
    catalog.refresh()
    assert len(catalog.overlap().pairs) == 3


@pytest.mark.parametrize("least", [0.6, 1.0])
def test_progress_goes_up_to_the_total(catalog: Catalog, least: float) -> None:
    seen: list[tuple[int, int]] = []
    catalog.overlap(least=least, on_progress=lambda *at: seen.append(at))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1]
    assert len({total for _, total in seen}) == 1


def test_it_is_said_if_no_small_edit_separates_two_skills() -> None:
    ahead = Collision(task="x", skill="a", rival="b", is_ahead=True)
    edit = Edit(skill="a", add=["word"])

    def advice(**more: Any) -> str:
        figures: Any = {"overlap": 0.9, "words": 0.9, "meaning": 0.9, "shared": []}
        pair = OverlapPair(first="a", second="b", paths=("a", "b"), **figures, **more)
        return pair.advice

    assert advice() == "no task of theirs collides"
    merge = "no small edit separates them: merge them, or rewrite one"
    assert advice(collisions=[ahead]) == merge
    assert advice(collisions=[ahead], edits=[edit], separates=True) == "to separate them"
