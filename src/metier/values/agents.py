"""Agent profiles (spec 2)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentProfile:
    """Who an agent is; what it may do stands in `data` under the spec's names."""

    agent_id: str
    description: str
    display_name: str = ""
    role: str = ""
    team: str = ""
    tags: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    priority: int = 50
    enabled: bool = True
    system_prompt: str = ""
    path: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    """The whole profile in the spec's spelling."""

    @property
    def id(self) -> str:
        return self.agent_id

    @property
    def name(self) -> str:
        return self.display_name or self.agent_id

    @property
    def body(self) -> str:
        return self.system_prompt
