"""Assertions with messages that say what came instead."""

from collections.abc import Iterable, Sequence

from metier.catalog import Catalog
from metier.core.arguments import check_text, wrong_argument
from metier.core.nearest import did_you_mean
from metier.errors import NotFoundError, UsageError
from metier.values.files import Kind
from metier.values.runs import RunResult
from metier.values.selection import Injection
from metier.values.which import Which


def assert_which(catalog: Catalog, task: str, *skills: str, host: str | None = None) -> Which:
    """Fail unless exactly these skills fire for a task, in any order; the whole answer.

    Raises `NotFoundError` for an unknown skill.
    """
    __tracebackhide__ = True
    _check_catalog(catalog)
    for skill in skills:
        check_text("skills", skill, "assert_which(catalog, task, 'one', 'another')")
        catalog.find_skill(skill)
    found = catalog.which(task, host=host, expect=skills[0] if skills else None, everything=False)
    fired = {document.name for document in found.named}
    if fired != set(skills):
        wanted, came = _listed(skills), _listed(fired)
        reasons = "".join(f"\n  {reason}" for reason in _reasons(found))
        raise AssertionError(f"for '{task}' {wanted} should fire, but {came} did{reasons}")
    return found


def assert_silent(catalog: Catalog, task: str, *, host: str | None = None) -> Which:
    """Fail if any skill fires for a task."""
    __tracebackhide__ = True
    return assert_which(catalog, task, host=host)


def assert_injected(catalog: Catalog, result: Injection | RunResult, *names: str) -> None:
    """Fail unless all of these abilities, cards and providers were injected.

    Raises `NotFoundError` for a name that no document has.
    """
    __tracebackhide__ = True
    _check_catalog(catalog)
    injected = _injected(result)
    _check_names(catalog, names)
    missing = [name for name in names if name not in injected]
    if missing:
        what = f"{_listed(missing)} should be injected, but {_listed(injected)} was"
        usable = [name for kind in _INJECTED for name in catalog.names(kind)]
        excluded = [one for one in missing if one not in usable and not catalog.find("skill", one)]
        why = f"; excluded, and metier lint says why: {_listed(excluded)}" if excluded else ""
        raise AssertionError(f"{what}{why}")


def assert_not_injected(catalog: Catalog, result: Injection | RunResult, *names: str) -> None:
    """Fail if one of these abilities, cards and providers was injected.

    Raises `NotFoundError` for a name that no document has.
    """
    __tracebackhide__ = True
    _check_catalog(catalog)
    injected = _injected(result)
    _check_names(catalog, names)
    found = [name for name in names if name in injected]
    if found:
        raise AssertionError(f"{_listed(found)} should not be injected")


def _check_catalog(catalog: object) -> None:
    if not isinstance(catalog, Catalog):
        raise wrong_argument("catalog", "a Catalog", catalog)


def _check_names(catalog: Catalog, names: Sequence[str]) -> None:
    """Raise `NotFoundError` for a name that no ability, card or skill has, excluded or not.

    Raises `UsageError` without names: there would be nothing to assert.
    """
    __tracebackhide__ = True
    if not names:
        hint = "give it the name of an ability, a card or a skill"
        raise UsageError("the assertion has no names", hint=hint)
    known = [name for kind in _INJECTED for name in catalog.names(kind, excluded=True)]
    for name in names:
        if name not in known and not catalog.find("skill", name):
            message = f"no ability, card or skill is called '{name}'"
            hint = did_you_mean(name, known, "metier list")
            raise NotFoundError(message, where=catalog.workspace, hint=hint)


_INJECTED: tuple[Kind, ...] = ("ability", "card", "skill")


def _injected(result: Injection | RunResult) -> list[str]:
    if not isinstance(result, Injection | RunResult):
        raise wrong_argument("result", "what inject or run returned", result)
    if isinstance(result, Injection):
        return [*result.injected_abilities, *(one.item.id for one in result.injected_cards)]
    inputs = [step.input for step in result.steps if isinstance(step.input, dict)]
    names = [name for one in inputs for key in ("abilities", "cards") for name in one.get(key, ())]
    used = [
        provider.partition("::")[0]
        for one in inputs
        for provider in one.get("providers", ())
        if provider not in one.get("providersLeftOut", ())
    ]
    return list(dict.fromkeys([*names, *used]))


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing"


def _reasons(found: Which) -> list[str]:
    return list(found.expectation.reasons) if found.expectation is not None else []
