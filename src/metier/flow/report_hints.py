"""Warnings about a resolution, and hints what to do next."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from metier.config import Config
from metier.core.nearest import nearest, suggestion
from metier.core.text import one_line
from metier.flow.report_text import (
    Found,
    Row,
    delta,
    disabled_provider,
    handle_of,
    matches_of,
    name_of,
    shown_rows,
)
from metier.values.policy import PRESETS
from metier.values.resolution import Report

_MOST_HINTS = 10
_LIKENESS = 0.8
"""High enough that a shared ending such as -generation does not suffice."""


class Known(NamedTuple):
    probes: frozenset[str]
    """Capabilities with a probe in the settings."""
    capabilities: Callable[[], Iterable[str]]

    @classmethod
    def of(cls, config: Config, capabilities: Callable[[], Iterable[str]]) -> "Known":
        return cls(frozenset(probe.capability for probe in config.probes), capabilities)


def notes(report: Report, known: Known) -> list[str]:
    found = matches_of(report)
    hints = [*_disabled(report), *_no_candidates(report), *_typos(report, found, known)]
    hints += [*_prose(report, found), *_probes(report, known)]
    return [
        *(f"warning: {one}" for one in _warnings(report)),
        *(f"hint: {one}" for one in hints),
    ]


def _warnings(report: Report) -> list[str]:
    warnings = [one_line(one) for one in report["diagnostics"]["warnings"]]
    for one in report["dependencies"]:
        left_open = ", ".join(dict.fromkeys(_open_below(one)))
        if left_open and one["provider"] in report["selected"]:
            name = name_of(one["provider"])
            warnings.append(
                f"'{name}' is selected, but what it requires is unresolved: {left_open}"
            )
    return warnings


def _open_below(node: Row) -> list[str]:
    below = [name for one in node["dependencies"] for name in _open_below(one)]
    return [*(one_line(name) for name in node["unresolved"]), *below]


def _disabled(report: Report) -> list[str]:
    """Unresolved capabilities that only disabled skills provide."""
    wanted = report["unresolved_required_capabilities"]
    found = [(name, disabled_provider(name, report)) for name in wanted]
    return [f"'{one_line(name)}': {text}; start it yourself" for name, text in found if text]


def _no_candidates(report: Report) -> list[str]:
    if _disabled(report):
        return []
    others = report["discovery"]["included"] - (report["consumer"] is not None)
    if others <= 0:
        other = "other " if report["consumer"] is not None else ""
        return [f"there are no {other}skills here: metier list skills, or metier init"]
    if shown_rows(report) or not report["required_capabilities"]:
        return []
    return ["no skill has these words or names"]


def _typos(report: Report, found: dict[str, Found], known: Known) -> list[str]:
    """Suggest similar names for capabilities that no skill declares."""
    declared = {
        name
        for name, rows in found.items()
        if any(one["match"] in ("exact", "alias") for _, one in rows)
    }
    wanted = report["unresolved_required_capabilities"]
    declared |= {one for one in wanted if disabled_provider(one, report)}
    unmatched = [one for one in wanted if one not in declared][:_MOST_HINTS]
    names = list(known.capabilities()) if unmatched else []
    near = [(one, nearest(one.lower(), names, likeness=_LIKENESS)) for one in unmatched]
    return [f"'{one_line(one)}': {suggestion(name)}" for one, name in near if name]


def _prose(report: Report, found: dict[str, Found]) -> list[str]:
    """How to accept skills that match by words alone, if that helps."""
    chosen = report["diagnostics"]["chosen"]
    for capability in report["unresolved_required_capabilities"]:
        for row, one in found.get(capability, ()):
            if one["match"] == "provisional" and row["id"] not in chosen:
                if report["mode"] == "strict":
                    name = handle_of(row)
                    return [
                        f"strict needs contracts: let '{name}' declare {one_line(capability)},"
                        " or try --mode best-effort --policy prose"
                    ]
                if _passes_as_prose(row, report):
                    return ["--policy prose lets skills pass that match by their words alone"]
    return []


def _passes_as_prose(row: Row, report: Report) -> bool:
    is_cover = report["selection_mode"] == "cover"
    of = "_of_resolved" if is_cover else ""
    limits = {key: float(value) for key, value in PRESETS["prose"].items()}
    return (
        "below-min-contract-score" in row["rejected"]
        and set(row["rejected"]) <= {f"below-{key}" for key in limits}
        and row[f"S_contract{of}"] >= limits["min-contract-score"]
        and row[f"S_total_final{of}"] >= limits["min-total-score"]
        and (is_cover or not report["diagnostics"]["chosen"])
    )


def _probes(report: Report, known: Known) -> list[str]:
    """Flagged candidates that a probe could clear."""
    tried = {one["candidate"] for one in report["diagnostics"]["probes"]}
    flagged = [row for row in report["candidates"] if row["contract_inflated"]]
    untried = [row for row in flagged if row["id"] not in tried]
    lines = [
        f"'{handle_of(row)}' claims more than it describes{delta(row, report)};"
        f" {_clearing(row, report, known)}"
        for row in untried[:_MOST_HINTS]
    ]
    if len(untried) > _MOST_HINTS:
        lines.append(f"and {len(untried) - _MOST_HINTS} more claim more than they describe")
    return lines


def _clearing(row: Row, report: Report, known: Known) -> str:
    wanted = [one["capability"] for one in row["matches"] if one["resolved"]]
    configured = ", ".join(one_line(one) for one in wanted if one in known.probes)
    if not configured:
        names = ", ".join(one_line(one) for one in wanted) or "it"
        return f"no probe of {names} is configured that could clear it"
    is_offered = report["mode"] == "best-effort"
    when = "--ask offers it" if is_offered else "it was not reached"
    return f"the probe of {configured} could clear it: {when}"
