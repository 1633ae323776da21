"""What a run is started with."""

from metier.core.arguments import check_listener, check_text, wrong_argument
from metier.flow.agent import Agent
from metier.values.models import A_NAME, check_model
from metier.values.runs import OnEvent


def check_run(agent: object, task: object, model: object, on_event: OnEvent | None = None) -> None:
    """Raise `UsageError` for an argument of another type."""
    if not isinstance(agent, str | Agent):
        raise wrong_argument("agent", "the id of an agent, or an Agent", agent)
    check_text("task", task)
    if not isinstance(model, str):
        check_model(model, A_NAME)
    check_listener("on_event", on_event)


def check_resume(run_id: object, on_event: OnEvent | None) -> None:
    """Raise `UsageError` for an argument of another type."""
    check_text("run_id", run_id)
    check_listener("on_event", on_event)
