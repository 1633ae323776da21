"""The decisions of hooks of a namespace, in PostgreSQL: the lines of their logs, each once."""

from collections.abc import Iterator, Sequence

from metier.flow.hook_log import DecisionRow
from metier.storage.postgres import Connection, Postgres

_ADD = (
    "INSERT INTO metier.decision (namespace, id, at, line) VALUES (%s, %s, %s, %s)"
    " ON CONFLICT (namespace, id) DO NOTHING"
)
_PAGE = (
    "SELECT at, id, line FROM metier.decision WHERE namespace = %s AND (at, id) > (%s, %s)"
    " ORDER BY at, id LIMIT %s"
)
_COUNT_OLD = "SELECT count(*) FROM metier.decision WHERE namespace = %s AND at < %s"
_REMOVE_OLD = "DELETE FROM metier.decision WHERE namespace = %s AND at < %s"
_FIND = "SELECT id, line FROM metier.decision WHERE namespace = %s AND id = ANY(%s)"
_ROWS = 2_000
"""How many rows are read at a time."""


class PostgresDecisions:
    """Every method raises `StoreError`."""

    def __init__(self, database: Postgres, namespace: str) -> None:
        self._database = database
        self._namespace = namespace

    def add(self, rows: Sequence[DecisionRow]) -> int:
        """Store the lines that are new, in one transaction; how many."""

        def job(connection: Connection) -> int:
            with connection.transaction(), connection.cursor() as cursor:
                cursor.executemany(_ADD, [(self._namespace, *row) for row in sorted(rows)])
                return cursor.rowcount

        return self._database.call(job)

    def found(self, ids: Sequence[str]) -> dict[str, str]:
        """The lines with these ids."""
        values = (self._namespace, list(ids))
        return dict(
            self._database.call(lambda connection: connection.execute(_FIND, values).fetchall())
        )

    def count_before(self, moment: float) -> int:
        values = (self._namespace, moment)
        rows = self._database.call(
            lambda connection: connection.execute(_COUNT_OLD, values).fetchall()
        )
        return int(rows[0][0])

    def remove_before(self, moment: float) -> int:
        """Delete older decisions; how many."""
        values = (self._namespace, moment)
        return self._database.call(
            lambda connection: connection.execute(_REMOVE_OLD, values).rowcount
        )

    def lines(self) -> Iterator[bytes]:
        """Every line, oldest first."""
        after = (-1.0, "")
        while rows := self._page(*after):
            yield from (line.encode() for _, _, line in rows)
            after = rows[-1][:2]

    def _page(self, at: float, after: str) -> list[tuple[float, str, str]]:
        values = (self._namespace, at, after, _ROWS)

        def job(connection: Connection) -> list[tuple[float, str, str]]:
            rows = connection.execute(_PAGE, values).fetchall()
            return [(float(at), str(key), str(line)) for at, key, line in rows]

        return self._database.call(job)
