"""The stored reports of a namespace, in PostgreSQL."""

from metier.flow.reports import BEFORE_CLIENT
from metier.storage.postgres import Connection, Postgres

MOST_REPORTS = 1_000
"""Of a namespace: many machines write to it."""
_SAVE = (
    "INSERT INTO metier.report (namespace, id, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (namespace, id) DO UPDATE SET data = excluded.data"
)
_ADD = (
    "INSERT INTO metier.report (namespace, id, data) VALUES (%s, %s, %s)"
    " ON CONFLICT (namespace, id) DO NOTHING"
)
_PRUNE = (
    "DELETE FROM metier.report WHERE namespace = %s AND id IN (SELECT id FROM (SELECT id,"
    " row_number() OVER (PARTITION BY substr(id, %s) ORDER BY id DESC) AS newer"
    " FROM metier.report WHERE namespace = %s) AS ranked ORDER BY newer, id DESC OFFSET %s)"
)
"""As `surplus` in `flow/reports`."""
_IDS = "SELECT id FROM metier.report WHERE namespace = %s ORDER BY id"
_REMOVE = "DELETE FROM metier.report WHERE namespace = %s AND id = %s"
_READ = "SELECT data FROM metier.report WHERE namespace = %s AND id = %s"


class PostgresReports:
    """A `ReportStore`. Every method raises `StoreError`."""

    def __init__(self, database: Postgres, namespace: str) -> None:
        self._database = database
        self._namespace = namespace

    def where(self, report_id: str) -> str:
        return f"postgresql:{self._namespace}/reports/{report_id}"

    def save(self, report_id: str, text: str) -> None:
        self._execute(_SAVE, report_id, text)

    def add(self, report_id: str, text: str) -> bool:
        """Store a report unless it is known; whether it is new."""
        return self._execute(_ADD, report_id, text) == 1

    def prune(self) -> None:
        self._execute(_PRUNE, BEFORE_CLIENT + 1, self._namespace, MOST_REPORTS)

    def ids(self) -> list[str]:
        """Oldest first."""

        def job(connection: Connection) -> list[str]:
            return [row[0] for row in connection.execute(_IDS, (self._namespace,)).fetchall()]

        return self._database.call(job)

    def read(self, report_id: str) -> str:
        if "\0" in report_id:
            raise FileNotFoundError(report_id)  # PostgreSQL rejects it
        values = (self._namespace, report_id)
        rows = self._database.call(lambda connection: connection.execute(_READ, values).fetchall())
        if not rows:
            raise FileNotFoundError(report_id)
        return str(rows[0][0])

    def remove(self, report_id: str) -> None:
        self._execute(_REMOVE, report_id)

    def _execute(self, statement: str, *values: str | int) -> int:
        bound = (self._namespace, *values)
        return self._database.call(lambda connection: connection.execute(statement, bound).rowcount)
