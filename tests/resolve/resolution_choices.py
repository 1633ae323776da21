"""How the cases of spec 4 about policy, selection, aliases, reports and discovery are read."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jsonschema

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.core.names import is_capability_name
from metier.resolve import Policy, Resolution, resolve
from metier.resolve.aliases import parse_alias_table
from metier.values.resolution import DECISIONS
from metier.values.settings import Mount
from resolve.resolution_scores import MODES, Answers, Given, aliases_of, candidate, provider, row_of

SCHEMA = (
    Path(__file__).parents[2] / "src/metier/schemas/capability-resolution-report.v1.schema.json"
)


# Policy and selection


def texts_of(pairs: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(value) for key, value in pairs.items()}


def of_policy(given: Given, _: Workspace) -> dict[str, Any]:
    pairs = ",".join(f"{key}={value}" for key, value in given.get("consumer", {}).items())
    asker = candidate("asker", f"R(a){f' Pol({pairs})' if pairs else ''}")
    runtime = texts_of(given.get("runtime", {}))
    runs = {
        mode: resolve([asker, provider("one", ["a"])], consumer=asker, mode=mode, policy=runtime)
        for mode in MODES
    }
    is_default = [run.policy == Policy.for_mode(mode) for mode, run in runs.items()]
    warned = [any("colour" in one for one in run.warnings) for run in runs.values()]
    shown: dict[str, Any] = runs[given.get("mode", "best-effort")].report.data["policy"]
    return {**shown, "ignored": all(is_default), "warning": all(warned)}


def of_hints(given: Given, _: Workspace) -> dict[str, Any]:
    effective, hints = texts_of(given["effective"]), texts_of(given["provider"])
    pairs = ",".join(f"{key}={value}" for key, value in hints.items())
    hinting = candidate("hinting", f"P(a) Pol({pairs})", description="a")
    pool = [hinting, provider("other", ["a"])]
    policy = Policy().with_runtime(effective)
    run = resolve(pool, ["a"], "zzz", policy=effective, history={one.id: 0.0 for one in pool})
    tight = policy.tightened(hints)
    for one in pool:  # each scores 0.49
        least = tight if one is hinting else policy
        is_below = "below-min-total-score" in row_of(run, one.name)["rejected"]
        assert is_below == (least.min_total_score > 0.49)
    loose = {**effective, "min-required-coverage": "0.5"}
    selected = resolve([hinting], ["a", "b"], "hinting", policy=loose)
    assert selected.chosen == (hinting.id,)
    assert selected.policy.on_missing_required == tight.on_missing_required
    scope = "the gates of that provider only; on-missing-required when it is selected"
    return {**tight.to_json(), "scope": scope}


def of_ranked(given: Given, _: Workspace) -> dict[str, Any]:
    first, second = given["ranked"]
    pool = [provider(second, ["also-x"]), provider(first, ["x"])]
    policy = {"selection-mode": given["selection-mode"]}
    run = resolve(pool, ["x"], policy=policy, aliases=aliases_of({"x": ["also-x"]}))
    assert [run.pool.candidates[place].name for place in run.ranked] == given["ranked"]
    return {"selected": names_of(run.selected)}


def names_of(ids: Sequence[str]) -> list[str]:
    return [one.partition("::")[0] for one in ids]


def of_cover(given: Given, _: Workspace) -> dict[str, Any]:
    """The finals of a case are kept in their order; a worse history makes for the lower ones."""
    finals = given.get("finals", {})
    by_score = sorted(finals, key=lambda name: -float(finals[name]))
    pool = [provider(name, provides) for name, provides in given["providers"].items()]
    rates = {one.id: 1.0 - 0.3 * by_score.index(one.name) for one in pool if finals}
    policy = {"selection-mode": "cover", "max-providers": str(given["max-providers"])}
    run = resolve(pool, given["required"], "zzz", policy=policy, history=rates)
    if finals:
        assert [run.pool.candidates[place].name for place in run.ranked] == by_score
    is_missing = run.outcome.name != "not-needed"
    return {
        "selected": names_of(run.selected),
        "selected_count": len(run.selected),
        "unresolved": len(run.unresolved),
        "action": "on-missing-required" if is_missing else "none",
    }


def of_failure(given: Given, _: Workspace) -> dict[str, Any]:
    policy = {"on-missing-required": given["policy"], "min-required-coverage": "0.5"}
    run = resolve([provider("one", ["a"])], ["a", *given["unresolved"]], "one", policy=policy)
    report = run.report.data
    assert list(run.unresolved) == given["unresolved"]
    has = {
        "unresolved_required_capabilities": report["unresolved_required_capabilities"],
        "top candidate diagnostics": report["diagnostics"]["chosen"] and report["candidates"],
    }
    return {
        "status": "error" if run.outcome.name == "failed" else "ok",
        "outcome": report["on_missing_required_action"]["outcome"],
        "selected": report["selected"],
        "degraded_mode": report["degraded_mode"],
        "report_has": [name for name, value in has.items() if value],
    }


def of_offer(given: Given, _: Workspace) -> dict[str, Any]:
    policy = {"on-missing-required": given["policy"]}
    answers = iter(DECISIONS)
    runs = {
        one: resolve([candidate()], ["x"], policy=policy, decide=lambda _: next(answers))
        for one in DECISIONS
    }
    return {
        "options": list(DECISIONS),
        "outcomes": {one: run.outcome.name for one, run in runs.items()},
        "without_decision": resolve([candidate()], ["x"], policy=policy).outcome.name,
        "degraded_mode": {one: run.degraded_mode for one, run in runs.items()},
    }


def of_specificity(given: Given, _: Workspace) -> dict[str, Any]:
    pool = []
    for name in ("b", "a"):
        provides = ["x", *(f"other{number}" for number in range(1, given[name]["provides"]))]
        pool.append(provider(name, provides))
    rows = resolve(pool, ["x"], "zzz").report.data["candidates"]
    assert rows[0]["S_total_final"] == rows[1]["S_total_final"]
    return {
        "first": rows[0]["name"],
        "s_specificity": [row["S_specificity"] for row in rows],
        "applied_step": rows[0]["tie_break"]["step"],
    }


def of_ids(given: Given, _: Workspace) -> dict[str, Any]:
    """Where the candidate ranks among equals tells the hash that it is ranked by."""
    name, _, folder = given["ids"][0].partition("::")
    pool = [provider(name, ["x"], folder=folder)]
    pool += [provider("n", ["x"], folder=f"s/{number}") for number in range(60)]
    run = resolve(pool, ["x"], "zzz", policy={"max-candidates": "99"})
    hashes = {one.id: hashlib.sha256(one.id.lower().encode()).hexdigest() for one in pool}
    ranked = [run.pool.ids[place] for place in run.ranked]
    assert ranked == sorted(hashes, key=lambda one: hashes[one])
    hashes_as_written = {one.id: hashlib.sha256(one.id.encode()).hexdigest() for one in pool}
    assert ranked != sorted(hashes, key=lambda one: hashes_as_written[one])
    return {"sha256": hashes[given["ids"][0]]}


# Alias tables, reports, discovery


def of_table(given: Given, _: Workspace) -> dict[str, Any]:
    table, issues = parse_alias_table(json.dumps(given), "runtime", "aliases.json")
    for name in given["aliases"]:
        told = any(f"'{name}' is not a capability name" in issue.message for issue in issues)
        assert told != is_capability_name(name)
    found = {"valid": table is not None, "schema_valid": not issues}
    return {**found, "canonical_of": table.canonical if table is not None else None}


def of_table_and_token(given: Given, _: Workspace) -> dict[str, Any]:
    return {"canonical": aliases_of(given["aliases"]).canonical(given["token"])}


def of_action(given: Given, _: Workspace) -> dict[str, Any]:
    action = given["on_missing_required_action"]
    policy = {"on-missing-required": action["policy"]}
    run = resolve([provider("one", ["a"])], ["a"], policy=policy)
    assert run.report.data["on_missing_required_action"] == action
    return {"valid_against_our_schema": is_valid(run)}


def of_unresolved(given: Given, _: Workspace) -> dict[str, Any]:
    bad = given["unresolved_required_capabilities"]
    run = resolve([provider("one", ["a"])], bad)
    assert run.report.data["unresolved_required_capabilities"] == bad
    return {"valid_against_our_schema": is_valid(run)}


def is_valid(run: Resolution) -> bool:
    """Whether a report follows the schema, where there is one."""
    data = json.loads(run.report.to_json())
    return not SCHEMA.exists() or jsonschema.Draft202012Validator(
        json.loads(SCHEMA.read_text())
    ).is_valid(data)


def discovery(workspace: Workspace, config: Config, home: Path | None = None) -> dict[str, Any]:
    with Catalog.open(workspace.root, config=config, home=str(home) if home else None) as catalog:
        catalog.refresh()
        found: dict[str, Any] = catalog.resolve(["a"]).report.data["discovery"]
        assert found["discovered"] == found["included"] + found["excluded"]
        assert found["discovered"] == sum(one["discovered"] for one in found["sources"])
        left_out = [(one.path, one.reason) for one in catalog.excluded()]
        return {**found, "left_out": left_out}


def of_sources(given: Given, workspace: Workspace) -> dict[str, Any]:
    homes = {name: workspace.root.parent / name for name in given["sources"]}
    Workspace(homes["external"]).skill("external", folder="external")
    Workspace(homes["runtime"]).skill("runtime", folder=".claude/skills/runtime")
    workspace.skill("workspace")
    config = Config(mounts=(Mount(str(homes["external"]), "mount"),))
    found = discovery(workspace, config, homes["runtime"])
    return {"scan_order": [one["source"] for one in found["sources"] if one["included"]]}


def of_twins(given: Given, _: Workspace) -> dict[str, Any]:
    pool = []
    for source, key in given.items():
        name, _, folder = key.partition("::")
        pool.append(candidate(name, folder=folder, source=source))
    rows = resolve(pool, ["a"]).full_report().data["candidates"]
    return {"kept": rows[0]["source"], "candidates": len(rows)}


def of_disabled(given: Given, workspace: Workspace) -> dict[str, Any]:
    workspace.skill("x")
    workspace.skill("y")
    config = Config(disabled=tuple(given["disabled"]), host_folders=False)
    [(path, reason)] = discovery(workspace, config)["left_out"]
    return {"excluded": Path(path).parent.name, "reason": reason}


def of_broken_file(given: Given, workspace: Workspace) -> dict[str, Any]:
    assert given["file"] == "no closing ---"
    workspace.skill("y")
    workspace.write("skills/x/SKILL.md", "---\nname: x\ndescription: Text.\n")
    left_out = discovery(workspace, Config(host_folders=False))["left_out"]
    return {"excluded": bool(left_out), "reason": left_out[0][1]}


def of_any_run(given: Any, workspace: Workspace) -> dict[str, Any]:
    workspace.skill("x")
    workspace.skill("x", folder="skills/copy")
    workspace.skill("y", folder="skills/other")
    workspace.write("skills/broken/SKILL.md", "---\nname: x\n")
    found = discovery(workspace, Config(host_folders=False))
    assert (found["included"], found["excluded"]) == (2, 2)
    return {}


CHOICE_ANSWERS: Answers = [
    ("policy", {"effective", "provider"}, of_hints),
    ("policy", set(), of_policy),
    ("selection", {"ranked"}, of_ranked),
    ("selection", {"required", "providers"}, of_cover),
    ("selection", {"policy", "unresolved"}, of_failure),
    ("selection", {"policy"}, of_offer),
    ("tie-break", {"a", "b"}, of_specificity),
    ("tie-break", {"ids"}, of_ids),
    ("alias-table", {"aliases", "token"}, of_table_and_token),
    ("alias-table", {"aliases"}, of_table),
    ("report-schema", {"on_missing_required_action"}, of_action),
    ("report-schema", {"unresolved_required_capabilities"}, of_unresolved),
    ("discovery", {"sources"}, of_sources),
    ("discovery", {"workspace", "external"}, of_twins),
    ("discovery", {"disabled"}, of_disabled),
    ("discovery", {"file"}, of_broken_file),
    ("discovery", {"any run"}, of_any_run),
]
