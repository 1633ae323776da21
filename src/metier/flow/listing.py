"""What a host shows the model of the skills in the catalog, and what would make all fit."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal, NamedTuple

from metier.errors import UsageError
from metier.flow.host_skills import HostSkill, HostView, Verdict, host_view, verdicts
from metier.hosts.known import HOSTS
from metier.hosts.loading import SWITCHED_OFF, Loads
from metier.hosts.model import UNKNOWN, Host
from metier.index.store import Store
from metier.listing.own import own_skills
from metier.listing.rules import (
    RULES,
    Listing,
    Shown,
    Skill,
    State,
    listing_of,
)

TextState = State
LISTED: tuple[str, ...] = tuple(RULES)
"""The hosts whose rule is known."""
STATES: tuple[State, ...] = ("whole", "cut", "no-text", "invisible")


class ListedSkill(NamedTuple):
    """One skill of the user in a listing."""

    name: str
    path: str
    """As the catalog has it."""
    file: str
    """As the host finds it."""
    state: State
    shown: int
    """Characters of its text that the model sees."""
    length: int
    text: str
    """What is left of its text."""
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


@dataclass(frozen=True, kw_only=True)
class HostListing:
    """What one host shows the model."""

    host: str
    title: str
    context: int | None
    """The tokens of the model's context; None if the host does not look at it."""
    context_from: Literal["", "given", "settings", "default"]
    offered: tuple[Skill, ...]
    """What the rule was given, the host's own skills included."""
    listing: Listing
    hidden: tuple[tuple[str, str], ...]
    """Path and switch of each skill that is kept from the model on purpose."""
    not_loaded: int
    """Skills in folders that the host reads, which it does not load."""
    own: int
    """The host's own skills in the listing."""
    by_id: Mapping[int, HostSkill]
    """The skills of the catalog, by the identity of their `offered` skill."""

    @property
    def needed(self) -> int:
        """The size of the listing if there were no limit, in the unit of the budget."""
        return self.listing.needed

    @property
    def has_counts(self) -> bool:
        """Whether the host's own counts of use decide the order."""
        return any(skill.uses for skill in self.offered)

    @cached_property
    def counts(self) -> dict[State, int]:
        found = Counter(entry.state for entry in self._entries)
        return {state: found[state] for state in STATES}

    @property
    def lost_count(self) -> int:
        """How many skills the model does not see with their whole text."""
        return sum(count for state, count in self.counts.items() if state != "whole")

    @cached_property
    def skills(self) -> list[ListedSkill]:
        """The skills of the catalog that the host loads, in its order."""
        return list(map(self._listed, self._entries))

    @property
    def lost(self) -> list[ListedSkill]:
        """Skills of which the model does not see the whole text."""
        return [one for one in self.skills if one.state != "whole"]

    def some(self, state: State, limit: int) -> list[ListedSkill]:
        """The first skills in a state."""
        wanted = (entry for entry in self._entries if entry.state == state)
        return [self._listed(entry) for entry in islice(wanted, limit)]

    @cached_property
    def _entries(self) -> list[Shown]:
        """The skills of the catalog in the listing."""
        return [entry for entry in self.listing.entries if id(entry.skill) in self.by_id]

    def _listed(self, entry: Shown) -> ListedSkill:
        skill = self.by_id[id(entry.skill)]
        assert isinstance(skill.outcome, Loads)
        return ListedSkill(
            entry.name or skill.outcome.name,
            skill.row.path,
            entry.skill.path,
            entry.state,
            len(entry.text),
            entry.length or len(skill.row.description),
            entry.text,
            _why(HOSTS[self.host], skill, entry),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "host": self.host,
            "context": self.context,
            "budget": self.listing.budget,
            "unit": self.listing.unit,
            "needed": self.needed,
            "shown": self.listing.used,
            "lost": self.lost_count,
            "counts": self.counts,
            "hidden": [{"path": path, "switch": switch} for path, switch in self.hidden],
            "notLoaded": self.not_loaded,
            "own": self.own,
            "skills": [skill.to_json() for skill in self.skills],
        }


SAME_NAME = "another skill has its name"
OVER = "the listing is over its budget"
TOO_LONG = "its text is longer than"


def _why(host: Host, skill: HostSkill, entry: Shown) -> str:
    """Why the model does not see the whole text; empty if it does."""
    if entry.state == "whole":
        return ""
    if skill.switches and skill.is_name_only:
        return "skillOverrides leaves only its name"
    if entry.state == "invisible":
        return OVER if entry.length else _why_unseen(host, entry.skill)
    if not entry.length:
        return "it has no text"
    longest = host.listing.longest if host.listing is not None else None
    if isinstance(longest, int) and len(entry.text) == longest:
        return _too_long(longest)
    return OVER


def _why_unseen(host: Host, skill: Skill) -> str:
    loading = host.loading
    assert loading is not None
    longest, name = loading.longest_name, skill.name or skill.folder
    if isinstance(longest, int) and len(name) > longest:
        return f"its name is longer than {longest} characters"
    if loading.name_pattern and not re.fullmatch(loading.name_pattern, "-".join(name.split())):
        return f"its name has characters that {host.title} rejects"
    longest = loading.longest_description
    if isinstance(longest, int) and len(skill.description or "") > longest:
        return _too_long(longest)
    return OVER if loading.duplicates == "all load" else SAME_NAME


def _too_long(longest: int) -> str:
    return f"{TOO_LONG} {longest:,} characters"


def view_of(store: Store, name: str, workspace: str, home: str) -> HostView:
    """What a host makes of the catalog's skills. Raises `UsageError` for an unknown host."""
    if name not in HOSTS or HOSTS[name].loading is None:
        hint = f"hosts: {', '.join(one for one, host in HOSTS.items() if host.loading)}"
        raise UsageError(f"no host that loads skills is called '{name}'", hint=hint)
    return host_view(store, HOSTS[name], workspace, home)


def listing_in(view: HostView, context: int | None = None) -> HostListing:
    """The listing of a host. Raises `UsageError` if its rule is not known."""
    host = view.host
    if host.name not in RULES:
        message = f"metier does not know what {host.title} shows the model"
        raise UsageError(message, hint=f"hosts with a known rule: {', '.join(RULES)}")
    offered, hidden, not_loaded = _sorted_out(view.skills)
    by_folder = host.loading is not None and host.loading.name == "folder"
    uses = view.settings.uses
    has_paragraph = host.loading is not None and host.loading.undescribed == "first paragraph"
    pairs = [(one, _skill(one, by_folder, has_paragraph, uses)) for one in offered]
    own = own_skills(host.name)
    tokens, source = _context(view, context)
    budget = view.settings.budget(tokens)
    skills = [*(skill for _, skill in pairs), *own]
    return HostListing(
        host=host.name,
        title=host.title,
        context=tokens,
        context_from=source,
        offered=tuple(skills),
        listing=listing_of(host.name, skills, tokens, budget),
        hidden=tuple(hidden),
        not_loaded=not_loaded,
        own=len(own),
        by_id={id(skill): one for one, skill in pairs},
    )


def _sorted_out(
    skills: Sequence[HostSkill],
) -> tuple[list[HostSkill], list[tuple[str, str]], int]:
    """The skills for the listing; paths and switches of those kept from the model on purpose;
    how many of the host's folders do not load."""
    offered: list[HostSkill] = []
    hidden: list[tuple[str, str]] = []
    not_loaded = 0
    for one in skills:
        outcome = one.outcome
        if isinstance(outcome, Loads):
            if not outcome.hidden_by or one.is_name_only:
                offered.append(one)
            else:
                hidden.append((one.row.path, outcome.hidden_by))
        elif outcome.reason == "off":
            hidden.append((one.row.path, outcome.message.removeprefix(SWITCHED_OFF)))
        elif outcome.reason not in ("other-folder", "unread"):
            not_loaded += 1
    return offered, hidden, not_loaded


def verdicts_of(view: HostView) -> list[Verdict]:
    """What a host makes of each skill, what needs attention first."""
    invisible: dict[str, str] = {}
    if view.host.name in RULES:
        found = listing_in(view)
        unseen = found.some("invisible", len(found.offered))
        invisible = {one.path: one.why for one in unseen}
    return verdicts(view, invisible)


def _context(
    view: HostView, given: int | None
) -> tuple[int | None, Literal["", "given", "settings", "default"]]:
    if RULES[view.host.name].budget is None:
        return None, ""
    facts = view.host.listing
    default = facts.context if facts is not None and facts.context is not UNKNOWN else None
    if facts is not None and facts.fraction is None:
        return None, ""
    if given is not None:
        return given, "given"
    if view.settings.context is not None:
        return view.settings.context, "settings"
    return default, "default"


def _skill(
    skill: HostSkill, by_folder: bool, has_paragraph: bool, uses: Mapping[str, float]
) -> Skill:
    """With `has_paragraph` the host takes the first paragraph for a missing description."""
    row, outcome = skill.row, skill.outcome
    assert isinstance(outcome, Loads)
    folder = outcome.name if by_folder else skill.folder
    unnamed = bool(row.issues) and row.unnamed
    name = "" if unnamed else outcome.name
    if by_folder:  # it sees no name in front matter that it cannot parse
        name = "" if row.plugin or unnamed or (row.issues and row.no_yaml) else row.name
    is_bare = not has_paragraph and bool(row.issues) and row.undescribed
    is_name_only = skill.is_name_only if outcome.hidden_by else False
    found_at = skill.found_at
    return Skill(
        name,
        folder,
        None if is_bare else "" if is_name_only else row.description,
        found_at.file or row.file,
        found_at.root,
        found_at.scope,
        "" if is_name_only else row.when_to_use,
        uses.get(folder, 0) if uses else 0,
    )
