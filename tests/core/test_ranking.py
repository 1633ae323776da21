"""Which documents fit a task: order, evidence and silence."""

from collections.abc import Sequence
from math import log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.pools import MemoryPool, Text
from metier.core.ranking import (
    BY_MEANING,
    BY_WORDS,
    MOST_TERMS,
    SMALL_POOL,
    Ranked,
    Task,
    Terms,
    evidence_of,
    fires,
    rank,
)
from metier.core.weights import WEIGHTS, by_length, idf, saturated, stored_weight
from metier.core.word_table import shipped_table
from metier.values.settings_tables import CapabilitiesConfig
from nearness import cosine
from soak import examples

THRESHOLD = CapabilitiesConfig().skill_threshold
SKILLS = [
    Text("pdf-tables", "Extracts tables from PDF files. Use it for invoices and reports."),
    Text("sql-queries", "Writes database queries. Not for spreadsheets or CSV files."),
    Text("charts", "Draws charts of numbers in a spreadsheet.", "Read the columns, then draw."),
    Text("release-notes", "Writes the notes of a release from commits."),
    Text("translate", "Translates documents into another language.", examples="say it in German"),
    Text("go-on", "Continues the work of a duck. Looks good."),
    Text("deploy", "Deploys a service to the cloud."),
]


def ranked(task: str, texts: Sequence[Text] = SKILLS) -> list[Ranked]:
    return rank(Task(task), MemoryPool(texts))


def names(found: Sequence[Ranked]) -> list[str]:
    return [one.document.path for one in found]


def fired(task: str, texts: Sequence[Text] = SKILLS) -> list[str]:
    return names([one for one in ranked(task, texts) if fires(one, THRESHOLD)])


# The formula


def test_the_figures_of_one_case_are_those_of_the_formula() -> None:
    texts = [
        Text("xq-table", "xq zorp. Not for blip.", "The zorp of a zorp is vex."),
        Text("other", "zorp vex"),
        Text("third", "nothing of it"),
    ]
    [one] = [
        one for one in ranked("xq zorp zorp vex blip", texts) if one.document.path == "xq-table"
    ]

    def rare(found: int) -> float:
        return log(1 + (3 - found + 0.5) / (found + 0.5))

    def grown(weight: float) -> float:
        return weight * 2.2 / (weight + 1.2)

    about = 1 / (0.25 + 0.75 * 2 / 15)
    xq = round((3 / (0.7 + 0.3 * 2 / 2.5) + about) * 50) / 50
    zorp = round(about * 50) / 50
    body = 0.5 / (0.25 + 0.75 * 7 / 1100)
    words = {
        "xq": (rare(1), 1, xq, 0.0),
        "zorp": (rare(2), 2, zorp, 2 * body),
        "vex": (rare(1), 1, 0.0, body),
        "blip": (rare(1), 1, -1.0, 0.0),
    }

    def value(weight: float) -> float:
        return grown(weight) if weight > 0 else 1.5 * weight

    assert one.words == pytest.approx(
        sum(
            rarity * grown(times) * value(outside + inside)
            for rarity, times, outside, inside in words.values()
        )
    )
    evidence = sum(
        rarity * (value(outside) + (value(outside + inside) - value(outside)) / 3)
        for rarity, _, outside, inside in words.values()
    )
    assert one.evidence == pytest.approx(evidence / rare(1) + 2 * max(0, one.cosine), abs=1e-6)
    assert (one.matched, one.share, one.related) == (2, 0.5, 0.0)


def test_a_score_is_how_far_words_and_meaning_stand_out() -> None:
    found = ranked("draw a chart of my spreadsheet numbers")
    best = max(one.words for one in found)

    def stands_out(numbers: list[float]) -> list[float]:
        mean = sum(numbers) / len(numbers)
        spread = (sum((one - mean) ** 2 for one in numbers) / len(numbers)) ** 0.5
        return [(one - mean) / spread for one in numbers]

    by_words = stands_out([one.words / best + 0.3 * one.share for one in found])
    by_meaning = stands_out([one.cosine for one in found])
    expected = [left + 1.2 * right for left, right in zip(by_words, by_meaning, strict=True)]
    assert [one.score for one in found] == pytest.approx(expected, abs=2e-6)
    assert expected == sorted(expected, reverse=True)


def test_the_cosine_is_seen_from_the_mean_of_the_pool() -> None:
    pool, task = MemoryPool(SKILLS), Task("draw a chart of numbers")
    own, mean = task.vector(), pool.mean
    assert own is not None
    assert mean is not None
    ranked = rank(task, pool)
    assert ranked
    for one in ranked:
        assert one.document.vector is not None
        apart = [
            [number - middle for number, middle in zip(vector, mean, strict=True)]
            for vector in (own, one.document.vector)
        ]
        assert one.cosine == pytest.approx(cosine(*apart), abs=1e-3)


def test_meaning_counts_less_for_a_long_task() -> None:
    short = ranked("draw a chart")
    long = ranked("draw a chart " + " ".join(f"unheard{number}" for number in range(60)))
    assert {one.document.path: one.evidence for one in short}["charts"] > 0
    spread = [max(one.score for one in found) for found in (short, long)]
    assert spread[1] < spread[0]


@pytest.mark.parametrize(("total", "found"), [(1, 1), (10, 1), (10, 10), (1_000, 3)])
def test_a_rare_word_weighs_more_and_none_less_than_nothing(total: int, found: int) -> None:
    assert idf(total, found) == pytest.approx(log(1 + (total - found + 0.5) / (found + 0.5)))
    assert idf(total, found) > 0
    assert idf(total, 1) >= idf(total, found)


@given(st.floats(-10, 40))
def test_a_weight_is_stored_in_steps_within_bounds(weight: float) -> None:
    kept = WEIGHTS[stored_weight(weight)]
    assert abs(kept - min(max(weight, -2), 20)) <= 0.01 + 1e-9


@given(st.floats(0, 50), st.floats(0, 50))
def test_more_weight_counts_more_but_less_and_less(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert 0 <= saturated(low) <= saturated(high) < 2.2
    assert saturated(-high) == -1.5 * high


@pytest.mark.parametrize("field", ["name", "about", "examples", "body"])
def test_a_word_says_less_in_a_longer_text(field: str) -> None:
    sizes = [by_length(field, length) for length in (1, 10, 100, 10_000)]
    assert sizes == sorted(set(sizes))


# What counts


def test_a_word_of_a_not_for_clause_counts_against() -> None:
    plain = [Text("a", "Writes database queries for spreadsheets."), *SKILLS[2:]]
    against = [Text("a", "Writes database queries. Not for spreadsheets."), *SKILLS[2:]]
    task = "database queries for my spreadsheets"
    with_word, with_clause = (
        next(one for one in ranked(task, texts) if one.document.path == "a")
        for texts in (plain, against)
    )
    without = next(one for one in ranked("database queries", against) if one.document.path == "a")
    assert with_clause.words < without.words < with_word.words
    assert with_clause.evidence - 2 * max(0, with_clause.cosine) < without.evidence
    assert (with_clause.matched, with_word.matched) == (2, 3)


def test_a_word_counts_most_in_the_name_then_outside_of_the_body() -> None:
    texts = [
        Text("zorp", "blip"),
        Text("a", "zorp blip"),
        Text("b", "blip", "zorp " + "blip " * 500),
        Text("c", "blip", examples="zorp"),
    ]
    found = {one.document.path: one.words for one in ranked("zorp", texts)}
    assert found["zorp"] > found["a"] > found["b"] > 0
    assert found["zorp"] > found["c"] > found["b"]


def test_a_word_that_only_bodies_have_counts_too() -> None:
    texts = [Text("a", "blip", "The zorp."), Text("b", "blip", "Nothing.")]
    first, second = ranked("zorp", texts)
    assert (first.document.path, first.words > 0, first.matched) == ("a", True, 0)
    assert second.words == 0


def test_a_related_word_counts_a_little_and_is_told_apart() -> None:
    table = shipped_table()
    assert table is not None
    related = {stem for stem, _ in table.related("invoice")}
    assert "receipt" in related
    texts = [Text("a", "Reads a receipt."), Text("b", "Reads an invoice."), Text("c", "Flies.")]
    found = {one.document.path: one for one in ranked("invoice", texts)}
    assert 0 < found["a"].related < found["b"].evidence
    assert (found["a"].matched, found["b"].matched, found["c"].related) == (0, 1, 0.0)
    assert "receipt" in Terms(Task("invoice"), MemoryPool(texts)).near


def test_a_word_of_the_task_is_not_related_to_another_of_it() -> None:
    texts = [Text("a", "Reads a receipt."), Text("b", "Reads an invoice.")]
    assert [*Terms(Task("invoice"), MemoryPool(texts)).near] == ["receipt"]
    assert Terms(Task("invoice receipt"), MemoryPool(texts)).near == {}


def test_repeating_a_word_of_the_task_adds_less_each_time() -> None:
    once, twice, often = (
        next(one.words for one in ranked("tables " * times + "pdf") if one.matched)
        for times in (1, 2, 9)
    )
    assert once < twice < often
    assert often - twice < 7 * (twice - once)


def test_only_the_rarest_words_of_a_long_task_count() -> None:
    texts = [Text("a", " ".join(f"zorp{number}" for number in range(60)))]
    texts += [Text("b", " ".join(f"zorp{number}" for number in range(20)))]
    task = Task(" ".join(f"zorp{number}" for number in range(60)))
    chosen = Terms(task, MemoryPool(texts))
    assert len(chosen.own) == MOST_TERMS
    assert all(int(term.removeprefix("zorp")) >= 20 for term in chosen.own)


# Candidates


def test_in_a_small_pool_meaning_alone_makes_candidates() -> None:
    found = ranked("plot a graph of statistics")
    assert len(found) == len(SKILLS)
    assert found[0].document.path == "charts"
    assert found[0].matched == 0


def large(count: int, about: str = "zorp blip") -> list[Text]:
    return [Text(f"n{number:04}", f"{about} vex{number}") for number in range(count)]


def test_in_a_large_pool_only_the_best_by_words_are_candidates() -> None:
    texts = [*large(SMALL_POOL + 1), Text("graphs", "plots statistics")]
    assert names(ranked("plots", texts))[0] == "graphs"
    assert ranked("flies", texts) == []
    assert len(ranked("zorp", texts)) == BY_MEANING


def test_documents_that_may_not_be_named_leave_room_for_others() -> None:
    texts = [
        *large(SMALL_POOL),
        *(Text(f"o{number}", "zorp " * 3) for number in range(BY_WORDS + 9)),
    ]
    pool = MemoryPool(texts)
    pool.hidden = {one.name for one in texts if one.name.startswith("o")}
    found = names(rank(Task("zorp"), pool))
    assert len(found) == BY_MEANING
    assert not pool.hidden.intersection(found)
    small = MemoryPool(SKILLS)
    small.hidden = {"charts"}
    assert "charts" not in names(rank(Task("draw charts"), small))


def test_of_equally_good_documents_the_first_by_path_are_kept_whatever_their_keys() -> None:
    count = SMALL_POOL + 50
    texts = [Text(f"n{number:03}", "zorp blip") for number in range(count)]
    for keys in (range(1, count + 1), range(count, 0, -1)):
        found = names(rank(Task("zorp"), MemoryPool(texts, keys)))
        assert found == [one.name for one in texts[:BY_MEANING]]
    # the order of postings is that of documents
    found = names(rank(Task("zorp"), MemoryPool(texts[::-1])))
    assert found == [one.name for one in texts[:BY_MEANING]]


def test_nothing_is_ranked_without_words_or_documents() -> None:
    assert ranked("") == []
    assert ranked("the of a") == []
    assert ranked("pdf", []) == []


# Order

WORDS = ["parse", "table", "chart", "invoice", "deploy", "cloud", "zorp", "sql", "not for", "表示"]
ABOUT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)
TEXTS = st.lists(st.tuples(ABOUT, ABOUT), min_size=1, max_size=8).map(
    lambda pairs: [Text(f"{'abc'[at % 3]}{at}", *pair) for at, pair in enumerate(pairs)]
)
Figures = list[tuple[str, float, float, int]]


def figures(pool: MemoryPool, task: str) -> Figures:
    return [
        (one.document.path, one.score, one.evidence, one.matched) for one in rank(Task(task), pool)
    ]


@given(TEXTS, ABOUT, st.randoms(use_true_random=False))
def test_neither_keys_nor_the_order_of_documents_change_figures(
    texts: list[Text], task: str, random: Random
) -> None:
    keys = random.sample(range(1, 1_000), len(texts))
    shuffled = random.sample(texts, len(texts))
    assert figures(MemoryPool(shuffled, keys), task) == figures(MemoryPool(texts), task)


@examples(5)
@given(st.randoms(use_true_random=False))
def test_nor_in_a_large_pool_with_many_equal_documents(random: Random) -> None:
    count = SMALL_POOL + 50
    texts = [Text(f"n{at:03}", " ".join(random.choices(WORDS, k=2))) for at in range(count)]
    keys = random.sample(range(1, 10_000), count)
    shuffled = random.sample(texts, count)
    for task in ("parse the table", "deploy", "chart invoice sql"):
        assert figures(MemoryPool(shuffled, keys), task) == figures(MemoryPool(texts), task)


def test_equal_documents_are_in_the_order_of_their_paths() -> None:
    texts = [Text(name, "zorp blip") for name in ("c1", "a1", "b1")]
    assert names(ranked("zorp", texts)) == ["a1", "b1", "c1"]


# Silence


@pytest.mark.parametrize(
    "chatter",
    [
        "I don't understand",
        "I don’t understand",
        "thanks, go on",
        "looks good, continue",
        "ok, do it again please",
        "yes",
        "what do you think?",
    ],
)
@pytest.mark.parametrize("count", [0, SMALL_POOL])
def test_chatter_names_nothing(chatter: str, count: int) -> None:
    assert fired(chatter, [*SKILLS, *large(count)]) == []


@pytest.mark.parametrize(
    ("task", "name"),
    [
        ("extract the tables of this PDF", "pdf-tables"),
        ("write the release notes", "release-notes"),
        ("write a database query", "sql-queries"),
    ],
)
def test_a_task_names_its_skill(task: str, name: str) -> None:
    assert fired(task)[0] == name


def test_one_common_word_never_fires() -> None:
    texts = [Text("zorp", "zorp zorp zorp", "zorp " * 50, "zorp"), Text("b", "blip")]
    [one, _] = ranked("zorp", texts)
    assert one.evidence >= 1.5
    assert (one.matched, fires(one, 0.0)) == (1, False)
    one.cosine = 0.45
    assert fires(one, 0.0)
    one.cosine, one.matched = 0.0, 2
    assert fires(one, one.evidence)
    assert not fires(one, one.evidence + 1e-6)


def first_of(task: str, *texts: Text) -> Ranked:
    """The first of some skills among others, whether it fires or not."""
    pool = [*texts, *(Text(f"s{at}", "blip") for at in range(30))]
    return next(one for one in ranked(task, pool) if one.document.path == texts[0].name)


@pytest.mark.parametrize("identifier", ["CrashLoopBackOff", "crash_loop_back_off"])
def test_the_parts_of_an_identifier_are_one_word(identifier: str) -> None:
    pod = Text("pod", "Back up loops")
    one = first_of(f"why {identifier}", pod)
    assert one.evidence >= THRESHOLD
    assert (one.matched, fires(one, THRESHOLD)) == (1, False)
    assert first_of(f"why {identifier} back", pod).matched == 2
    assert first_of(f"{identifier} of a pod", pod).matched == 2
    assert fires(first_of(f"{identifier} of a pod", pod), THRESHOLD)


def test_a_skill_with_the_whole_identifier_has_more_than_its_parts() -> None:
    one = first_of("why CrashLoopBackOff", Text("pod", "Mends a pod in CrashLoopBackOff"))
    assert (one.matched, fires(one, THRESHOLD)) == (2, True)


def test_an_identifier_that_is_the_whole_name_is_enough() -> None:
    one = first_of("why crashLoop", Text("crash-loop", "zorp"))
    assert (one.matched, fires(one, THRESHOLD)) == (2, True)


def test_asking_words_order_but_are_no_evidence() -> None:
    texts = [Text("a1", "thanks continue looks"), Text("b1", "zorp")]
    first, _ = ranked("thanks, continue: looks", texts)
    assert first.document.path == "a1"
    assert first.words > 0
    assert first.matched == 0
    assert first.evidence == pytest.approx(first.related + 2 * max(0, first.cosine), abs=1e-6)


def test_evidence_of_names_the_documents_that_fire() -> None:
    pool = MemoryPool(SKILLS)
    found = evidence_of("extract the tables of this PDF", pool, THRESHOLD)
    assert list(found) == [1]
    assert found[1] >= THRESHOLD
    assert evidence_of("thanks", pool, THRESHOLD) == {}
