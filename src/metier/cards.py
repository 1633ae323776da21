"""Cards over a catalogue: conversation → the cards it is given, and what became of the others."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from metier.config.capabilities import for_agent
from metier.core.budget import CountTokens
from metier.index.cards import stored_cards, text_of_card
from metier.index.store import Store
from metier.inject.cards import CardPart, CardResult, card_parts, fit_cards, is_silent
from metier.select.cards import CardIndex, CardSelection, token_budget
from metier.values.capabilities import CapabilitiesConfig, SelectionContext
from metier.values.documents import Card
from metier.values.outcomes import Issue
from metier.values.selection import Scored

NO_CARDS = CardResult((), "", 0, False, (), ())


class Cards:
    """The cards of one catalogue."""

    def __init__(
        self, store: Store, config: CapabilitiesConfig, secret: Callable[[], bytes]
    ) -> None:
        self._store = store
        self._config = config
        self._secret = secret
        self._index: CardIndex | None = None
        self._version: tuple[int, int] | None = None

    def index(self) -> CardIndex:
        """The cards as they are now; read again when anybody has written."""
        version = self._store.version()
        if self._index is None or self._version != version:
            self._index = CardIndex(stored_cards(self._store))
            self._version = version
        return self._index

    def choose(
        self, messages: Sequence[str], session_type: str, agent: str | None, count: CountTokens
    ) -> "ChosenCards":
        """The cards for a conversation. Raises `UsageError` when no scorer has the name given."""
        config = for_agent(self._config, agent)
        context = SelectionContext(recent_messages=messages, session_type=session_type)
        with self._store.snapshot():
            selection = self.index().choose(context, config)
            whole = [replace(one, item=self._with_text(one.item)) for one in selection.ranked]
        return ChosenCards(selection, whole, context, config, self._secret, count)

    def _with_text(self, card: Card) -> Card:
        return replace(card, body=text_of_card(self._store, card.id))


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
        if is_silent(config, context.session_type):
            reason = config.mode if config.enabled else "off"
            self.passed_over = [*((one, reason) for one in ranked), *self.passed_over]
            return
        self._parts, issues = card_parts(ranked, secret())
        self.issues += issues

    def fitted(self, may_stand: Callable[[str], bool]) -> str:
        """The text of the cards that fit and that may stand where they are wanted."""
        self.handed = fit_cards(self._parts, self._limit, self._config, self._count, may_stand)
        return self.handed.text
