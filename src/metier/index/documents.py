"""Queries over the documents in the catalog."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from metier.core.names import canonical_id
from metier.core.nearest import nearest_name, suggestion
from metier.errors import REFRESH_HINT, NotFoundError
from metier.index.store import Store
from metier.values.files import PLURAL, Kind
from metier.values.outcomes import Exclusion, Issue
from metier.values.rows import Page, Row

_COLUMNS = (
    "kind, handle, name, description, path, source, state, reason, shadowed_by, file, sha256,"
    " json_array_length(issues) + (shadowed_by != ''), capabilities, data, origin, plugin, team,"
    " owner, review"
)

_SEARCHED = "name || char(10) || description || char(10) || when_to_use"


def list_documents(
    store: Store,
    kind: Kind,
    *,
    search: str | None = None,
    capability: str | None = None,
    shadowed: bool = False,
) -> list[Row]:
    """Active documents by name; with `shadowed` also shadowed documents.

    `search` is a case-insensitive substring of name, description and `when_to_use`.
    """
    state = "state IN ('active', 'shadowed')" if shadowed else "state = 'active'"
    tables, where, parameters = _filtered(store, search, capability)
    wanted = " AND ".join(["kind = ?", state, *where])
    return select_rows(store, f"{wanted} ORDER BY handle, rank, path", [kind, *parameters], tables)


def _filtered(
    store: Store, search: str | None, capability: str | None
) -> tuple[str, list[str], list[Any]]:
    """The tables to look into, the conditions, and their values."""
    tables, where, parameters = "document", [], []
    if capability is not None:
        tables = "skill_capability CROSS JOIN document USING (key)"  # the few providers first
        where.append("capability = ?")
        parameters.append(capability)
    if search:
        store.connection.create_function("folded", 1, str.casefold, deterministic=True)
        where.append(f"instr(folded({_SEARCHED}), ?) > 0")
        parameters.append(search.casefold())
    return tables, where, parameters


def excluded_documents(store: Store) -> list[Row]:
    """Every excluded file, by path."""
    return select_rows(store, "state = 'excluded' ORDER BY kind = 'skill' DESC, rank, path", [])


def count_of_user(store: Store, states: Sequence[str] = ("active", "shadowed", "excluded")) -> int:
    """How many files in the folders of the user's hosts and settings have one of these states."""
    marks = ", ".join("?" * len(states))
    sql = f"SELECT count(*) FROM document WHERE origin = 'user' AND state IN ({marks})"
    return int(store.rows(sql, tuple(states))[0][0])


def shadowed_documents(store: Store) -> list[Row]:
    """Every shadowed document, exact copies included."""
    return select_rows(store, "shadowed_by != '' ORDER BY rank, path", [])


def find_documents(store: Store, kind: Kind, wanted: str) -> list[Row]:
    """The documents with the id or else the name `wanted`, active documents first."""
    if not wanted:
        return []
    rows = _with_handle(store, kind, wanted)
    if not rows and kind == "skill":
        rows = [
            row
            for name in _names_in_id(wanted)
            for row in _with_handle(store, kind, name)
            if row.id == wanted
        ]
    return rows or select_rows(store, f"kind = ? AND name = ? {_ORDER}", [kind, wanted])


_ORDER = "ORDER BY state != 'active', rank, path"


def require_document(store: Store, kind: Kind, wanted: str, workspace: str) -> Row:
    """The document with that id or name. Raises `NotFoundError`."""
    rows = find_documents(store, kind, wanted)
    if not rows:
        raise no_such_document(store, kind, wanted, workspace)
    return rows[0]


def _with_handle(store: Store, kind: Kind, wanted: str) -> list[Row]:
    """The documents with that id, or the skills with that name, whatever team they belong to."""
    if kind != "skill":
        return select_rows(store, f"kind = ? AND handle = ? {_ORDER}", [kind, wanted])
    handles = "SELECT ? UNION SELECT team || '/' || ? FROM document WHERE team != ''"
    where = f"kind = ? AND handle IN ({handles}) {_ORDER}"
    return select_rows(store, where, [kind, wanted, wanted])


def _names_in_id(wanted: str) -> list[str]:
    """The text before each `::`; a name may contain `::`."""
    parts = wanted.split("::")
    return ["::".join(parts[:end]) for end in range(1, len(parts))]


def excluded_path(store: Store, kind: Kind, wanted: str) -> str:
    """The path of the excluded file whose id or name is `wanted`; else empty."""
    active = store.rows(
        "SELECT 1 FROM document WHERE kind = ? AND handle = ? AND state = 'active'", (kind, wanted)
    )
    excluded = "SELECT handle, path FROM document WHERE kind = ? AND state = 'excluded'"
    for handle, path in [] if active else store.rows(f"{excluded} ORDER BY path", (kind,)):
        if wanted in (handle, *_names_of_file(kind, path)):
            return str(path)
    return ""


def _names_of_file(kind: Kind, path: str) -> tuple[str, ...]:
    """The names that a file gives a document: for a skill its folder's, and its id."""
    folder, _, file = path.rpartition("/")
    if kind != "skill":
        return (file.rpartition(".")[0],)
    if file.lower() != "skill.md":  # a folder that could not be looked into
        folder = path
    name = folder.rpartition("/")[2]
    return (name, f"{name}::{folder}") if name else ()


def names_of(store: Store, kind: Kind) -> list[str]:
    """Names of active skills, or ids of the active documents of another kind."""
    rows = store.rows(
        "SELECT handle FROM document WHERE kind = ? AND state = 'active' ORDER BY 1", (kind,)
    )
    return [row[0] for row in rows]


def stored_issues(store: Store) -> list[Issue]:
    """Every finding of the last reading of every file, by path."""
    rows = store.rows("SELECT path, issues FROM document WHERE issues != '[]' ORDER BY path")
    return _issues(store, rows)


def document_issues(store: Store, kind: Kind, path: str) -> list[Issue]:
    """The findings of one file."""
    rows = store.rows("SELECT path, issues FROM document WHERE kind = ? AND path = ?", (kind, path))
    return _issues(store, rows)


def _issues(store: Store, rows: Iterable[tuple[str, str]]) -> list[Issue]:
    with store.checked():
        return [
            Issue(code, message, path, line, column, hint)
            for path, issues in rows
            for code, message, line, column, hint in json.loads(issues)
        ]


def files_by_path(store: Store) -> dict[str, str]:
    """The file of every path that documents and findings have."""
    return dict(store.rows("SELECT path, file FROM document"))


def documents_digest(store: Store) -> str:
    """A digest of the workspace's active documents; the user's own differ between machines."""
    rows = store.rows(
        "SELECT kind, handle, sha256 FROM document"
        " WHERE state = 'active' AND origin != 'user' ORDER BY kind, handle, sha256"
    )
    from hashlib import sha256  # it loads OpenSSL, and few commands need it

    return sha256(repr(rows).encode()).hexdigest()


def providers(store: Store, capability: str) -> list[str]:
    """The names of the active skills that declare `capability`, in ascending order."""
    rows = store.rows(
        "SELECT DISTINCT name FROM skill_capability CROSS JOIN document USING (key)"
        " WHERE capability = ? AND state = 'active' ORDER BY name",
        (capability,),
    )
    return [row[0] for row in rows]


def manual_providers(store: Store, capability: str) -> list[str]:
    """The ids of the skills that declare `capability` and that only the user starts."""
    rows = store.rows(
        "SELECT DISTINCT name, path FROM skill_capability CROSS JOIN document USING (key)"
        " WHERE capability = ? AND manual AND state IN ('active', 'shadowed') ORDER BY name, path",
        (capability,),
    )
    return [canonical_id(name, folder_of(path)) for name, path in rows]


def folder_of(path: str) -> str:
    """The folder of a skill's file, as ids name it."""
    return path.rpartition("/")[0] or "."


def capabilities(store: Store) -> list[str]:
    """Every capability that an active skill declares, in ascending order."""
    rows = store.rows(
        "SELECT DISTINCT capability FROM skill_capability JOIN document USING (key)"
        " WHERE state = 'active' ORDER BY capability"
    )
    return [row[0] for row in rows]


def select_rows(
    store: Store, where: str, parameters: list[Any], tables: str = "document"
) -> list[Row]:
    """The rows for a condition and its values."""
    rows = store.rows(f"SELECT {_COLUMNS} FROM {tables} WHERE {where}", tuple(parameters))
    with store.checked():
        return [_row(row) for row in rows]


def rows_by_key(store: Store, keys: Iterable[int]) -> dict[int, Row]:
    """The rows with these keys."""
    listed = ", ".join(map(str, keys))
    rows = store.rows(f"SELECT key, {_COLUMNS} FROM document WHERE key IN ({listed})")
    with store.checked():
        return {row[0]: _row(row[1:]) for row in rows}


_TYPES = [*[str] * 11, int, *[str] * 7]
"""What each of `_COLUMNS` holds; they are in the order of `Row`."""
_CAPABILITIES = Row._fields.index("capabilities")


def _row(row: tuple[Any, ...]) -> Row:
    if list(map(type, row)) != _TYPES:
        raise TypeError("a column holds a value of another type")
    capabilities = tuple(json.loads(row[_CAPABILITIES])) if row[_CAPABILITIES] != "[]" else ()
    return Row._make([*row[:_CAPABILITIES], capabilities, *row[_CAPABILITIES + 1 :]])


def no_such_document(store: Store, kind: Kind, wanted: str, workspace: str) -> NotFoundError:
    """The error to raise: the file is excluded, and why; or there is no such document."""
    code = "ABILITY_NOT_FOUND" if kind == "ability" else None
    if not wanted.strip():
        message = f"the name of the {kind} is empty"
        return NotFoundError(message, code=code, hint=list_hint(store, kind))
    path = excluded_path(store, kind, wanted)
    if path:
        [row] = select_rows(store, "kind = ? AND path = ?", [kind, path])
        issues = document_issues(store, kind, path)
        why = Exclusion.of(path, row.reason, issues, is_off=row.is_off).detail or row.reason
        return NotFoundError(
            f"{kind} '{wanted}' is excluded: {why}",
            code=code,
            where=row.file,
            hint=Exclusion.next_step(row.reason, issues, row.origin),
        )
    near = nearest_name(wanted, names_of(store, kind))
    return NotFoundError(
        f"no {kind} is called '{wanted}'",
        code=code,
        where=workspace,
        hint=suggestion(near, list_hint(store, kind)),
    )


def unread_note(store: Store) -> str:
    """That nothing was read yet; empty once a refresh has succeeded."""
    return f"nothing was read yet: {REFRESH_HINT}" if store.setting("counts") == "" else ""


def list_hint(store: Store, kind: Kind) -> str:
    """How to find the names of documents."""
    return unread_note(store) or f"metier list {PLURAL[kind]} (Python: catalog.names('{kind}'))"


def skills_in(store: Store, folder: str) -> list[Row]:
    """The skills whose folder, or its name, is `folder`; the active skills first."""
    path = folder.removesuffix("/SKILL.md").strip("/")
    end = f"/{path}/SKILL.md"
    where = "kind = 'skill' AND (path = ? OR substr(path, ?) = ?)"
    return select_rows(store, f"{where} {_ORDER}", [end[1:], -len(end), end])


def skills_by_name(store: Store, name: str) -> list[Row]:
    """The active skills with that name, with or without a team and a plugin before it."""
    before = "iif(team = '', '', team || '/') || iif(plugin = '', '', plugin || ':')"
    return select_rows(
        store,
        "kind = 'skill' AND +state = 'active'"  # the plus sign: look the handle up
        f" AND handle IN (SELECT ? UNION SELECT {before} || ? FROM document WHERE plugin != ''"
        f" UNION SELECT {before} || ? FROM document WHERE team != '')",
        [name, name, name],
    )


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
    tables, where, values = _filtered(store, search, capability)
    with store.snapshot():
        # the plus signs have SQLite walk the index by handle: it need not sort them all
        wanted = " AND ".join(["+kind = ?", "+state = 'active'", *where, "handle > ?"])
        order = f"{wanted} ORDER BY handle LIMIT {limit + 1}"
        rows = select_rows(store, order, [kind, *values, after], tables)
        total = _count(store, tables, ["kind = ?", "state = 'active'", *where], (kind, *values))
    shown = rows[:limit]
    return Page(shown, total, shown[-1].handle if len(rows) > limit else "")


def _count(store: Store, tables: str, where: list[str], values: tuple[str, ...]) -> int:
    sql = f"SELECT count(*) FROM {tables} WHERE {' AND '.join(where)}"
    return store.cached((sql, values), lambda: int(store.rows(sql, values)[0][0]))
