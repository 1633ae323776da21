"""Bars, their margins, and the page that lists them."""

import math
from pathlib import Path

import pytest
from benchmarks.__main__ import page
from benchmarks.corpus import unpack
from benchmarks.measure import Bar, alternate, least


def bar(figure: float, limit: float, *, at_least: bool = False) -> Bar:
    return Bar("refresh", figure, limit, "× a walk", "3 ms against 2 ms", at_least)


@pytest.mark.parametrize(
    ("figure", "limit", "at_least", "holds", "margin"),
    [
        (1.0, 1.2, False, True, 0.2),
        (1.2, 1.0, False, False, -1 / 6),
        (6.0, 5.0, True, True, 0.2),
        (4.0, 5.0, True, False, -0.2),
        (0.0, 0.5, False, True, math.inf),
        (0.0, 0.0, False, True, 0.0),
    ],
)
def test_the_margin_is_by_how_much_the_figure_may_get_worse(
    figure: float, limit: float, at_least: bool, holds: bool, margin: float
) -> None:
    made = bar(figure, limit, at_least=at_least)
    assert made.holds is holds
    assert made.margin == pytest.approx(margin)


def test_what_disturbs_one_round_does_not_change_the_figure() -> None:
    costs = iter([2.0, 3.0, 9.0, 4.0, 2.5, 9.0])
    assert least(alternate(3, lambda: next(costs), lambda: next(costs))) == [2.0, 3.0]


@pytest.mark.parametrize("is_busy", [True, False])
def test_the_page_says_whether_the_machine_was_busy(is_busy: bool) -> None:
    assert ("busy with other work" in page([], is_busy=is_busy)) is is_busy


def test_the_page_gives_figure_bar_margin_and_command_of_each_bar() -> None:
    *_, first, second, third = page(
        [("refresh", bar(1.0, 1.2)), ("runs", bar(4.0, 5.0, at_least=True)), ("x", bar(0, 0))]
    ).splitlines()
    assert first == (
        "| refresh | 1.00 × a walk | ≤ 1.2 | 20% | 3 ms against 2 ms |"
        " `python -m benchmarks refresh` |"
    )
    assert second.split(" | ")[2:4] == ["≥ 5", "**fails**"]
    assert third.split(" | ")[3] == "exact"


def test_a_folder_of_the_users_is_copied_and_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = tmp_path / "mine"
    (own / "pdf").mkdir(parents=True)
    (own / "pdf" / "SKILL.md").write_text("---\nname: pdf\n---\n")
    monkeypatch.setenv("METIER_CORPUS", str(own))
    root, what = unpack(tmp_path / "scratch")
    (root / "pdf" / "SKILL.md").unlink()
    assert (own / "pdf" / "SKILL.md").exists()
    assert what == "the files of mine"
