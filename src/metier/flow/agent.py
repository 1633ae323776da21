"""Agents that are written in Python."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

from metier.core.json_values import freeze, thaw
from metier.errors import InvalidDocumentError, UsageError
from metier.lint.agents import validate_agent
from metier.run.tool import Function, Tool, tool_of
from metier.values.agents import AgentProfile
from metier.values.models import Model

_KEYS = {
    "id": "agentId",
    "description": "description",
    "instructions": "systemPrompt",
    "name": "displayName",
    "role": "role",
    "tags": "tags",
    "capabilities": "capabilities",
    "model": "model",
    "tools": "tools",
    "skills": "skills",
    "requires": "requires",
    "workflow": "workflow",
}
"""Field → key of a profile."""


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, as a profile in a file describes it.

    `tools` takes functions, too, and `model` an object; they count by their names when agents are
    compared. `more` has the other keys of a profile, such as `limits`, in its spelling. Raises
    `InvalidDocumentError` if a file with the same content would be excluded, and `UsageError` if
    a function cannot be a tool.
    """

    id: str
    description: str
    _: KW_ONLY
    instructions: str = ""
    """The system prompt."""
    name: str = ""
    """For people; by default the id."""
    role: str = ""
    tags: Sequence[str] = ()
    capabilities: Sequence[str] = ()
    model: str | Model = ""
    tools: Sequence[str | Tool | Function] | None = None
    """None: those that the steps of the workflow name."""
    skills: Sequence[str] | None = None
    """The skills that it may use; None: any."""
    requires: Sequence[str] = ()
    """Capabilities that skills provide for every prompt."""
    workflow: Sequence[Mapping[str, Any]] = ()
    """Steps, as in a profile; without any, the task is one prompt."""
    more: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Tool | Function] = field(
        default_factory=dict, init=False, compare=False
    )
    """The functions among `tools`, by name."""
    own_model: Model | None = field(init=False, compare=False, default=None)
    """`model`, if it is an object."""

    def __post_init__(self) -> None:
        _set(self, "functions", _functions(self.id, self.tools or ()))
        if self.tools is not None:
            _set(self, "tools", freeze(list(map(_name, self.tools))))
        if not isinstance(self.model, str):
            _set(self, "own_model", self.model)
            _set(self, "model", self.model.name)
        for name in ("tags", "capabilities", "skills", "requires", "workflow", "more"):
            _set(self, name, freeze(getattr(self, name)))
        flaws = [issue for issue in validate_agent(self.to_profile()) if issue.is_error]
        if flaws:
            raise InvalidDocumentError(
                f"agent '{self.id}': {flaws[0].message}", code=flaws[0].code, hint=flaws[0].hint
            )

    @classmethod
    def of(cls, profile: AgentProfile | Mapping[str, Any]) -> Self:
        """The agent of a profile, or of the content of its file."""
        data = dict(profile.data if isinstance(profile, AgentProfile) else profile)
        given = {name: data.pop(key) for name, key in _KEYS.items() if key in data}
        return cls(given.pop("id", ""), given.pop("description", ""), **given, more=data)

    def to_profile(self) -> dict[str, Any]:
        """The content of a file with this agent."""
        given = ((key, getattr(self, name)) for name, key in _KEYS.items())
        kept = {key: value for key, value in given if value or _says_something(key, value)}
        data: dict[str, Any] = thaw({**kept, **self.more})
        return data


def _says_something(key: str, empty: Any) -> bool:
    """Whether a profile with an empty value differs from one without the key."""
    return key in ("agentId", "description") or (key in ("tools", "skills") and empty is not None)


def _set(agent: Agent, name: str, value: Any) -> None:
    object.__setattr__(agent, name, value)


def _functions(agent_id: str, tools: Sequence[str | Tool | Function]) -> dict[str, Tool | Function]:
    """The functions by name. Raises `UsageError` if two have the same name."""
    found: dict[str, Tool | Function] = {}
    for one in tools:
        if isinstance(one, str):
            continue
        name = _name(one)
        if found.setdefault(name, one) != one:
            message = f"agent '{agent_id}': two tools are called '{name}'"
            raise UsageError(message, hint="give one of them another name: @tool(name=…)")
    return found


def _name(tool: str | Tool | Function) -> str:
    if isinstance(tool, str):
        return tool
    return tool.name if isinstance(tool, Tool) else tool_of(tool).name
