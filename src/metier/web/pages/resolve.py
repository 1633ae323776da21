"""Resolve: who provides what is required, why, and what another policy would change."""

from collections.abc import Mapping
from typing import Any

from metier.catalog import Catalog
from metier.errors import StoreError, UsageError
from metier.flow.report_diff import moves
from metier.flow.report_hints import Known
from metier.flow.report_text import handle_of
from metier.hosts.table import NAMES as HOSTS
from metier.values.contracts import Mode
from metier.values.policy import PRESETS, Policy
from metier.values.resolution import DECISIONS, Report
from metier.web.choices import Offered, offered_skills
from metier.web.page import Action, Data, Page, View
from metier.web.query import address
from metier.web.question import CHOICES, MODES, POLICY_KEYS, Question, asked_alone
from metier.web.resolutions import OUTCOME_TONES, shown_move, shown_report
from metier.web.spec_words import said_outcome
from metier.web.table import Column, Row, table_of

_MOST_OFFERED = 1_000
_FIELDS = 2
"""Empty fields for more requirements."""
_LEAST_FIELDS = 3
_COLUMNS = [
    Column("name", "Candidate", "id", lambda row: address("document", kind="skill", id=row["id"])),
    Column("rank", "Rank", "number"),
    Column("final", "Final", "number", hint="S_total_final", digits=3),
    Column("contract", "Contract", "number", hint="S_contract", digits=2),
    Column("desc", "Description", "number", hint="S_desc", digits=2),
    Column("namepath", "Name", "number", hint="S_namepath", digits=2),
    Column("runtime", "Runtime", "number", hint="S_runtime", digits=2),
    Column("penalties", "Penalties", "number", digits=2),
    Column("rejected", "Rejected because"),
]


def build(view: View) -> Data:
    question = Question.of(view.query)
    report = None if question.is_empty else _report(view, question)
    asked = asked_alone(view.query)
    return {
        "asked": question.to_json(),
        "fields": [*question.requires, *[""] * _empty(question)],
        "offered": view.cached("offered", lambda: _offered(view)),
        "policy": _policy(question, report),
        "choices": _choices(),
        "address": asked.encoded(),
        "answer": _answer(view, question, report),
        "before": _before(view, report),
        "everyone": _everyone(view, report) if question.full and report else None,
    }


def _report(view: View, question: Question) -> Report:
    return view.briefly(("report", question), lambda: question.report(view.catalog))


def _capabilities(view: View) -> list[str]:
    return view.cached("capabilities", view.catalog.capabilities)


def _empty(question: Question) -> int:
    return max(_FIELDS, _LEAST_FIELDS - len(question.requires))


def _offered(view: View) -> dict[str, Offered]:
    """What fields complete; of very many names only the first."""
    return {
        "capabilities": Offered(_capabilities(view)[:_MOST_OFFERED]),
        "skills": offered_skills(view),
        "hosts": Offered(HOSTS),
    }


def _choices() -> dict[str, list[str]]:
    return {"mode": list(MODES), "preset": list(PRESETS), "decision": list(DECISIONS)}


def _policy(question: Question, report: Report | None) -> list[dict[str, Any]]:
    """The fields of a policy: what is asked, and what is in force without."""
    given = dict(question.policy)
    mode: Mode = "strict" if question.mode == "strict" else "best-effort"
    usual = Policy.for_mode(mode).to_json() if report is None else report["policy"]
    return [
        {
            "key": key,
            "value": given.get(key, ""),
            "inForce": given.get(key, usual[key]),
            "kind": "choice" if key in CHOICES else "share" if key.startswith("min-") else "count",
            "choices": list(CHOICES.get(key, ())),
        }
        for key in POLICY_KEYS
    ]


def _answer(view: View, question: Question, report: Report | None) -> dict[str, Any] | None:
    if report is None:
        return None
    known = Known.of(view.catalog.config, lambda: _capabilities(view))
    return view.briefly(
        ("answer", question), lambda: shown_report(report, known, everyone=question.full)
    )


def _before(view: View, report: Report | None) -> dict[str, Any] | None:
    """What changed against the question in `was`."""
    was = view.query.text("was")
    if not was or report is None:
        return None
    earlier = Question.from_text(was)
    if earlier.is_empty:
        raise UsageError("what is compared with requires nothing", hint="leave out 'was'")
    old = _report(view, earlier)
    found = [shown_move(one) for one in moves(old, report)]
    return {
        "address": was,
        "question": earlier.to_json(),
        "outcomes": [_outcome(old), _outcome(report)],
        "selected": [_selected(old), _selected(report)],
        "policy": [
            {"key": key, "old": value, "new": report["policy"][key]}
            for key, value in old["policy"].items()
            if value != report["policy"][key]
        ],
        "moves": [one for one in found if one["hasChanged"]],
        "same": sum(not one["hasChanged"] for one in found),
    }


def _outcome(report: Report) -> dict[str, str]:
    return {"name": said_outcome(report.outcome), "tone": OUTCOME_TONES.get(report.outcome, "")}


def _selected(report: Report) -> list[str]:
    return [handle_of(row) for row in report["candidates"] if row["selected"]]


def _everyone(view: View, report: Report) -> Any:
    rows = [_table_row(row) for row in report["candidates"]]
    return table_of(view, _COLUMNS, rows, name="all", sort="-final", noun="candidate")


def _table_row(row: Row) -> Row:
    return {
        "id": row["id"],
        "name": handle_of(dict(row)),
        "rank": row["rank"],
        "final": round(row["S_total_final"], 3),
        **{key: round(row[f"S_{key}"], 2) for key in ("contract", "desc", "namepath", "runtime")},
        "penalties": round(row["penalties"]["total"], 2) or None,
        "rejected": ", ".join(row["rejected"]),
    }


def _command(data: Data) -> list[str]:
    asked = {**data["asked"], "policy": tuple(data["asked"]["policy"].items())}
    return Question(**asked).command()


def _store(catalog: Catalog, fields: Mapping[str, str]) -> str:
    """Resolve as the command does, probes included, and store the report."""
    question = Question.from_text(fields.get("question", ""))
    if question.is_empty:
        raise UsageError("nothing is required", hint="name a capability")
    if not catalog.config.is_workspace:
        raise UsageError("outside a workspace no report is stored", hint="metier init")
    report = question.report(catalog)
    if not catalog.report_store.keep(report):
        raise StoreError("the report cannot be stored here")
    return address("report", id=report.id)


PAGES = [
    Page(
        name="resolve",
        title="Resolve",
        build=build,
        command=_command,
        group="Look",
        order=60,
        computes=True,
    )
]
ACTIONS = [Action(name="store-report", do=_store)]
