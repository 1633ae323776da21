"""Document: one skill, ability, card or agent with all that is known about it."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from metier.catalog import Catalog
from metier.errors import MetierError, UsageError
from metier.flow.host_skills import Verdict
from metier.flow.listing import LISTED, ListedSkill
from metier.flow.run_plan import plan_of_profile
from metier.flow.usage_kept import StoredUse, stored_stamp, stored_uses
from metier.flow.usage_seen import outcomes_of
from metier.hosts.known import HOSTS
from metier.values.agents import AgentProfile
from metier.values.contracts import Contract
from metier.values.documents import Document, Skill
from metier.values.files import KINDS, Kind
from metier.values.outcomes import Issue
from metier.values.rows import Row
from metier.web.page import Data, Page, View

_DUMPER = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
_LONGEST_TEXT = 400_000
_ELSEWHERE = ("name", "description", "when_to_use")
_CLAUSES = (
    ("provides", "P", "Provides"),
    ("requires", "R", "Requires"),
    ("optional", "O", "Uses if it is there"),
    ("expects", "E", "Expects"),
)
_PAIRS = (("accepts", "A", "Accepts"), ("policy", "POL", "Policy"))


def build(view: View) -> Data:
    kind = view.query.choice("kind", KINDS, "skill")
    wanted = view.query.text("id")
    if not wanted:
        raise UsageError("no document is named", hint="the catalog leads to each: /catalog")
    row = view.catalog.row(_kind(kind), wanted)
    return {**_document(view, row), "wanted": wanted}


def _kind(name: str) -> Kind:
    return next(kind for kind in KINDS if kind == name)


def _document(view: View, row: Row) -> dict[str, Any]:
    catalog = view.catalog
    document, problem = _read(catalog, row)
    body = document.body if document is not None else ""
    others = [one for one in catalog.find(row.kind, row.name) if one.path != row.path]
    return {
        "kind": row.kind,
        "id": row.id,
        "name": row.handle or row.path,
        "description": row.description,
        "whenToUse": str(row.data.get("when_to_use") or "") if row.kind == "skill" else "",
        "path": row.path,
        "file": row.file,
        "source": row.source,
        "origin": row.origin,
        "state": row.state,
        "reason": row.reason,
        "shadowedBy": row.shadowed_by,
        "owner": row.owner,
        "team": row.team,
        "plugin": row.plugin,
        "sha256": row.sha256,
        "isManual": row.is_manual,
        "fields": _fields(row),
        "contract": _clauses(document.contract) if isinstance(document, Skill) else [],
        "plan": plan_of_profile(document).to_json() if isinstance(document, AgentProfile) else None,
        "capabilities": [
            {"name": one, "requiredBy": catalog.consumers(one)} for one in row.capabilities
        ],
        "findings": [_finding(one) for one in catalog.issues_of(row)],
        "hosts": _hosts(view, row) if row.kind == "skill" else [],
        "usage": _usage(view, row.handle) if row.kind == "skill" else None,
        "outcomes": _outcomes(view, row) if row.kind == "skill" else [],
        "namedBy": catalog.agents_naming(row) if row.kind == "skill" else [],
        "others": [{"id": one.id, "path": one.path, "state": one.state} for one in others],
        "body": body[:_LONGEST_TEXT],
        "isCut": len(body) > _LONGEST_TEXT,
        "problem": problem,
    }


def _read(catalog: Catalog, row: Row) -> tuple[Document | None, str]:
    """The document as it is in the file now, or why it cannot be read."""
    try:
        return catalog.document(row, even_held=True), ""
    except MetierError as error:
        return None, error.message


def _clauses(contract: Contract | None) -> list[dict[str, Any]]:
    if contract is None:
        return []
    shown: list[dict[str, Any]] = []
    for name, letter, title in _CLAUSES:
        if values := getattr(contract, name):
            shown.append({"clause": letter, "title": title, "values": list(values)})
    for name, letter, title in _PAIRS:
        if pairs := getattr(contract, name):
            values = [f"{key}={value}" for key, value in pairs.items()]
            shown.append({"clause": letter, "title": title, "values": values})
    if contract.unknown_clauses:
        unknown = list(contract.unknown_clauses)
        shown.append({"clause": "?", "title": "Unknown", "values": unknown})
    return shown


def _fields(row: Row) -> list[dict[str, str]]:
    """The front matter besides what is shown elsewhere."""
    return [
        {"name": str(name), "value": _plain(value)}
        for name, value in row.data.items()
        if name not in _ELSEWHERE and value not in (None, "", [], {})
    ]


def _plain(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value)
    if not isinstance(value, (list, dict)):
        return str(value).lower() if isinstance(value, bool) else str(value)
    text = yaml.dump(value, Dumper=_DUMPER, sort_keys=False, allow_unicode=True, width=80)
    return str(text).rstrip()


def _finding(issue: Issue) -> dict[str, Any]:
    shown = issue.to_json()
    return {name: shown[name] for name in ("code", "severity", "line", "message", "hint")}


def _usage(view: View, handle: str) -> dict[str, float] | None:
    """How often hosts used a skill, as far as `metier usage` has counted; None if it has not."""
    room = view.catalog.room
    if room is None or not (stamp := stored_stamp(room)):
        return None
    try:
        uses = view.cached(("uses", stamp), lambda: stored_uses(room))
    except OSError:
        return None
    return uses.get(handle, StoredUse())._asdict()


def _outcomes(view: View, row: Row) -> list[bool]:
    """Whether the last runs that used it as a provider succeeded, the latest last."""
    found = view.briefly("outcomes", lambda: _all_outcomes(view.catalog))
    return [bool(one) for one in found.get(row.id, ())]


def _all_outcomes(catalog: Catalog) -> Mapping[str, Sequence[int]]:
    try:
        return outcomes_of(catalog.workspace, catalog.config, catalog.shared)
    except MetierError:  # shared state is away; the page of usage says so
        return {}


# Hosts


def _hosts(view: View, row: Row) -> list[dict[str, Any]]:
    """What each host makes of a skill."""
    checker = view.briefly("checker", view.catalog.host_checker)
    return [
        {"host": name, "title": HOSTS[name].title, **_host_row(view, name, verdict)}
        for name, verdict in checker.check(row.path).items()
    ]


def _host_row(view: View, host: str, verdict: Verdict) -> dict[str, Any]:
    """The host's rule is asked about this skill; only if it loads, about the whole listing."""
    told = {"state": verdict.state, "message": verdict.message, "hint": verdict.hint}
    if host not in LISTED or verdict.state != "loads":
        return told
    listed = view.briefly(("listed", host), lambda: _listed(view.catalog, host))
    if (one := listed.get(verdict.path)) is None:
        return told
    shown: dict[str, Any] = {"shown": one.shown, "length": one.length}
    return {**told, **shown, "listed": one.state, "why": one.why}


def _listed(catalog: Catalog, host: str) -> dict[str, ListedSkill]:
    return {one.path: one for one in catalog.listing(host).skills}


PAGES = [
    Page(
        name="document",
        title="Document",
        build=build,
        command=lambda data: ["show", data["kind"], "--", data["wanted"]],
        under="catalog",
        order=31,
    )
]
