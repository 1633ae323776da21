"""What a run needs of the other stages: handed in, so that this one imports none of them."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from metier.run.tools import ToolExecutor
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.models import Model
from metier.values.runs import Event, Failure


class Prepared(NamedTuple):
    """What a step is handed before anything is sent."""

    text: str = ""
    """Stands before the system prompt."""
    record: Mapping[str, Any] = {}
    """What is kept with the step: abilities, providers, reports."""
    providers: Sequence[str] = ()
    """Candidate ids whose outcome is recorded when the step ends."""
    failure: Failure | None = None
    """Why the step must not run."""


class Services(Protocol):
    """The rest of metier, as a run sees it."""

    @property
    def tools(self) -> ToolExecutor:
        """The tools that there are."""
        ...

    def profile(self, agent_id: str) -> AgentProfile | None:
        """The profile of an agent, if there is one."""
        ...

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        """What the step needs: abilities and skills, chosen by the rules.

        `text` is what the step asks, `task` that of the run.
        """
        ...

    def model(self, name: str) -> Model:
        """The model of that name; the default one for no name."""
        ...

    def record_outcome(self, provider: str, *, success: bool) -> None:
        """Add to the history of a provider."""
        ...


def record_outcome(services: Services, handed: Any, *, success: bool) -> None:
    """Add how a step ended to the history of those whose text it was handed.

    What the agent requires for every step is no work of theirs in a step that reads no text.
    """
    record = handed if isinstance(handed, dict) else {}
    left_out = record.get("providersLeftOut") or ()
    for one in record.get("providers") or ():
        if one not in left_out:
            with suppress(Exception):  # a record that cannot be kept stops no run
                services.record_outcome(one, success=success)


Look = Callable[[Event], None]
"""Somebody who is told what happens."""


class StepFailedError(Exception):
    """A step failed; ends the attempt."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


class RunStoppedError(Exception):
    """A limit was reached: nothing more is done."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure
