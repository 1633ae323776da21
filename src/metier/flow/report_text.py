"""What a report says, in words: the answer, each candidate's verdict, what providers require."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from metier.core.names import is_capability_name, team_name
from metier.core.text import counted, one_line, words
from metier.values.resolution import OWN_TEAM, TIE_BREAKS, Report, tie_breaks

Row = dict[str, Any]
Found = list[tuple[Row, Row]]
PARTS = ("contract", "desc", "namepath", "runtime")
_TOO_LITTLE = "below-min-required-coverage"
_GATES = {
    "below-min-contract-score": ("S_contract", "min-contract-score"),
    "below-min-total-score": ("S_total_final", "min-total-score"),
}
_NOT_MET = {
    "runtime-incompatible": "made for other runtimes",
    "contract-inflated": "claims more than it describes",
    "probe-failed": "its probe failed",
    "dependency-unresolved": "what it requires is unresolved",
    "nothing-resolved": "provides nothing that is required",
    "beyond-max-candidates-hint": "ranks below the max-candidates that it sets itself",
    "own-team-first": "the requesting team has a skill of that name that provides as much",
}


def shown_rows(report: Report, *, everyone: bool = False, most: int | None = None) -> list[Row]:
    """Ranked or matching candidates: the first `most`, and all that are chosen."""
    if everyone:
        return list(report["candidates"])
    chosen = report["diagnostics"]["chosen"]
    rows = [row for row in report["candidates"] if row["rank"] or row["S_contract"] > 0]
    most = len(rows) if most is None else most
    return [row for number, row in enumerate(rows) if number < most or row["id"] in chosen]


def shown_outcome(outcome: str) -> str:
    """`resolved` for success, which the spec calls `not-needed`."""
    return "resolved" if outcome == "not-needed" else outcome


# The answer


def headline(report: Report) -> list[str]:
    """The providers of each capability, and the outcome."""
    found = matches_of(report)
    required = report["required_capabilities"]
    lines = [f"{one_line(one)}: {_answer(one, found.get(one, []), report)}" for one in required]
    for one in report["optional_capabilities"]:
        provider = "not provided"
        if one["provider"]:
            provider = _matched({"name": name_of(one["provider"])}, {"token": None, **one})
        lines.append(f"{one_line(one['capability'])} (optional): {provider}")
    if report.outcome != "not-needed":
        policy = report["on_missing_required_action"]["policy"]
        lines.append(f"outcome: {report.outcome} ({policy})")
    if report["degraded_mode"]:
        lines.append(f"degraded mode: {without(report)}")
    return lines


def without(report: Report) -> str:
    emulated = report["emulated_capabilities"]
    names = _joined(emulated or report["unresolved_required_capabilities"])
    if not names:
        return "continues with less than is required"
    return f"{'emulates' if emulated else 'continues without'} {names}"


def _answer(capability: str, matching: Found, report: Report) -> str:
    chosen = report["diagnostics"]["chosen"]
    found = [(row, one) for row, one in matching if one["resolved"]]
    by_chosen = [_matched(row, one) for row, one in found if row["id"] in chosen]
    if by_chosen:
        names = ", ".join(by_chosen)
        return names if report["selected"] else f"{names} provides it, but nothing is selected"
    passed = [(row, one) for row, one in found if row["rank"]]
    if passed:
        is_cover = report["selection_mode"] == "cover"
        policy = f"max-providers={len(chosen) + 1}" if is_cover else "selection-mode=cover"
        return f"{_named(passed)} does, but was not chosen: try --policy {policy}"
    if found:
        return _all_rejected(found, report)
    disabled = disabled_provider(capability, report)
    if disabled:
        return disabled
    if matching:
        return f"{_matched(*matching[0])} matches, but strict takes only exact and alias matches"
    if not is_capability_name(capability):
        written = "-".join(words(capability))
        meant = f"; did you mean '{written}'?" if is_capability_name(written) else ""
        return f"this is not a capability name (a–z, 0–9, single hyphens){meant}"
    return "no skill declares it" if report["rejected_without_row"] else "no skill provides it"


def _all_rejected(found: Found, report: Report) -> str:
    """`best and 1 other match too weakly (…); last is rejected (…)`: each with its main reason."""
    by_reason: dict[str, Found] = {}
    for row, one in found:
        by_reason.setdefault(_main_reason(row), []).append((row, one))
    groups = (_rejected(reason, some, report) for reason, some in by_reason.items())
    return f"no skill qualifies: {'; '.join(groups)}"


def _rejected(reason: str, found: Found, report: Report) -> str:
    is_one = len(found) == 1
    verb = "is rejected" if is_one else "are rejected"
    if reason in _GATES:
        verb = "matches too weakly" if is_one else "match too weakly"
    elif reason == _TOO_LITTLE:
        verb = "provides too little" if is_one else "provide too little"
    return f"{_named(found)} {verb} ({_main_rejection(found[0][0], report)})"


def matches_of(report: Report) -> dict[str, Found]:
    """The matching candidates of each capability, best first."""
    found: dict[str, Found] = {}
    for row in report["candidates"]:
        for one in row["matches"]:
            if one["match"] != "none":
                found.setdefault(one["capability"], []).append((row, one))
    return found


def _matched(row: Row, match: Row) -> str:
    """`web-cache (fuzzy: web-searching)`"""
    token = match["token"] if match["token"] != match["capability"] else None
    kind = "by its words alone" if match["match"] == "provisional" else match["match"]
    return f"{handle_of(row)} ({kind}{f': {one_line(token)}' if token else ''})"


def _named(found: Found) -> str:
    row, match = found[0]
    is_plain = match["match"] == "exact" and match["token"] in (None, match["capability"])
    first = one_line(row["name"]) if is_plain else _matched(row, match)
    return f"{first} and {counted(len(found) - 1, 'other')}" if len(found) > 1 else first


# One candidate


def changes(row: Row) -> list[str]:
    lines = []
    penalties = row["penalties"]
    if penalties["total"]:
        each = [
            f"{key.removesuffix('_penalty').replace('_', ' ')} {value:.2f}"
            for key, value in penalties.items()
            if value and key != "total"
        ]
        lines.append(f"penalties {penalties['total']:.2f}: {', '.join(each)}")
    if row["history_multiplier"] != 1:
        outcomes = counted(row["sample_size"], "outcome")
        lines.append(f"history: times {row['history_multiplier']:.2f} after {outcomes}")
    if "S_contract_of_resolved" in row:
        figures = row["S_contract_of_resolved"], row["S_total_final_of_resolved"]
        lines.append("of what it covers: S_contract {:.2f}, S_total_final {:.3f}".format(*figures))
    return lines


def verdict(row: Row, report: Report) -> str:
    """Whether a candidate is selected, and why."""
    is_chosen = row["id"] in report["diagnostics"]["chosen"]
    left = "" if is_chosen or row["rejected"] else "not chosen: "
    return f"{'selected: ' if row['selected'] else left}{reason_of(row, report)}"


def reason_of(row: Row, report: Report) -> str:
    if row["rejected"]:
        problem = row.get("contract_problem")
        first = [f"its contract cannot be used: {problem}"] if problem else []
        return "; ".join([*first, *(_rejection(one, row, report) for one in row["rejected"])])
    if row["id"] not in report["diagnostics"]["chosen"]:
        return _why_not(row, report)
    if not row["selected"]:
        return f"the best, but the resolution is {report.outcome}: nothing is selected"
    if report["selection_mode"] == "cover":
        of_it = f"{row['S_total_final_of_resolved']:.3f} for that alone"
        return f"covers {', '.join(_covered(row))} ({of_it})"
    below = next((one for one in _left(report) if one["rank"] > row["rank"]), None)
    if below is None:
        return "no other candidate is left"
    return f"ranks above {handle_of(below)} by {_ranked_by(row, below, report)}"


def _left(report: Report) -> list[Row]:
    """The ranked candidates."""
    return list(takewhile(lambda row: row["rank"], report["candidates"]))


def _why_not(row: Row, report: Report) -> str:
    chosen = [one for one in _left(report) if one["id"] in report["diagnostics"]["chosen"]]
    if report["selection_mode"] == "cover":
        covered = {one for other in chosen for one in _covered(other)}
        if set(_covered(row)) <= covered:
            return f"{', '.join(map(handle_of, chosen))} already covers all of it"
        return f"max-providers {report['max_providers']} is reached"
    if not chosen:
        return "no candidate was selected"
    return f"{handle_of(chosen[0])} ranks above by {_ranked_by(row, chosen[0], report)}"


def _covered(row: Row) -> list[str]:
    return [one_line(one["capability"]) for one in row["matches"] if one["resolved"]]


def _ranked_by(row: Row, other: Row, report: Report) -> str:
    """`S_total_final 0.925 against 0.881`: the first of the tie-breakers that differs."""
    for key in tie_breaks(report.get("team", ""))[:-1]:
        if row[key] != other[key]:
            if key == OWN_TEAM:
                return f"{OWN_TEAM}: all scores are equal"
            mine, theirs = _apart(row[key], other[key], 3)
            return f"{key} {mine} against {theirs}"
    return f"{TIE_BREAKS[-1]}: all scores are equal"


def _apart(value: float, other: float, digits: int = 2) -> tuple[str, str]:
    while digits < 12 and f"{value:.{digits}f}" == f"{other:.{digits}f}":
        digits += 1
    return f"{value:.{digits}f}", f"{other:.{digits}f}"


def _rejection(code: str, row: Row, report: Report) -> str:
    if code in _GATES:
        figure, key = _GATES[code]
        figure = f"{figure}_of_resolved" if report["selection_mode"] == "cover" else figure
        return f"{figure} {_below(row[figure], key, row, report)}"
    if code == _TOO_LITTLE:
        count = len(report["required_capabilities"])
        covers = f"covers {count - row['unresolved_required']} of {count}"
        figure = row["required_coverage"]
        return f"{covers}, {_below(figure, 'min-required-coverage', row, report)}"
    if code == "beyond-max-candidates":
        return f"ranks below the {len(_left(report))} that max-candidates keeps"
    if code == "beyond-max-candidates-hint":
        limit = row["limits"]["max-candidates"]
        return f"{code}: ranks below the max-candidates {limit} that it sets itself"
    details = {
        "runtime-incompatible": f"it does not list {report['host_runtime']}",
        "contract-inflated": f"claims more than it describes{delta(row, report)}",
        "probe-failed": ", ".join(_failed_probes(row, report)),
        "dependency-unresolved": _why_open(row, report) if "dependency" in row else "",
    }
    return f"{code}: {details.get(code) or _NOT_MET.get(code, '')}"


def _main_reason(row: Row) -> str:
    return _TOO_LITTLE if _TOO_LITTLE in row["rejected"] else str(row["rejected"][0])


def _main_rejection(row: Row, report: Report) -> str:
    """The first reason, with a hint for too little coverage."""
    reason = _main_reason(row)
    hint = ": try --policy selection-mode=cover" if reason == _TOO_LITTLE else ""
    return f"{_rejection(reason, row, report)}{hint}"


def _below(value: float, key: str, row: Row, report: Report) -> str:
    limit = row["limits"][key]
    mine, shown = _apart(value, limit)
    if limit > report["policy"][key]:
        return f"{mine} is below the {key} {shown} that it sets itself"
    return f"{mine} is below {key} {shown}"


def delta(row: Row, report: Report) -> str:
    divergence = report["diagnostics"]["divergence"]
    far, limit = divergence["deltas"].get(row["id"]), divergence["limit"]
    if far is None or limit is None:
        return ""
    return " (delta {} is above {})".format(*_apart(far, limit))


def _failed_probes(row: Row, report: Report) -> list[str]:
    return [
        f"{one['capability']}, {one_line(one['detail'])}"
        for one in report["diagnostics"]["probes"]
        if one["candidate"] == row["id"] and not one["passed"]
    ]


# Around the candidates


def counts(report: Report, shown: Sequence[Row]) -> list[str]:
    """Count the candidates that are not shown, by reason."""
    left: Counter[str] = Counter(report["rejected_without_row"])
    ids = {row["id"] for row in shown}
    for row in report["candidates"]:
        if row["id"] not in ids:
            left[row["rejected"][0] if row["rejected"] else ""] += 1
    return [
        f"{counted(count, 'other candidate')}: {_in_short(code, report)}"
        for code, count in left.items()
    ]


def _in_short(code: str, report: Report) -> str:
    key = code.removeprefix("below-").removeprefix("beyond-")
    if code != key and key in report["policy"]:
        limit = report["policy"][key]
        shown = f"{limit:.2f}" if isinstance(limit, float) else limit
        return f"{code.removesuffix(key)[:-1]} {key} {shown}"
    return _NOT_MET.get(code, code) if code else "left, and not chosen"


# What providers require


def handle_of(row: Row) -> str:
    """The name of a candidate, after its team's if it has one."""
    return one_line(team_name(row.get("team", ""), row["name"]))


def name_of(candidate: str) -> str:
    return one_line(candidate.partition("::")[0])


def disabled_provider(capability: str, report: Report) -> str:
    """`dep provides it, but is disabled (disable-model-invocation)`, or "" if none does."""
    every = report["diagnostics"].get("disabled_providers", ())
    found = [one for one in every if one["capability"] == capability]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(name_of(one["provider"]) for one in found))
    verbs = "provides it, but is" if len(found) == 1 else "provide it, but are"
    return f"{names} {verbs} disabled ({found[0]['reason']})"


class Branch(NamedTuple):
    """One line of a tree, and what is below it."""

    text: str
    below: "Sequence[Branch]" = ()


def tree_of(node: Row, report: Report) -> Branch:
    """What a provider requires, and who provides that."""
    required = [] if node["beyond_depth"] else node["requires"]
    below = [Branch(f"{one_line(name)} {_state(name, node, report)}") for name in required]
    if node["beyond_depth"]:
        below.append(Branch("not followed any further (--depth)"))
    if node["cycle"]:
        below.append(Branch(f"cycle: {' → '.join(map(name_of, node['cycle']))}"))
    below += [tree_of(one, report) for one in node["dependencies"]]
    below += [Branch(f"{name_of(key)}: see above") for key in node.get("repeated", ())]
    return Branch(f"{name_of(node['provider'])} requires {_joined(node['requires'])}", below)


def _state(capability: str, node: Row, report: Report) -> str:
    if capability in node["unresolved"]:
        why = _why_refused(capability, node, report)
        return f"is open: {why}" if why else "is open"
    providers = node.get("providers", {}).get(capability, node["selected"])
    return f"← {', '.join(map(name_of, providers))}"


def _why_open(row: Row, report: Report) -> str:
    node = row["dependency"]
    reasons = {name: _why_refused(name, node, report) for name in node["unresolved"]}
    missing = _joined(name for name, why in reasons.items() if not why)
    texts = [f"no skill provides {missing}"] if missing else []
    return "; ".join(
        [*texts, *(f"{one_line(name)} is open: {why}" for name, why in reasons.items() if why)]
    )


def _why_refused(capability: str, node: Row, report: Report) -> str:
    """Why providers of the capability are rejected; empty if there are none."""
    refused = [one for one in node.get("refused", ()) if one["capability"] == capability]
    if not refused:
        return disabled_provider(capability, report)
    first = refused[0]
    name = name_of(first["provider"])
    if first["provider"] == node["provider"]:
        return f"only {name} itself provides it"
    lacks = _joined(first.get("unresolved_dependencies", ()))
    reasons = ", ".join(first["reasons"]) + (f" ({lacks})" if lacks else "")
    count = len(refused) - 1
    others = f", and so {'is' if count == 1 else 'are'} {counted(count, 'other')}" if count else ""
    return f"{name} would provide it, but is rejected: {reasons}{others}"


def _joined(names: Iterable[str]) -> str:
    return ", ".join(map(one_line, names))
