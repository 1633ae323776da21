"""The agents that are known (spec 2)."""

from builtins import list as list_of
from collections.abc import Iterable

from metier.core.registry import Registry
from metier.errors import InvalidDocumentError, NotFoundError
from metier.index.documents import list_documents
from metier.index.store import Store
from metier.values.agents import STANDARD, AgentProfile
from metier.values.profiles import profile_flaws

STANDARD_PROFILE = AgentProfile.of(
    {
        "agentId": STANDARD,
        "displayName": "Standard",
        "description": "Does what no other agent is made for.",
        "systemPrompt": (
            "You are a careful assistant. Do what the task says, no more, and say plainly what "
            "you could not do."
        ),
    }
)
"""The agent that ships with metier; a file of that id replaces it."""


class AgentRegistry(Registry[AgentProfile]):
    """Profiles by id. Invalid profiles and duplicate ids are rejected."""

    def __init__(self, profiles: Iterable[AgentProfile] = ()) -> None:
        super().__init__(lambda profile: profile.agent_id, on_duplicate="reject")
        for profile in profiles:
            self.register(profile)

    def register(self, item: AgentProfile) -> bool:
        """Add a profile. Raises `InvalidDocumentError` with every flaw, or `UsageError`."""
        _check(item)
        return super().register(item)

    def update(self, item: AgentProfile) -> None:
        """Replace the profile with the same id. Raises `NotFoundError`."""
        _check(item)
        if not self.exists(item.agent_id):
            raise NotFoundError(f"no agent is called '{item.agent_id}'", hint="register it first")
        self._items[item.agent_id] = item

    def list(
        self, *, team: str | None = None, enabled: bool | None = None
    ) -> list_of[AgentProfile]:
        """Profiles that pass every filter, in order of registration."""
        return [
            profile
            for profile in self
            if (team is None or profile.team == team)
            and (enabled is None or profile.enabled is enabled)
        ]


def _check(profile: AgentProfile) -> None:
    data = {"agentId": profile.agent_id, "description": profile.description, **profile.data}
    flaws = [flaw.message for flaw in profile_flaws(data)]
    if flaws:
        called = profile.agent_id or "without an id"
        raise InvalidDocumentError(
            f"the profile '{called}' is not valid: {'; '.join(flaws)}",
            code="AGENT_INVALID",
            where=profile.path,
        )


def stored_agents(store: Store) -> list_of[AgentProfile]:
    """The profiles of a catalog, and `standard` unless a trusted profile replaces it.

    A profile that names no team belongs to the team of its folder.
    """
    kept = []
    for row in list_documents(store, "agent"):
        data = {**row.data, "agentId": row.handle, "description": row.description}
        if row.team:
            data.setdefault("team", row.team)
        profile = AgentProfile.of(data, row.path)
        if row.handle != STANDARD or (row.origin != "untrusted" and profile.enabled):
            kept.append(profile)
    known = {profile.agent_id for profile in kept}
    return kept if STANDARD in known else [*kept, STANDARD_PROFILE]
