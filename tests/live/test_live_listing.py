"""The listing that a real host sends equals the one that its rule computes."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

from listing.generated_skills import Generated, generated, write
from live.lab import Lab, open_lab
from live.sent import Sent, listing_text, sent_skills
from metier.hosts.known.claude_code import claude_budget
from metier.listing.recorder import Finished
from metier.listing.rules import Listing, Scope, Skill, listing_of

COUNTS = (3, 50, 212, 500)
PROMPT = "Say hello."
CLAUDE_COMMANDS = ("init", "security-review")
"""Commands of Claude Code that lose their text like skills; its own skills never do."""


def skill_of(lab: Lab, given: Generated) -> Skill:
    root = lab.user_skills if given.of_user else lab.project_skills
    return Skill(
        name=given.name,
        folder=given.folder,
        description=given.description,
        when_to_use=given.when_to_use,
        root=str(root),
        path=str(root / given.folder / "SKILL.md"),
        scope="user" if given.of_user else "project",
    )


def own_skills(lab: Lab, sent: Iterable[Sent]) -> list[Skill]:
    """The skills that a host brings along, from a request that has all of their text."""
    scope: Scope = "system" if lab.host.name == "codex" else "own"
    root = str(lab.home / ".codex/skills/.system") if scope == "system" else ""
    return [
        Skill(
            name=skill.name,
            folder=skill.name,
            description=skill.text,
            path=f"{root}/{skill.name}/SKILL.md"
            if root
            else skill.location.replace("&lt;", "<").replace("&gt;", ">"),
            root=root,
            scope=scope,
            is_fixed=skill.name not in CLAUDE_COMMANDS,
        )
        for skill in sent
    ]


def ask(
    name: str, folder: Path, given: Sequence[Generated], context: int = 0
) -> tuple[Lab, Finished]:
    lab = open_lab(name, folder, context)
    write(given, lab.project_skills, lab.user_skills)
    return lab, lab.ask(PROMPT)


def compared(
    name: str, count: int, folder: Path, context: int = 0
) -> tuple[Listing, Finished, Lab]:
    """The listing by rule, and what the host sent."""
    _, bare = ask(name, folder / "bare", [])
    own = sent_skills(name, bare.requests)
    assert own, bare.output
    given = generated(count)
    lab, finished = ask(name, folder / "full", given, context)
    skills = [skill_of(lab, skill) for skill in given]
    listing = listing_of(name, [*skills, *own_skills(lab, own)], lab.context)
    return listing, finished, lab


def shown(listing: Listing) -> list[tuple[str, str]]:
    return [(entry.name, entry.text) for entry in listing.entries if entry.state != "invisible"]


def pairs(name: str, finished: Finished) -> list[tuple[str, str]]:
    return [(skill.name, skill.text) for skill in sent_skills(name, finished.requests)]


def check(name: str, count: int, folder: Path, context: int = 0) -> None:
    listing, finished, _ = compared(name, count, folder, context)
    if name == "gemini":  # reads files side by side: their order differs from run to run
        assert sorted(shown(listing)) == sorted(pairs(name, finished))
        return
    assert shown(listing) == pairs(name, finished)
    if name == "copilot":  # the host's words stand before the names without text
        begin = listing.rendered().partition("\n")[2].rpartition("</skill>")[0]
        assert listing_text(name, finished.requests).startswith(begin)
        return
    assert listing_text(name, finished.requests) in listing.rendered()


def test_codex_lists_what_the_rule_says(tmp_path: Path) -> None:
    check("codex", 212, tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", ["codex", "gemini", "opencode", "claude-code", "copilot"])
def test_a_host_lists_what_its_rule_says(name: str, count: int, tmp_path: Path) -> None:
    check(name, count, tmp_path)


@pytest.mark.live
@pytest.mark.parametrize("context", [20_000, 100_000, 200_000])
def test_codex_lists_what_the_rule_says_for_other_contexts(context: int, tmp_path: Path) -> None:
    check("codex", 50, tmp_path, context)


def test_the_budget_of_claude_code_follows_from_context_fraction_and_model() -> None:
    assert claude_budget(200_000) == 8_000
    assert claude_budget(1_000_000, is_new_model=True) == 30_000
    assert claude_budget(1_000_000, 0.015, is_new_model=True) == 45_000
