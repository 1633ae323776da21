"""Rules for capability cards (spec 5)."""

from collections.abc import Iterator
from math import ceil
from typing import Any

from metier.core.relevance import spec_score
from metier.safety.disguise import examine, find_overrides
from metier.values.checks import check_mapping
from metier.values.documents import Card
from metier.values.fields import CARD
from metier.values.files import KeyPath, Matter
from metier.values.outcomes import Issue, has_errors

_CODES = {"missing": "CD601", "invalid": "CD602", "unknown": "CD603"}
MOST_IN_A_SENTENCE, USUAL_IN_A_SENTENCE = 3, 2
"""Different keywords of a card in one natural sentence."""
SHORTEST_ADVISED, LONGEST_ADVISED = 200, 800
ESTIMATE_TOLERANCE = 0.25
CHARACTERS_PER_TOKEN = 4


def lint_card(card: Card, matter: Matter) -> list[Issue]:
    """Every finding in one card; an error excludes it."""
    issues = []
    for flaw in check_mapping(matter.data, CARD):
        line, column = matter.position(flaw.at)
        issues.append(Issue(_CODES[flaw.problem], flaw.message, card.path, line, column, flaw.hint))
    unsafe = [*_in_name(card), *_in_front_matter(card, matter), *_in_body(card, matter)]
    issues.extend(issue for issue in unsafe if issue.is_error)
    if has_errors(issues):
        return issues
    issues.extend(unsafe)
    for code, message, at, hint in _advice(card):
        line, column = matter.position(at) if at else (matter.body_line, 1)
        issues.append(Issue(code, message, card.path, line, column, hint))
    return issues


def _in_name(card: Card) -> Iterator[Issue]:
    """What rejects a card by its file's name, which is injected as its source."""
    for one in find_overrides(card.path):
        yield Issue(one.code, f"in the file's name {one.message}", card.path, hint="rename it")


def _in_front_matter(card: Card, matter: Matter) -> Iterator[Issue]:
    """What rejects a text, in each key and value: some of them are injected too."""
    for text, at in _texts(matter.data):
        line, column = matter.position(at)
        for one in find_overrides(text):
            yield Issue(one.code, one.message, card.path, line, column, one.hint)


def _texts(value: Any, at: KeyPath = ()) -> Iterator[tuple[str, KeyPath]]:
    """Every text in front matter, with its key path."""
    if isinstance(value, str):
        yield value, at
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key, (*at, key))
            yield from _texts(inner, (*at, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _texts(inner, (*at, number))


def _in_body(card: Card, matter: Matter) -> Iterator[Issue]:
    for one in examine(card.body).findings:
        line = matter.body_line + one.line - 1
        yield Issue(one.code, one.message, card.path, line, one.column, one.hint)


def _advice(card: Card) -> Iterator[tuple[str, str, KeyPath, str]]:
    threshold, total = card.confidence_threshold, len(card.keywords)
    most, usual = min(MOST_IN_A_SENTENCE, total), min(USUAL_IN_A_SENTENCE, total)
    if sentence_score(most, total) < threshold:
        yield (
            "CD604",
            f"a sentence with {most} of {total} keywords scores {_shown(most, total)},"
            f" the threshold is {threshold:g}",
            ("triggers", "confidenceThreshold"),
            f"lower it to {_shown(usual, total)} ({usual} of {total} keywords) or less,"
            " or keep fewer keywords",
        )
    if card.priority / 100 >= threshold:
        message = f"priority {card.priority} reaches the threshold {threshold:g} by itself"
        yield "CD605", message, ("priority",), f"use a priority below {threshold * 100:g}"
    measured = ceil(len(card.body) / CHARACTERS_PER_TOKEN)
    claimed = card.estimated_tokens
    if claimed and abs(claimed - measured) > ESTIMATE_TOLERANCE * measured:
        message = f"estimatedTokens is {claimed}, the body measures {measured}"
        yield "CD606", message, ("estimatedTokens",), f"write {measured}"
    if not SHORTEST_ADVISED <= len(card.body) <= LONGEST_ADVISED:
        message = (
            f"the body has {len(card.body)} characters; "
            f"{SHORTEST_ADVISED} to {LONGEST_ADVISED} are advised"
        )
        yield "CD607", message, (), "say what exists and where to read more"


def _shown(hits: int, keywords: int) -> str:
    """The score, rounded down to three digits."""
    return f"{int(sentence_score(hits, keywords) * 1_000 + 1e-6) / 1_000:g}"


def sentence_score(hits: int, keywords: int) -> float:
    """What the default scorer gives a sentence with `hits` of a card's keywords, once each."""
    return spec_score([1] * hits + [0] * (keywords - hits))
