"""What a run needs of the rest of metier, passed in as one object."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from metier.run.tools import ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.models import Model
from metier.values.runs import Failure


class Prepared(NamedTuple):
    """What is injected into a step."""

    text: str = ""
    record: Mapping[str, Any] = {}
    """Stored with the step: abilities, providers, reports."""
    providers: Sequence[str] = ()
    """Candidate ids whose outcome is recorded when the step ends."""
    failure: Failure | None = None


class Services(Protocol):
    """The rest of metier, as a run sees it."""

    def tools_of(self, agent_id: str) -> ToolExecutor:
        """The tools that there are for an agent; its profile says which it may call."""

    def profile(self, agent_id: str) -> AgentProfile | None: ...
    def agent_ids(self) -> list[str]:
        """The agents that can be delegated to."""

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        """What to inject into a step that asks `text`, in a run of `task`."""

    def model(self, name: str, agent_id: str = "") -> Model:
        """The model of that name for an agent, or the default."""

    def check_model(self, name: str, agent_id: str) -> None:
        """Raise `MetierError` if `model` would: for a name that no model has."""

    def check_price(self, name: str, agent_id: str) -> None:
        """Raise `MetierError` if the price of a model is not known."""

    def record_outcome(self, provider: str, *, success: bool) -> None: ...


@dataclass(eq=False)
class StepFailedError(Exception):
    """Ends an attempt at a step."""

    failure: Failure


@dataclass(eq=False)
class RunStoppedError(Exception):
    """A limit was reached: nothing more is executed."""

    failure: Failure
