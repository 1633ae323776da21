"""Metrics of ranked answers, their intervals, and the peers of the quality benchmark."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from benchmarks.quality.data import Document, place_of, with_own_names, write_skills
from benchmarks.quality.metrics import (
    Interval,
    hit,
    macro_interval,
    mean_interval,
    ndcg,
    share_interval,
)
from benchmarks.quality.report import Bar, aligned, markdown, points, rows_of
from benchmarks.quality.systems import Answer, Bm25, Choice, any_word, best, fused


@pytest.mark.parametrize(
    ("ranked", "relevant", "expected"),
    [
        (["a", "b"], {"a"}, 1.0),
        (["b", "a"], {"a"}, 1 / math.log2(3)),
        (["b", "c"], {"a"}, 0.0),
        (["a", "x", "b"], {"a", "b"}, (1 + 1 / 2) / (1 + 1 / math.log2(3))),
        (["b", "a"], {"a", "b"}, 1.0),
        ([], {"a"}, 0.0),
        (["a"], set(), 0.0),
    ],
)
def test_ndcg_counts_a_relevant_document_by_its_place(
    ranked: list[str], relevant: set[str], expected: float
) -> None:
    assert ndcg(ranked, relevant) == pytest.approx(expected)


def test_ndcg_ignores_what_comes_after_the_depth() -> None:
    assert ndcg([*map(str, range(10)), "a"], {"a"}) == 0
    assert ndcg(["x", "a"], {"a"}, depth=1) == 0


def test_ndcg_is_1_if_the_depth_is_full_of_relevant_documents() -> None:
    names = [str(number) for number in range(12)]
    assert ndcg(names, set(names)) == pytest.approx(1)


def test_a_hit_is_a_relevant_document_in_the_first_place() -> None:
    assert hit(["a", "b"], {"a"}) == 1
    assert hit(["b", "a"], {"a"}) == 0
    assert hit(["b", "a"], {"a"}, depth=2) == 1


def test_the_interval_of_equal_values_has_no_width() -> None:
    assert mean_interval(np.full(50, 0.25)) == Interval(0.25, 0.25, 0.25)


def test_the_bootstrap_interval_is_close_to_the_normal_one() -> None:
    values = np.random.default_rng(1).normal(0.1, 1, 2_000)
    found = mean_interval(values)
    half = 1.96 * values.std() / math.sqrt(len(values))
    assert found.figure == pytest.approx(values.mean())
    assert found.low == pytest.approx(values.mean() - half, abs=0.005)
    assert found.high == pytest.approx(values.mean() + half, abs=0.005)


def test_the_same_values_give_the_same_interval() -> None:
    values = np.random.default_rng(2).random(100)
    assert mean_interval(values) == mean_interval(values.copy())


def test_a_macro_counts_each_set_alike_whatever_its_size() -> None:
    found = macro_interval([np.zeros(1_000), np.ones(10)])
    assert found == Interval(0.5, 0.5, 0.5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [(0.1, 0.2, "better"), (-0.2, -0.1, "worse"), (-0.1, 0.1, "level"), (0.0, 0.1, "level")],
)
def test_a_difference_is_level_if_its_interval_contains_0(
    low: float, high: float, verdict: str
) -> None:
    assert Interval((low + high) / 2, low, high).verdict == verdict


def test_a_share_of_nothing_has_an_interval_with_a_width() -> None:
    none, half = share_interval(0, 20), share_interval(10, 20)
    assert (none.figure, none.low) == (0, 0)
    assert none.high == pytest.approx(0.161, abs=0.001)
    assert (half.low + half.high) / 2 == pytest.approx(0.5)


def documents(*texts: str) -> list[Document]:
    return [Document(str(place), f"name{place}", text) for place, text in enumerate(texts)]


def test_bm25_ranks_by_words_and_not_by_how_often_the_task_repeats_them() -> None:
    made = Bm25(documents("reads mail", "plans trips", "plans mail trips"))
    assert made.scores("planning") == pytest.approx(made.scores("planning a plan"))
    assert best(made.scores("the trip"), "abc") == ["b", "c"]
    assert best(made.scores("nothing known"), "abc") == []


def test_rank_fusion_gives_no_lexical_rank_to_a_document_without_a_word() -> None:
    scores = fused(np.array([2.0, 0.0, 1.0]), np.array([0.1, 0.9, 0.5]))
    assert scores == pytest.approx([1 / 61 + 1 / 63, 1 / 61, 1 / 62 + 1 / 62])


def test_a_full_text_query_takes_each_word_once_and_no_stop_word() -> None:
    assert any_word("Find the mail, and find me") == '"find" OR "mail"'
    assert any_word("the") == '""'


def test_at_most_three_skills_that_fire_are_named() -> None:
    choices = [Choice(name, "", 1.0, name != "b") for name in "abcde"]
    assert [one.name for one in Answer(choices).named] == ["a", "c", "d"]


def test_no_document_hides_another_of_its_name() -> None:
    given = [Document(str(place), name, "") for place, name in enumerate(["a", "a", "a_", "b"])]
    assert [one.name for one in with_own_names(given)] == ["a", "a_", "a__", "b"]


def test_skills_keep_every_character_of_their_documents(tmp_path: Path) -> None:
    text = "yes: \"quoted\" # no comment\n- 'x' {a: b} ☃ 😀 \\n"
    given = [Document("1", "no", text, "The body.\n---\n", [text, "null"])]
    write_skills(tmp_path / "w", given, [0])
    (file,) = (tmp_path / "w").rglob("SKILL.md")
    _, matter, body = file.read_text("utf-8").split("---\n", 2)
    assert yaml.safe_load(matter) == {
        "name": "no",
        "description": text,
        "examples": [text, "null"],
    }
    assert body == "\nThe body.\n---\n\n"
    assert place_of(str(file)) == 0


def test_tables_show_figures_with_intervals_and_verdicts() -> None:
    rows = rows_of([Bar("gain", points(Interval(0.021, -0.001, 0.05)), "≥ +2 points", True)])
    assert aligned(rows).splitlines()[1] == "gain  +2.1 (-0.1 to +5.0)     ≥ +2 points  holds"
    assert markdown(rows).splitlines()[2] == (
        "| gain | +2.1 (-0.1 to +5.0) | ≥ +2 points | holds |"
    )
