"""Documents for a text that was typed into a search: exact matches first, then what fits it."""

from metier.core.ranking import Task, rank
from metier.index.documents import select_rows
from metier.index.pools import pool_of
from metier.index.store import Store
from metier.values.files import Kind
from metier.values.rows import Page, Row

_SEARCHED = "name || char(10) || description || char(10) || when_to_use"
_AT_ONCE = 400


def search_documents(store: Store, kind: Kind, task: Task) -> list[Row]:
    """The active documents that contain the text, its name first; then those that fit its words.

    Within both groups the best come first. For one word that some document contains, only
    documents that contain it are found.
    """
    with store.snapshot():
        return _rows(store, kind, _handles(store, kind, task))


def page_of_search(store: Store, kind: Kind, task: Task, *, after: str, limit: int) -> Page:
    """The first `limit` of the documents that a search finds after the handle `after`."""
    with store.snapshot():
        found = ranked_handles(store, kind, task)
        first = found.index(after) + 1 if after in found else len(found) if after else 0
        shown = found[first : first + limit]
        rows = _rows(store, kind, shown)
    return Page(rows, len(found), shown[-1] if first + limit < len(found) else "")


def ranked_handles(store: Store, kind: Kind, task: Task) -> list[str]:
    """The handles of what a search finds, the best first."""
    key = ("search", kind, task.text, task.encoded)
    return store.cached(key, lambda: _handles(store, kind, task))


def _handles(store: Store, kind: Kind, task: Task) -> list[str]:
    text = task.text
    text.encode()  # raises UnicodeEncodeError for what no document can contain
    wanted = text.casefold().strip()
    texts = store.cached(("texts", kind), lambda: _texts(store, kind))
    exact = [handle for handle, name, text in texts if wanted in text]
    names = {handle for handle, name, _ in texts if wanted in (handle.casefold(), name)}

    ranked = rank(task, pool_of(store, kind, encoded=task.encoded))
    paths = {one.document.path: place for place, one in enumerate(ranked) if one.words > 0}
    places = {row.handle: paths[row.path] for row in _at(store, kind, list(paths))}
    last = len(ranked)
    exact.sort(key=lambda handle: (handle not in names, places.get(handle, last), handle))
    if exact and len(wanted.split()) < 2:
        return exact
    contained = set(exact)
    others = [handle for handle in places if handle not in contained]
    return [*exact, *sorted(others, key=lambda handle: (places[handle], handle))]


def _texts(store: Store, kind: Kind) -> list[tuple[str, str, str]]:
    """Handles and names with the text that is searched, folded."""
    rows = store.rows(
        f"SELECT handle, name, {_SEARCHED} FROM document"
        " WHERE kind = ? AND state = 'active' ORDER BY handle",
        (kind,),
    )
    return [(handle, name.casefold(), text.casefold()) for handle, name, text in rows]


def _rows(store: Store, kind: Kind, handles: list[str]) -> list[Row]:
    """The active documents with these handles, in that order."""
    found: dict[str, Row] = {}
    for start in range(0, len(handles), _AT_ONCE):
        some = handles[start : start + _AT_ONCE]
        marks = ", ".join("?" * len(some))
        where = f"kind = ? AND state = 'active' AND handle IN ({marks})"
        found |= {row.handle: row for row in select_rows(store, where, [kind, *some])}
    return [found[handle] for handle in handles if handle in found]


def _at(store: Store, kind: Kind, paths: list[str]) -> list[Row]:
    marks = ", ".join("?" * len(paths))
    return select_rows(store, f"kind = ? AND path IN ({marks})", [kind, *paths]) if paths else []
