"""How the cases of spec 4 about contracts, tokens and scores are read."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.core.names import is_capability_name
from metier.errors import ContractError
from metier.parse.contract import parse_contract, serialize_contract
from metier.resolve import AliasTable, AliasTables, Policy, Resolution, resolve
from metier.resolve.matching import MAX_PREFIX, PREFIX_SCALE, FuzzyNames, similarity
from metier.resolve.reliability import Reliability
from metier.resolve.scoring import composite, diverging, median_of_others, overclaim_penalties
from metier.values.candidates import Candidate
from metier.values.contracts import Contract, Mode

Given = dict[str, Any]
Answers = list[tuple[str, set[str], Callable[[Any, Workspace], dict[str, Any]]]]
"""The section and the keys of a case, and who reads such a case; the first that fits."""
MODES: tuple[Mode, ...] = ("strict", "best-effort")
MESSAGES = {
    "invalid mode": "invalid mode",
    "at least one clause required": "at least one clause",
    "version needs at least one digit": "at least one digit",
    "prefix is case-sensitive": "a contract starts with",
    "empty value list": "the list is empty",
    "unterminated clause": "the clause is not closed",
    "trailing comma": "trailing comma",
}
"""The words of a case for an error, and ours."""


# Candidates and runs


def candidate(name: str = "one", clauses: str = "", **fields: Any) -> Candidate:
    contract = parse_contract(f"DCI/1 {clauses}", "best-effort") if clauses else None
    values = {"description": "", "folder": f"skills/{name}", **fields}
    return Candidate(name=name, contract=contract, **values)


def provider(name: str, provides: Sequence[str], **fields: Any) -> Candidate:
    """One whose description bears out what it claims."""
    return candidate(
        name, f"P({','.join(provides)})", **{"description": " ".join(provides), **fields}
    )


def row_of(run: Resolution, name: str = "one") -> dict[str, Any]:
    rows: list[dict[str, Any]] = run.full_report().data["candidates"]
    return next(row for row in rows if row["name"] == name)


def aliases_of(table: Mapping[str, Sequence[str]]) -> AliasTables:
    return AliasTables([AliasTable.of("runtime", "1", table)])


# Grammar and tokens


def of_text(given: Any, _: Workspace) -> dict[str, Any]:
    lenient, strict = reading(given, "best-effort"), reading(given, "strict")
    if isinstance(lenient, ContractError):
        assert isinstance(strict, ContractError)
        cases = [case for case, ours in MESSAGES.items() if ours in lenient.message]
        return {"error": cases[0] if cases else lenient.message}
    found: dict[str, Any] = {
        "version": int(serialize_contract(lenient)[len("DCI/") :][0]),
        "mode": lenient.mode,
        "P": list(lenient.provides),
        "E": list(lenient.expects),
        "A": dict(lenient.accepts),
        "R": list(lenient.requires),
        "O": list(lenient.optional),
        "Pol": dict(lenient.policy),
        "canonical": serialize_contract(lenient),
        "unknown_clauses": list(lenient.unknown_clauses),
        "warnings": len(lenient.doubts),
        "strict": "error" if isinstance(strict, ContractError) else "",
    }
    run = resolve([candidate(clauses=given.partition(" ")[2])], ["a"])
    penalties = row_of(run)["penalties"]
    found["unknown_clause_penalty"] = penalties["unknown_clause_penalty"]
    if lenient.doubts and isinstance(strict, ContractError):
        values = [*lenient.accepts.values()]
        if values == ["a\\nb"]:
            found["best-effort"] = "kept literally with warning"
        if values == ["a=b"]:
            found["error"] = f"{strict.message.replace('in a value', 'in value')} (strict)"
            found["error"] += " / value a=b with warning (best-effort)"
    return found


def reading(text: str, mode: Mode) -> Contract | ContractError:
    try:
        return parse_contract(text, mode)
    except ContractError as error:
        return error


def of_token(given: Any, _: Workspace) -> dict[str, Any]:
    claim = re.fullmatch(r"(P\(.*\)) queried as (.*)", given)
    if claim is None:
        return {"valid": is_capability_name(given)}
    one = candidate(clauses=claim[1])
    match = row_of(resolve([one], [claim[2]]))["matches"][0]
    return {"exact": match["match"] == "exact", "invalid_token_count": one.invalid_tokens()}


# Penalties and history


def of_invalid_tokens(given: Given, _: Workspace) -> dict[str, Any]:
    bad = "".join(f",Bad{number}" for number in range(given["invalid_token_count"]))
    run = resolve([candidate(clauses=f"P(a{bad})")], ["a"])
    penalties: dict[str, Any] = row_of(run)["penalties"]
    return penalties


def of_claim_count(given: Given, _: Workspace) -> dict[str, Any]:
    counts = np.array([float(given["p_count"])])
    return {"overclaim_penalty": overclaim_penalties(counts, given["p_median"])[0]}


def of_claim_counts(given: Given, _: Workspace) -> dict[str, Any]:
    counts = given["p_counts"]
    median = median_of_others(np.array(counts, dtype=float), None)
    free = [one for one in range(100) if overclaim_penalties(np.array([float(one)]), median) == 0]
    pool = [
        provider(f"n{count}", [f"c{number}" for number in range(count)])
        if count
        else candidate("n0")
        for count in counts
    ]
    penalties = row_of(resolve(pool, ["c1"]), "n40")["penalties"]
    return {
        "p_median": median,
        "limit": max(free),
        "overclaim_penalty_of_40": penalties["overclaim_penalty"],
    }


def of_large_penalties(given: Given, _: Workspace) -> dict[str, Any]:
    bad = ",".join(f"Bad{number}" for number in range(10))
    row = row_of(resolve([candidate(clauses=f"E({bad}) X(a) Y(a) Z(a)")], ["none"]))
    assert (row["S_total"], row["penalties"]["total"]) == (given["s_total"], given["penalties"])
    assert row["history_multiplier"] == 1.0
    return {"s_total_penalized": row["S_total_final"]}


def of_rate(given: Given, _: Workspace) -> dict[str, Any]:
    one = candidate()
    return row_of(resolve([one], ["a"], history={one.id: given["success_rate_last_20"]}))


def of_outcomes(given: Given, workspace: Workspace) -> dict[str, Any]:
    one, record = candidate(), Reliability(str(workspace.root))
    for outcome in given.get("outcomes", ()):
        record.record(one.id, success=bool(outcome))
    history = record.history()
    row = row_of(resolve([one], ["a"], history=history.rates))
    file = Path(record.path)
    stored = json.loads(file.read_text())["candidates"][one.id] if file.exists() else {}
    return {**row, "sample_size": history.samples.get(one.id, 0), **stored}


def of_state_folder(given: Given, workspace: Workspace) -> dict[str, Any]:
    assert given["state_dir"] == "read-only"
    workspace.write(".dci", "a file where the folder should be")
    workspace.skill("one")
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        return catalog.resolve(["a"]).report.data


# Scores


def of_names(given: Given, _: Workspace) -> dict[str, Any]:
    assert (given["p"], given["max_prefix"]) == (PREFIX_SCALE, MAX_PREFIX)
    found = FuzzyNames([given["b"]]).like(given["a"])
    return {"similarity": similarity(given["a"], given["b"]), "fuzzy_match": bool(found)}


def of_contract(given: Given, _: Workspace) -> dict[str, Any]:
    query, aliases = given["query"], given.get("aliases", {})
    provides = given.get("P", ())
    if "kinds" in given:
        kinds = dict(zip(query, given["kinds"], strict=True))
        aliases = {name: [f"also-{name}"] for name, kind in kinds.items() if kind == "alias"}
        named = {"exact": "{}", "alias": "also-{}"}
        provides = [named[kind].format(one) for one, kind in kinds.items() if kind in named]
    texts = {key: given[key] for key in ("description",) if key in given}
    clauses = f"P({','.join(provides)})" if provides else ""
    one = candidate(given.get("name", "one"), clauses, **texts)
    rows = {
        mode: row_of(resolve([one], query, mode=mode, aliases=aliases_of(aliases)), one.name)
        for mode in MODES
    }
    row = rows["best-effort"]
    return {
        "s_contract": row["S_contract"],
        "coverage": row["required_coverage"],
        "kind": row["matches"][0]["match"],
        "resolved_in_best_effort": row["matches"][0]["resolved"],
        "resolved_in_strict": rows["strict"]["matches"][0]["resolved"],
    }


def of_prose(given: Given, _: Workspace) -> dict[str, Any]:
    run = resolve([candidate("search", description="search the web")], ["search"])
    row = row_of(run, "search")
    assert row["S_contract"] == given["s_contract_max"]
    assert run.policy.min_contract_score == given["min-contract-score"]
    return {"rejected": row["rejected"][0]}


def of_components(given: Given, _: Workspace) -> dict[str, Any]:
    names = ("s_contract", "s_desc", "s_namepath", "s_runtime")
    total = float(composite(*(np.array([float(given[name])]) for name in names))[0])
    return {"s_total": total, "passes_0.45": total >= Policy().min_total_score == 0.45}


def of_sets(given: Given, _: Workspace) -> dict[str, Any]:
    name, *folder = given["N"] or ["the"]
    one = candidate(name, folder="/".join(folder) or ".")
    row = row_of(resolve([one], ["none"], " ".join(given["Q"]) or "the"), name)
    return {"s_namepath": row["S_namepath"]}


def of_query(given: Given, _: Workspace) -> dict[str, Any]:
    pool = [candidate(f"n{one}", description="reads files") for one in range(given["docs"])]
    run = resolve(pool, ["none"], " ".join(given["query"]))
    return {"s_desc": [row_of(run, one.name)["S_desc"] for one in pool]}


def of_runtime(given: Given, _: Workspace) -> dict[str, Any]:
    one = candidate(compatibility=given["compatibility"] or "")
    return {"s_runtime": row_of(resolve([one], ["a"], host=given["host_runtime"]))["S_runtime"]}


def of_deltas(given: Given, _: Workspace) -> dict[str, Any]:
    found = diverging(np.array(given["deltas"]))
    flagged = [place for place, one in enumerate(found.flagged) if one]
    return {"flagged": flagged, "mu": found.mean, "sigma": found.sigma, "limit": found.limit}


SCORE_ANSWERS: Answers = [
    ("grammar", set(), of_text),
    ("token", set(), of_token),
    ("penalty", {"invalid_token_count"}, of_invalid_tokens),
    ("penalty", {"p_count", "p_median"}, of_claim_count),
    ("penalty", {"p_counts"}, of_claim_counts),
    ("penalty", {"s_total", "penalties"}, of_large_penalties),
    ("history", {"success_rate_last_20"}, of_rate),
    ("history", {"outcomes_last_20"}, of_outcomes),
    ("history", {"outcomes"}, of_outcomes),
    ("history", {"state_dir"}, of_state_folder),
    ("jaro-winkler", {"a", "b"}, of_names),
    ("s_contract", {"query"}, of_contract),
    ("s_contract", {"s_contract_max"}, of_prose),
    ("composite", {"s_contract", "s_desc", "s_namepath", "s_runtime"}, of_components),
    ("text", {"Q", "N"}, of_sets),
    ("text", {"query", "docs"}, of_query),
    ("runtime", {"compatibility", "host_runtime"}, of_runtime),
    ("divergence", {"deltas"}, of_deltas),
]
