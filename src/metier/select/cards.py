"""Which cards a conversation needs (spec 5)."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, cast

from metier.core.arrays import Arrays, Floats, Places, arrays_for
from metier.core.budget import CountTokens, count_tokens, fit
from metier.core.keywords import KeywordFinder
from metier.core.relevance import (
    DECIMALS,
    DENSITY_WEIGHT,
    FULL_DENSITY,
    RATIO_WEIGHT,
    SCORERS,
    budget_for,
    folded_text,
    forced_places,
    hybrid_score,
    match_for,
    objection,
    occurrences,
    rank,
    recent,
    spec_score,
    without_messages,
)
from metier.core.render import BETWEEN_REFERENCES
from metier.errors import UsageError
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card
from metier.values.outcomes import Issue
from metier.values.selection import Scored
from metier.values.settings_tables import CapabilitiesConfig

Scorer = Callable[[Card, SelectionContext], float]
MOST_PASSED_OVER = 20
_NEARLY = 1e-9
_registered: dict[str, Scorer] = {}
_DEFAULTS = CapabilitiesConfig()


def register_scorer(name: str, scorer: Scorer) -> None:
    """Register a scorer under a name for the settings. Raises `UsageError`."""
    if name in SCORERS:
        raise UsageError(f"the scorer '{name}' is built in", hint="choose another name")
    _registered[name] = scorer


def is_scorer(name: str) -> bool:
    return name in SCORERS or name in _registered


def calculate_relevance_score(
    card: Card, context: SelectionContext, custom_scorer: Scorer | None = None
) -> float:
    """How relevant a card is: by `custom_scorer` if given, else by the formula of spec 5."""
    if custom_scorer is not None:
        return custom_scorer(card, context)
    if not context.recent_messages:
        return without_messages(card.priority)
    text = folded_text(context.recent_messages)
    return spec_score([occurrences(key.casefold(), text, card.match) for key in card.keywords])


class CardSelection(NamedTuple):
    """The cards for one conversation."""

    ranked: Sequence[Scored[Card]]
    """The chosen cards, in the order of the injection."""
    passed_over: Sequence[tuple[Scored[Card], str]]
    """The best of the others with the reason, highest score first."""
    issues: Sequence[Issue]


_NO_EVIDENCE: Mapping[str, float] = MappingProxyType({})


class CardIndex:
    """Cards, prepared once for any number of conversations."""

    def __init__(self, cards: Iterable[Card]) -> None:
        first: dict[str, Card] = {}
        for card in cards:
            first.setdefault(card.id, card)
        self.cards = [first[id] for id in sorted(first) if first[id].enabled]
        self._places = {card.id: place for place, card in enumerate(self.cards)}
        numbers: dict[str, int] = {}
        self._keywords = [
            [numbers.setdefault(key.casefold(), len(numbers)) for key in card.keywords]
            for card in self.cards
        ]
        self._finder = KeywordFinder(numbers)
        self._count = sum(map(len, self._keywords))
        self._work = 0
        self._columns: _Columns | None = None

    def _table(self) -> "_Columns":
        """The cards in plain arrays, until so much was asked that it pays to load numpy."""
        self._work += self._count
        arrays = arrays_for(self._work)
        if self._columns is None or self._columns.arrays is not arrays:
            thresholds = [card.confidence_threshold for card in self.cards]
            self._columns = _Columns.of(arrays, self._keywords, thresholds)
        return self._columns

    def choose(
        self,
        context: SelectionContext,
        config: CapabilitiesConfig = _DEFAULTS,
        *,
        custom_scorer: Scorer | None = None,
        evidence: Mapping[str, float] = _NO_EVIDENCE,
    ) -> CardSelection:
        """Score, filter and sort; the budget is applied later.

        `evidence` is that of the cards which fire, by id, for the scorer `hybrid`.

        A card whose scorer fails is dropped, with an issue. Raises `UsageError` for an unknown
        scorer.
        """
        messages = recent(context.recent_messages, config.recent_messages)
        context = context._replace(recent_messages=messages)
        scored, issues = self._scored(context, config, custom_scorer)
        if config.scorer == "hybrid" and context.recent_messages and custom_scorer is None:
            scored = self._with_evidence(scored, evidence)
        forced = forced_places(config.force_include)
        passed: list[Scored[Card]] = []
        others: list[tuple[Scored[Card], str]] = []
        for one in scored:
            if reason := _objection(one, context, config, forced):
                others.append((one, reason))
            else:
                passed.append(one)
        passed.sort(key=lambda one: rank(one.item.id, one.item.priority, one.score, forced))
        others.sort(key=lambda pair: (-pair[0].score, pair[0].item.id))
        return CardSelection(passed, others[:MOST_PASSED_OVER], issues)

    def _scored(
        self, context: SelectionContext, config: CapabilitiesConfig, custom: Scorer | None
    ) -> tuple[list[Scored[Card]], list[Issue]]:
        """The cards that may be chosen and the best of the others, with their scores."""
        custom = custom or _registered.get(config.scorer)
        if custom is not None:
            return self._by(custom, context)
        if config.scorer not in SCORERS:
            known = ", ".join([*SCORERS, *_registered])
            raise UsageError(f"no scorer is called '{config.scorer}'", hint=f"known: {known}")
        if not context.recent_messages:
            return [_as_scored(card, without_messages(card.priority)) for card in self.cards], []
        table = self._table()
        hits = self._hits(table, folded_text(context.recent_messages), config.scorer)
        formula = SCORERS[config.scorer]
        return [
            _as_scored(self.cards[place], formula(hits[start : start + size].tolist()))
            for place in self._likely(table, hits, config)
            for start, size in [(table.starts[place], table.sizes[place])]
        ], []

    def _with_evidence(
        self, scored: list[Scored[Card]], evidence: Mapping[str, float]
    ) -> list[Scored[Card]]:
        known = {one.item.id: one.score for one in scored}
        added = {key: 0.0 for key in sorted(evidence) if key not in known and key in self._places}
        return [
            _as_scored(self.cards[self._places[key]], hybrid_score(score, evidence.get(key, 0.0)))
            for key, score in (known | added).items()
        ]

    def _hits(self, table: "_Columns", text: str, scorer: str) -> Places:
        """How often each keyword of each card occurs in `text`, card by card."""
        arrays = table.arrays
        matches = [match_for(scorer, card.match) for card in self.cards]
        by_match: dict[str, Places] = {}
        for match, find in (("substring", self._finder.count), ("word", self._finder.count_alone)):
            counts = arrays.zeros(len(self._finder.keywords), dtype=arrays.intp)
            if match in matches:
                for keyword, count in find(text).items():
                    counts[keyword] = count
            by_match[match] = counts[table.keywords]
        is_word = arrays.array([match == "word" for match in matches], dtype=bool)
        hits = arrays.where(is_word[table.owner], by_match["word"], by_match["substring"])
        return cast(Places, hits)

    def _likely(self, table: "_Columns", hits: Places, config: CapabilitiesConfig) -> list[int]:
        """Indexes of the cards that may be chosen and of the best of the others.

        By a fast, slightly inexact score; cards near a threshold are included.
        """
        rough = table.rough(hits, config.scorer)
        threshold = config.confidence_threshold
        limits = table.thresholds if threshold is None else threshold
        wanted = rough >= limits - _NEARLY
        named = (*config.force_include, *config.exclude)
        wanted[[self._places[key] for key in named if key in self._places]] = True
        others = table.arrays.flatnonzero(~wanted & (rough > 0))
        falling = (-rough[others].round(DECIMALS)).argsort(kind="stable")
        best = others[falling[:MOST_PASSED_OVER]]
        return sorted([*table.arrays.flatnonzero(wanted).tolist(), *best.tolist()])

    def _by(
        self, custom: Scorer, context: SelectionContext
    ) -> tuple[list[Scored[Card]], list[Issue]]:
        scored: list[Scored[Card]] = []
        issues: list[Issue] = []
        for card in self.cards:
            try:
                score = float(custom(card, context))
                if not math.isfinite(score):
                    raise ValueError(f"it gave {score}")
                scored.append(_as_scored(card, round(score, DECIMALS)))
            except Exception as error:  # a foreign scorer may raise anything
                message = f"the scorer failed for card '{card.id}': {error}"
                issues.append(Issue("CARD_SCORER_FAILED", message, card.path))
        return scored, issues


class _Columns(NamedTuple):
    """The keywords of all cards, card by card."""

    arrays: Arrays
    keywords: Places
    """By number."""
    owner: Places
    """The card of each keyword."""
    sizes: Places
    """How many keywords each card has."""
    starts: Places
    """Where those of each card begin."""
    thresholds: Floats

    @classmethod
    def of(
        cls, arrays: Arrays, keywords: Sequence[Sequence[int]], thresholds: Sequence[float]
    ) -> "_Columns":
        flat = arrays.array([one for some in keywords for one in some], dtype=arrays.intp)
        sizes = arrays.array([len(some) for some in keywords], dtype=arrays.intp)
        owner = arrays.arange(len(keywords)).repeat(sizes)
        limits = arrays.array(thresholds, dtype=arrays.float64)
        return cls(arrays, flat, owner, sizes, sizes.cumsum() - sizes, limits)

    def rough(self, hits: Places, scorer: str) -> Floats:
        """About the score of each card, from how often each keyword occurs."""
        arrays, total = self.arrays, len(self.sizes)
        sizes = arrays.maximum(1, self.sizes)
        if scorer != "spec":
            found = arrays.bincount(self.owner, 1 - 2.0**-hits, minlength=total)
            return cast(Floats, found / sizes)
        ratio = arrays.bincount(self.owner, hits > 0, minlength=total) / sizes
        density = arrays.bincount(self.owner, hits, minlength=total) / FULL_DENSITY
        return cast(Floats, RATIO_WEIGHT * ratio + DENSITY_WEIGHT * arrays.minimum(density, 1))


def _as_scored(card: Card, score: float) -> Scored[Card]:
    return Scored(item=card, score=score, parts={"relevance": score})


def _objection(
    scored: Scored[Card],
    context: SelectionContext,
    config: CapabilitiesConfig,
    forced: Mapping[str, int],
) -> str:
    card = scored.item
    own = card.confidence_threshold
    threshold = own if config.confidence_threshold is None else config.confidence_threshold
    conditions = (
        (card.session_types, context.session_type),
        (card.time_of_day, context.time_of_day),
        (card.user_tier, context.user_tier or config.user_tier),
        (card.environment_type, context.environment_type or config.environment_type),
    )
    return objection(card.id, scored.score, threshold, conditions, config.exclude, forced)


def token_budget(context: SelectionContext, config: CapabilitiesConfig) -> int:
    """The token budget for cards in this conversation."""
    if context.token_budget is not None:
        return context.token_budget
    length = context.conversation_length
    if length is None:
        length = sum(map(len, context.recent_messages))
    return budget_for(length, config.max_tokens, config.budgets.items())


def select_relevant_capabilities(
    cards: Iterable[Card],
    context: SelectionContext,
    config: CapabilitiesConfig = _DEFAULTS,
    *,
    custom_scorer: Scorer | None = None,
    render: Callable[[Card], str] = lambda card: card.body,
    count: CountTokens = count_tokens,
) -> list[Scored[Card]]:
    """The cards that a conversation needs and that fit into its budget, as `render` shows them.

    By default their bodies are counted; `inject_capabilities` counts the fences too.
    """
    index = cards if isinstance(cards, CardIndex) else CardIndex(cards)
    ranked = index.choose(context, config, custom_scorer=custom_scorer).ranked
    fitted = fit(
        [render(scored.item) for scored in ranked],
        token_budget(context, config),
        separator=BETWEEN_REFERENCES,
        count=count,
        overflow=config.overflow,
    )
    return [ranked[place] for place in fitted.taken]
