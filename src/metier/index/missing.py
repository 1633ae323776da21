"""Why a document that was asked for is not there."""

from metier.core.nearest import nearest_name
from metier.errors import NotFoundError
from metier.index.documents import document_issues, left_out, names_of
from metier.index.store import Store
from metier.values.files import PLURAL, Kind
from metier.values.outcomes import Exclusion


def no_such_document(store: Store, kind: Kind, wanted: str, workspace: str) -> NotFoundError:
    """What to raise: its file was left out, and why; or nothing is called so."""
    code = "ABILITY_NOT_FOUND" if kind == "ability" else None
    path = left_out(store, kind, wanted)
    if path:
        return NotFoundError(
            f"{kind} '{wanted}' was left out: {_why(store, kind, path)}",
            code=code,
            where=_file(store, kind, path),
            hint="metier lint says what to change",
        )
    near = nearest_name(wanted, names_of(store, kind))
    return NotFoundError(
        f"no {kind} is called '{wanted}'",
        code=code,
        where=workspace,
        hint=f"did you mean '{near}'?" if near else f"metier list {PLURAL[kind]}",
    )


def _file(store: Store, kind: Kind, path: str) -> str:
    rows = store.rows("SELECT file FROM document WHERE kind = ? AND path = ?", (kind, path))
    return str(rows[0][0])


def _why(store: Store, kind: Kind, path: str) -> str:
    rows = store.rows("SELECT reason FROM document WHERE kind = ? AND path = ?", (kind, path))
    reason = str(rows[0][0])
    return Exclusion.of(path, reason, document_issues(store, kind, path)).detail or reason
