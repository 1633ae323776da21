"""The rules of listings, on skills written for one question each."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.hosts.known import HOSTS
from metier.hosts.known.claude_code import claude_budget, claude_weight
from metier.listing import rules
from metier.listing.rules import (
    RULES,
    Scope,
    Skill,
    collated,
    listing_of,
)


def skill(
    folder: str,
    description: str | None = "Does it.",
    *,
    name: str | None = None,
    scope: Scope = "project",
    when_to_use: str = "",
    uses: float = 0,
    is_fixed: bool = False,
) -> Skill:
    root = f"/{scope}/skills"
    return Skill(
        name=folder if name is None else name,
        folder=folder,
        description=description,
        path=f"{root}/{folder}/SKILL.md",
        root=root,
        scope=scope,
        when_to_use=when_to_use,
        uses=uses,
        is_fixed=is_fixed,
    )


def names(host: str, *skills: Skill) -> list[str]:
    entries = listing_of(host, skills).entries
    return [entry.name for entry in entries if entry.state != "invisible"]


def states(host: str, *skills: Skill, budget: int | None = None) -> dict[str, str]:
    entries = listing_of(host, skills, budget=budget).entries
    return {entry.skill.folder: entry.state for entry in entries}


# Claude Code


def test_claude_code_names_skills_by_folder_and_adds_another_name() -> None:
    assert names("claude-code", skill("kettle", name="mend"), skill("bell")) == [
        "bell",
        "kettle (mend)",
    ]


@pytest.mark.parametrize(
    ("name", "is_shown"), [("a_b.c:d-ä", True), ("a b", False), ("a/b", False)]
)
def test_claude_code_shows_another_name_only_if_it_is_one_word(name: str, is_shown: bool) -> None:
    assert names("claude-code", skill("f", name=name)) == [f"f ({name})" if is_shown else "f"]


def test_claude_code_lists_the_users_skills_first_and_its_own_last() -> None:
    own = [skill("zeta", scope="own"), skill("alpha", scope="own")]
    skills = [*own, skill("bell"), skill("Anchor"), skill("quarry", scope="user")]
    assert names("claude-code", *skills) == ["quarry", "Anchor", "bell", "zeta", "alpha"]


def test_claude_code_shows_the_users_skill_of_two_with_one_folder_name() -> None:
    both = [skill("bell", "The project's."), skill("bell", "The user's.", scope="user")]
    entries = listing_of("claude-code", both).entries
    assert [(entry.text, entry.state) for entry in entries] == [
        ("The user's.", "whole"),
        ("", "invisible"),
    ]


def test_claude_code_joins_when_to_use_and_escapes_angle_brackets() -> None:
    [entry] = listing_of(
        "claude-code", [skill("bell", "Rings\n\n<loud>  twice.", when_to_use="At noon & later.")]
    ).entries
    assert entry.text == "Rings &lt;loud&gt;  twice. - At noon & later."


@pytest.mark.parametrize(("length", "state"), [(1536, "whole"), (1537, "cut")])
def test_claude_code_cuts_a_text_at_its_limit(length: int, state: str) -> None:
    [entry] = listing_of("claude-code", [skill("bell", "x" * length)]).entries
    assert (len(entry.text), entry.state) == (1536, state)
    assert entry.text.endswith("…") == (state == "cut")


def test_claude_code_gives_the_room_that_is_left_to_the_most_used() -> None:
    skills = [skill("anchor", "a" * 50), skill("bell", "b" * 50), skill("cedar", "c" * 9)]
    used = [*skills[:1], skill("bell", "b" * 50, uses=1), skills[2]]
    room = len("- anchor\n- bell: \n- cedar: ") + 50 + 9
    assert states("claude-code", *skills, budget=room) == {
        "anchor": "whole", "bell": "no-text", "cedar": "whole",
    }  # fmt: skip
    assert states("claude-code", *used, budget=room) == {
        "anchor": "no-text", "bell": "whole", "cedar": "whole",
    }  # fmt: skip


def test_claude_code_never_takes_the_text_of_a_fixed_skill() -> None:
    skills = [skill("anchor"), skill("dye", scope="own", is_fixed=True), skill("ink", scope="own")]
    assert states("claude-code", *skills, budget=1) == {
        "anchor": "no-text", "dye": "whole", "ink": "no-text",
    }  # fmt: skip


def test_a_use_counts_half_after_a_week_and_never_less_than_a_tenth() -> None:
    assert claude_weight(4, 0) == 4
    assert claude_weight(4, 7) == 2
    assert claude_weight(10, 365) == 1


def test_the_budget_of_claude_code_is_a_part_of_the_context() -> None:
    assert claude_budget(200_000) == 8_000
    assert claude_budget(200_000, 0.05) == 40_000
    assert claude_budget(1_000_000, is_new_model=True) == 30_000


def test_claude_code_adds_no_name_that_another_skill_has() -> None:
    own = skill("init", scope="own")
    skills = [skill("a", name="b"), skill("b", name="a"), skill("c", name="init"), own]
    assert names("claude-code", *skills) == ["a", "b", "c", "init"]
    twice = [skill("p1", name="zed"), skill("u1", name="zed", scope="user")]
    assert names("claude-code", *twice) == ["u1 (zed)", "p1"]


# Codex


def test_codex_orders_by_scope_then_by_the_name_in_front_matter() -> None:
    skills = [
        skill("b", name="zinc", scope="user"),
        skill("a", name="tin", scope="user"),
        skill("z"),
        skill("y", scope="admin"),
        skill("x", scope="system"),
    ]
    assert names("codex", *skills) == ["x", "y", "z", "tin", "zinc"]


def test_codex_writes_each_folder_of_skills_once() -> None:
    listing = listing_of("codex", [skill("bell"), skill("kettle", scope="user")])
    assert listing.rendered() == (
        "### Skill roots\n- `r0` = `/user/skills`\n- `r1` = `/project/skills`\n"
        "### Available skills\n- bell: Does it. (file: r1/bell/SKILL.md)\n"
        "- kettle: Does it. (file: r0/kettle/SKILL.md)"
    )


@pytest.mark.parametrize("length", [1024, 1025])
def test_codex_cuts_a_description_at_its_limit(length: int) -> None:
    [entry] = listing_of("codex", [skill("bell", "x" * length)]).entries
    is_cut = length > 1024
    assert len(entry.text) == 1024
    assert (entry.text.endswith("..."), entry.state) == (is_cut, "cut" if is_cut else "whole")


def test_codex_does_not_load_a_long_name_or_a_missing_description() -> None:
    skills = [skill("a", name="n" * 64), skill("b", name="n" * 65), skill("c", None)]
    assert states("codex", *skills) == {"a": "whole", "b": "invisible", "c": "invisible"}


def test_codex_shows_a_description_on_one_line() -> None:
    [entry] = listing_of("codex", [skill("bell", "Rings\n  at\tnoon.")]).entries
    assert (entry.text, entry.state) == ("Rings at noon.", "whole")


def test_codex_lets_all_descriptions_grow_alike() -> None:
    skills = [skill(f"bell-{number}", "x" * 500) for number in range(9)]
    skills.append(skill("short", "Hm."))
    listing = listing_of("codex", skills, budget=400)
    lengths = [len(entry.text) for entry in listing.entries if entry.skill.folder != "short"]
    assert max(lengths) - min(lengths) <= 4
    assert 0 < min(lengths) < 500
    assert listing.used == 400
    assert states("codex", *skills, budget=400)["short"] == "whole"


def test_codex_leaves_out_whole_lines_when_names_alone_do_not_fit() -> None:
    skills = [skill(f"bell-{number}") for number in range(9)]
    listing = listing_of("codex", skills, budget=25)
    assert [entry.state for entry in listing.entries] == ["no-text"] * 2 + ["invisible"] * 7


# Gemini CLI, opencode, Copilot CLI


def test_gemini_shows_everything_and_prefers_the_project() -> None:
    skills = [skill("bell", "P" * 5000), skill("other", name="bell", scope="user")]
    entries = listing_of("gemini", skills).entries
    assert [(entry.skill.scope, entry.state) for entry in entries] == [
        ("project", "whole"),
        ("user", "invisible"),
    ]


def test_gemini_replaces_what_a_file_name_cannot_have() -> None:
    assert names("gemini", skill("bell", name="tools:bell")) == ["tools-bell"]


@pytest.mark.parametrize("host", ["gemini", "opencode"])
def test_a_skill_without_a_description_is_invisible(host: str) -> None:
    assert states(host, skill("bell", None), skill("kettle")) == {
        "bell": "invisible",
        "kettle": "whole",
    }


def test_opencode_sorts_by_name_and_escapes_only_the_location() -> None:
    own = Skill(name="own", folder="own", description="a < b", path="<inside>", scope="own")
    listing = listing_of("opencode", [skill("x", name="zinc"), own, skill("y", name="Lead")])
    assert [entry.name for entry in listing.entries] == ["Lead", "own", "zinc"]
    assert "<description>a < b</description>\n    <location>&lt;inside&gt;</location>" in (
        listing.rendered()
    )


def test_copilot_leaves_names_from_the_first_skill_that_does_not_fit() -> None:
    skills = [skill("cedar"), skill("anchor"), skill("bell", "b" * 900)]
    assert states("copilot", *skills, budget=600) == {
        "anchor": "whole", "bell": "no-text", "cedar": "no-text",
    }  # fmt: skip
    assert "bell, cedar" in listing_of("copilot", skills, budget=600).lines


def test_copilot_leaves_out_the_names_that_do_not_fit_either() -> None:
    skills = [skill(f"s{number:04}", "x" * 1000) for number in range(800)]
    found = Counter(entry.state for entry in listing_of("copilot", skills).entries)
    assert found == {"whole": 13, "no-text": 708, "invisible": 79}


def test_copilot_counts_each_entry_with_its_line_break_and_escapes() -> None:
    fifteen = [skill(f"s{number:04}", "x" * 901) for number in range(15)]
    assert {entry.state for entry in listing_of("copilot", fifteen).entries} == {"whole"}
    one_more = [*fifteen[:14], skill("s0014", "x" * 902)]
    assert listing_of("copilot", one_more).entries[-1].state == "no-text"
    escaped = [*fifteen[:14], skill("s0014", "x" * 900 + "&")]
    assert listing_of("copilot", escaped).entries[-1].state == "no-text"


def test_copilot_drops_long_descriptions_and_names_that_it_refuses() -> None:
    skills = [
        skill("long", "x" * 1025), skill("fits", "x" * 1024), skill("a", name="n" * 65),
        skill("b", name="so/so"), skill("c", name="-first"), skill("d", name="Two  Words"),
    ]  # fmt: skip
    assert names("copilot", *skills) == ["Two-Words", "fits"]


def test_copilot_loads_one_skill_of_a_name_projects_before_users() -> None:
    def at(root: str, scope: Scope) -> Skill:
        return skill("bell", f"Of {root}.", scope=scope)._replace(root=root)

    roots: list[tuple[str, Scope]] = [
        ("/h/.copilot/skills", "user"), ("/w/.claude/skills", "project"),
        ("/w/.agents/skills", "project"), ("/w/.github/skills", "project"),
    ]  # fmt: skip
    for number in range(len(roots), 0, -1):
        listing = listing_of("copilot", [at(*one) for one in roots[:number]])
        shown = [entry.text for entry in listing.entries if entry.state == "whole"]
        assert shown == [f"Of {roots[number - 1][0]}."]


# All hosts


WORDS = st.text(st.sampled_from("abc-<ä…\n "), max_size=60)


@pytest.mark.parametrize("host", list(RULES))
@given(texts=st.lists(WORDS, max_size=12), budget=st.integers(1, 2000))
def test_every_skill_has_one_entry_and_the_budget_holds(
    host: str, texts: list[str], budget: int
) -> None:
    skills = [skill(f"s{number}", text) for number, text in enumerate(texts)]
    listing = listing_of(host, skills, budget=budget)
    assert sorted(entry.skill.folder for entry in listing.entries) == sorted(
        skill.folder for skill in skills
    )
    for entry in listing.entries:
        assert (entry.name == "") == (entry.state == "invisible")
        assert entry.text == "" or entry.state in ("whole", "cut")
    has_text = any(entry.text for entry in listing.entries)
    if host in ("claude-code", "codex", "copilot") and has_text:
        assert listing.used <= budget


@pytest.mark.parametrize("host", ["claude-code", "codex"])
def test_the_order_of_the_input_does_not_matter(host: str) -> None:
    skills = [skill(f"s{number}", "x" * 300) for number in range(60)]
    shuffled = random.Random(1).sample(skills, len(skills))
    assert listing_of(host, shuffled) == listing_of(host, skills)


def test_names_are_sorted_as_hosts_in_javascript_sort_them() -> None:
    ordered = ["_a", "-a", "a_b", "a-b", "a1", "aa", "Aa", "ab", "B", "c"]
    shuffled = random.Random(1).sample(ordered, len(ordered))
    assert sorted(shuffled, key=collated) == ordered


def test_the_rules_count_with_the_budgets_that_the_host_model_states() -> None:
    claude, codex = HOSTS["claude-code"].listing, HOSTS["codex"].listing
    assert claude
    assert codex
    assert claude.characters == claude_budget(None)
    assert codex.fraction == rules.CODEX_PERCENT / 100
    copilot = HOSTS["copilot"].listing
    assert copilot
    assert copilot.characters == rules.RULES["copilot"].budget(None)  # type: ignore[misc]  # it has one
