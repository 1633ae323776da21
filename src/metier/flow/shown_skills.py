"""What a host shows the model of each skill: name and text after all cuts."""

from collections.abc import Mapping, Sequence
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
    called: Mapping[str, str]
    """Path in the catalog → the host's name for each skill that it loads, switched off or not."""

    def meant(self, wanted: str, paths: Sequence[str]) -> str:
        """The path of the skill that the host calls so; else the first of `paths` that it loads.

        One that the model sees comes first. Without any it is the first of `paths`.
        """
        found = [path for path, called in self.called.items() if called == wanted]
        found = found or [path for path in paths if path in self.called] or list(paths)
        return min(found, key=lambda path: path not in self.texts, default="")


def shown_by(view: HostView) -> ShownTexts:
    """What a host shows; if its rule is not known, the whole text of each skill that it loads."""
    host = view.host.name
    called = {one.row.path: one.called for one in view.skills if one.called}
    unseen = {one.row.path: why for one in view.skills if (why := _why_unseen(host, one))}
    if host not in RULES:
        loaded = (one for one in view.skills if one.row.path not in unseen)
        return ShownTexts(host, {one.row.path: _whole(one) for one in loaded}, unseen, called)
    texts = {}
    for one in listing_in(view).skills:
        if one.state == "invisible":
            unseen[one.path] = f"{host} loads it, but its listing hides it: {one.why}"
        else:
            name = called[one.path]
            texts[one.path] = ShownText(one.name, one.text, one.state, one.length, one.why, name)
    return ShownTexts(host, texts, unseen, called)


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
    text = routing_text(skill.row.description, skill.row.when_to_use)
    return ShownText(skill.called, text, "whole", len(text), called=skill.called)
