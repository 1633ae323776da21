"""Documents one page at a time: what somebody wants who cannot take ten thousand at once."""

from bisect import bisect_right
from weakref import WeakKeyDictionary

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

    Rows and total are of one state of the catalogue, whoever writes meanwhile.
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
    """The page of those that have a text in what is searched."""
    with store.snapshot():
        found = [handle for handle, text in _texts(store, kind) if wanted in text]
        first = bisect_right(found, after)
        shown = found[first : first + limit]
        marks = ", ".join("?" * len(shown))
        where = f"kind = ? AND state = 'active' AND handle IN ({marks}) ORDER BY handle"
        rows = select_rows(store, where, [kind, *shown])
    return Page(rows, len(found), shown[-1] if first + limit < len(found) else "")


_TEXTS: WeakKeyDictionary[Store, tuple[object, dict[Kind, list[tuple[str, str]]]]]
_TEXTS = WeakKeyDictionary()
"""Handles with what is searched, in the state that a catalogue had last: folding takes long."""


def _texts(store: Store, kind: Kind) -> list[tuple[str, str]]:
    version, known = _TEXTS.get(store, (None, {}))
    if version != store.version():
        known = {}
        _TEXTS[store] = store.version(), known
    if kind not in known:
        texts = f"SELECT handle, {SEARCHED} FROM document"
        rows = store.rows(f"{texts} WHERE kind = ? AND state = 'active' ORDER BY handle", (kind,))
        known[kind] = [(handle, text.casefold()) for handle, text in rows]
    return known[kind]


_COUNTS: WeakKeyDictionary[Store, tuple[object, dict[object, int]]] = WeakKeyDictionary()
"""What was counted in the state that a catalogue had last: counting costs more than a page."""
_MOST_COUNTS = 1_000


def _count(store: Store, tables: str, where: list[str], values: tuple[str, ...]) -> int:
    version, known = _COUNTS.get(store, (None, {}))
    if version != store.version() or len(known) >= _MOST_COUNTS:
        known = {}
        _COUNTS[store] = store.version(), known
    asked = (*where, *values)
    if asked not in known:
        count = f"SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"
        known[asked] = int(store.rows(count, values)[0][0])
    return known[asked]
