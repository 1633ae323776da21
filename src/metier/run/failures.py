"""What went wrong in a step, as the failure of that step."""

from metier.core.templates import TemplateError
from metier.errors import MetierError
from metier.run.services import StepFailedError
from metier.values.runs import Failure

_LONGEST_TEXT = 300


def failure_of(error: Exception, step: str, timeout: float | None) -> Failure:
    """Whatever breaks in a step, a model or a service, is a failure of the step."""
    if isinstance(error, StepFailedError):
        return error.failure
    if isinstance(error, MetierError):
        return Failure(error.code, error.message)
    if isinstance(error, TemplateError):
        return Failure("EXPRESSION_FAILED", f"'{step}': {error}")
    if isinstance(error, TimeoutError):
        message = f"'{step}' took over {timeout or 0:g} seconds"
        return Failure("STEP_TIMEOUT", message, kind="timeout", retryable=True)
    said = " ".join(str(error).split())[:_LONGEST_TEXT]
    return Failure("STEP_FAILED", f"'{step}': {type(error).__name__}: {said}")
