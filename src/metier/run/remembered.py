"""What a run remembers of its steps."""

from typing import Any

from metier.run.services import StepFailedError
from metier.run.workflow import ReadyStep
from metier.values.runs import Failure


def remembered(one: ReadyStep, output: Any) -> dict[str, Any]:
    """What a step gives under the names that it is told to keep it by."""
    names = one.step.outputs
    found: dict[str, Any] = {}
    for name in names:
        if isinstance(output, dict) and name in output:
            found[name] = output[name]
        elif len(names) == 1:
            found[name] = output
        else:
            message = f"its output has no '{name}'"
            raise StepFailedError(Failure("STEP_OUTPUT_MISSING", message))
    return found
