"""The score of one ability for one task (spec 1): every part by name, nothing rounded."""

import math
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.text import words
from metier.select import abilities as module
from metier.select.abilities import score_ability
from metier.values.documents import SHORTEST_KEYWORD, Ability

TEN_WORDS = "alpha bravo charlie delta echo foxtrot golf hotel india juliett"


def ability(ability_id: str = "a", **fields: Any) -> Ability:
    return Ability(ability_id=ability_id, **fields)


def part(name: str, task: str, **fields: Any) -> float:
    """One part of the score of an ability with these fields."""
    return score_ability(ability(**fields), task).parts[name]


@pytest.mark.invariant(id="INV-ABL-SCR-002")
def test_the_numbers_are_those_of_the_spec() -> None:
    assert module.POINTS == {"core": 100, "tags": 10, "category": 15, "keywords": 2}
    assert module.MOST_FOR_KEYWORDS == 20
    assert module.PRIORITY_DIVISOR == 10
    assert SHORTEST_KEYWORD == 3


@pytest.mark.invariant(id="INV-ABL-SCR-002")
def test_every_part_has_its_name_and_the_score_is_their_sum() -> None:
    one = ability(
        tags=("go", "code-review", "rust"),
        category="Quality",
        content="Review every request, then the code.",
        priority=73,
    )
    scored = score_ability(one, "review the code quality of this go request", core=["b", "a"])
    assert scored.item is one
    assert scored.parts == {
        "core": 100,
        "tags": 20,
        "category": 15,
        "keywords": 8,
        "priority": 7.3,
    }
    assert scored.score == 150.3


@pytest.mark.invariant(id="INV-ABL-SCR-002")
def test_an_ability_without_a_match_scores_its_priority_only() -> None:
    scored = score_ability(ability(), "review")
    assert scored.parts == {"core": 0, "tags": 0, "category": 0, "keywords": 0, "priority": 5}
    assert scored.score == 5


@pytest.mark.invariant(id="INV-ABL-SCR-001")
def test_a_core_ability_scores_a_hundred_more() -> None:
    one = ability(tags=("go",), content="go further", priority=33)
    plain = score_ability(one, "go further")
    core = score_ability(one, "go further", core=["a"])
    assert core.score - plain.score == pytest.approx(100, abs=1e-12)
    assert core.parts == {**plain.parts, "core": 100}


@pytest.mark.invariant(id="INV-ABL-SCR-001")
@pytest.mark.parametrize("core", [(), ("b",), ("A",), ("ab",)])
def test_only_its_own_id_makes_an_ability_core(core: tuple[str, ...]) -> None:
    assert score_ability(ability(), "", core).parts["core"] == 0


# Labels


@pytest.mark.invariant(id="INV-ABL-SCR-002")
@pytest.mark.parametrize(
    ("tags", "points"),
    [
        ((), 0),
        (("rust",), 0),
        (("go",), 10),
        (("go", "ci"), 20),
        (("go", "rust", "ci"), 20),
        (("go", "go"), 10),
        (("go", "GO", " go ", "go!"), 10),
        (("clean-code", "Clean Code", "clean_code"), 10),
        (("clean-code", "clean", "code"), 30),
    ],
)
def test_each_matching_tag_counts_once(tags: tuple[str, ...], points: int) -> None:
    assert part("tags", "Go: clean up the code, then fix CI", tags=tags) == points


@pytest.mark.parametrize(
    ("label", "task", "matches"),
    [
        ("go", "write it in Go", True),
        ("ci", "fix ci/cd", True),
        ("c", "C or D", True),
        ("7", "chapter 7", True),
        ("clean-code", "code that is clean", True),
        ("clean-code", "clean up", False),
        ("clean-code", "cleaner code", False),
        ("ui", "build", False),
        ("build", "ui", False),
        ("test", "tests", False),
        ("", "", False),
        ("", "anything", False),
        ("--- 👍 _", "--- 👍 _", False),
        ("検索", "検索 と 要約", True),
        ("検索", "検索と要約", False),
        ("Straße", "in der STRASSE", True),
        ("cafe\u0301", "le caf\u00e9", True),
        ("हिन्दी", "हिन्दी में लिखो", True),
    ],
)
def test_a_label_matches_when_all_its_words_are_in_the_task(
    label: str, task: str, matches: bool
) -> None:
    assert part("tags", task, tags=(label,)) == (10 if matches else 0)
    assert part("category", task, category=label) == (15 if matches else 0)


def test_the_category_counts_beside_an_equal_tag() -> None:
    scored = score_ability(ability(tags=("go",), category="go"), "go")
    assert (scored.parts["tags"], scored.parts["category"]) == (10, 15)


def test_the_words_of_two_labels_do_not_make_a_third() -> None:
    assert part("tags", "clean tests", tags=("clean-code", "unit tests")) == 0


# Words of the content


@pytest.mark.invariant(id="INV-ABL-SCR-002")
@pytest.mark.parametrize(
    ("shared", "points"), [(0, 0), (1, 2), (2, 4), (9, 18), (10, 20), (11, 20), (40, 20)]
)
def test_each_shared_word_gives_two_points_up_to_twenty(shared: int, points: int) -> None:
    task = " ".join(f"word{number}" for number in range(shared))
    assert part("keywords", task, content=f"{task} and more besides") == points
    assert part("keywords", f"{task} and more besides", content=task) == points


@pytest.mark.invariant(id="INV-ABL-SCR-002")
def test_a_word_counts_once_however_often_it_is_there() -> None:
    assert part("keywords", "review, Review & REVIEW", content="review it\nreview them") == 2


@pytest.mark.invariant(id="INV-ABL-SCR-002")
@pytest.mark.parametrize(
    ("task", "content", "points"),
    [
        ("go", "go", 0),
        ("ci cd", "ci cd", 0),
        ("api", "api", 2),
        ("an api in go", "an api in go", 2),
        ("the", "the", 2),
        ("review", "reviewer reviews preview", 0),
        ("clean_code", "Clean-Code", 4),
        ("привет мир", "Мир вам", 2),
        ("検索", "検索", 0),
        ("日本語 テスト", "日本語 の テスト", 4),
        ("Straße", "STRASSE", 2),
        ("re\u0301sume\u0301", "RÉSUMÉ", 2),
        ("👍👍👍 --- ___", "👍👍👍 --- ___", 0),
        ("", "", 0),
    ],
)
def test_shared_words_are_whole_words_of_three_or_more_characters(
    task: str, content: str, points: int
) -> None:
    assert part("keywords", task, content=content) == points


def test_only_the_content_is_searched_for_words() -> None:
    fields = ("display_name", "description", "category", "author", "source", "path")
    named = ability("review", tags=("review",), **dict.fromkeys(fields, "review"))
    assert score_ability(named, "review").parts["keywords"] == 0


def test_the_words_of_an_ability_are_those_that_can_match() -> None:
    one = ability(content="Go to the API, the api", tags=("Go lang", "ci"), category="Dev_Ops")
    assert one.words == {"the", "api"}
    assert one.label_words == {"go", "lang", "ci", "dev", "ops"}


# Priority


@pytest.mark.invariant(id="INV-ABL-SCR-002")
def test_a_tenth_of_the_priority_is_added_unrounded() -> None:
    for priority in range(1, 101):
        scored = score_ability(ability(priority=priority, tags=("go",)), "go")
        assert scored.parts["priority"] == priority / 10
        assert scored.score == (100 + priority) / 10


# Always

TASK_WORDS = ["go", "ci", "clean", "code", "Review", "straße", "検索", "日本語", "cafe\u0301", "c"]
texts = st.one_of(
    st.lists(st.sampled_from(TASK_WORDS), max_size=15).map(" ".join),
    st.lists(st.sampled_from(TASK_WORDS), max_size=3).map("-".join),
    st.text(max_size=20),
)
abilities = st.builds(
    Ability,
    ability_id=st.sampled_from("ab"),
    content=st.one_of(texts, st.just(TEN_WORDS)),
    category=texts,
    tags=st.lists(texts, max_size=4).map(tuple),
    priority=st.integers(1, 100),
    enabled=st.booleans(),
)
tasks = st.one_of(texts, st.just(f"{TEN_WORDS} kilo"))


def naive_parts(one: Ability, task: str, core: list[str]) -> dict[str, float]:
    """The formula of the spec, term by term."""
    in_task = set(words(task))

    def matches(label: str) -> bool:
        return bool(words(label)) and all(word in in_task for word in words(label))

    tags = {" ".join(words(tag)) for tag in one.tags}
    shared = [word for word in in_task if len(word) >= 3 and word in words(one.content)]
    return {
        "core": 100 if one.id in core else 0,
        "tags": 10 * len([tag for tag in tags if matches(tag)]),
        "category": 15 if matches(one.category) else 0,
        "keywords": min(2 * len(shared), 20),
        "priority": one.priority / 10,
    }


@pytest.mark.invariant(id="INV-ABL-SCR-001")
@pytest.mark.invariant(id="INV-ABL-SCR-002")
@given(one=abilities, task=tasks, core=st.lists(st.sampled_from("abc"), max_size=2))
def test_a_score_is_the_sum_of_the_parts_that_the_formula_gives(
    one: Ability, task: str, core: list[str]
) -> None:
    scored = score_ability(one, task, core)
    assert scored.parts == naive_parts(one, task, core)
    assert round(scored.score, 12) == round(math.fsum(scored.parts.values()), 12)


@pytest.mark.invariant(id="INV-ABL-SCR-002")
@given(one=abilities, task=tasks)
def test_equal_inputs_score_equally(one: Ability, task: str) -> None:
    twin = Ability(
        ability_id=one.ability_id,
        content=one.content,
        category=one.category,
        tags=one.tags,
        priority=one.priority,
        enabled=one.enabled,
    )
    first = score_ability(one, task, core=["a"])
    assert score_ability(one, task, core=["a"]) == first
    assert score_ability(twin, task, core=("a", "a")) == first


@pytest.mark.invariant(id="INV-ABL-SCR-002")
@given(one=abilities, task=st.lists(st.sampled_from(TASK_WORDS), max_size=8))
def test_order_case_repetition_and_normal_form_of_the_task_do_not_matter(
    one: Ability, task: list[str]
) -> None:
    written = score_ability(one, " ".join(task))
    assert score_ability(one, " / ".join(reversed(task))) == written
    assert score_ability(one, " ".join(task).upper()) == written
    assert score_ability(one, " ".join([*task, *task])) == written
    assert score_ability(one, unicodedata.normalize("NFD", " ".join(task))) == written
