"""Cards over a catalogue: conversation → the cards it is given, and what became of the others."""

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from metier.config.capabilities import for_agent
from metier.core.budget import CountTokens
from metier.core.relevance import time_of_day
from metier.index.cards import stored_cards, text_of_card, untrusted_cards
from metier.index.store import Store
from metier.inject.cards import NO_CARDS, CardPart, card_parts, fit_cards, is_silent, log_cards
from metier.select.cards import CardIndex, CardSelection, is_scorer, token_budget
from metier.values.capabilities import CapabilitiesConfig, SelectionContext
from metier.values.documents import Card
from metier.values.outcomes import Issue
from metier.values.selection import Scored


class Cards:
    """The cards of one catalogue."""

    def __init__(
        self,
        store: Store,
        config: CapabilitiesConfig,
        secret: Callable[[], bytes],
        own: CapabilitiesConfig | None = None,
    ) -> None:
        """`own` holds for the cards of a workspace that is not trusted, besides `config`."""
        self._store = store
        self._config = config
        self._secret = secret
        self._own = own
        self._untrusted: frozenset[str] = frozenset()
        self._index: CardIndex | None = None
        self._version: tuple[int, ...] | None = None

    def index(self) -> CardIndex:
        """The cards as they are now; read again when anybody has written."""
        version = self._store.version()
        if self._index is None or self._version != version:
            self._index = CardIndex(stored_cards(self._store))
            self._untrusted = untrusted_cards(self._store)
            self._version = version
        return self._index

    def choose(
        self,
        messages: Sequence[str],
        session_type: str,
        agent: str | None,
        budget: int | None,
        count: CountTokens,
        *,
        include_untrusted: bool = True,
    ) -> "ChosenCards":
        """The cards for a conversation; `budget` takes the place of their own.

        Without `include_untrusted` those of an untrusted workspace do not exist. Raises
        `UsageError` when no scorer has the name given.
        """
        config = for_agent(self._config, agent)
        context = SelectionContext(
            recent_messages=messages,
            session_type=session_type,
            token_budget=budget,
            time_of_day=time_of_day(time.localtime().tm_hour),
        )
        is_off = not config.enabled or config.mode == "off"
        if is_off and not is_scorer(config.scorer):
            config = config._replace(scorer="spec")  # what is off cannot be wrong
        with self._store.snapshot():
            selection = self.index().choose(context, config)
            if not include_untrusted:
                selection = _without(selection, self._untrusted)
            whole = [replace(one, item=self._with_text(one.item)) for one in selection.ranked]
            selection = _with_threshold(
                selection._replace(ranked=whole), config.confidence_threshold
            )
            if self._own is not None and self._untrusted:
                own = for_agent(self._own, agent)
                selection = _narrowed(selection, self._untrusted, own, count)
        return ChosenCards(selection, selection.ranked, context, config, self._secret, count)

    def _with_text(self, card: Card) -> Card:
        return replace(card, body=text_of_card(self._store, card.id))


def _without(selection: CardSelection, ids: Collection[str]) -> CardSelection:
    """The selection as if these cards did not exist."""
    return selection._replace(
        ranked=[one for one in selection.ranked if one.item.id not in ids],
        passed_over=[one for one in selection.passed_over if one[0].item.id not in ids],
    )


def _with_threshold(selection: CardSelection, threshold: float | None) -> CardSelection:
    """The selection with cards that show the threshold that holds, if the settings have one."""
    if threshold is None:
        return selection
    return selection._replace(
        ranked=[_showing(one, threshold) for one in selection.ranked],
        passed_over=[(_showing(one, threshold), why) for one, why in selection.passed_over],
    )


def _showing(one: Scored[Card], threshold: float) -> Scored[Card]:
    return replace(one, item=replace(one.item, confidence_threshold=threshold))


def _narrowed(
    selection: CardSelection, ids: Collection[str], own: CapabilitiesConfig, count: CountTokens
) -> CardSelection:
    """The selection after an untrusted workspace has tightened what holds for its own cards."""
    kept: list[Scored[Card]] = []
    refused: list[tuple[Scored[Card], str]] = []
    left = own.max_tokens
    for one in selection.ranked:
        why = ""
        if one.item.id in ids:
            if own.confidence_threshold is not None:
                higher = max(own.confidence_threshold, one.item.confidence_threshold)
                one = _showing(one, higher)
            size = count(one.item.body)
            why = _refusal(one, own, left - size)
            left -= 0 if why else size
        if why:
            refused.append((one, why))
        else:
            kept.append(one)
    return selection._replace(ranked=kept, passed_over=[*refused, *selection.passed_over])


def _refusal(one: Scored[Card], own: CapabilitiesConfig, left: int) -> str:
    if not own.enabled or own.mode == "off":
        return "off"
    if own.mode == "monitor":
        return "monitor"
    if one.item.id in own.exclude:
        return "excluded"
    threshold = own.confidence_threshold
    if threshold is not None and one.score < threshold:
        return "below-threshold"
    return "over-budget" if left < 0 else ""


class ChosenCards:
    """The cards chosen for one conversation, waiting for their budget."""

    def __init__(
        self,
        selection: CardSelection,
        ranked: Sequence[Scored[Card]],
        context: SelectionContext,
        config: CapabilitiesConfig,
        secret: Callable[[], bytes],
        count: CountTokens,
    ) -> None:
        self._config = config
        self._limit = token_budget(context, config)
        self._count = count
        self._parts: list[CardPart] = []
        self.issues: list[Issue] = list(selection.issues)
        self.passed_over = list(selection.passed_over)
        self.handed = NO_CARDS
        if not ranked:
            return
        if not config.enabled or config.mode == "off":
            self._pass_over(ranked, "off")
            return
        parts, issues = card_parts(ranked, secret())
        self.issues += issues
        if is_silent(config, context.session_type):
            log_cards(fit_cards(parts, self._limit, config, count), config, "Would inject")
            self._pass_over(ranked, config.mode)
        else:
            self._parts = parts

    def _pass_over(self, cards: Sequence[Scored[Card]], reason: str) -> None:
        self.passed_over = [*((one, reason) for one in cards), *self.passed_over]

    def fitted(self, may_stand: Callable[[str], bool]) -> str:
        """The text of the cards that fit and that may stand where they are wanted."""
        self.handed = fit_cards(self._parts, self._limit, self._config, self._count, may_stand)
        left = {one.id for one in self.handed.skipped}
        over = [part.scored for part in self._parts if part.scored.item.id in left]
        self._pass_over(over, "over-budget")
        if self._parts:
            log_cards(self.handed, self._config, "Injected")
        return self.handed.text
