"""The binding cases of spec 5, each through the public functions."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import pytest

from cases import binding_rows_of
from conftest import Workspace
from metier.core.budget import count_tokens
from metier.core.render import as_reference
from metier.inject.cards import CapabilityInjection, inject_capabilities
from metier.inject.sanitize import sanitize_capability_content
from metier.load import load_folder
from metier.select.cards import CardIndex, calculate_relevance_score
from metier.values.capabilities import BootstrapFile, SelectionContext
from metier.values.documents import Card
from metier.values.settings_tables import CapabilitiesConfig

ABOUT = SelectionContext(recent_messages=["deploy"])


@pytest.mark.parametrize("row", binding_rows_of("cap-aware/"))
def test_a_binding_case_holds(row: dict[str, Any], workspace: Workspace) -> None:
    given = row["given"]
    keys = set(given) if isinstance(given, dict) else {"text"}
    for section, shape, answer in ANSWERS:
        if row["section"] == f"cap-aware/{section}" and shape <= keys:
            found = answer(given, workspace)
            assert {key: found[key] for key in row["expect"]} == row["expect"]
            return
    pytest.fail(f"no reading for {row['section']} with {sorted(keys)}")


def card(id: str, body: str = "Text.", **fields: Any) -> Card:
    return Card(id=id, name=id, description=id, body=body, **{"keywords": ("deploy",), **fields})


def injected(cards: Sequence[Card], **settings: Any) -> CapabilityInjection:
    """Chosen for a message about deploying, and injected."""
    config = CapabilitiesConfig(**settings)
    ranked = CardIndex(cards).choose(ABOUT, config).ranked
    return inject_capabilities([], ranked, config, secret=b"s")


def ids(made: CapabilityInjection) -> list[str]:
    return [one.item.id for one in made.result.injected]


def of_score(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    """A message that holds the first keyword as often as the other matched ones leave over."""
    total, matched = given.get("keywords", 5), given["matched"]
    keywords = tuple(f"keyword-{number}." for number in range(total))
    met = list(keywords[:matched])
    text = " ".join([*met, *keywords[:1] * (given.get("occurrences", matched) - matched)])
    one = card("one", keywords=keywords, confidence_threshold=0.6)
    told = SelectionContext(recent_messages=[text or "nothing"])
    score = calculate_relevance_score(one, told)
    chosen = CardIndex([one]).choose(told)
    assert score in [scored.score for scored in chosen.ranked] or score < 0.6
    return {"score": score, "passes_0.6": bool(chosen.ranked)}


def of_budget(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    """Cards whose rendered text has the sizes given: that is what is measured (decision 7)."""
    cards = []
    for id, priority, tokens in given["cards"]:
        bare = as_reference("", kind="card", id=id, source="", sha256="", secret=b"s")
        made = card(id, "x" * (tokens * 4 - len(bare)), priority=priority)
        whole = as_reference(made.body, kind="card", id=id, source="", sha256="", secret=b"s")
        assert count_tokens(whole) == tokens
        cards.append(made)

    def with_overflow(overflow: Literal["skip", "stop"]) -> list[str]:
        return ids(injected(cards[::-1], max_tokens=given["budget"], overflow=overflow))

    assert with_overflow("skip") == ids(injected(cards, max_tokens=given["budget"]))
    return {"injected": with_overflow("skip"), "overflow=stop": with_overflow("stop")}


def of_names(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    names = {*given["forceInclude"], *given["exclude"]}
    settings = {"force_include": tuple(given["forceInclude"]), "exclude": tuple(given["exclude"])}
    return {"injected": ids(injected([card(name) for name in sorted(names)], **settings))}


def of_session(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    index = CardIndex([card("one", session_types=tuple(given["card"]))])
    told = ABOUT._replace(session_type=given["session"])
    return {"eligible": bool(index.choose(told).ranked)}


def of_texts(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    cards = [card(f"card-{number}", text) for number, text in enumerate(given["cards"])]
    made = injected(cards)
    assert {issue.severity for issue in made.result.issues} <= {"warning"}
    return {
        "injected": [one.item.body for one in made.result.injected],
        "warning": len(made.result.issues),
    }


def of_text(given: str, _: Workspace) -> dict[str, Any]:
    return {"out": sanitize_capability_content(given).text}


def of_size(given: dict[str, Any], workspace: Workspace) -> dict[str, Any]:
    start = "---\nid: one\nname: One\ndescription: d\ntriggers: {keywords: [deploy]}\n---\n"

    def is_rejected(size: int) -> bool:
        workspace.write("cards/one.md", start + "x" * (size - len(start)))
        return load_folder("card", workspace.root / "cards").items == []

    assert not is_rejected(given["bytes"] - 1)
    return {"rejected": is_rejected(given["bytes"])}


def of_selected(given: dict[str, Any], _: Workspace) -> dict[str, Any]:
    files = [BootstrapFile("AGENTS.md", "a"), BootstrapFile("SOUL.md", "s")]
    made = inject_capabilities(files, given["selected"])
    told = made.result.to_json()
    return {
        "files_unchanged": made.files == files,
        "truncated": told["truncated"],
        "totalTokensUsed": told["totalTokensUsed"],
    }


ANSWERS: list[tuple[str, set[str], Callable[[Any, Workspace], dict[str, Any]]]] = [
    ("score", {"matched"}, of_score),
    ("select", {"budget", "cards"}, of_budget),
    ("select", {"forceInclude", "exclude"}, of_names),
    ("select", {"card", "session"}, of_session),
    ("sanitize", {"cards"}, of_texts),
    ("sanitize", {"text"}, of_text),
    ("path", {"bytes"}, of_size),
    ("inject", {"selected"}, of_selected),
]
"""The section and the keys of a case, and who reads such a case; the first that fits."""
