"""Rules for SKILL.md: the Agent Skills format, and what makes a skill hard to find."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from metier.core.coerce import scalar_text_of
from metier.core.names import LONGEST_NAME, is_capability_name, loose_key, slug
from metier.core.nearest import nearest, suggestion
from metier.core.text import is_cjk
from metier.lint.bodies import lint_body
from metier.lint.noting import Findings
from metier.lint.values import lint_values, readers_of
from metier.values.checks import TYPES, Field
from metier.values.fields import SKILL, spellings
from metier.values.files import Matter
from metier.values.outcomes import Issue
from metier.values.skills import Skill

if TYPE_CHECKING:
    from metier.values.contracts import Contract

LONGEST_DESCRIPTION = 1024
_FORMAT = ("claude.ai", "skills-ref")
"""What holds skills to the limits of the format, besides hosts."""
SHORTEST_USEFUL_DESCRIPTION = 20
"""About three words."""
LONGEST_COMPATIBILITY = 500
LONGEST_BODY_LINES = 500
MOST_FREE_CLAIMS = 20
"""Capabilities that a contract may claim without losing score."""
_TAG = r"</?[A-Za-z][\w-]*(?:\s[^<>]*)?/?>"
_JOINING_WORDS = frozenset(
    (
        "a", "an", "and", "as", "at", "before", "by", "for", "from", "in", "into", "of", "on", "or",
        "the", "to", "using", "via", "when", "while", "with",
    )
)  # fmt: skip
"""Words that no name should end with."""
_MOST_COMPARED = 20
_NEAR_MISS = 0.8
_TYPED = {
    key: field for key, field in SKILL.items() if field.type in TYPES and key != "description"
}
"""Parsing reports a wrong description."""
_ANY_TEXT = frozenset(
    key for key, field in _TYPED.items() if str in TYPES[field.type][0]
).difference(key for key, field in _TYPED.items() if field.choices)
"""Keys for which every text is right."""
_KEYS = spellings(SKILL)
_KNOWN = SKILL.keys()


def lint_skill(skill: Skill, matter: Matter) -> list[Issue]:
    """Every finding in one usable skill."""
    found = Findings(skill.path, matter)
    _check_name(skill, found)
    if scalar_text_of(matter.data.get("description")):
        _check_description(skill, found)
    _check_types(matter, found)
    _check_keys(matter.data, found)
    lint_values(skill.own_name, matter.data, found)
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


def _check_description(skill: Skill, found: Findings) -> None:
    description, routing_text = skill.description, skill.routing_text
    size, together = len(description), len(routing_text)
    if together > LONGEST_DESCRIPTION:
        _check_length(size, together, found)
    elif is_too_short(routing_text):
        message = f"the description has only {size} characters"
        found.add("SK306", message, ("description",), "say what the skill does and when to use it")
    if "<" in description and (tag := re.search(_TAG, description)):
        message = f"the description holds the tag '{tag[0][:40]}'"
        found.add("SK314", message, ("description",), "some hosts reject it: write it in words")


def _check_length(size: int, together: int, found: Findings) -> None:
    from metier.lint.host_limits import cut_in, limited_hosts  # few descriptions are long

    over = cut_in(together)
    if size > LONGEST_DESCRIPTION:
        message = f"the description has {size} characters, the limit is {LONGEST_DESCRIPTION}"
        hint = "hosts cut or drop it: keep what and when"
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


def _check_types(matter: Matter, found: Findings) -> None:
    """Skip values that are not YAML: they have a finding already."""
    for key, value in matter.data.items():
        is_any_text = type(value) is str and key in _ANY_TEXT
        if is_any_text or key not in _TYPED or value is None or key in matter.unread:
            continue
        field = _TYPED[key]
        if not _has_type(value, field):
            called = TYPES[field.type][1]
            found.add(
                "SK307", f"'{key}' must be {called}", (key,), f"write {called}", readers_of(key)
            )
        elif field.choices and isinstance(value, str) and value not in field.choices:
            message = f"no host is known to accept '{key}: {value[:40]}'"
            hint = f"known: {', '.join(field.choices)}"
            found.add("SK316", message, (key,), hint, readers_of(key))


def _has_type(value: Any, field: Field) -> bool:
    numbers = (int, float) if field.or_number else ()
    entries = value if isinstance(value, list) else []
    is_of_texts = all(type(entry) in (str, *numbers) for entry in entries)
    return type(value) in (*TYPES[field.type][0], *numbers) and is_of_texts


def _check_keys(data: dict[str, Any], found: Findings) -> None:
    if not data.keys() <= _KNOWN:
        _check_unknown_keys(data, found)
    compatibility = data.get("compatibility")
    if isinstance(compatibility, str) and len(compatibility) > LONGEST_COMPATIBILITY:
        message = (
            f"compatibility has {len(compatibility)} characters, "
            f"the limit is {LONGEST_COMPATIBILITY}"
        )
        found.add("SK308", message, ("compatibility",), "name the hosts, explain in the body")


def _check_unknown_keys(data: dict[str, Any], found: Findings) -> None:
    unknown = [key for key in data if key not in SKILL]
    for key in unknown[:_MOST_COMPARED]:
        meant = meant_by(key)
        if meant and meant in data:
            message = f"unknown key '{key[:40]}' beside '{meant}', which counts"
            found.add("SK309", message, (key,), f"keep '{meant}' alone")
            unknown.remove(key)
        elif meant:
            found.add("SK309", f"unknown key '{key[:40]}'", (key,), suggestion(meant))
            unknown.remove(key)
    if unknown:
        keys = ", ".join(f"'{key[:40]}'" for key in unknown[:5])
        more = f" and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        hint = "put your own keys under 'metadata'"
        word = "key" if len(unknown) == 1 else "keys"
        found.add("SK309", f"unknown {word} {keys}{more}", (unknown[0],), hint)


@lru_cache(maxsize=4096)
def meant_by(key: str) -> str:
    """The known key that an unknown key is a typo of."""
    return _KEYS.get(nearest(loose_key(key), _KEYS, likeness=_NEAR_MISS), "")


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
