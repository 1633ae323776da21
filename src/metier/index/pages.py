"""Documents, one page at a time."""

from bisect import bisect_right

from metier.index.documents import SEARCHED, filtered, select_rows
from metier.index.store import Store
from metier.values.files import Kind
from metier.values.rows import Page


def page_of_documents(
    store: Store,
    kind: Kind,
    *,
    limit: int,
    after: str = "",
    search: str | None = None,
    capability: str | None = None,
) -> Page:
    """The first `limit` documents after the handle `after`; filters as for the whole list.

    Rows and total are of one snapshot.
    """
    if search and capability is None:
        return _page_of_found(store, kind, search.casefold(), after, limit)
    tables, where, values = filtered(store, search, capability)
    with store.snapshot():
        # the plus signs have SQLite walk the index by handle: it need not sort them all
        wanted = " AND ".join(["+kind = ?", "+state = 'active'", *where, "handle > ?"])
        order = f"{wanted} ORDER BY handle LIMIT {limit + 1}"
        rows = select_rows(store, order, [kind, *values, after], tables)
        total = _count(store, tables, ["kind = ?", "state = 'active'", *where], (kind, *values))
    shown = rows[:limit]
    return Page(shown, total, shown[-1].handle if len(rows) > limit else "")


def _page_of_found(store: Store, kind: Kind, wanted: str, after: str, limit: int) -> Page:
    """The page of the documents that contain `wanted`."""
    with store.snapshot():
        texts = store.cached(("texts", kind), lambda: _texts(store, kind))
        found = [handle for handle, text in texts if wanted in text]
        first = bisect_right(found, after)
        shown = found[first : first + limit]
        marks = ", ".join("?" * len(shown))
        where = f"kind = ? AND state = 'active' AND handle IN ({marks}) ORDER BY handle"
        rows = select_rows(store, where, [kind, *shown])
    return Page(rows, len(found), shown[-1] if first + limit < len(found) else "")


def _texts(store: Store, kind: Kind) -> list[tuple[str, str]]:
    """Handles with the text that is searched, folded."""
    rows = store.rows(
        f"SELECT handle, {SEARCHED} FROM document"
        " WHERE kind = ? AND state = 'active' ORDER BY handle",
        (kind,),
    )
    return [(handle, text.casefold()) for handle, text in rows]


def _count(store: Store, tables: str, where: list[str], values: tuple[str, ...]) -> int:
    sql = f"SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"
    return store.cached((sql, values), lambda: int(store.rows(sql, values)[0][0]))
