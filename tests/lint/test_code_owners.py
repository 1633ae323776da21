"""Who owns a file, by CODEOWNERS."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.lint.code_owners import MOST_RULES, owner_rules, owners_of


@pytest.mark.parametrize(
    ("pattern", "path", "is_owned"),
    [
        ("*", "skills/a/SKILL.md", True),
        ("*.md", "skills/a/SKILL.md", True),
        ("*.md", "agents/a.yaml", False),
        ("/skills/", "skills/a/SKILL.md", True),
        ("/skills/", "other/skills/a/SKILL.md", False),
        ("skills/", "other/skills/a/SKILL.md", True),
        ("/skills", "skills/a/SKILL.md", True),
        ("skills/*", "skills/README.md", True),
        ("skills/*", "skills/a/SKILL.md", False),
        ("skills/**/SKILL.md", "skills/SKILL.md", True),
        ("skills/**/SKILL.md", "skills/a/b/SKILL.md", True),
        ("**/pdf", "skills/pdf/SKILL.md", True),
        ("skills/with\\ space/", "skills/with space/SKILL.md", True),
    ],
)
def test_a_pattern_matches_as_hosts_match_it(pattern: str, path: str, is_owned: bool) -> None:
    assert owners_of(path, owner_rules(f"{pattern} @team")) == (("@team",) if is_owned else ())


def test_the_last_rule_that_matches_counts_and_may_take_owners_away() -> None:
    rules = owner_rules("* @all\n/skills/ @skills a@example.org # why\n/skills/free/\n")
    assert owners_of("agents/a.yaml", rules) == ("@all",)
    assert owners_of("skills/a/SKILL.md", rules) == ("@skills", "a@example.org")
    assert owners_of("skills/free/SKILL.md", rules) == ()


def test_a_section_gives_its_owners_to_rules_without_any() -> None:
    rules = owner_rules("[Docs][2] @writers\n/docs/\n^[Skills]\n/skills/ @skills\n")
    assert owners_of("docs/a.md", rules) == ("@writers",)
    assert owners_of("skills/a/SKILL.md", rules) == ("@skills",)


def test_comments_empty_lines_and_negations_are_no_rules() -> None:
    assert owner_rules("# a\n\n   \n!skills/ @a\n") == []


def test_a_file_of_very_many_rules_keeps_the_last() -> None:
    rules = owner_rules("/a @a\n" * MOST_RULES + "/b @b\n")
    assert len(rules) == MOST_RULES
    assert owners_of("b", rules) == ("@b",)


@given(st.text(alphabet="*a/[!]? \\@\n"), st.text(alphabet="a/*[]!", min_size=1))
def test_no_text_breaks_it(text: str, path: str) -> None:
    assert isinstance(owners_of(path, owner_rules(text)), tuple)
