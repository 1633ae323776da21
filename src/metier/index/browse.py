"""All documents by filters and in any order. Keys are sorted once; only a page of rows is read."""

from collections.abc import Mapping, Sequence
from typing import Any

from metier.core.ranking import Task
from metier.hosts import HOOKED, host_bit
from metier.index.agent_documents import keys_by_agent
from metier.index.documents import rows_by_key
from metier.index.search import ranked_handles
from metier.index.store import Store
from metier.values.browsing import FACETS, Browse, Browsed, DocumentCount, FacetValue
from metier.values.candidates import Candidate
from metier.values.files import KINDS, Kind
from metier.values.rows import Row

_MOST_VALUES = 200
"""Of a facet: those with the most documents."""
_ORDERS = {
    "name": "handle COLLATE NOCASE",
    "kind": "kind",
    "source": "source",
    "state": "state",
    "reason": "reason",
    "issues": "json_array_length(issues) + (shadowed_by != '')",
    "length": "length(description)",
}
_COLUMNS = {"kind": "kind", "source": "source", "state": "state", "owner": "owner"}
_CODES = "SELECT 1 FROM json_each(issues) WHERE json_extract(value, '$[0]') IN ({marks})"
_PROVIDED = "SELECT key FROM skill_capability WHERE capability IN ({marks})"


def browse(store: Store, query: Browse) -> Browsed:
    """The documents that fit, and for each facet the values that there are."""
    with store.snapshot():
        keys = store.cached(("browse", _identity(query)), lambda: _keys(store, query))
        rows = _rows(store, keys[query.offset : query.offset + query.limit])
        key = ("facets", _identity(Browse(query.search, query.facets)))
        return Browsed(rows, len(keys), store.cached(key, lambda: _facets(store, query)))


def _facets(store: Store, query: Browse) -> dict[str, list[FacetValue]]:
    return {name: _facet(store, query, name) for name in FACETS}


def _identity(query: Browse) -> tuple[Any, ...]:
    chosen = tuple((name, tuple(values)) for name, values in sorted(query.facets.items()))
    return query.search, chosen, query.order, query.descending


def _keys(store: Store, query: Browse) -> list[int]:
    """The keys of all documents that fit, in order."""
    where, values = _conditions(store, query.facets)
    way = "DESC" if query.descending else "ASC"
    unnamed = "handle = '', " if query.order not in _ORDERS or query.order == "name" else ""
    order = f"{unnamed}{_ORDERS.get(query.order, _ORDERS['name'])} {way}, handle, rank, path"
    sql = f"SELECT document.key FROM document WHERE {where} ORDER BY {order}"
    keys = [row[0] for row in store.rows(sql, values)]
    if not query.search:
        return keys
    found = _found(store, query)
    if query.order == "best":
        fitting = set(keys)
        return [key for key in found if key in fitting]
    wanted = set(found)
    return [key for key in keys if key in wanted]


def _found(store: Store, query: Browse) -> list[int]:
    """The keys of what a search finds, kind by kind, the best of each first."""
    kinds: list[Kind] = [kind for kind in KINDS if kind in query.facets.get("kind", KINDS)]
    key = ("found", query.search, tuple(kinds))
    return store.cached(key, lambda: [one for kind in kinds for one in _ranked(store, kind, query)])


def _ranked(store: Store, kind: Kind, query: Browse) -> list[int]:
    handles = ranked_handles(store, kind, Task(query.search))
    sql = "SELECT handle, key FROM document WHERE kind = ? AND state = 'active'"
    keys = store.cached(("keys", kind), lambda: dict(store.rows(sql, (kind,))))
    return [keys[handle] for handle in handles if handle in keys]


def _conditions(store: Store, facets: Mapping[str, Sequence[str]]) -> tuple[str, tuple[Any, ...]]:
    parts: list[str] = ["1"]
    values: list[Any] = []
    for name, chosen in sorted(facets.items()):
        if not chosen:
            continue
        marks = ", ".join("?" * len(chosen))
        if name in _COLUMNS:
            parts.append(f"{_COLUMNS[name]} IN ({marks})")
            values += chosen
        elif name == "finding":
            parts.append(f"issues != '[]' AND EXISTS ({_CODES.format(marks=marks)})")
            values += chosen
        elif name == "capability":
            parts.append(f"document.key IN ({_PROVIDED.format(marks=marks)})")
            values += chosen
        elif name == "agent":
            known = keys_by_agent(store)
            keys = {key for one in chosen for key in known.get(one, ())}
            parts.append(f"document.key IN ({', '.join(map(str, sorted(keys)))})")
        elif name == "host":
            parts.append("kind = 'skill' AND hosts & ?")
            values.append(sum(host_bit(one) for one in set(chosen) if one in HOOKED))
    return " AND ".join(parts), tuple(values)


def _facet(store: Store, query: Browse, name: str) -> list[FacetValue]:
    """The values of a facet among the documents that fit all others."""
    others = {facet: chosen for facet, chosen in query.facets.items() if facet != name}
    chosen = set(query.facets.get(name, ()))
    key = ("facet", name, _identity(Browse(query.search, others)))
    counts = store.cached(key, lambda: _counts(store, name, others, query))
    missing = [(value, 0) for value in sorted(chosen - {value for value, _ in counts})]
    return [FacetValue(value, count, value in chosen) for value, count in (*counts, *missing)]


def _counts(
    store: Store, name: str, others: Mapping[str, Sequence[str]], query: Browse
) -> list[tuple[str, int]]:
    where, values = _conditions(store, others)
    if query.search:
        found = _found(store, query._replace(facets=others))
        where += f" AND document.key IN ({', '.join(map(str, found))})" if found else " AND 0"
    if name == "host":
        sums = ", ".join(f"coalesce(sum((hosts & {host_bit(one)}) != 0), 0)" for one in HOOKED)
        sql = f"SELECT {sums} FROM document WHERE kind = 'skill' AND {where}"
        found_counts = zip(HOOKED, store.rows(sql, values)[0], strict=True)
        return [(host, count) for host, count in found_counts if count]
    if name == "agent":
        fitting = {key for (key,) in store.rows(f"SELECT key FROM document WHERE {where}", values)}
        return _by_agent(store, fitting)
    table, column = "document", _COLUMNS.get(name, "")
    if name == "finding":
        table, column = "document, json_each(issues)", "json_extract(value, '$[0]')"
        where = f"issues != '[]' AND {where}"
    if name == "capability":
        table, column = "document JOIN skill_capability USING (key)", "capability"
    sql = (
        f"SELECT {column} AS shown, count(DISTINCT document.key) AS times FROM {table}"
        f" WHERE {where} GROUP BY 1 HAVING shown != '' ORDER BY times DESC, shown"
    )
    return [(str(value), int(count)) for value, count in store.rows(sql, values)[:_MOST_VALUES]]


def _by_agent(store: Store, fitting: set[int]) -> list[tuple[str, int]]:
    """Agents by how many of their documents fit, the most first."""
    found = [(name, len(keys & fitting)) for name, keys in keys_by_agent(store).items()]
    found.sort(key=lambda one: (-one[1], one[0]))
    return [one for one in found if one[1]][:_MOST_VALUES]


def counts(store: Store) -> list[DocumentCount]:
    """How many documents there are of each kind, source, state and reason."""
    sql = (
        "SELECT kind, source, state, reason, count(*) FROM document GROUP BY 1, 2, 3, 4"
        " ORDER BY kind, source, state, reason"
    )
    return store.cached("counts", lambda: list(map(DocumentCount._make, store.rows(sql))))


def consumers(store: Store) -> dict[str, list[str]]:
    """The skills that need each capability, required or optional, by the contracts they have."""
    return store.cached("consumers", lambda: _consumers(store))


def _consumers(store: Store) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    sql = "SELECT handle, claims FROM document WHERE claims != '' AND state = 'active'"
    with store.checked():
        for handle, claims in store.rows(f"{sql} ORDER BY handle"):
            contract = Candidate.stored(handle, "", "", claims).contract
            for name in (*contract.requires, *contract.optional) if contract else ():
                found.setdefault(name, []).append(handle)
    return found


def _rows(store: Store, keys: Sequence[int]) -> list[Row]:
    """The documents with these keys, in that order."""
    rows = rows_by_key(store, keys)
    return [rows[key] for key in keys if key in rows]
