"""Shared state: the connection to PostgreSQL, and what is kept there besides the catalog.

Only where PostgreSQL is configured is the driver loaded.
"""

from functools import cached_property
from typing import TYPE_CHECKING

from metier.config import Config
from metier.errors import ConfigError, install_hint
from metier.flow.state_settings import StateSettings, state_settings

if TYPE_CHECKING:
    from metier.flow.shared_decisions import PostgresDecisions
    from metier.flow.shared_reports import PostgresReports
    from metier.resolve.postgres_outcomes import PostgresOutcomes
    from metier.run.postgres_store import PostgresRunStore
    from metier.storage.postgres import Postgres

PATIENCE_SECONDS = 1.0
"""How long reports, outcomes and decisions wait for PostgreSQL: work goes on without them."""
_COUNTED = {
    "metier.run": "runs",
    "metier.step": "steps",
    "(SELECT namespace FROM metier.checkpoint UNION ALL"
    " SELECT namespace FROM metier.step WHERE step_index IS NOT NULL) AS any_checkpoint": (
        "checkpoints"
    ),
    "metier.report": "reports",
    "metier.outcome": "outcomes",
    "metier.decision": "decisions",
}
"""A step's row holds the checkpoint that it causes."""


class SharedState:
    """The state of one namespace. Nothing is connected before it is used."""

    def __init__(self, settings: StateSettings) -> None:
        """Raises `ConfigError` if the driver is not installed."""
        check_driver()
        self.settings = settings
        self._has_runs = False

    @classmethod
    def of(cls, config: Config, workspace: str) -> "SharedState | None":
        """What the settings say; None if state is local. Raises `ConfigError`."""
        settings = state_settings(config, workspace)
        return cls(settings) if settings is not None else None

    @property
    def address(self) -> str:
        return self.settings.address

    @property
    def namespace(self) -> str:
        return self.settings.namespace

    @cached_property
    def database(self) -> "Postgres":
        from metier.run.postgres_migrations import MIGRATIONS
        from metier.storage.postgres import Postgres

        return Postgres(
            self.settings.conninfo,
            called="the shared state",
            migrations=MIGRATIONS,
            patience=PATIENCE_SECONDS,
        )

    @property
    def was_reached(self) -> bool:
        """Whether PostgreSQL has answered."""
        return self._has_runs or ("database" in self.__dict__ and self.database.is_connected)

    def close(self) -> None:
        if "database" in self.__dict__:
            self.database.close()

    def runs(self) -> "PostgresRunStore":
        """A new store of runs. Raises `StoreError` if PostgreSQL does not answer."""
        from metier.run.postgres_store import PostgresRunStore

        store = PostgresRunStore(self.settings.conninfo, self.namespace)
        self._has_runs = True
        return store

    @cached_property
    def reports(self) -> "PostgresReports":
        from metier.flow.shared_reports import PostgresReports

        return PostgresReports(self.database, self.namespace)

    @cached_property
    def outcomes(self) -> "PostgresOutcomes":
        from metier.resolve.postgres_outcomes import PostgresOutcomes

        return PostgresOutcomes(self.database, self.namespace)

    @cached_property
    def decisions(self) -> "PostgresDecisions":
        from metier.flow.shared_decisions import PostgresDecisions

        return PostgresDecisions(self.database, self.namespace)

    def counts(self) -> dict[str, int]:
        """How many records of each kind there are. Raises `StoreError`."""
        parts = (f"(SELECT count(*) FROM {table} WHERE namespace = %s)" for table in _COUNTED)
        statement, names = f"SELECT {', '.join(parts)}", (self.namespace,) * len(_COUNTED)
        rows = self.database.call(
            lambda connection: connection.execute(statement, names).fetchall()
        )
        return dict(zip(_COUNTED.values(), rows[0], strict=True))


def check_driver() -> None:
    """Raise `ConfigError` if psycopg is not installed."""
    try:
        import psycopg  # noqa: F401  # only whether it can be loaded
    except ImportError:
        raise ConfigError(
            "shared state needs psycopg, which is not installed",
            code="STATE_NO_PACKAGE",
            hint=install_hint("postgres"),
        ) from None
