"""Resolve and Inject of the inspector: questions that no page was asked before."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from urllib.parse import urlencode

from metier import Catalog
from metier.values.policy import PRESETS

_REQUIRED = 5
_WORDS = 12
"""Of a query or a conversation."""
Get = Callable[[str], object]
Pair = tuple[str, Callable[[], object], Callable[[], object], str]
"""A name, the page, the call behind it, and the name of the call."""


def pairs(get: Get, catalog: Catalog, texts: Sequence[str]) -> Iterator[Pair]:
    """What to measure; each call asks another question."""
    yield _resolve(get, catalog, texts)
    yield _inject(get, catalog, texts)


def _resolve(get: Get, catalog: Catalog, texts: Sequence[str]) -> Pair:
    """Capabilities out of the words of skills, as nearly none declares one."""
    asked, others = count(), count()

    def page() -> None:
        required, query = _question(texts, next(asked))
        fields = [*(("require", one) for one in required), ("query", query), ("preset", "prose")]
        get(f"/resolve?{urlencode(fields)}")

    def call() -> None:
        required, query = _question(texts, next(others))
        catalog.resolve(required, query, policy=PRESETS["prose"]).report.to_json()

    return "resolve", page, call, "Catalog.resolve and its report"


def _question(texts: Sequence[str], number: int) -> tuple[list[str], str]:
    words = re.findall("[a-z]{4,}", texts[number % len(texts)].lower()) or ["search"]
    required = list(dict.fromkeys(f"{one}-{words[0]}" for one in words))[:_REQUIRED]
    return required, f"{_some_words(texts, number)} {number}"


def _inject(get: Get, catalog: Catalog, texts: Sequence[str]) -> Pair:
    asked, others = count(), count()

    def page() -> None:
        number = next(asked)
        get(f"/inject?{urlencode({'task': f'{_some_words(texts, number)} {number}'})}")

    def call() -> None:
        number = next(others)
        catalog.inject(f"{_some_words(texts, number)} {number}").to_json()

    return "inject", page, call, "Catalog.inject"


def _some_words(texts: Sequence[str], number: int) -> str:
    return " ".join(texts[number % len(texts)].split()[:_WORDS])
