"""What a host shows the model of each skill: name and text after all cuts."""

from collections.abc import Mapping
from typing import NamedTuple

from metier.core.text import routing_text
from metier.flow.host_skills import HostSkill, HostView
from metier.flow.listing import listing_in
from metier.hosts.loading import Loads
from metier.listing.rules import RULES
from metier.values.which import ShownText


class ShownTexts(NamedTuple):
    """What one host shows the model."""

    host: str
    texts: Mapping[str, ShownText]
    """Path in the catalog → what the model sees, for each skill that it sees."""
    unseen: Mapping[str, str]
    """Path in the catalog → why the model does not see the skill."""


def shown_by(view: HostView) -> ShownTexts:
    """What a host shows; if its rule is not known, the whole text of each skill that it loads."""
    host = view.host.name
    unseen = {one.row.path: why for one in view.skills if (why := _why_unseen(host, one))}
    if host not in RULES:
        loaded = (one for one in view.skills if one.row.path not in unseen)
        return ShownTexts(host, {one.row.path: _whole(one) for one in loaded}, unseen)
    texts = {}
    for one in listing_in(view).skills:
        if one.state == "invisible":
            unseen[one.path] = f"{host} loads it, but its listing hides it: {one.why}"
        else:
            texts[one.path] = ShownText(one.name, one.text, one.state, one.length, one.why)
    return ShownTexts(host, texts, unseen)


def _why_unseen(host: str, skill: HostSkill) -> str:
    """Why a skill does not even get into the listing; empty if it does."""
    outcome = skill.outcome
    if not isinstance(outcome, Loads):
        hint = f"; {outcome.hint}" if outcome.hint else ""
        return f"{host} does not load it: {outcome.message}{hint}"
    if skill.is_hidden and not skill.is_name_only:
        return f"{host} does not show it to the model: {outcome.hidden_by}"
    return ""


def _whole(skill: HostSkill) -> ShownText:
    assert isinstance(skill.outcome, Loads)
    text = routing_text(skill.row.description, skill.row.when_to_use)
    return ShownText(skill.outcome.name, text, "whole", len(text))
