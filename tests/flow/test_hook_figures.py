"""What is counted in the log of hook decisions."""

from pathlib import Path
from typing import Any

import pytest

from flow.decisions import START, decision, injecting, room_of, verdict, write_log
from metier.flow.hook_figures import (
    MOST_USED,
    Group,
    HeldBack,
    Statistics,
    Used,
    percentile,
    statistics,
)
from metier.flow.hook_log import (
    read_decisions,
)
from metier.storage.hook_files import OLDER_DECISIONS as OLDER_FILE


def figures_of(root: Path, *lines: Any, **asked: Any) -> Statistics:
    write_log(root, *lines)
    return statistics(read_decisions(room_of(root)), **asked)


@pytest.mark.parametrize(
    ("percent", "value"), [(0, 15), (5, 15), (20, 15), (21, 20), (40, 20), (50, 35), (100, 50)]
)
def test_percentile_uses_the_nearest_rank(percent: int, value: int) -> None:
    assert percentile([50, 15, 40, 20, 35], percent) == value


def test_percentile_of_few_values_is_one_of_them() -> None:
    assert percentile([4, 8], 50) == 4
    assert percentile([4, 8], 95) == 8
    assert percentile([3.5], 50) == percentile([3.5], 95) == 3.5
    assert percentile(list[int](), 50) is None


def test_an_empty_log_has_no_figures(tmp_path: Path) -> None:
    figures = figures_of(tmp_path)
    assert figures.overall == Group(
        requests=0,
        injecting=0,
        injection_rate=None,
        tokens_mean=None,
        tokens_p50=None,
        tokens_p95=None,
        milliseconds_p50=None,
        milliseconds_p95=None,
        errors=0,
        error_rate=None,
        labelled=0,
        right=0,
        right_share=None,
    )
    assert (figures.first, figures.last) == (None, None)
    assert (figures.hosts, figures.modes, figures.arms, figures.scorers) == ({}, {}, {}, {})


def test_figures_of_a_small_log(tmp_path: Path) -> None:
    figures = figures_of(
        tmp_path,
        injecting(1, tokens=300, milliseconds=4),
        injecting(2, tokens=100, milliseconds=2, host="codex"),
        decision(3, milliseconds=9, error="ValueError: no"),
        decision(4, milliseconds=1, mode="soft"),
        verdict(1, True),
        verdict(3, False),
        verdict(4, True),
        b"broken",
    )
    assert figures.overall == Group(
        requests=4,
        injecting=2,
        injection_rate=0.5,
        tokens_mean=100.0,
        tokens_p50=100,
        tokens_p95=300,
        milliseconds_p50=2.0,
        milliseconds_p95=9.0,
        errors=1,
        error_rate=0.25,
        labelled=3,
        right=2,
        right_share=2 / 3,
    )
    assert (figures.first, figures.last, figures.skipped) == (START + 1, START + 4, 1)
    assert {name: one.requests for name, one in figures.hosts.items()} == {
        "claude-code": 3,
        "codex": 1,
    }
    assert {name: one.requests for name, one in figures.modes.items()} == {"on": 3, "soft": 1}
    assert figures.modes["soft"].injection_rate == 0
    assert figures.hosts["codex"].tokens_mean == 100


def test_cards_that_were_not_injected_cost_no_tokens(tmp_path: Path) -> None:
    cards = [["billing", 0.5, 0.25, "monitor", 900]]
    figures = figures_of(
        tmp_path, decision(1, mode="monitor", tokens=900, cards=cards), injecting(2, tokens=100)
    )
    assert (figures.overall.tokens_mean, figures.overall.tokens_p95) == (50, 100)
    assert figures.cards.most_used == (Used("billing", 1, 0.5),)


def test_arms_are_compared_with_their_counts(tmp_path: Path) -> None:
    figures = figures_of(
        tmp_path,
        injecting(1, arm="A", scorer="spec", tokens=300, milliseconds=4),
        decision(2, arm="B", scorer="bm25", milliseconds=8),
        injecting(3, arm="B", scorer="bm25", tokens=500, milliseconds=6),
        injecting(4, tokens=900),
        verdict(1, True),
        verdict(2, False),
        verdict(3, True),
        verdict(4, True),
    )
    assert list(figures.arms) == ["A", "B"]
    assert figures.scorers == {"A": ("spec",), "B": ("bm25",)}
    left, right = figures.arms["A"], figures.arms["B"]
    assert (left.requests, left.injection_rate, left.tokens_mean) == (1, 1.0, 300)
    assert (left.labelled, left.right, left.right_share) == (1, 1, 1.0)
    assert (right.requests, right.injection_rate, right.tokens_mean) == (2, 0.5, 250)
    assert (right.milliseconds_p50, right.milliseconds_p95) == (6, 8)
    assert (right.labelled, right.right, right.right_share) == (2, 1, 0.5)
    assert figures.overall.right_share == 0.75


def test_since_is_inclusive_and_until_is_exclusive(tmp_path: Path) -> None:
    lines = [decision(number) for number in range(5)]
    figures = figures_of(tmp_path, *lines, since=START + 1, until=START + 3)
    assert (figures.overall.requests, figures.first, figures.last) == (2, START + 1, START + 2)
    assert (figures.since, figures.until) == (START + 1, START + 3)


def test_figures_can_be_limited_to_one_host(tmp_path: Path) -> None:
    lines = [decision(1), injecting(2, host="codex"), decision(3, host="codex")]
    figures = figures_of(tmp_path, *lines, host="codex")
    assert (figures.overall.requests, list(figures.hosts)) == (2, ["codex"])
    assert figures_of(tmp_path, *lines, host="code").overall.requests == 0


def test_the_last_label_counts_and_labels_of_unknown_decisions_do_not(tmp_path: Path) -> None:
    write_log(tmp_path, decision(1), verdict(1, False), decision(2), name=OLDER_FILE)
    figures = figures_of(
        tmp_path, verdict(2, True), verdict(1, True), verdict(2, False), verdict(9, True)
    )
    assert (figures.overall.labelled, figures.overall.right) == (2, 1)


def test_most_used_is_sorted_by_count_then_name(tmp_path: Path) -> None:
    uses = {f"card-{letter}": 1 + (letter in "xc") for letter in "xqwertyuiopc"}
    rows = [[name, 0.5, 0.2, "injected", 1] for name, times in uses.items() for _ in range(times)]
    left = [["card-q", 0.9, 0.2, "over-budget", 1]] * 5
    figures = figures_of(tmp_path, injecting(1, cards=rows + left))
    names = [one.name for one in figures.cards.most_used]
    assert len(uses) > MOST_USED == len(names)
    assert names == ["card-c", "card-x", *sorted(set(uses) - {"card-c", "card-x"})[:8]]
    assert [one.uses for one in figures.cards.most_used] == [2, 2, *[1] * 8]


def test_mean_score_counts_only_injections(tmp_path: Path) -> None:
    scored = [(0.25, "injected"), (0.75, "injected"), (0.1, "below-threshold"), (1, "rejected")]
    lines = [
        decision(number, skills=[["pdf", "skills/pdf", score, outcome]])
        for number, (score, outcome) in enumerate(scored)
    ]
    figures = figures_of(tmp_path, *lines)
    assert figures.skills.most_used == (Used("pdf", 2, 0.5),)
    assert figures.cards.most_used == ()


def test_unused_cards_and_skills_are_listed(tmp_path: Path) -> None:
    lines = [injecting(1), injecting(9, cards=[["late", 1, 0, "injected", 1]])]
    figures = figures_of(
        tmp_path, *lines, until=START + 5, cards=["late", "billing", "attic"], skills=[]
    )
    assert (figures.cards.existing, figures.cards.unused) == (3, ("attic", "late"))
    assert (figures.skills.existing, figures.skills.unused) == (0, ())
    unknown = figures_of(tmp_path, *lines)
    assert (unknown.cards.existing, unknown.cards.unused) == (None, None)


def test_what_the_mode_held_back_is_counted_separately(tmp_path: Path) -> None:
    watched = [["attic", 0.5, 0.2, "monitor", 1], ["billing", 1, 0.2, "over-budget", 1]]
    elsewhere = [["pdf", "skills/pdf", 2.5, "soft"]]
    figures = figures_of(
        tmp_path,
        injecting(1),
        decision(2, mode="monitor", tokens=300, cards=watched),
        decision(3, mode="soft", tokens=100, skills=elsewhere),
        decision(4, mode="monitor", tokens=900),
    )
    assert figures.held_back == HeldBack(
        requests=2,
        share=0.5,
        tokens_mean=200.0,
        cards=(Used("attic", 1, 0.5),),
        skills=(Used("pdf", 1, 2.5),),
    )
    assert figures_of(tmp_path).held_back == HeldBack(0, None, None, (), ())
