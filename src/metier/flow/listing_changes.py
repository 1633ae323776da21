"""What a host's listing would be after changes: skills switched off, texts shortened."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from metier.flow.listing import HostListing
from metier.flow.listing_plan import Edit
from metier.hosts.known import HOSTS
from metier.listing.rules import Skill, listing_of


def switched_off(found: HostListing, paths: Collection[str]) -> HostListing:
    """The listing without the skills at some paths of the catalog."""
    edits = [Edit("switch-off", "", path, 0, 0) for path in paths]
    return edited(found, edits)


def edited(found: HostListing, edits: Sequence[Edit]) -> HostListing:
    """The listing after some edits, by the host's own rule."""
    by_path = {edit.path: edit for edit in edits}
    skills: list[Skill] = []
    by_id = {}
    for skill in found.offered:
        known = found.by_id.get(id(skill))
        edit = by_path.get(known.row.path) if known is not None else None
        if edit is not None and edit.action == "switch-off":
            continue
        if edit is not None:
            skill = _shortened(skill, edit.to)
        skills.append(skill)
        if known is not None:
            by_id[id(skill)] = known
    budget = found.listing.budget
    listing = listing_of(found.host, skills, found.context, budget)
    return replace(found, offered=tuple(skills), listing=listing, by_id=by_id)


def _shortened(skill: Skill, length: int) -> Skill:
    return skill._replace(description=(skill.description or "")[:length], when_to_use="")


def lost_text(skill: Skill, seen: str) -> str:
    """The rest of a skill's text, after what the model sees of it.

    Hosts write texts in their own way, such as in one line: where the seen part ends is found by
    its length if it is not found by its letters.
    """
    whole = " ".join(" - ".join(filter(None, (skill.description, skill.when_to_use))).split())
    kept = seen.removesuffix("…").rstrip()
    plain = " ".join(kept.replace("&lt;", "<").replace("&gt;", ">").split())
    return whole[len(plain if whole.startswith(plain) else kept) :]


def switch_of(host: str) -> str:
    """How a host switches skills off: a key, its value, and the file; empty if it cannot."""
    switches = (
        (one, value)
        for effect in ("off", "manual")
        for one in HOSTS[host].switches
        for value, does in one.effects.items()
        if does == effect and one.key != "enabledPlugins"
    )
    for one, value in switches:
        return f"{one.key}: {value}, in {one.file or 'SKILL.md'}"
    return ""
