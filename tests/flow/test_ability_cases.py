"""The binding cases of spec 1, each through the public functions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cases import binding_rows
from metier.core.budget import count_tokens
from metier.index.abilities import AbilityRegistry
from metier.inject.abilities import inject_abilities
from metier.lint.abilities import validate_ability
from metier.load import load_abilities
from metier.select.abilities import abilities_for_task, score_ability
from metier.values.capabilities import DEFAULT_ABILITIES, DEFAULT_MAX_TOKENS
from metier.values.documents import Ability
from metier.values.outcomes import has_errors

Given = dict[str, Any]
ROWS = binding_rows("abilities-and-agents.json", "INV-ABL")


@pytest.mark.parametrize("row", ROWS)
def test_a_binding_case_holds(row: dict[str, Any], tmp_path: Path) -> None:
    given, expect = row["given"], dict(row["expect"])
    expect.pop("why", None)
    for shape, answer in ANSWERS:
        if shape <= given.keys():
            found = answer(given, tmp_path)
            assert {key: found[key] for key in expect} == expect
            return
    pytest.fail(f"no reading for a case with {sorted(given)}")


def ability(data: dict[str, Any]) -> Ability:
    fields = {key: value for key, value in data.items() if key != "content"}
    return Ability.of(fields, data.get("content", ""))


def abilities(data: Any) -> list[Ability]:
    if isinstance(data, dict):
        return [ability({"abilityId": key, "applicableTo": to}) for key, to in data.items()]
    pairs = [
        {"abilityId": one[0], "priority": one[1]} if isinstance(one, list) else one for one in data
    ]
    return [ability(one) for one in pairs]


def is_valid(data: dict[str, Any]) -> bool:
    return not has_errors(validate_ability(data))


def shown(one: Ability) -> dict[str, Any]:
    return {
        "abilityId": one.ability_id,
        "displayName": one.display_name,
        "category": one.category,
        "tags": list(one.tags),
        "priority": one.priority,
        "enabled": one.enabled,
        "source": one.source,
        "content": one.content,
        "applicableTo": list(one.applicable_to) or None,
    }


def of_one(given: Given, _: Path) -> dict[str, Any]:
    data = given["ability"]
    one = ability(data)
    applicable = one.applies_to(given.get("agentId", ""))
    return {**shown(one), "valid": is_valid(data), "applicable": applicable}


def of_one_and_words(given: Given, _: Path) -> dict[str, Any]:
    return {"score": score_ability(ability(given["ability"]), " ".join(given["taskWords"])).score}


def of_ids(given: Given, _: Path) -> dict[str, Any]:
    content = given["content"]
    return {
        "valid": [is_valid({"abilityId": one, "content": content}) for one in given["abilityIds"]]
    }


def of_priorities(given: Given, _: Path) -> dict[str, Any]:
    priorities = given["priorities"]
    if isinstance(priorities, dict):
        return {"ids": listed(AbilityRegistry(abilities([*map(list, priorities.items())])))}
    rows = [{"abilityId": "x", "content": "", "priority": one} for one in priorities]
    return {"valid": [is_valid(row) for row in rows]}


def of_counts(given: Given, _: Path) -> dict[str, Any]:
    def both(count: int) -> bool:
        names = [f"agent-{number}" for number in range(count)]
        rows = [
            {"abilityId": "x", "content": "", key: names} for key in ("applicableTo", "excludeFrom")
        ]
        verdicts = {is_valid(row) for row in rows}
        assert len(verdicts) == 1
        return verdicts.pop()

    return {"valid": [both(count) for count in given["counts"]]}


def listed(registry: AbilityRegistry, filters: dict[str, Any] | None = None) -> list[str]:
    names = {"applicableTo": "applicable_to"}
    wanted = {names.get(key, key): value for key, value in (filters or {}).items()}
    return [one.id for one in registry.list(**wanted)]


def of_registry(given: Given, _: Path) -> dict[str, Any]:
    registry = AbilityRegistry(abilities(given.get("register") or given["registerOrder"]))
    found = registry.get(given.get("get", ""))
    return {
        "ids": listed(registry, given.get("list")),
        "listLength": len(registry.list()),
        **(shown(found) if found else {}),
    }


def of_applicability(given: Given, _: Path) -> dict[str, Any]:
    registry = AbilityRegistry(abilities(given["abilities"]))
    filters = {"applicableTo": given["agentId"], "enabled": True}
    ids = listed(registry, filters)
    return {"ids": ids, "applicableIdsSet": sorted(ids)}


def of_files(given: Given, folder: Path) -> dict[str, Any]:
    files = given.get("files") or dict.fromkeys(given.get("fileNames", ()), "Text.\n")
    if "frontMatterLines" in given:
        files = {"one.md": "\n".join(["---", *given["frontMatterLines"], "---", "Text."])}
    for name, text in files.items():
        (folder / name).write_text(text)
    loaded = load_abilities(folder)
    ids = [one.id for one in loaded.items]
    wanted = given.get("load", ids[0])
    one = next(item for item in loaded.items if item.id == wanted)
    return {
        **shown(one),
        "contentContains": next((part for part in ("Simple",) if part in one.content), None),
        "loadedIds": ids,
        "loadedIdsSet": sorted(ids),
        "warnings": len(loaded.issues),
    }


def of_directory(given: Given, _: Path) -> dict[str, Any]:
    return {"abilities": list(load_abilities(given["directory"]).items), "raises": False}


def of_lengths(given: Given, _: Path) -> dict[str, Any]:
    return {"tokens": [count_tokens("x" * length) for length in given["lengths"]]}


def of_task(given: Given, _: Path) -> dict[str, Any]:
    core = given.get("coreAbilities", ())
    selection = abilities_for_task(
        abilities(given["abilities"]),
        given["task"],
        agent=given.get("agentId"),
        core=core,
        limit=given.get("maxAbilities", DEFAULT_ABILITIES),
    )
    limit = given.get("maxTokens", DEFAULT_MAX_TOKENS)
    made = inject_abilities(
        selection, limit, core, include_metadata=given.get("includeMetadata", False)
    )
    return {
        "order": [one.item.id for one in selection.ranked],
        "scores": {one.item.id: one.score for one in selection.ranked},
        "count": len(selection.ranked),
        "injectedAbilities": list(made.injected_abilities),
        "injectedCount": len(made.injected_abilities),
        "combinedContent": made.combined_content,
        "combinedTokens<=maxTokens": count_tokens(made.combined_content) <= limit,
        "tokenCount": made.token_count,
        "truncated": made.truncated,
    }


def of_core_count(given: Given, _: Path) -> dict[str, Any]:
    core = [f"core-{number}" for number in range(given["coreCount"])]
    pool = [Ability(ability_id=one, content="Text.") for one in core]
    selection = abilities_for_task(pool, "task", core=core, limit=given["maxAbilities"])
    return {"coreInjected": len(inject_abilities(selection, core=core).injected_abilities)}


ANSWERS: list[tuple[set[str], Callable[[Given, Path], dict[str, Any]]]] = [
    ({"ability", "taskWords"}, of_one_and_words),
    ({"ability"}, of_one),
    ({"abilityIds"}, of_ids),
    ({"priorities"}, of_priorities),
    ({"counts"}, of_counts),
    ({"register"}, of_registry),
    ({"registerOrder"}, of_registry),
    ({"files"}, of_files),
    ({"fileNames"}, of_files),
    ({"frontMatterLines"}, of_files),
    ({"directory"}, of_directory),
    ({"lengths"}, of_lengths),
    ({"abilities", "task"}, of_task),
    ({"abilities", "agentId"}, of_applicability),
    ({"coreCount"}, of_core_count),
]
"""The keys of a case, and who reads such a case; the first that fits."""
