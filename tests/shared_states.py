"""Shared state on the PostgreSQL server of the tests, each in a namespace of its own."""

import secrets
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

from metier.flow.shared import SharedState
from metier.flow.state_settings import StateSettings

PASSWORD = "hunter2-never-shown"


def new_namespace() -> str:
    return f"test-{secrets.token_hex(6)}"


def with_password(address: str) -> str:
    """The address of the server with a password that it does not check."""
    return address.replace("postgres:@", f"postgres:{PASSWORD}@")


@pytest.fixture
def shared(postgres: str) -> Iterator[SharedState]:
    with closing(SharedState(StateSettings(postgres, new_namespace()))) as state:
        yield state


def another(state: SharedState) -> SharedState:
    """The same state as another machine sees it."""
    return SharedState(state.settings)


def rows(address: str, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(statement, values).fetchall()


def everything(address: str) -> str:
    """Every row of metier's tables, as one text."""
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'metier'"
    found = [name for (name,) in rows(address, tables)]
    return "\n".join(
        str(row) for name in found for row in rows(address, f"SELECT t::text FROM metier.{name} t")
    )


UNREACHABLE = "postgresql://127.0.0.1:1/metier"
"""No server listens there."""
