"""Rules for SKILL.md: the Agent Skills format, and what makes a skill hard to find."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from metier.core.coerce import scalar_text_of
from metier.core.names import LONGEST_NAME, is_capability_name, slug
from metier.core.text import is_cjk
from metier.lint.bodies import lint_body
from metier.lint.noting import Findings
from metier.values.files import Matter
from metier.values.outcomes import Issue
from metier.values.skills import Skill, has_usual_keys

if TYPE_CHECKING:
    from metier.values.contracts import Contract

LONGEST_DESCRIPTION = 1024
_FORMAT = ("claude.ai", "skills-ref")
"""What holds skills to the limits of the format, besides hosts."""
SHORTEST_USEFUL_DESCRIPTION = 20
"""About three words."""
LONGEST_BODY_LINES = 500
MOST_FREE_CLAIMS = 20
"""Capabilities that a contract may claim without losing score."""
RESERVED_WORDS = ("anthropic", "claude")
"""What names of skills that are uploaded must not contain."""
_TAG = r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"
_JOINING_WORDS = frozenset(
    (
        "a", "an", "and", "as", "at", "before", "by", "for", "from", "in", "into", "of", "on", "or",
        "the", "to", "using", "via", "when", "while", "with",
    )
)  # fmt: skip
"""Words that no name should end with."""


def lint_skill(skill: Skill, matter: Matter) -> list[Issue]:
    """Every finding in one usable skill."""
    found = Findings(skill.path, matter)
    _check_name(skill, found)
    if scalar_text_of(matter.data.get("description")):
        _check_description(skill, found)
    has_more = not has_usual_keys(matter.data)
    if has_more:
        from metier.lint.keys import lint_keys  # loads what is known about every key

        lint_keys(matter, found)
    _check_reserved(skill.own_name, found)
    if has_more:
        from metier.lint.values import lint_values

        lint_values(matter.data, found)
    _check_body(skill, matter, found)
    lint_body(skill, found)
    for capability in skill.capabilities:
        if not is_capability_name(capability):
            found.add(
                "SK311",
                f"capability '{capability[:80]}' breaks the name rule",
                ("capabilities",) if "capabilities" in matter.data else ("metadata",),
                "use a-z, 0-9 and single hyphens, at most 64 characters",
            )
    if skill.contract is not None:
        for code, message, hint in _contract_findings(skill.contract):
            found.add(code, message, ("metadata", "contract"), hint)
    return found.issues


def _contract_findings(contract: "Contract") -> Iterator[tuple[str, str, str]]:
    """The code, message and hint of each finding in a contract, beyond its grammar."""
    claims = len(contract.provides)
    if claims > MOST_FREE_CLAIMS:
        message = f"contract: it claims {claims} capabilities; more than {MOST_FREE_CLAIMS}"
        yield "DC405", f"{message} lower the score", "name what it really provides, or split it"
    from metier.values.policy import Policy  # few skills have a contract

    _, warnings = Policy().with_contract(contract.policy)
    for warning in warnings:
        yield "DC406", f"contract: {warning}", "correct the key or the value in Pol(...)"


def _check_name(skill: Skill, found: Findings) -> None:
    name = skill.own_name
    folder = skill.folder_name
    if not is_capability_name(name):
        problem = (
            f"has {len(name)} characters, the limit is {LONGEST_NAME}"
            if len(name) > LONGEST_NAME
            else "breaks the name rule"
        )
        better = proper_name(name, folder)
        hint = f"call it '{better}'" if better else "use a-z, 0-9 and single hyphens"
        from metier.lint.host_limits import droppers_of_name  # few names are wrong

        hosts = (*droppers_of_name(name), *_FORMAT)
        found.add("SK302", f"name '{name[:80]}' {problem}", ("name",), hint, hosts)
    elif folder not in ("", name):
        hint = "rename one: many hosts show the folder and load by name"
        found.add("SK303", f"name '{name}' differs from folder '{folder}'", ("name",), hint)
    if not skill.path.endswith("SKILL.md"):
        called = skill.path.rpartition("/")[2]
        found.add_at("SK315", f"the file is called {called}", 1, "rename it to SKILL.md")


def proper_name(name: str, folder: str) -> str:
    """A valid name for a skill that has none: its folder's, else its own made valid, or empty."""
    return folder if is_capability_name(folder) else _shortened(slug(name))


def _shortened(name: str) -> str:
    if len(name) <= LONGEST_NAME:
        return name
    whole_words = name[: LONGEST_NAME + 1].rpartition("-")[0]
    while whole_words.rpartition("-")[2] in _JOINING_WORDS:
        whole_words = whole_words.rpartition("-")[0]
    return whole_words or name[:LONGEST_NAME].strip("-")


def _check_reserved(name: str, found: Findings) -> None:
    for word in RESERVED_WORDS:
        if word in name:
            message = f"the name contains the reserved word '{word}'"
            hint = "matters only for uploads to claude.ai and the Claude API: choose another name"
            found.add("SK322", message, ("name",), hint)
            return


def _check_description(skill: Skill, found: Findings) -> None:
    description, routing_text = skill.description, skill.routing_text
    size, together = len(description), len(routing_text)
    if together > LONGEST_DESCRIPTION:
        _check_length(size, together, found)
    elif is_too_short(routing_text):
        message = f"the description has only {size} characters"
        found.add("SK306", message, ("description",), "say what the skill does and when to use it")
    if "<" in description and (tag := re.search(_TAG, description)):
        message = f"the description contains the tag '{tag[0][:40]}'"
        found.add("SK314", message, ("description",), "some hosts reject it: write it in words")


def _check_length(size: int, together: int, found: Findings) -> None:
    from metier.lint.host_limits import cut_in, limited_hosts  # few descriptions are long

    over = cut_in(together)
    if size > LONGEST_DESCRIPTION:
        message = f"the description has {size} characters, the limit is {LONGEST_DESCRIPTION}"
        hint = "some hosts cut it or drop the skill: keep what it does and when to use it"
        hosts = (*limited_hosts(LONGEST_DESCRIPTION), *(host.name for host in over), *_FORMAT)
        found.add("SK305", message, ("description",), hint, hosts)
    elif over:
        message = f"description and when_to_use have {together} characters together"
        titles = " and ".join(host.title for host in over)
        shown = min(host.shown for host in over)
        hint = f"only the first {shown} are shown in {titles}: keep what and when"
        found.add("SK305", message, ("when_to_use",), hint, tuple(host.name for host in over))


def is_too_short(text: str) -> bool:
    """A character of Chinese, Japanese or Korean says as much as two others."""
    if len(text) >= SHORTEST_USEFUL_DESCRIPTION:
        return False
    return sum(2 if is_cjk(char) else 1 for char in text) < SHORTEST_USEFUL_DESCRIPTION


def _check_body(skill: Skill, matter: Matter, found: Findings) -> None:
    if not skill.body:
        hint = "say after the front matter what to do, step by step"
        found.add_at("SK312", "the skill has no instructions", matter.body_line, hint)
    elif len(skill.body) > LONGEST_BODY_LINES:
        lines = skill.body.count("\n") + 1
        if lines > LONGEST_BODY_LINES:
            message = f"the instructions have {lines} lines, more than {LONGEST_BODY_LINES}"
            hint = "move details into files beside SKILL.md"
            found.add_at("SK313", message, matter.body_line, hint)
