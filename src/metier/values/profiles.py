"""Every flaw of a profile (spec 2), with its key path."""

from collections.abc import Iterator, Mapping
from typing import Any

from metier.core.order import cycle_of
from metier.values.agents import NESTED_STEPS
from metier.values.checks import Flaw, check_mapping
from metier.values.fields import AGENT, AGENT_OF_HOST, STEP, STEP_CONFIG
from metier.values.files import KeyPath
from metier.values.profile_templates import template_flaws


def profile_flaws(data: Mapping[str, Any]) -> Iterator[Flaw]:
    workflow = data.get("workflow")
    is_of_host = workflow is None and _is_of_host(data.get("metadata"))
    yield from check_mapping(data, AGENT_OF_HOST if is_of_host else AGENT)
    most = AGENT["workflow"].longest or 0
    if isinstance(workflow, list) and len(workflow) <= most:  # else that is flaw enough
        ids: dict[str, KeyPath] = {}
        parallel = data.get("execution") == "parallel"
        yield from _steps(workflow, ("workflow",), ids, parallel=parallel)
        yield from template_flaws(workflow, set(ids), parallel=parallel)


def _is_of_host(metadata: Any) -> bool:
    return isinstance(metadata, dict) and isinstance(metadata.get("host"), dict)


def _steps(
    steps: list[Any], at: KeyPath, ids: dict[str, KeyPath], *, parallel: bool
) -> Iterator[Flaw]:
    """The flaws of sibling steps; dependencies name earlier siblings, or any when parallel."""
    siblings = set(map(_id_of, steps))
    before: set[str | None] = set()
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            continue
        here = (*at, number)
        yield from _step(step, here, ids)
        yield from _dependencies(step, here, siblings if parallel else before, siblings)
        before.add(_id_of(step))
    if parallel:
        yield from _circle(steps, at)


def _id_of(step: Any) -> str | None:
    found = step.get("stepId") if isinstance(step, dict) else None
    return found if isinstance(found, str) else None


def _circle(steps: list[Any], at: KeyPath) -> Iterator[Flaw]:
    """The first cycle among sibling steps."""
    graph = {
        step["stepId"]: [name for name in step["dependencies"] if isinstance(name, str)]
        for step in steps
        if isinstance(step, dict)
        and isinstance(step.get("stepId"), str)
        and isinstance(step.get("dependencies"), list)
    }
    if circle := cycle_of(graph):
        hint = "remove one of these dependencies"
        yield Flaw(at, "circular", f"steps depend on each other: {circle}", hint)


def _step(step: dict[str, Any], at: KeyPath, ids: dict[str, KeyPath]) -> Iterator[Flaw]:
    yield from check_mapping(step, STEP, at)
    step_id = step.get("stepId")
    if isinstance(step_id, str):
        if step_id in ids:
            message = f"step id '{step_id[:100]}' is used twice"
            yield Flaw((*at, "stepId"), "repeated", message, "give each step its own id")
        ids.setdefault(step_id, at)
    config = step.get("config")
    fields = STEP_CONFIG.get(str(step.get("type")))
    if fields is not None and isinstance(config, dict):
        yield from _config(config, step, (*at, "config"), ids)
    if isinstance(step.get("compensate"), dict):
        yield from _step(step["compensate"], (*at, "compensate"), ids)


def _config(
    config: dict[str, Any], step: dict[str, Any], at: KeyPath, ids: dict[str, KeyPath]
) -> Iterator[Flaw]:
    kind = step["type"]
    yield from check_mapping(config, STEP_CONFIG[kind], at)
    if kind == "loop" and config.get("over") is None and config.get("while") is None:
        yield Flaw(at, "missing", "a loop needs 'over' or 'while'", "add 'over:'")
    if kind == "prompt" and isinstance(config.get("outputSchema"), dict):
        yield from _output_schema(config["outputSchema"], (*at, "outputSchema"))
    for name in NESTED_STEPS:
        nested = config.get(name)
        if isinstance(nested, list) and name in STEP_CONFIG[kind]:
            yield from _steps(nested, (*at, name), ids, parallel=kind == "parallel")


def _output_schema(schema: dict[str, Any], at: KeyPath) -> Iterator[Flaw]:
    from jsonschema import Draft202012Validator  # few profiles have one
    from jsonschema.validators import validator_for

    try:
        validator_for(schema, default=Draft202012Validator).check_schema(schema)
    except Exception as error:  # a schema that refers to itself in odd ways raises anything
        said = " ".join(str(getattr(error, "message", error)).split())[:200]
        yield Flaw(at, "invalid", f"this is not a JSON Schema: {said}", "see json-schema.org")


def _dependencies(
    step: dict[str, Any], at: KeyPath, reachable: set[str | None], siblings: set[str | None]
) -> Iterator[Flaw]:
    wanted = step.get("dependencies")
    for number, name in enumerate(wanted if isinstance(wanted, list) else []):
        if not isinstance(name, str) or name in reachable:
            continue
        later = name in siblings
        problem = "a later step" if later else "an unknown step"
        hint = "move it up, or set execution: parallel" if later else "check the spelling"
        yield Flaw(
            (*at, "dependencies", number), "dangling", f"depends on '{name[:100]}', {problem}", hint
        )
