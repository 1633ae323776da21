"""Templates of a workflow that are invalid or name what will not exist."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from metier.core.nearest import Nearest, did_you_mean
from metier.values.agents import NESTED_STEPS, walk_steps
from metier.values.checks import Flaw
from metier.values.files import KeyPath

NAMES = frozenset({"input", "task", "steps", "agent", "memory"})
"""In a loop also `item`, `index` and the name that `as` gives."""
_OF_MAPPINGS = {"get", "items", "keys", "values"}
_OF_A_STEP = ("output", "state")
_TEMPLATES: dict[str, dict[str, bool]] = {
    "prompt": {"prompt": False},
    "tool": {"input": False},
    "delegate": {"task": False, "input": False},
    "conditional": {"condition": True},
    "loop": {"over": True, "while": True},
}
"""The keys of a step's config with templates; whether they are expressions."""


class _Known(NamedTuple):
    """What a template may name."""

    names: frozenset[str]
    ids: set[str]
    memory: set[str]
    near_ids: Nearest
    near_memory: Nearest
    ahead: Counter[str]
    """How many steps of an id have not run yet; changes from step to step."""
    own: str = ""

    def is_ahead(self, step: str) -> bool:
        return step == self.own or self.ahead[step] > 0


def template_flaws(workflow: list[Any], ids: set[str], *, parallel: bool) -> Iterator[Flaw]:
    """Every flaw in the templates of a workflow whose steps have these `ids`."""
    memory = set(_kept(workflow))
    known = _Known(NAMES, ids, memory, Nearest(ids), Nearest(memory), Counter())
    yield from _of_steps(workflow, ("workflow",), known, parallel=parallel)


def _kept(steps: list[Any]) -> Iterator[str]:
    for step in walk_steps(steps):
        outputs = step.get("outputs")
        if isinstance(outputs, list):
            yield from (one for one in outputs if isinstance(one, str))


def _of_steps(
    steps: list[Any], at: KeyPath, known: _Known, *, parallel: bool = False
) -> Iterator[Flaw]:
    if not parallel:
        known.ahead.update(_ids(steps))
    for number, step in enumerate(steps):
        if isinstance(step, dict):
            if not parallel:
                known.ahead.subtract(_ids([step]))
            yield from _of_step(step, (*at, number), known)


def _ids(steps: list[Any]) -> Iterator[str]:
    return (str(step.get("stepId")) for step in walk_steps(steps))


def _of_step(step: dict[str, Any], at: KeyPath, known: _Known) -> Iterator[Flaw]:
    config = step.get("config")
    config = config if isinstance(config, dict) else {}
    kind = step.get("type")
    own = known._replace(own=str(step.get("stepId")))
    yield from _of_value(step.get("condition"), (*at, "condition"), own, True)
    inner = known
    if kind == "loop":
        more = {"index", "item", str(config.get("as") or "item")}
        inner = known._replace(names=known.names | more)
    for key, is_expression in _TEMPLATES.get(str(kind), {}).items():
        seen = inner if key == "while" else own
        yield from _of_value(config.get(key), (*at, "config", key), seen, is_expression)
    for key in NESTED_STEPS:
        nested = config.get(key)
        if isinstance(nested, list):
            here = (*at, "config", key)
            yield from _of_steps(nested, here, inner, parallel=kind == "parallel")
    if isinstance(step.get("compensate"), dict):
        later = known._replace(ahead=Counter())
        yield from _of_step(step["compensate"], (*at, "compensate"), later)


def _of_value(value: Any, at: KeyPath, known: _Known, is_expression: bool) -> Iterator[Flaw]:
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, one in pairs:
            yield from _of_value(one, (*at, key), known, is_expression)
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
    for name in sorted(spoken_of.names - known.names):
        hint = did_you_mean(name, known.names, f"known: {', '.join(sorted(known.names))}")
        yield Flaw(at, "expression", f"nothing is called '{name[:60]}' here", hint)
    for step in sorted(spoken_of.of("steps") - known.ids - _OF_MAPPINGS):
        yield Flaw(
            at, "expression", f"there is no step '{step[:100]}'", _near(step, known.near_ids)
        )
    for step in sorted(filter(known.is_ahead, spoken_of.needed("steps") & known.ids)):
        message = f"step '{step[:100]}' has not run when this is read"
        yield Flaw(at, "expression", message, "refer to an earlier step, or use default(…)")
    for name in sorted(spoken_of.needed("memory") - known.memory - _OF_MAPPINGS):
        message = f"no step has an output named '{name[:60]}'"
        yield Flaw(at, "expression", message, _near(name, known.near_memory))
    for name in sorted(spoken_of.parts_of_steps - set(_OF_A_STEP)):
        message = f"a step has no '{name[:60]}'"
        yield Flaw(at, "expression", message, f"known: {', '.join(_OF_A_STEP)}")


def _near(name: str, known: Nearest) -> str:
    return known.did_you_mean(name, "check the spelling")
