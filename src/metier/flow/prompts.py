"""Index → select → inject: the text that a prompt is given."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from metier.config.capabilities import for_agent
from metier.config.tokens import token_counter
from metier.core.arguments import check_choice, check_texts, wrong_argument
from metier.core.budget import CountTokens
from metier.core.nearest import did_you_mean
from metier.core.relevance import time_of_day
from metier.core.text import words
from metier.errors import REFRESH_HINT, InvalidDocumentError, MetierError
from metier.index.abilities import AbilityRegistry, StoredAbilities
from metier.index.cards import stored_cards, text_of_card, untrusted_cards
from metier.index.documents import (
    excluded_path,
    find_documents,
    names_of,
    no_such_document,
    unread_note,
)
from metier.index.store import Store
from metier.inject.abilities import arrange, compose
from metier.inject.cards import NO_CARDS, CardPart, card_parts, fit_cards, is_silent, log_cards
from metier.select.abilities import abilities_for_task
from metier.select.cards import CardIndex, CardSelection, is_scorer, token_budget
from metier.values.agents import AgentProfile
from metier.values.capabilities import (
    DEFAULT_MAX_TOKENS,
    SESSION_TYPES,
    InjectRequest,
    SelectionContext,
)
from metier.values.documents import Ability, Card
from metier.values.files import Entry
from metier.values.outcomes import Issue, has_errors
from metier.values.rows import Row
from metier.values.selection import AbilitySelection, Injection, Scored
from metier.values.settings_tables import CapabilitiesConfig

NO_PROFILE: tuple[Sequence[str], int, str] = ((), DEFAULT_MAX_TOKENS, "")
"""No core abilities, the usual limit, and no team."""


class Preparer:
    """Prepares prompts from one catalog."""

    def __init__(
        self,
        store: Store,
        read_row: Callable[[Row], Entry],
        tokenizer: str,
        capabilities: CapabilitiesConfig,
        secret: Callable[[], bytes],
        own_capabilities: CapabilitiesConfig | None = None,
        added_profile: Callable[[str], AgentProfile | None] = lambda _agent: None,
    ) -> None:
        """`own_capabilities` apply to the cards of an untrusted workspace.

        `added_profile` finds agents of Python.
        """
        self._store = store
        self._read_row = read_row
        self._tokenizer = tokenizer
        self._config = capabilities
        self._secret = secret
        self._own_config = own_capabilities
        self._added_profile = added_profile

    @cached_property
    def count_tokens(self) -> CountTokens:
        """The counter that the settings name. Raises `ConfigError` if it is not available."""
        return token_counter(self._tokenizer)

    def abilities(self) -> AbilityRegistry:
        """The abilities of the catalog, without their content."""
        with self._store.snapshot():
            return self._abilities().registry

    def _abilities(self) -> StoredAbilities:
        return self._store.cached("abilities", lambda: StoredAbilities(self._store))

    def inject(self, request: InjectRequest) -> Injection:
        """Select abilities and cards, read them, and fit them into the budget."""
        _check(request)
        agent = request.agent
        with self._store.snapshot():
            known = self._abilities()
            shared = known.count_words(frozenset(words(request.task)))
            found = self._profile(agent)
            profile_core, profile_limit, team = found or NO_PROFILE
            broken = excluded_path(self._store, "agent", agent) if agent is not None else ""
        max_tokens = profile_limit if request.budget is None else request.budget
        if broken:
            why = no_such_document(self._store, "agent", agent or "", "").message
            issue = Issue("AGENT_INVALID", why, broken, hint="metier lint")
            limit, selection = request.budget or profile_limit, AbilitySelection((), (issue,))
            return Injection("", 0, False, (), (issue,), limit, (), selection)
        core = (*profile_core, *request.core)

        def select(abilities: Iterable[Ability]) -> AbilitySelection:
            return abilities_for_task(
                abilities,
                request.task,
                agent=agent,
                core=core,
                limit=request.limit,
                min_signal=request.min_signal,
                shared_words=lambda some: [shared.get(one.ability_id, 0) for one in some],
            )

        hidden = frozenset() if request.include_untrusted else known.untrusted
        shown = (one for one in known.for_team(team) if one.id not in hidden)
        selection = self._with_content(select, shown)
        cards = self._choose_cards(request)
        made = compose(
            arrange(selection, core, request.include_metadata),
            max_tokens,
            cards.fitted,
            shared=request.budget is not None,
            count=self.count_tokens,
        )
        result = NO_CARDS if has_errors(made.issues) else cards.result
        return Injection(
            text=made.combined_content,
            tokens=made.token_count,
            truncated=made.truncated or result.truncated,
            skipped=[*made.skipped, *result.skipped],
            issues=[
                *made.issues,
                *cards.issues,
                *self._no_profile(agent if not found else None),
                *self._nothing_read(known.registry),
            ],
            max_tokens=max_tokens,
            injected_abilities=made.injected_abilities,
            selection=selection,
            injected_cards=result.injected,
            cards_passed_over=cards.passed_over,
        )

    # Abilities

    def _profile(self, agent: str | None) -> tuple[Sequence[str], int, str] | None:
        """The core abilities, the token limit and the team of an agent's profile, if any."""
        added = self._added_profile(agent) if agent is not None else None
        if added is not None:
            return added.core_abilities, added.ability_tokens, ""
        rows = find_documents(self._store, "agent", agent or "")
        if not rows or rows[0].state != "active" or rows[0].id != agent:
            return None
        abilities = rows[0].data.get("abilities") or {}
        most = abilities.get("maxTokens") or DEFAULT_MAX_TOKENS
        team = rows[0].team if rows[0].origin != "untrusted" else ""
        return abilities.get("core") or (), most, team

    def _no_profile(self, agent: str | None) -> Iterator[Issue]:
        """An agent without a profile is another host's, or misspelt; None has one."""
        if agent is not None:
            hint = did_you_mean(agent, names_of(self._store, "agent"), "metier list agents")
            yield Issue("AGENT_NO_PROFILE", f"no agent here is called '{agent}'", "", hint=hint)

    def _nothing_read(self, abilities: AbilityRegistry) -> Iterator[Issue]:
        """Without a first refresh there is nothing to inject."""
        if not abilities and unread_note(self._store):
            yield Issue("CATALOG_NOT_READ", "nothing was read yet", "", hint=REFRESH_HINT)

    def _with_content(
        self,
        select: Callable[[Iterable[Ability]], AbilitySelection],
        abilities: Iterable[Ability],
    ) -> AbilitySelection:
        """The selection with content, repeated without abilities that cannot be read."""
        usable = {ability.id: ability for ability in abilities}
        contents: dict[str, Ability] = {}
        issues: list[Issue] = []
        selection = select(usable.values())
        while unread := [
            scored.item for scored in selection.ranked if scored.item.id not in contents
        ]:
            known = len(usable)
            for ability in unread:
                try:
                    contents[ability.id] = self._read(ability)
                except MetierError as error:
                    del usable[ability.id]
                    issues.append(Issue(error.code, error.message, ability.path, hint=error.hint))
            if len(usable) < known:
                selection = select(usable.values())
        ranked = [replace(scored, item=contents[scored.item.id]) for scored in selection.ranked]
        return selection._replace(ranked=ranked, issues=[*issues, *self._explained(selection)])

    def _explained(self, selection: AbilitySelection) -> Iterable[Issue]:
        """The issues of a selection; an absent ability may have an excluded file."""
        absent = iter([one.id for one in selection.skipped if one.reason == "not-found"])
        for issue in selection.issues:
            is_absent = issue.code == "ABILITY_NOT_FOUND"
            file = excluded_path(self._store, "ability", next(absent)) if is_absent else ""
            if file:
                message = f"{issue.message}: its file is excluded"
                issue = issue._replace(message=message, path=file, hint="metier lint")
            yield issue

    def _read(self, ability: Ability) -> Ability:
        """`ability` with its content, if its file still holds a valid ability of that id."""
        rows = find_documents(self._store, "ability", ability.id)
        if not rows:
            raise _unusable(ability, "ABILITY_LOAD_FAILED", "its file is gone")
        entry = self._read_row(rows[0])
        if not entry.reason and entry.handle == ability.id:
            return cast(Ability, entry.document)
        errors = [issue.message for issue in entry.issues if issue.is_error]
        if entry.reason and entry.reason != "unparseable":
            raise _unusable(ability, "ABILITY_LOAD_FAILED", errors[0])
        changed = errors[0] if errors else "its id has changed"
        raise _unusable(ability, "ABILITY_VALIDATION_ERROR", f"its file has changed: {changed}")

    # Cards

    def _choose_cards(self, request: InjectRequest) -> "_ChosenCards":
        """The cards for a conversation. Raises `UsageError` for an unknown scorer."""
        config = for_agent(self._config, request.agent)
        context = SelectionContext(
            recent_messages=request.messages,
            session_type=request.session_type,
            token_budget=request.budget,
            time_of_day=time_of_day(time.localtime().tm_hour),
        )
        if _is_off(config) and not is_scorer(config.scorer):
            config = config._replace(scorer="spec")  # unused
        with self._store.snapshot():
            cards, untrusted = self._store.cached("cards", self._known_cards)
            selection = cards.choose(context, config, evidence=self._evidence(config, context))
            if not request.include_untrusted:
                selection = _without(selection, untrusted)
            whole = [
                replace(scored, item=self._with_text(scored.item)) for scored in selection.ranked
            ]
            selection = selection._replace(ranked=whole)
            selection = _with_threshold(selection, config.confidence_threshold)
            if self._own_config is not None and untrusted:
                own = for_agent(self._own_config, request.agent)
                selection = _narrowed(selection, untrusted, own, self.count_tokens)
        return _ChosenCards(selection, context, config, self._secret, self.count_tokens)

    def _evidence(self, config: CapabilitiesConfig, context: SelectionContext) -> dict[str, float]:
        """The evidence of the cards that fire for the latest message, for the scorer `hybrid`."""
        if config.scorer != "hybrid" or not context.recent_messages:
            return {}
        from metier.core.ranking import evidence_of  # only where the scorer is hybrid
        from metier.index.pools import pool_of

        pool = pool_of(self._store, "card")
        found = evidence_of(context.recent_messages[-1], pool, config.skill_threshold)
        rows = self._store.rows("SELECT key, id FROM card")
        return {id: found[key] for key, id in rows if key in found}

    def _known_cards(self) -> tuple[CardIndex, frozenset[str]]:
        return CardIndex(stored_cards(self._store)), untrusted_cards(self._store)

    def _with_text(self, card: Card) -> Card:
        return replace(card, body=text_of_card(self._store, card.id))


def _unusable(ability: Ability, code: str, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"ability '{ability.id}' is excluded: {why}",
        code=code,
        where=ability.path,
        hint=REFRESH_HINT if code == "ABILITY_LOAD_FAILED" else "metier lint",
    )


def _is_off(config: CapabilitiesConfig) -> bool:
    return not config.enabled or config.mode == "off"


def _without(selection: CardSelection, ids: Collection[str]) -> CardSelection:
    return selection._replace(
        ranked=[scored for scored in selection.ranked if scored.item.id not in ids],
        passed_over=[one for one in selection.passed_over if one[0].item.id not in ids],
    )


def _with_threshold(selection: CardSelection, threshold: float | None) -> CardSelection:
    """The selection with the threshold of the settings, if any, on every card."""
    if threshold is None:
        return selection
    return selection._replace(
        ranked=[_showing(scored, threshold) for scored in selection.ranked],
        passed_over=[(_showing(one, threshold), why) for one, why in selection.passed_over],
    )


def _showing(scored: Scored[Card], threshold: float) -> Scored[Card]:
    return replace(scored, item=replace(scored.item, confidence_threshold=threshold))


def _narrowed(
    selection: CardSelection, ids: Collection[str], own: CapabilitiesConfig, count: CountTokens
) -> CardSelection:
    """The selection after an untrusted workspace has tightened the rules for its own cards."""
    kept: list[Scored[Card]] = []
    rejected: list[tuple[Scored[Card], str]] = []
    left = own.max_tokens
    for one in selection.ranked:
        why = ""
        if one.item.id in ids:
            if own.confidence_threshold is not None:
                higher = max(own.confidence_threshold, one.item.confidence_threshold)
                one = _showing(one, higher)
            size = count(one.item.body)
            why = _rejection(one, own, left - size)
            left -= 0 if why else size
        if why:
            rejected.append((one, why))
        else:
            kept.append(one)
    return selection._replace(ranked=kept, passed_over=[*rejected, *selection.passed_over])


def _rejection(scored: Scored[Card], own: CapabilitiesConfig, left: int) -> str:
    if _is_off(own):
        return "off"
    if own.mode == "monitor":
        return "monitor"
    if scored.item.id in own.exclude:
        return "excluded"
    threshold = own.confidence_threshold
    if threshold is not None and scored.score < threshold:
        return "below-threshold"
    return "over-budget" if left < 0 else ""


class _ChosenCards:
    """The cards chosen for one conversation, before the budget is applied."""

    def __init__(
        self,
        selection: CardSelection,
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
        self.result = NO_CARDS
        if not selection.ranked:
            return
        if _is_off(config):
            self._pass_over(selection.ranked, "off")
            return
        parts, issues = card_parts(selection.ranked, secret())
        self.issues += issues
        if is_silent(config, context.session_type):
            log_cards(fit_cards(parts, self._limit, config, count), config, "Would inject")
            self._pass_over(selection.ranked, config.mode)
        else:
            self._parts = parts

    def _pass_over(self, cards: Sequence[Scored[Card]], reason: str) -> None:
        self.passed_over = [*((card, reason) for card in cards), *self.passed_over]

    def fitted(self, fits: Callable[[str], bool]) -> str:
        """The text of the cards within the budget that `fits` accepts."""
        self.result = fit_cards(self._parts, self._limit, self._config, self._count, fits)
        left = {one.id for one in self.result.skipped}
        over = [part.scored for part in self._parts if part.scored.item.id in left]
        self._pass_over(over, "over-budget")
        if self._parts:
            log_cards(self.result, self._config, "Injected")
        return self.result.text


def _check(request: InjectRequest) -> None:
    """Raise `UsageError` for an argument of another type."""
    if request.agent is not None and not isinstance(request.agent, str):
        raise wrong_argument("agent", "the id of an agent", request.agent)
    if isinstance(request.core, str) or not all(isinstance(one, str) for one in request.core):
        check_texts("core", request.core, "house-style")
    for name, most in (("budget", request.budget), ("limit", request.limit)):
        if most is not None and not isinstance(most, int):
            raise wrong_argument(name, "a whole number or None", most)
    if request.min_signal is not None and not isinstance(request.min_signal, int | float):
        raise wrong_argument("min_signal", "a number or None", request.min_signal)
    if request.session_type not in SESSION_TYPES:
        check_choice("session_type", request.session_type, SESSION_TYPES)
