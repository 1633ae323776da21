"""The host's own skills, as they were measured."""

import pytest

from metier.listing.own import own_skills
from metier.listing.rules import listing_of


@pytest.mark.parametrize("host", ["claude-code", "copilot", "gemini", "opencode"])
def test_own_skills_have_the_measured_names_and_lengths(host: str) -> None:
    skills = own_skills(host)
    assert skills
    assert all(skill.scope == "own" and skill.description for skill in skills)
    assert {entry.state for entry in listing_of(host, skills).entries} == {"whole"}


def test_own_skills_of_claude_code_take_most_of_a_small_budget() -> None:
    listing = listing_of("claude-code", own_skills("claude-code"), 200_000)
    assert listing.budget == 8_000
    assert 4_000 < listing.used < 8_000


@pytest.mark.parametrize("host", ["codex", "cursor", "vscode"])
def test_hosts_with_skills_on_disk_or_unmeasured_have_none(host: str) -> None:
    assert own_skills(host) == []
