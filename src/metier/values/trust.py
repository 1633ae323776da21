"""What a user lets a workspace do, and what the workspace asks for."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

NOTHING: Mapping[str, Any] = MappingProxyType({})
TrustState = Literal["trusted", "new", "changed", "owner"]
"""Trusted; never trusted; trusted before its powers changed; owned by another user."""


class Consent(NamedTuple):
    """A tool that an agent may call."""

    tool: str
    digest: str
    """Of the command, or of the server's entry, that was shown when the user agreed."""
    agent: str


class Trust(NamedTuple):
    """What the user lets one workspace do."""

    state: TrustState = "new"
    speak: bool = False
    """Whether a hook may put the workspace's own text into prompts."""
    consents: frozenset[Consent] = frozenset()
    keys: Mapping[str, Sequence[str]] = NOTHING
    """Environment variable → the hosts that its value may be sent to."""
    digest: str = ""
    """Of the power set that was trusted."""
    files: Mapping[str, str] = NOTHING
    """The files that commands name: path in the workspace → sha256."""
    agents: Mapping[str, Any] = NOTHING
    """The agents' files: path in the workspace → what each agent can do."""
    links: Mapping[str, str] = NOTHING
    """Links out of the workspace that count: path in the workspace → where it leads."""
    detail: str = ""
    """Why it is not trusted, in words, if that is not plain."""

    @property
    def is_trusted(self) -> bool:
        return self.state == "trusted"


UNTRUSTED = Trust()
