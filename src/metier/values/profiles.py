"""What a profile must be like to be used (spec 2): every flaw at once, each with its place."""

from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

from metier.core.nearest import nearest
from metier.values.checks import Flaw, check_mapping
from metier.values.fields import AGENT, NESTED_STEPS, STEP, STEP_CONFIG
from metier.values.files import KeyPath

NAMES = frozenset({"input", "task", "steps", "agent", "memory"})
"""What every template may speak of; in a loop also `item`, `index` and what `as` says."""


def profile_flaws(data: Mapping[str, Any]) -> Iterator[Flaw]:
    yield from check_mapping(data, AGENT)
    workflow = data.get("workflow")
    if isinstance(workflow, list):
        ids: dict[str, KeyPath] = {}
        parallel = data.get("execution") == "parallel"
        yield from _steps(workflow, ("workflow",), ids, parallel=parallel)
        yield from _templates(workflow, ("workflow",), NAMES, set(ids))


def _steps(
    steps: list[Any], at: KeyPath, ids: dict[str, KeyPath], *, parallel: bool
) -> Iterator[Flaw]:
    """The flaws of sibling steps; dependencies name earlier siblings, or any when parallel."""
    siblings = [step.get("stepId") for step in steps if isinstance(step, dict)]
    for number, step in enumerate(steps):
        if not isinstance(step, dict):
            continue
        here = (*at, number)
        yield from _step(step, here, ids)
        reachable = siblings if parallel else siblings[:number]
        yield from _dependencies(step, here, reachable, siblings)
    if parallel:
        yield from _circle(steps, at)


def _circle(steps: list[Any], at: KeyPath) -> Iterator[Flaw]:
    """The first circle among sibling steps, printed step by step."""
    graph = {
        step["stepId"]: [name for name in step["dependencies"] if isinstance(name, str)]
        for step in steps
        if isinstance(step, dict)
        and isinstance(step.get("stepId"), str)
        and isinstance(step.get("dependencies"), list)
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
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
    for name in NESTED_STEPS:
        nested = config.get(name)
        if isinstance(nested, list) and name in STEP_CONFIG[kind]:
            yield from _steps(nested, (*at, name), ids, parallel=kind == "parallel")


def _dependencies(
    step: dict[str, Any], at: KeyPath, reachable: list[Any], siblings: list[Any]
) -> Iterator[Flaw]:
    wanted = step.get("dependencies")
    for number, name in enumerate(wanted if isinstance(wanted, list) else []):
        if name in reachable or not isinstance(name, str):
            continue
        later = name in siblings
        problem = "a later step" if later else "an unknown step"
        hint = "move it up, or set execution: parallel" if later else "check the spelling"
        yield Flaw(
            (*at, "dependencies", number), "dangling", f"depends on '{name[:100]}', {problem}", hint
        )


def _templates(
    steps: list[Any], at: KeyPath, names: frozenset[str], ids: set[str]
) -> Iterator[Flaw]:
    """Templates and conditions that cannot be read, or speak of what will not be there."""
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            yield from _templates_of(step, (*at, number), names, ids)


def _templates_of(
    step: dict[str, Any], at: KeyPath, names: frozenset[str], ids: set[str]
) -> Iterator[Flaw]:
    config = step.get("config")
    config = config if isinstance(config, dict) else {}
    kind = step.get("type")
    yield from _checked_template(step.get("condition"), (*at, "condition"), names, ids, True)
    inner = names
    if kind == "loop":
        inner = names | {"index", "item", str(config.get("as") or "item")}
    for key, is_expression in _TEMPLATES.get(str(kind), {}).items():
        seen = inner if key == "while" else names
        yield from _checked_template(
            config.get(key), (*at, "config", key), seen, ids, is_expression
        )
    for key in NESTED_STEPS:
        nested = config.get(key)
        if isinstance(nested, list):
            yield from _templates(nested, (*at, "config", key), inner, ids)
    if isinstance(step.get("compensate"), dict):
        yield from _templates_of(step["compensate"], (*at, "compensate"), names, ids)


_TEMPLATES: dict[str, dict[str, bool]] = {
    "prompt": {"prompt": False},
    "tool": {"input": False},
    "delegate": {"task": False, "input": False},
    "conditional": {"condition": True},
    "loop": {"over": True, "while": True},
}
"""The keys of a step's config that hold templates; whether they are one expression."""


def _checked_template(
    value: Any, at: KeyPath, names: frozenset[str], ids: set[str], is_expression: bool
) -> Iterator[Flaw]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from _checked_template(one, (*at, key), names, ids, is_expression)
        return
    if not isinstance(value, str) or not value:
        return
    from metier.core.templates import References, TemplateError, is_template  # Jinja is heavy

    if not is_expression and not is_template(value):
        return
    try:
        spoken_of = References(value, is_expression=is_expression)
    except TemplateError as error:
        what = "expression" if is_expression else "template"
        yield Flaw(at, "expression", f"this {what} cannot be read: {error}", "see docs/agents.md")
        return
    for name in sorted(spoken_of.names - names):
        hint = f"known: {', '.join(sorted(names))}"
        yield Flaw(at, "expression", f"nothing is called '{name[:60]}' here", hint)
    for step in sorted(spoken_of.steps - ids):
        near = nearest(step, ids)
        hint = f"did you mean '{near}'?" if near else "check the spelling"
        yield Flaw(at, "expression", f"there is no step '{step[:100]}'", hint)
