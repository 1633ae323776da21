"""Agents that are written in Python."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

from metier.core.arguments import described, wrong_argument
from metier.core.json_values import freeze, thaw
from metier.errors import InvalidDocumentError, UsageError
from metier.lint.agents import UNKNOWN_KEY, validate_agent
from metier.parse.agents import respelled
from metier.run.tool import Function, Tool, tool_of
from metier.values.agents import AgentProfile
from metier.values.models import A_NAME, Model, check_model
from metier.values.outcomes import Issue

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
_MAY_BE_NONE = ("id", "description", "model", "tools", "skills")
"""Other errors say what these must be."""
_MORE = "a mapping of other keys of a profile"
_TOOLS = "a list of functions and of names of tools"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent, as a profile in a file describes it.

    `tools` may have functions, and `model` may be an object; both count by name when agents are
    compared. `more` has the other keys of a profile, such as `limits`, spelt as in a file. Raises
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
    """Steps, as in a profile; without any, the task is one prompt.

    An `outputSchema` may also be a model of pydantic.
    """
    more: Mapping[str, Any] = field(default_factory=dict)
    functions: Mapping[str, Tool | Function] = field(
        default_factory=dict, init=False, compare=False
    )
    """The functions among `tools`, by name."""
    own_model: Model | None = field(init=False, compare=False, default=None)
    """`model`, if it is an object."""

    def __post_init__(self) -> None:
        self._check_given()
        if self.tools is not None:
            tools = list(self.tools)
            _set(self, "functions", _functions(self.id, tools))
            _set(self, "tools", freeze(list(map(_name, tools))))
        if not isinstance(self.model, str):
            check_model(self.model, A_NAME)
            _set(self, "own_model", self.model)
            _set(self, "model", self.model.name)
        self._spell_as_files_do()
        for name in ("tags", "capabilities", "skills", "requires", "workflow", "more"):
            _set(self, name, freeze(getattr(self, name)))
        flaws = [issue for issue in validate_agent(self.to_profile()) if issue.is_error]
        if flaws:
            unknown = [] if self.id and self.description else _unknown_keys(flaws)
            first = [*unknown, *flaws][0]
            message = f"agent '{self.id}': {first.message}"
            raise InvalidDocumentError(message, code=first.code, hint=first.hint)

    def __hash__(self) -> int:
        return hash((self.id, self.description, self.instructions))

    def _check_given(self) -> None:
        """Raise `UsageError` for what no file can have; the rules of files find the rest."""
        for name in _KEYS:
            if getattr(self, name) is None and name not in _MAY_BE_NONE:
                raise UsageError(f"'{name}' must not be None", hint="leave it out")
        is_list = isinstance(self.tools, Iterable) and not isinstance(self.tools, str | Mapping)
        if self.tools is not None and not is_list:
            raise wrong_argument("tools", _TOOLS, self.tools, "tools=[…], also for one")
        if not isinstance(self.more, Mapping):
            raise wrong_argument("more", _MORE, self.more)
        for key in self.more:
            if not isinstance(key, str):
                raise UsageError(f"'more' must be {_MORE}; {described(key)} is a key in it")

    def _spell_as_files_do(self) -> None:
        """Raise `UsageError` for a key in `more` that is a field."""
        more = respelled(thaw(dict(self.more)))
        for name, key in _KEYS.items():
            if key in more:
                hint = f"Agent(…, {name}=…)"
                raise UsageError(f"'{key}' is not one of the keys in 'more'", hint=hint)
        _set(self, "more", more)
        workflow = respelled({"workflow": thaw(self.workflow)})["workflow"]
        _set(self, "workflow", _with_schemas(workflow))

    @classmethod
    def of(cls, profile: AgentProfile | Mapping[str, Any]) -> Self:
        """The agent of a profile, or of the content of its file."""
        if not isinstance(profile, AgentProfile | Mapping):
            raise wrong_argument("profile", "a profile, or the mapping in its file", profile)
        content = profile.data if isinstance(profile, AgentProfile) else profile
        data = respelled(thaw(dict(content)))
        given = {name: data.pop(key) for name, key in _KEYS.items() if key in data}
        return cls(given.pop("id", ""), given.pop("description", ""), **given, more=data)

    def to_profile(self) -> dict[str, Any]:
        """The content of a file with this agent."""
        given = ((key, getattr(self, name)) for name, key in _KEYS.items())
        kept = {key: value for key, value in given if value or _says_something(key, value)}
        data: dict[str, Any] = thaw({**kept, **self.more})
        return data


def _unknown_keys(flaws: Sequence[Issue]) -> list[Issue]:
    """The flaws that may say why a field is empty: its key is misspelt."""
    return [one for one in flaws if one.code == UNKNOWN_KEY]


def _with_schemas(workflow: Any) -> Any:
    """A workflow with JSON Schemas instead of models of pydantic."""
    if isinstance(workflow, list):
        return [_with_schemas(one) for one in workflow]
    if not isinstance(workflow, dict):
        return workflow
    return {
        key: _schema_of(value) if key == "outputSchema" else _with_schemas(value)
        for key, value in workflow.items()
    }


def _schema_of(given: Any) -> Any:
    """The JSON Schema of a model of pydantic; anything else as it is."""
    make = getattr(given, "model_json_schema", None)
    if make is None or not isinstance(given, type):
        return given
    try:
        return make()
    except Exception as error:  # pydantic has several
        message = (
            f"there is no JSON Schema of {described(given)}: {str(error).partition(chr(10))[0]}"
        )
        raise UsageError(message, hint="use types that JSON has") from error


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
    if isinstance(tool, type) or (not callable(tool) and not isinstance(tool, Tool)):
        raise UsageError(f"'tools' must be {_TOOLS}; it contains {described(tool)}")
    return tool.name if isinstance(tool, Tool) else tool_of(tool).name
