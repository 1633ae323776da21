"""Every statement about shared state is bound to a namespace."""

from types import ModuleType

import pytest

from metier.flow import shared, shared_decisions, shared_health, shared_reports
from metier.resolve import postgres_outcomes
from metier.run import copying

VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE")
FOR_ALL = (shared_health._SCHEMA, copying._NEW_KEYS)
"""The version of the schema, and keys that are unique in the database."""


def statements(module: ModuleType) -> list[str]:
    values = [value for value in vars(module).values() if isinstance(value, str | tuple)]
    texts = [one for value in values for one in ((value,) if isinstance(value, str) else value)]
    return [one for one in texts if isinstance(one, str) and one.startswith(VERBS)]


@pytest.mark.parametrize(
    "module",
    [shared_decisions, shared_health, shared_reports, postgres_outcomes, copying],
    ids=lambda module: module.__name__,
)
def test_a_statement_names_its_namespace(module: ModuleType) -> None:
    of_tables = [one for one in statements(module) if "metier." in one and one not in FOR_ALL]
    of_server = [one for one in of_tables if "FROM metier" in one or "INTO metier" in one]
    assert of_server
    assert [one for one in of_server if "namespace" not in one] == []


def test_counts_are_those_of_a_namespace() -> None:
    counted = ["runs", "steps", "checkpoints", "reports", "outcomes", "decisions"]
    assert [*shared._COUNTED.values()] == counted
    assert [table for table in shared._COUNTED if "metier." not in table] == []
