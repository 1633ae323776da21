"""Whether a run can be started or resumed with arguments of these types."""

from metier.core.arguments import check_listener, wrong_argument
from metier.flow.agent import Agent
from metier.values.models import A_NAME, check_model
from metier.values.runs import OnEvent


def check_run(agent: object, task: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be started with arguments of these types."""
    if not isinstance(agent, str | Agent):
        raise wrong_argument("agent", "the id of an agent, or an Agent", agent)
    if not isinstance(task, str):
        raise wrong_argument("task", "a string", task)
    if not isinstance(model, str):
        check_model(model, A_NAME)
    if on_event is not None:
        check_listener("on_event", on_event)


def check_resume(run_id: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` unless a run can be resumed with arguments of these types."""
    if not isinstance(run_id, str):
        raise wrong_argument("run_id", "a string", run_id)
    if not isinstance(model, str):
        check_model(model, A_NAME)
    if on_event is not None:
        check_listener("on_event", on_event)
