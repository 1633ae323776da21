"""Webs of requirements: wide ones cost little, and all end as the plain definition says."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metier.core.names import stable_hash
from metier.parse.contract import parse_contract
from metier.resolve import Resolution, resolve
from metier.values.candidates import Candidate
from resolve.counted import calls

pytestmark = pytest.mark.slow

__all__ = ["calls"]

REASON = "dependency-unresolved"


def skill(name: str, contract: str) -> Candidate:
    read = parse_contract(contract, "best-effort")
    return Candidate(name=name, description="Plain.", folder=f"skills/{name}", contract=read)


def run(pool: Sequence[Candidate], *requires: str, **options: Any) -> Resolution:
    return resolve(pool, requires, **{"mode": "strict", "divergence": False, **options})


def names(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


def rejected(made: Resolution) -> dict[str, list[str]]:
    return {one["name"]: one["rejected"] for one in made.full_report().data["candidates"]}


# Wide webs


def layers(width: int, last: str = "") -> list[Candidate]:
    """Three layers of equal providers; each requires the whole next layer's capability."""
    ends = ["R(second)", "R(third)", last]
    return [
        skill(f"{name}-{number}", f"DCI/1 P({name}) {end}")
        for name, end in zip(("first", "second", "third"), ends, strict=True)
        for number in range(width)
    ]


def circle(width: int, extra: str = "") -> list[Candidate]:
    """Each provides the same and requires what all the others provide."""
    return [skill(f"s{number}", f"DCI/1 P(one) R(one{extra})") for number in range(width)]


def test_in_strict_nobody_drops_out_because_there_is_much_to_follow() -> None:
    """More ways than the 50 that were once followed."""
    failing = [skill(f"bad-{number}", "DCI/1 P(one) R(nowhere)") for number in range(60)]
    good = skill("good", "DCI/1 P(one,x,y) R(two)")
    made = run([*failing, good, skill("helper", "DCI/1 P(two)")], "one")
    assert names(made.selected) == ["good"]
    assert rejected(made)["good"] == []
    assert made.warnings == ()


@pytest.mark.parametrize("last", ["", "R(fourth)"], ids=["healthy", "unfollowed"])
def test_a_wide_web_costs_one_choice_for_each_provider_and_depth(
    calls: Counter[str], last: str
) -> None:
    width = 200
    made = run(layers(width, last), "first", policy={"max-candidates": "1000"})
    assert made.selected
    assert calls["Scores"] <= 1 + 2 * width
    assert calls["select"] <= 1 + 2 * width


def test_a_wide_web_in_which_everything_fails_costs_no_more(calls: Counter[str]) -> None:
    width = 200
    made = run(layers(width, "R(nowhere)"), "first", depth=3)
    assert made.selected == ()
    assert calls["select"] <= 1 + 3 * width


def test_a_wide_circle_costs_one_choice_for_each_provider_and_depth(calls: Counter[str]) -> None:
    width = 200
    made = run(circle(width), "one", policy={"max-candidates": "1000"})
    assert names(made.selected)[0] in {f"s{number}" for number in range(width)}
    assert calls["select"] <= 1 + 2 * width


def test_a_wide_circle_that_lacks_something_costs_no_more(calls: Counter[str]) -> None:
    width = 200
    made = run(circle(width, ",nowhere"), "one")
    assert (made.selected, len(rejected(made))) == ((), width)
    assert calls["select"] <= 1 + 2 * width


def test_the_tree_of_a_wide_web_describes_each_provider_once_for_each_depth() -> None:
    width = 60
    wanted = [f"cap-{number}" for number in range(width)]
    policy = f"Pol(selection-mode=cover,max-providers={width},max-candidates={width})"
    web = [
        skill(name, f"DCI/1 P({name}) R({','.join(one for one in wanted if one != name)}) {policy}")
        for name in wanted
    ]
    made = run(web, "cap-0", mode="best-effort", depth=4)

    def size(tree: Any) -> int:
        return 1 + sum(size(one) for one in tree.below)

    assert sum(size(one) for one in made.dependencies) <= 1 + 4 * width
    assert made.warnings == ()


def test_a_provider_that_is_met_again_is_named_and_not_described_again() -> None:
    pool = [
        skill("top", "DCI/1 P(top) R(left,right) Pol(selection-mode=cover)"),
        skill("a", "DCI/1 P(left) R(base)"),
        skill("b", "DCI/1 P(right) R(base)"),
        skill("shared", "DCI/1 P(base) R(end)"),
        skill("end", "DCI/1 P(end)"),
    ]
    (top,) = run(pool, "top", depth=3).dependencies
    first, second = top.below
    assert ([one.provider for one in first.below], first.repeated) == (
        ["shared::skills/shared"],
        (),
    )
    assert (second.below, second.repeated) == ((), ("shared::skills/shared",))


@pytest.mark.parametrize("mode", ["strict", "best-effort"])
def test_a_provider_that_requires_very_much_is_followed(mode: Any) -> None:
    count = 1_200
    many = ",".join(stable_hash(str(number))[:8] for number in range(count))
    pool = [skill("big", f"DCI/1 P(big) R({many})"), skill("all", f"DCI/1 P({many})")]
    made = run(pool, "big", mode=mode)
    assert names(made.selected) == ["big"]
    (tree,) = made.dependencies
    assert (names(tree.selected), len(tree.requires)) == (["all"], count)
    assert made.warnings == ()


# Small webs, against the definition


class Plain(NamedTuple):
    """A skill of a web; its name, description and folder share no word with any capability."""

    name: str
    provides: tuple[str, ...]
    requires: tuple[str, ...]
    policy: tuple[tuple[str, str], ...]

    def candidate(self) -> Candidate:
        clauses = [f"P({','.join(self.provides)})"]
        clauses += [f"R({','.join(self.requires)})"] if self.requires else []
        pairs = ",".join(f"{key}={value}" for key, value in self.policy)
        clauses += [f"Pol({pairs})"] if pairs else []
        return skill(self.name, f"DCI/1 {' '.join(clauses)}")


class Naive:
    """Strict resolution of such a web, as it is defined: every way is followed to its end."""

    def __init__(self, web: Sequence[Plain], overrides: dict[str, str]) -> None:
        self.web = web
        self.overrides = overrides

    def choose(
        self,
        requires: Sequence[str],
        own: dict[str, str],
        depth: int,
        chain: tuple[str, ...] = (),
    ) -> tuple[list[Plain], list[str]]:
        """Who is selected, and what stays open; any number may share what a provider requires."""
        policy = {**own, **self.overrides}
        if chain:
            policy |= {"selection-mode": "cover", "max-providers": "99"}
        is_cover = policy.get("selection-mode") == "cover"
        most = int(policy.get("max-candidates", "5"))
        order = self.ranked(requires, policy, chain, is_cover)
        looked_at: set[str] = set()
        dropped: set[str] = set()
        while True:
            order = [one for one in order if one.name not in dropped]
            kept = self.cut(self.within_hints(order), requires, most, is_cover)
            new = next((one for one in kept if one.name not in looked_at), None)
            if new is None:
                break
            looked_at.add(new.name)
            if new.name not in chain and not self.is_met(new, depth, chain):
                dropped.add(new.name)
        selected = kept[:1]
        if is_cover:
            selected = self.cover(kept, requires, int(policy.get("max-providers", "3")))
        have = {name for one in selected for name in one.provides}
        return selected, [name for name in requires if name not in have]

    def lacking(self, requires: Sequence[str], depth: int) -> set[str]:
        """Who names any of it and lacks something itself, whatever else speaks against it."""
        named = [one for one in self.web if set(requires).intersection(one.provides)]
        return {one.name for one in named if not self.is_met(one, depth, ())}

    def is_met(self, one: Plain, depth: int, chain: tuple[str, ...]) -> bool:
        if not one.requires or depth <= 0:
            return True
        below = (*chain, one.name)
        _, left = self.choose(one.requires, dict(one.policy), depth - 1, below)
        return not left

    def ranked(
        self, requires: Sequence[str], policy: dict[str, str], chain: tuple[str, ...], cover: bool
    ) -> list[Plain]:
        coverage = float(policy.get("min-required-coverage", "1"))
        total = float(policy.get("min-total-score", "0.45"))
        found = []
        for one in self.web:
            count = sum(name in one.provides for name in requires)
            share = count / len(requires)
            hints = dict(one.policy)
            own = max(total, float(hints.get("min-total-score", "0")))
            final = round(0.6 * (1.0 if cover else share) + 0.1, 12)
            asked = max(coverage, float(hints.get("min-required-coverage", "0")))
            if chain and one.name == chain[-1]:
                continue
            if count and final >= own and (cover or share >= asked) and (cover or share >= 0.3):
                key = stable_hash(f"{one.name}::skills/{one.name}")
                found.append((-share, -round(count / len(one.provides), 12), key, one))
        return [one for *_, one in sorted(found, key=lambda row: row[:3])]

    def within_hints(self, order: Sequence[Plain]) -> list[Plain]:
        limits = [int(dict(one.policy).get("max-candidates", "99")) for one in order]
        return [one for place, one in enumerate(order, start=1) if place <= limits[place - 1]]

    def cut(
        self, order: Sequence[Plain], requires: Sequence[str], most: int, cover: bool
    ) -> list[Plain]:
        able = [[one.name for one in order if name in one.provides] for name in requires]
        best = {first for first, *_ in filter(None, able)} if cover else set()
        room = max(most - len(best), 0)
        others = [one.name for one in order if one.name not in best][:room]
        return [one for one in order if one.name in best or one.name in others]

    def cover(self, kept: Sequence[Plain], requires: Sequence[str], most: int) -> list[Plain]:
        left = set(requires)
        selected: list[Plain] = []
        while left and len(selected) < most and kept:
            best = max(kept, key=lambda one: len(left.intersection(one.provides)))
            if not left.intersection(best.provides):
                break
            selected.append(best)
            left.difference_update(best.provides)
        return selected


CAPABILITIES = ("alpha", "bravo", "golf", "kilo", "zulu")
SOME = st.lists(st.sampled_from(CAPABILITIES), max_size=3, unique=True).map(tuple)
POLICIES = st.sampled_from(
    [
        (),
        (),
        (("selection-mode", "cover"),),
        (("selection-mode", "cover"), ("max-providers", "1")),
        (("selection-mode", "cover"), ("max-candidates", "1")),
        (("max-candidates", "1"),),
        (("max-candidates", "2"),),
        (("min-required-coverage", "0.5"), ("min-total-score", "0.2")),
    ]
)


@st.composite
def webs(draw: st.DrawFn) -> list[Plain]:
    count = draw(st.integers(2, 7))
    return [
        Plain(f"s{number}", draw(SOME.filter(bool)), draw(SOME), draw(POLICIES))
        for number in range(count)
    ]


@settings(max_examples=200, deadline=None)
@given(
    web=webs(),
    wanted=SOME.filter(bool),
    policy=POLICIES,
    depth=st.integers(0, 4),
)
def test_a_web_ends_as_the_definition_without_any_memory_says(
    web: list[Plain], wanted: tuple[str, ...], policy: tuple[tuple[str, str], ...], depth: int
) -> None:
    made = run([one.candidate() for one in web], *wanted, depth=depth, policy=dict(policy))
    naive = Naive(web, dict(policy))
    selected, left = naive.choose(wanted, {}, depth)
    assert names(made.chosen) == [one.name for one in selected]
    assert list(made.unresolved) == left
    assert {name for name, reasons in rejected(made).items() if REASON in reasons} == naive.lacking(
        wanted, depth
    )
