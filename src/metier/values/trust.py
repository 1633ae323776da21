"""The trust that a user gives to a workspace, and to sources of skills. Light."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})
TrustState = Literal["trusted", "new", "changed", "owner"]
"""`changed`: trusted before its powers changed; `owner`: another user owns it."""
ALWAYS, ON_FIRST_USE, ASK, NEVER = LEVELS = ("always", "on-first-use", "ask", "never")
"""How far a source is trusted, the strictest last."""
HELD, BLOCKED = "unreviewed", "blocked"
"""Reasons of exclusion: until its user reviews the skill; by its source."""

NOT_IN_PROMPTS = "hooks may not use the text of this workspace yet"
"""Said where a user has not let a workspace speak, whether or not its powers are trusted."""


class Consent(NamedTuple):
    tool: str
    digest: str
    agent: str


class Trust(NamedTuple):
    state: TrustState = "new"
    speak: bool = False
    """Whether a hook may put the workspace's own text into prompts."""
    consents: frozenset[Consent] = frozenset()
    keys: Mapping[str, Sequence[str]] = NOTHING
    """Environment variable → hosts that may receive its value."""
    digest: str = ""
    files: Mapping[str, str] = NOTHING
    """Files that commands name → sha256."""
    agents: Mapping[str, Any] = NOTHING
    """Agent file → what the agent can do."""
    links: Mapping[str, str] = NOTHING
    """Links out of the workspace → target."""
    detail: str = ""
    """Why it is not trusted, if the state does not say."""

    @property
    def is_trusted(self) -> bool:
        return self.state == "trusted"
