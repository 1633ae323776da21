"""Each figure of a report, with the formula that gives it."""

import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from metier.core.nearest import did_you_mean
from metier.core.text import counted, one_line
from metier.errors import NotFoundError
from metier.flow.report_text import Row, handle_of, verdict
from metier.values.resolution import TIE_BREAKS, Report
from metier.values.score_numbers import (
    HISTORY,
    INFLATION,
    INVALID_TOKEN,
    OVERCLAIM,
    SKILL_WEIGHTS,
    UNKNOWN_CLAUSE,
    WEIGHTS,
)


class Part(NamedTuple):
    """A figure, and the formula that gives it."""

    name: str
    value: float
    formula: str = ""
    notes: Sequence[str] = ()


class Gate(NamedTuple):
    name: str
    value: float
    limit: float
    passed: bool
    own: bool
    """The candidate set the limit itself."""


class Explanation(NamedTuple):
    row: Row
    parts: list[Part]
    gates: list[Gate]
    tie_break: str
    verdict: str

    def to_json(self) -> dict[str, Any]:
        return {
            **{key: self.row[key] for key in ("id", "name", "selected", "rank")},
            "parts": [{**part._asdict(), "notes": list(part.notes)} for part in self.parts],
            "gates": [gate._asdict() for gate in self.gates],
            "tieBreak": self.tie_break or None,
            "verdict": self.verdict,
        }


def explain(report: Report, wanted: str | None) -> list[Explanation]:
    """The candidate `wanted`, else the chosen candidates, else the best. Raises `NotFoundError`."""
    rows = report["candidates"]
    if wanted is None:
        chosen = [row for row in rows if row["id"] in report["diagnostics"]["chosen"]]
        return [explanation(row, report) for row in chosen or rows[:1]]
    found = [row for row in rows if wanted in (row["id"], row["name"], handle_of(row))]
    if not found:
        full = "a candidate without a row needs metier resolve --full-report"
        raise NotFoundError(
            f"report '{report.id}' has no candidate '{one_line(wanted)}'",
            hint=did_you_mean(wanted, list(map(handle_of, rows)), full),
        )
    return [explanation(row, report) for row in found]


def explanation(row: Row, report: Report) -> Explanation:
    """Every figure of one row of a report."""
    parts = [
        _contract(row, report),
        _desc(row, report),
        _namepath(row, report),
        _runtime(row, report),
        _total(row),
        *_penalties(row, report),
        _history(row),
        Part("S_total_final", row["S_total_final"], _left(row["S_total"], row)),
        *_of_resolved(row),
        *_ranking(row, report),
    ]
    gates, tie_break = gates_of(row, report), tie_break_of(row, report)
    return Explanation(row, parts, gates, tie_break, verdict(row, report))


# The parts of the score


def _contract(row: Row, report: Report) -> Part:
    points = _sum(one["score"] for one in row["matches"])
    notes = [
        f"{one_line(one['capability'])}: {one['match']} {figure(one['score'])}"
        + (f" by {one_line(one['token'])}" if one["token"] else "")
        for one in row["matches"]
    ]
    formula = f"({points}) / {len(report['required_capabilities'])}"
    return Part("S_contract", row["S_contract"], formula, notes)


def _desc(row: Row, report: Report) -> Part:
    basis, texts = row["basis"], report["diagnostics"]["texts"]
    notes = [
        f"BM25 over {counted(texts['documents'], 'text')} of {figure(texts['average_length'])}"
        f" stems on average, k1 {texts['k1']}, b {texts['b']};"
        f" this text has {basis['text_length']}",
        *(_term(one, basis, texts) for one in texts["terms"]),
    ]
    highest = texts["highest_bm25"]
    if not highest:
        notes.append("no text has a stem of the query")
        return Part("S_desc", row["S_desc"], notes=notes)
    notes.append(f"together {figure(basis['bm25'])}; the highest of all is {figure(highest)}")
    return Part("S_desc", row["S_desc"], f"{figure(basis['bm25'])} / {figure(highest)}", notes)


def _term(term: Row, basis: Row, texts: Row) -> str:
    total, found, idf = texts["documents"], term["documents"], term["idf"]
    k1, b, mean = texts["k1"], texts["b"], texts["average_length"] or 1.0
    rarity = f"ln(1 + ({total} - {found} + 0.5) / ({found} + 0.5)) = {figure(idf)}"
    have = f"{counted(found, 'text')} {'has' if found == 1 else 'have'} it"
    text = f"{one_line(term['term'])}: {have}, idf {rarity}"
    often = basis["term_counts"].get(term["term"], 0)
    if not often:
        return f"{text}; this text does not"
    norm = k1 * (1 - b + b * basis["text_length"] / mean)
    shown = f"{k1} × ({figure(1 - b)} + {b} × {basis['text_length']} / {figure(mean)})"
    weight = f"{figure(idf)} × {often} × {k1 + 1:g} / ({often} + {shown})"
    value = figure(idf * often * (k1 + 1) / (often + norm))
    return f"{text}; {'once' if often == 1 else f'{often} times'} here: {weight} = {value}"


def _namepath(row: Row, report: Report) -> Part:
    basis, asked = row["basis"], len(report["diagnostics"]["texts"]["terms"])
    shared = basis["label_terms"]
    union = asked + basis["label_stems"] - len(shared)
    note = (
        f"the query has {counted(asked, 'stem')}, name and folder {basis['label_stems']},"
        f" both {', '.join(shared) or 'none'}"
    )
    return Part("S_namepath", row["S_namepath"], f"{len(shared)} / {max(1, union)}", [note])


def _runtime(row: Row, report: Report) -> Part:
    host, runtimes = report["host_runtime"], row["basis"]["runtimes"]
    if host is None:
        why = "no host is given"
    elif not runtimes:
        why = "it lists no runtime"
    else:
        listed = ", ".join(map(one_line, runtimes))
        why = f"{one_line(host)} is {'' if host in runtimes else 'not '}among {listed}"
    return Part("S_runtime", row["S_runtime"], notes=[why])


def _total(row: Row) -> Part:
    terms = [f"{weight:.2f} × {figure(row[name])}" for name, weight in WEIGHTS.items()]
    return Part("S_total", row["S_total"], " + ".join(terms))


def _penalties(row: Row, report: Report) -> list[Part]:
    basis, costs = row["basis"], row["penalties"]
    median = report["diagnostics"]["p_median"]
    free = max(OVERCLAIM["free"], OVERCLAIM["medians"] * median)
    over = math.ceil(max(0.0, basis["p_count"] - free) / OVERCLAIM["step"])
    overclaim = (
        f"it names {basis['p_count']}; free are max({OVERCLAIM['free']},"
        f" {OVERCLAIM['medians']} × median {figure(median)}) = {figure(free)}, then each"
        f" {OVERCLAIM['step']} count"
    )
    each: dict[str, tuple[str, Sequence[str]]] = {
        "invalid_token_penalty": (_at_most(INVALID_TOKEN, basis["invalid_tokens"]), ()),
        "overclaim_penalty": (_at_most(OVERCLAIM, over), [overclaim]),
        "inflation_penalty": ("", _inflation(row, report)),
        "unknown_clause_penalty": (_at_most(UNKNOWN_CLAUSE, basis["unknown_clauses"]), ()),
    }
    parts = [Part(name, costs[name], *how) for name, how in each.items()]
    return [*parts, Part("penalties", costs["total"], _sum(costs[name] for name in each))]


def _at_most(rule: dict[str, Any], count: int) -> str:
    return f"min({rule['most']:.2f}, {rule['each']:.2f} × {count})"


def _inflation(row: Row, report: Report) -> list[str]:
    claim, limit = row["basis"]["claim"], report["diagnostics"]["divergence"]["limit"]
    if not row["contract_inflated"]:
        flag = "not flagged"
    elif report["mode"] == "strict":
        flag = "flagged, which strict rejects"
    elif row["penalties"]["inflation_penalty"]:
        flag = f"flagged, which costs {INFLATION}"
    else:
        flag = "flagged, and cleared by a probe"
    if claim is None:
        return [flag]
    against = f"the limit {figure(limit)}" if limit is not None else "with no limit"
    return [
        flag,
        f"its claims score {figure(claim['score'])}; of their {counted(claim['stems'], 'stem')}"
        f" its text has {claim['in_text']}, name and folder {claim['in_labels']}:"
        f" delta {figure(claim['delta'])}, {against}",
    ]


def _history(row: Row) -> Part:
    rate = row["basis"]["success_rate"]
    if rate is None:
        notes = ["no outcome is recorded"]
        return Part("history_multiplier", row["history_multiplier"], notes=notes)
    formula = f"{HISTORY['least']:.2f} + {HISTORY['slope']:.2f} × {figure(rate)}"
    return Part("history_multiplier", row["history_multiplier"], formula)


def _left(total: float, row: Row) -> str:
    off, factor = figure(row["penalties"]["total"]), figure(row["history_multiplier"])
    return f"max(0, {figure(total)} - {off}) × {factor}"


def _of_resolved(row: Row) -> list[Part]:
    """The figures that the gates of `cover` use."""
    if "S_contract_of_resolved" not in row:
        return []
    points = [one["score"] for one in row["matches"] if one["resolved"]]
    contract = row["S_contract_of_resolved"]
    total = row["S_total"] + WEIGHTS["S_contract"] * (contract - row["S_contract"])
    formula = f"({_sum(points) or '0'}) / {max(1, len(points))}"
    note = "S_total with S_contract_of_resolved in place of S_contract"
    final = row["S_total_final_of_resolved"]
    return [
        Part("S_contract_of_resolved", contract, formula),
        Part("S_total_final_of_resolved", final, _left(total, row), [note]),
    ]


def _ranking(row: Row, report: Report) -> list[Part]:
    count = len(report["required_capabilities"])
    resolved = count - row["unresolved_required"]
    skill = [f"{weight} × {figure(row[name])}" for name, weight in SKILL_WEIGHTS.items()]
    provided = max(1, row["basis"]["provides_capability_count"])
    return [
        Part("required_coverage", row["required_coverage"], f"{resolved} / {count}"),
        Part("S_specificity", row["S_specificity"], f"{resolved} / {provided}"),
        Part("S_skill", row["S_skill"], " + ".join(skill)),
    ]


# Gates and ranks


def gates_of(row: Row, report: Report) -> list[Gate]:
    of = "_of_resolved" if report["selection_mode"] == "cover" else ""
    figures = {
        "min-contract-score": row[f"S_contract{of}"],
        "min-total-score": row[f"S_total_final{of}"],
    }
    if not of:
        figures["min-required-coverage"] = row["required_coverage"]
    limits, policy, rejected = row["limits"], report["policy"], row["rejected"]
    return [
        Gate(key, value, limits[key], f"below-{key}" not in rejected, limits[key] != policy[key])
        for key, value in figures.items()
    ]


def tie_break_of(row: Row, report: Report) -> str:
    """What put a candidate before the next; empty if it is not ranked."""
    found = row["tie_break"]
    if found is None or not row["rank"]:
        return ""
    other = next((one for one in report["candidates"] if one["id"] == found["against"]), None)
    text = f"before {one_line(found['against'])} by step {found['step']}, {found['by']}"
    if other is None or found["by"] == TIE_BREAKS[-1]:
        return text
    return f"{text}: {figure(row[found['by']])} against {figure(other[found['by']])}"


def _sum(values: Iterable[float]) -> str:
    return " + ".join(map(figure, values))


def figure(value: float) -> str:
    return f"{value:.4f}".rstrip("0").rstrip(".")
