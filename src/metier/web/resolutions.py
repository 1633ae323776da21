"""A report as pages show it: the answer, each candidate's score, the matrix, what changed."""

from collections.abc import Sequence
from typing import Any

from metier.flow.report_diff import Move
from metier.flow.report_explain import Explanation, gates_of, tie_break_of
from metier.flow.report_hints import Known, notes
from metier.flow.report_text import (
    Branch,
    Row,
    changes,
    counts,
    handle_of,
    headline,
    shown_rows,
    tree_of,
    verdict,
)
from metier.values.resolution import Report
from metier.values.score_numbers import WEIGHTS
from metier.web.spec_words import said_outcome

MOST_SHOWN = 12
"""Candidates with all their figures; the table has the others."""
_MOST_COLUMNS = 20
_LABELS = {
    "S_contract": "contract",
    "S_desc": "description",
    "S_namepath": "name and folder",
    "S_runtime": "runtime",
}
_BASIS = {
    "exact": "declares it",
    "alias": "declares another name of it",
    "fuzzy": "declares a similar name",
    "provisional": "has its words, but does not declare it",
    "none": "nothing of it",
}
_FIELDS = (
    ("--mode best-effort --policy prose", "the mode best-effort with the preset prose"),
    ("--policy prose", "the preset prose"),
)
"""What hints call options of the command → what forms call them."""
OUTCOME_TONES = {
    "not-needed": "good",
    "emulated": "warn",
    "continued-partial": "warn",
    "pending-decision": "warn",
    "failed": "bad",
    "aborted": "bad",
}


def shown_report(report: Report, known: Known, *, everyone: bool = False) -> dict[str, Any]:
    """What a page says of a report; everything in it is JSON or a picture."""
    rows = shown_rows(report, everyone=everyone, most=MOST_SHOWN)
    if everyone:
        rows = rows[:MOST_SHOWN]
    return {
        "id": report.id,
        "generatedAt": report["generated_at"],
        "mode": report["mode"],
        "query": report["query"],
        "host": report["host_runtime"] or "",
        "consumer": report["consumer"] or "",
        "required": list(report["required_capabilities"]),
        "headline": _answers(report),
        "outcome": report.outcome,
        "shownOutcome": said_outcome(report.outcome),
        "tone": OUTCOME_TONES.get(report.outcome, ""),
        "isPending": report.is_pending,
        "selected": list(report["selected"]),
        "policy": dict(report["policy"]),
        "discovery": dict(report["discovery"]),
        "candidates": [shown_candidate(row, report) for row in rows],
        "matrix": _matrix(rows, report),
        "trees": [_tree(tree_of(node, report)) for node in report["dependencies"]],
        "others": counts(report, rows),
        "notes": [_note(one) for one in notes(report, known)],
    }


def _note(text: str) -> str:
    for option, field in _FIELDS:
        text = text.replace(option, field)
    return text.removeprefix("hint: ")


def _answers(report: Report) -> list[dict[str, Any]]:
    """The lines of the headline; `name` is the capability of a line about one."""
    required = report["required_capabilities"]
    lines = []
    for number, text in enumerate(headline(report)):
        name, colon, rest = text.partition(": ")
        is_open = number < len(required) and _is_open(required[number], report)
        lines.append({"name": name if colon else "", "text": rest or text, "isOpen": is_open})
    return lines


def _is_open(capability: str, report: Report) -> bool:
    return capability in report["unresolved_required_capabilities"] or not report["selected"]


def shown_candidate(row: Row, report: Report) -> dict[str, Any]:
    tie_break = tie_break_of(row, report)
    parts = [
        {"name": name, "label": _LABELS[name], "value": row[name], "weight": weight}
        for name, weight in WEIGHTS.items()
    ]
    return {
        "id": row["id"],
        "handle": handle_of(row),
        "folder": row["id"].removeprefix(f"{row['name']}::"),
        "source": row["source"],
        "rank": row["rank"],
        "isSelected": row["selected"],
        "isChosen": row["id"] in report["diagnostics"]["chosen"],
        "final": row["S_total_final"],
        "total": row["S_total"],
        "limit": row["limits"]["min-total-score"],
        "parts": parts,
        "penalties": {
            key.removesuffix("_penalty").replace("_", " "): value
            for key, value in row["penalties"].items()
            if value and key != "total"
        },
        "changes": changes(row),
        "gates": [gate._asdict() for gate in gates_of(row, report)],
        "tieBreak": tie_break,
        "isTie": bool(tie_break and row["tie_break"]["step"]),
        "verdict": verdict(row, report),
        "rejected": list(row["rejected"]),
    }


def _matrix(rows: Sequence[Row], report: Report) -> dict[str, Any]:
    """Capabilities down, candidates across."""
    across = rows[:_MOST_COLUMNS]
    chosen = report["diagnostics"]["chosen"]
    lines = []
    for number, capability in enumerate(report["required_capabilities"]):
        cells = [_cell(row["matches"][number], row["id"] in chosen) for row in across]
        lines.append({"capability": capability, "cells": cells})
    return {"candidates": [handle_of(row) for row in across], "rows": lines}


def _cell(match: Row, is_chosen: bool) -> dict[str, Any]:
    token = match["token"] if match["token"] != match["capability"] else ""
    return {
        "match": match["match"],
        "score": match["score"],
        "token": token or "",
        "says": f"{_BASIS.get(match['match'], '')}{f': {token}' if token else ''}",
        "isResolved": match["resolved"],
        "isChosen": is_chosen and match["resolved"],
    }


def _tree(branch: Branch) -> dict[str, Any]:
    return {"text": branch.text, "below": [_tree(one) for one in branch.below]}


def shown_explanation(found: Explanation) -> dict[str, Any]:
    """Every figure of a candidate with its formula, in the order of their computation."""
    return {**found.to_json(), "handle": handle_of(found.row)}


def shown_move(row: Move) -> dict[str, Any]:
    return {**row._asdict(), "hasChanged": row.has_changed}
