"""A plan that makes every skill fit into a host's listing. Greedy: not the fewest edits."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from metier.flow.listing import OVER, TOO_LONG, HostListing, ListedSkill
from metier.hosts.known import HOSTS
from metier.listing.rules import Listing, Skill, listing_of

_LETTERS_PER_TOKEN = 4
SHORTEST = 80
"""Characters that a shortened text keeps at least."""
_TRIES = 16
"""An estimate that falls short is made again for what is missing."""
_LEAST_MORE = 10
"""At least this many units more in the second try, and twice as many in each later one."""


class Edit(NamedTuple):
    """A part of a plan."""

    action: Literal["shorten", "switch-off"]
    name: str
    path: str
    length: int
    to: int
    """The characters to keep; 0 for a skill to switch off."""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


def greedy_plan(found: HostListing) -> list[Edit]:
    """Edits after which the model sees every skill whole; none if there is nothing to gain.

    The longest texts are shortened to one length. If that is not enough, the skills used least,
    of these the longest, are switched off. Skills that lose their text for another reason than
    its length are left alone.
    """
    budget = found.listing.budget
    if budget is None or not found.lost_count:
        return []
    listed = [one for one in found.skills if _is_in_reach(one)]
    if all(one.state == "whole" for one in listed):
        return []
    unit = 4 if found.listing.unit == "tokens" else 1
    excess = max(0.0, float(found.needed - budget)) * unit
    for number in range(_TRIES):
        plan = _estimated(found, listed, excess)
        after = _after(found, listed, plan, budget)
        if after is None:
            return plan
        excess += unit * max(after.needed - budget, _LEAST_MORE * 2**number)
    return []


def _is_in_reach(skill: ListedSkill) -> bool:
    """Whether the model sees a skill whole, or would if texts were shorter."""
    return skill.state == "whole" or skill.why == OVER or skill.why.startswith(TOO_LONG)


def out_of_reach(found: HostListing) -> dict[str, list[ListedSkill]]:
    """Why skills lose text that neither a switch nor a shorter text brings back, and which."""
    reasons: dict[str, list[ListedSkill]] = {}
    for one in found.lost:
        if not _is_in_reach(one):
            reasons.setdefault(one.why, []).append(one)
    return reasons


def needed_fraction(found: HostListing) -> float | None:
    """The part of the context with which all fit; None for hosts without a setting for it.

    None, too, if all fit as it is, or not even in the whole context.
    """
    facts = HOSTS[found.host].listing
    if facts is None or not facts.fraction_setting or found.context is None:
        return None
    if found.listing.budget is None or found.needed <= found.listing.budget:
        return None
    share = found.needed / found.context / _LETTERS_PER_TOKEN
    return math.ceil(share * 1000) / 1000 if share <= 1 else None


def _estimated(found: HostListing, listed: Sequence[ListedSkill], excess: float) -> list[Edit]:
    """Edits that save about `excess` characters."""
    uses = {skill.path: skill.uses for skill in found.offered}
    around = _around(found, listed)
    most = sum(max(0, one.length - SHORTEST) for one in listed)
    off: dict[str, Edit] = {}
    for one in sorted(listed, key=lambda one: (uses[one.file], -one.length, one.name)):
        if excess <= most:
            break
        off[one.file] = Edit("switch-off", one.name, one.path, one.length, 0)
        excess -= len(one.name) + one.length + around
        most -= max(0, one.length - SHORTEST)
    left = [one for one in listed if one.file not in off]
    to = _common_length(sorted((one.length for one in left), reverse=True), excess)
    to = min([to, *_limits(found.host)])
    short = [one for one in left if one.length > to]
    short.sort(key=lambda one: (-one.length, one.name))
    return [
        *off.values(), *(Edit("shorten", one.name, one.path, one.length, to) for one in short)
    ]  # fmt: skip


def _around(found: HostListing, listed: Sequence[ListedSkill]) -> float:
    """The characters of an entry besides name and text, on average; also of entries left out."""
    unit = 4 if found.listing.unit == "tokens" else 1
    files = {one.file for one in listed}
    others = [one for one in found.listing.entries if one.skill.path not in files]
    sizes = [len(one.name) + one.length for one in listed]
    sizes += [len(one.name) + one.length for one in others if one.name or one.length]
    return max(0.0, (found.needed * unit - sum(sizes)) / max(1, len(sizes)))


def _limits(host: str) -> list[int]:
    """The lengths beyond which a text is cut, or its skill dropped."""
    facts, loading = HOSTS[host].listing, HOSTS[host].loading
    both = (
        facts.longest if facts is not None else None,
        loading.longest_description if loading is not None else None,
    )
    return [one for one in both if isinstance(one, int)]


def _common_length(lengths: Sequence[int], excess: float) -> int:
    """The length to which the longest of falling `lengths` are cut to save `excess`."""
    if excess <= 0 or not lengths:
        return max(lengths, default=0)
    saved = 0.0
    for number, length in enumerate(lengths, start=1):
        below = lengths[number] if number < len(lengths) else 0
        if saved + (length - below) * number >= excess:
            return max(0, int(length - (excess - saved) / number))
        saved += (length - below) * number
    return 0


def _after(
    found: HostListing, listed: Sequence[ListedSkill], plan: Sequence[Edit], budget: int
) -> Listing | None:
    """The listing after a plan, by the host's own rule; None if every skill is whole in it."""
    by_path = {edit.path: edit for edit in plan}
    edits = {one.file: by_path[one.path] for one in listed if one.path in by_path}
    wanted = {one.file for one in listed}
    after = [_edited(skill, edits) for skill in found.offered if _stays(skill, edits)]
    listing = listing_of(found.host, after, found.context, budget)
    return listing if any(entry.skill.path in wanted for entry in listing.lost) else None


def _stays(skill: Skill, edits: Mapping[str, Edit]) -> bool:
    return skill.path not in edits or edits[skill.path].action == "shorten"


def _edited(skill: Skill, edits: Mapping[str, Edit]) -> Skill:
    edit = edits.get(skill.path)
    if edit is None:
        return skill
    kept = (skill.description or "")[: edit.to].ljust(edit.to, "x")
    return skill._replace(description=kept, when_to_use="")
