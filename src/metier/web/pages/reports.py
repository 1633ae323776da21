"""Reports: the stored resolutions, one of them, two compared, and each figure recomputed."""

from collections.abc import Mapping
from typing import Any

from metier.catalog import Catalog
from metier.errors import MetierError, UsageError
from metier.flow.report_diff import SECTIONS, compare, moves
from metier.flow.report_explain import explain
from metier.flow.report_hints import Known
from metier.flow.report_text import handle_of, name_of, shown_outcome
from metier.flow.reports import LAST
from metier.values.resolution import DECISIONS, Report
from metier.web.page import Action, Data, Page, View
from metier.web.query import address
from metier.web.question import Question
from metier.web.resolutions import OUTCOME_TONES, shown_explanation, shown_move, shown_report
from metier.web.spec_words import said_outcome
from metier.web.table import Column, table_of
from metier.web.words import in_browser

_COLUMNS = [
    Column("required", "Required", "id", lambda row: address("report", id=row["id"])),
    Column("outcome", "Outcome", "badge"),
    Column("selected", "Selected"),
    Column("made", "Made", "time", hint="UTC"),
    Column("id", "Report", "id", lambda row: address("report", id=row["id"])),
]
_TITLES = {"question": "Question", "policy": "Policy", "result": "Result"}
_MOST_CHANGES = 400


# The list


def build_list(view: View) -> Data:
    rows, problems = _summaries(view.catalog)
    old, new = view.query.text("old"), view.query.text("new")
    return {
        "reports": table_of(
            view, _COLUMNS, rows, name="r", sort="-id", noun="report",
            empty="no report is stored here: Resolve makes one",
        ),
        "choices": [{"id": row["id"], "label": _label(row)} for row in rows],
        "problems": problems,
        "old": old,
        "new": new,
        "difference": _difference(view.catalog, old, new) if old and new else None,
    }  # fmt: skip


def _summaries(catalog: Catalog) -> tuple[list[dict[str, Any]], list[str]]:
    rows, problems = [], []
    for found in catalog.report_store.summaries():
        if isinstance(found, MetierError):
            problems.append(f"{found.message}: {in_browser(found.hint)}")
        else:
            rows.append(_summary(found))
    return rows, problems


def _summary(report: Report) -> dict[str, Any]:
    return {
        "id": report.id,
        "generatedAt": report["generated_at"],
        "made": report["generated_at"][:16].replace("T", " "),
        "outcome": shown_outcome(report.outcome),
        "required": ", ".join(report["required_capabilities"]),
        "selected": ", ".join(map(name_of, report["selected"])),
    }


def _label(row: Mapping[str, Any]) -> str:
    """What a list of choices shows of a report."""
    moment = row["generatedAt"][:19].replace("T", " ")
    return f"{moment} · {row['outcome']} · {row['required']}"


def _difference(catalog: Catalog, old: str, new: str) -> dict[str, Any]:
    left, right = catalog.report_store.find(old), catalog.report_store.find(new)
    found = compare(left, right)
    sections = [(_TITLES[name], found[name]) for name in SECTIONS]
    figures = [*found["candidates"].items(), ("The rest", found["rest"])]
    return {
        "old": found["old"],
        "new": found["new"],
        "equal": found["equal"],
        "outcomes": [_outcome(left), _outcome(right)],
        "moves": [shown_move(one) for one in moves(left, right) if one.has_changed],
        "sections": [_section(*one) for one in sections if one[1]],
        "figures": [_section(*one) for one in figures if one[1]],
        "onlyOld": found["onlyOld"],
        "onlyNew": found["onlyNew"],
    }


def _section(title: str, changes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {"title": title, "changes": _changes(changes)}


def _outcome(report: Report) -> dict[str, str]:
    return {"name": said_outcome(report.outcome), "tone": OUTCOME_TONES.get(report.outcome, "")}


def _changes(changes: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    return [
        {"key": key, "old": _value_of(one, "old"), "new": _value_of(one, "new")}
        for key, one in list(changes.items())[:_MOST_CHANGES]
    ]


def _value_of(change: Mapping[str, Any], side: str) -> str:
    if side not in change:
        return "absent"
    value = change[side]
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return ", ".join(value) or "nothing"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "nothing"}[value]
    return str(value)


# One report


def build_one(view: View) -> Data:
    wanted = view.query.text("id") or LAST
    if wanted == LAST and not view.catalog.report_ids():
        return {"report": None, "id": "", "decisions": list(DECISIONS)}
    report = view.catalog.report_store.find(wanted)
    known = Known.of(view.catalog.config, view.catalog.capabilities)
    shown = shown_report(report, known)
    return {"report": shown, "id": report.id, "decisions": list(DECISIONS)}


def _decide(catalog: Catalog, fields: Mapping[str, str]) -> str:
    decision = fields.get("decision", "")
    if decision not in DECISIONS:
        raise UsageError(f"'{decision}' is not a decision", hint=", ".join(DECISIONS))
    report = catalog.decide(fields.get("id", ""), decision)
    return address("report", id=report.id)


# Each figure


def build_figures(view: View) -> Data:
    """The figures of a stored report, or of a question as Resolve asks it."""
    question, wanted = Question.of(view.query), view.query.text("id")
    candidate = view.query.text("candidate")
    asked = {"id": wanted, "candidate": candidate, "command": [], "title": ""}
    if not wanted and question.is_empty:
        return {**asked, "candidates": [], "others": []}
    if wanted:
        report = view.catalog.report_store.find(wanted)
        command = ["reports", "explain", report.id, *([candidate] if candidate else [])]
    else:
        report = view.briefly(("report", question), lambda: question.report(view.catalog))
        command = question.command()
    found = explain(report, candidate or None)
    return {
        **asked,
        "command": command,
        "required": list(report["required_capabilities"]),
        "candidates": [shown_explanation(one) for one in found],
        "others": [
            {"id": row["id"], "handle": handle_of(row), "isShown": row["id"] in _ids(found)}
            for row in report["candidates"][:40]
        ],
    }


def _ids(found: Any) -> set[str]:
    return {one.row["id"] for one in found}


def _list_command(data: Data) -> list[str]:
    if data["difference"]:
        return ["reports", "diff", data["difference"]["old"], data["difference"]["new"]]
    return ["reports"]


PAGES = [
    Page(
        name="reports",
        title="Reports",
        build=build_list,
        command=_list_command,
        under="resolve",
        order=61,
        computes=True,
    ),
    Page(
        name="report",
        title="Report",
        build=build_one,
        command=lambda data: ["reports", "show", data["id"] or LAST],
        under="resolve",
        order=62,
        computes=True,
    ),
    Page(
        name="recompute",
        title="Recompute",
        build=build_figures,
        command=lambda data: data["command"],
        under="resolve",
        order=63,
        computes=True,
    ),
]
ACTIONS = [Action(name="decide-report", do=_decide)]
