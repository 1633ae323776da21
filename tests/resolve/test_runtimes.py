"""Compatibility: which runtimes a skill says to work in, and what S_runtime makes of it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from candidates import candidate_of
from metier.resolve import Pool, resolve
from metier.resolve.scoring import KNOWN, compatibility
from metier.values.candidates import Candidate


def skill(field: str | tuple[str, ...], name: str = "one") -> Candidate:
    return Candidate(name=name, description="Search.", folder=name, compatibility=field)


def score(field: str | tuple[str, ...], host: str | None) -> float:
    made = resolve([skill(field)], ["search"], host=host)
    return float(made.scores.runtime[0])


def runtimes(field: str | tuple[str, ...], host: str | None = None) -> set[str]:
    return set(compatibility(field, host).runtimes)


@pytest.mark.invariant(id="DCI-RUN-001")
@pytest.mark.parametrize(
    "field", ["copilot,cli", ("copilot", "cli"), "cli,,copilot,", ("cli", "", "copilot")]
)
def test_tokens_stand_between_commas_or_in_a_list(field: str | tuple[str, ...]) -> None:
    assert runtimes(field) == {"copilot", "cli"}
    assert compatibility(field).unknown == ()


@pytest.mark.invariant(id="DCI-RUN-001")
@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("copilot, cli", "copilot, cli"),
        (["copilot", "cli"], ("copilot", "cli")),
        (["cli", 3, None, {"a": 1}], ("cli",)),
        (None, ""),
        (7, ""),
        ({"cli": True}, ""),
        ([], ""),
    ],
)
def test_the_top_level_field_is_taken_as_text_or_as_list(value: Any, expected: Any) -> None:
    data = {"compatibility": value, "metadata": {"compatibility": "codex"}}
    one = candidate_of(name="a", description="A.", folder="a", source="workspace", data=data)
    assert one.compatibility == expected


@pytest.mark.invariant(id="DCI-RUN-002")
@pytest.mark.parametrize("field", [" CLI ,\tCopilot\n", ("CLI", "  copilot "), "cLi,COPILOT"])
def test_tokens_are_trimmed_and_lower_cased(field: str | tuple[str, ...]) -> None:
    assert runtimes(field) == {"cli", "copilot"}


@pytest.mark.invariant(id="DCI-RUN-002")
@pytest.mark.parametrize("host", ["cli", "CLI", " Cli "])
def test_the_host_is_compared_in_the_same_form(host: str) -> None:
    assert score("CLI", host) == 1.0
    assert score("copilot", host) == 0.0


@pytest.mark.invariant(id="DCI-RUN-003")
@pytest.mark.parametrize(
    "field",
    ["", " ", ",", " , ,", (), ("",), "Requires Python 3.11 and uv", "Works in Claude Code.",
     "needs git, docker and jq", "Claude Code, cli", "cli, node.js", ("cli", "needs network")],
)  # fmt: skip
def test_an_absent_empty_or_prose_field_fits_every_runtime(field: str | tuple[str, ...]) -> None:
    assert compatibility(field) == (frozenset(), ())
    for host in (None, "cli", "codex", "somewhere-else"):
        assert score(field, host) == 1.0


@pytest.mark.invariant(id="DCI-RUN-004")
@pytest.mark.parametrize(
    "field", ["all", " ALL ", "cli,all", "all,codex,strange", ("codex", "All")]
)
def test_the_token_all_fits_every_runtime(field: str | tuple[str, ...]) -> None:
    assert runtimes(field) == set()
    for host in (None, "cli", "gemini", "somewhere-else"):
        assert score(field, host) == 1.0


@pytest.mark.invariant(id="DCI-RUN-005")
def test_unknown_tokens_do_not_count_and_are_kept_once_in_order() -> None:
    found = compatibility("zed, cli, emacs, Zed")
    assert found.runtimes == {"cli"}
    assert found.unknown == ("zed", "emacs")
    assert compatibility("all, zed").unknown == ("zed",)


@pytest.mark.invariant(id="DCI-RUN-005")
def test_with_no_known_token_left_a_skill_fits_every_runtime() -> None:
    assert runtimes("zed, emacs") == set()
    assert score("zed, emacs", "cli") == 1.0
    assert score("zed, codex", "cli") == 0.0


@pytest.mark.invariant(id="DCI-RUN-005")
def test_the_report_counts_unknown_tokens_by_name() -> None:
    pool = [skill("zed,cli", "a"), skill("Zed", "b"), skill("emacs", "c"), skill("any prose.", "d")]
    data = resolve(pool, ["web-search"], host="cli").report.data
    assert data["diagnostics"]["unknown_compatibility_tokens"] == {"emacs": 1, "zed": 2}


@pytest.mark.invariant(id="DCI-RUN-005")
def test_the_host_itself_is_always_a_known_token() -> None:
    assert compatibility("my-host", "my-host") == (frozenset({"my-host"}), ())
    assert score("my-host", "my-host") == 1.0
    assert score("my-host,cli", "other-host") == 0.0
    data = resolve([skill("my-host")], ["web-search"], host="my-host").report.data
    assert data["diagnostics"]["unknown_compatibility_tokens"] == {}


@pytest.mark.invariant(id="DCI-RUN-006")
@pytest.mark.parametrize(
    ("field", "host", "expected"),
    [
        ("copilot,cli", "cli", 1.0),
        ("copilot,cli", "codex", 0.0),
        ("copilot,cli", None, 1.0),
        ("copilot,cli", "somewhere-else", 0.0),
        ("", "codex", 1.0),
        ("all", "codex", 1.0),
        ("zed", "codex", 1.0),
    ],
)
def test_the_score_is_one_or_zero(field: str, host: str | None, expected: float) -> None:
    assert score(field, host) == expected


@pytest.mark.invariant(id="DCI-RUN-006")
@pytest.mark.parametrize("host", sorted(KNOWN))
def test_every_known_runtime_can_be_listed_and_missed(host: str) -> None:
    assert score(host, host) == 1.0
    assert score(",".join(sorted(KNOWN - {host})), host) == 0.0


def test_the_known_runtimes_are_those_of_the_rule() -> None:
    assert {*KNOWN} == {
        "copilot", "cli", "opencode", "claude-code", "codex", "gemini", "cursor", "openclaw",
        "vscode",
    }  # fmt: skip


@pytest.mark.invariant(id="DCI-RUN-006")
def test_each_candidate_of_a_pool_gets_its_own_score() -> None:
    pool = Pool([skill("cli", "a"), skill("codex", "b"), skill("", "c"), skill("zed,codex", "d")])
    assert pool.runtime("cli").tolist() == [1.0, 0.0, 1.0, 0.0]
    assert pool.runtime(None).tolist() == [1.0] * 4
    assert Pool([]).runtime("cli").tolist() == []


tokens = st.one_of(st.sampled_from([*sorted(KNOWN), "all", "zed", ""]), st.text(max_size=8))


@pytest.mark.invariant(id="DCI-RUN-006")
@given(st.one_of(st.lists(tokens, max_size=5).map(tuple), st.text(max_size=30)), tokens)
def test_any_field_and_host_give_one_or_zero(field: str | tuple[str, ...], host: str) -> None:
    assert score(field, host) in (0.0, 1.0)
    assert score(field, None) == 1.0
    found = compatibility(field, host)
    assert found.runtimes.isdisjoint(found.unknown)
    assert "all" not in found.runtimes
