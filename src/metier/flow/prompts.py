"""The second half of the flow, index → select → inject: a task → the text a prompt is given."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import cast

from metier.config.tokens import token_counter
from metier.core.budget import CountTokens
from metier.core.text import words
from metier.errors import InvalidDocumentError, MetierError
from metier.flow.cards import Cards
from metier.index.abilities import AbilityRegistry, StoredAbilities
from metier.index.documents import find_documents, left_out
from metier.index.store import Store
from metier.inject.abilities import DEFAULT_MAX_TOKENS, arrange, compose
from metier.inject.cards import NO_CARDS
from metier.select.abilities import abilities_for_task
from metier.values.capabilities import CapabilitiesConfig
from metier.values.documents import Ability
from metier.values.files import Entry
from metier.values.outcomes import Issue, has_errors
from metier.values.rows import Row
from metier.values.selection import AbilitySelection, Injection


class Preparer:
    """Prepares prompts from what one catalogue knows.

    `read_row` reads the file behind a row again and raises `MetierError` when it is gone.
    """

    def __init__(
        self,
        store: Store,
        read_row: Callable[[Row], Entry],
        tokenizer: str,
        capabilities: CapabilitiesConfig,
        secret: Callable[[], bytes],
        own_capabilities: CapabilitiesConfig | None = None,
    ) -> None:
        """`secret` gives what the marks around cards are made with.

        `own_capabilities` holds for the cards of an untrusted workspace.
        """
        self._store = store
        self._read_row = read_row
        self._tokenizer = tokenizer
        self._known: StoredAbilities | None = None
        self._cards = Cards(store, capabilities, secret, own_capabilities)

    @cached_property
    def count_tokens(self) -> CountTokens:
        """The counter that the settings name. Raises `ConfigError` when it cannot be had."""
        return token_counter(self._tokenizer)

    def abilities(self) -> AbilityRegistry:
        """The abilities of the catalogue as it is now, without their content."""
        with self._store.snapshot():
            return self._stored().registry

    def inject(
        self,
        task: str,
        *,
        agent: str | None,
        core: Sequence[str],
        max_tokens: int | None,
        limit: int | None,
        min_signal: float | None,
        include_metadata: bool,
        messages: Sequence[str],
        session_type: str,
        include_untrusted: bool = True,
    ) -> Injection:
        """Select by what the catalogue knows, read the content of what was selected, fit it in.

        An ability whose file has become unusable counts as not there, and `issues` says so.
        """
        with self._store.snapshot():
            known = self._stored()
            shared = known.count_words(frozenset(words(task)))
            profile_core, profile_limit = self._of_profile(agent)
            broken = left_out(self._store, "agent", agent) if agent is not None else ""
        if broken:
            return _nothing(_broken_profile(agent, broken), max_tokens or profile_limit)
        core = (*profile_core, *core)
        one_limit = max_tokens is not None
        max_tokens = profile_limit if max_tokens is None else max_tokens

        def select(abilities: Iterable[Ability]) -> AbilitySelection:
            return abilities_for_task(
                abilities,
                task,
                agent=agent,
                core=core,
                limit=limit,
                min_signal=min_signal,
                shared_words=lambda some: [shared.get(one.ability_id, 0) for one in some],
            )

        hidden = frozenset() if include_untrusted else known.untrusted
        usable = (one for one in known.registry if one.id not in hidden)
        selection = self._with_content(select, usable)
        card_budget = max_tokens if one_limit else None
        cards = self._cards.choose(
            messages,
            session_type,
            agent,
            card_budget,
            self.count_tokens,
            include_untrusted=include_untrusted,
        )
        arranged = arrange(selection, core, include_metadata)
        made, _ = compose(
            arranged, max_tokens, cards.fitted, shared=one_limit, count=self.count_tokens
        )
        handed = NO_CARDS if has_errors(made.issues) else cards.handed
        return Injection(
            text=made.combined_content,
            tokens=made.token_count,
            truncated=made.truncated or handed.truncated,
            skipped=[*made.skipped, *handed.skipped],
            issues=[*made.issues, *cards.issues],
            max_tokens=max_tokens,
            injected_abilities=made.injected_abilities,
            selection=selection,
            injected_cards=handed.injected,
            cards_passed_over=cards.passed_over,
        )

    def _stored(self) -> StoredAbilities:
        """What the catalogue knows; asked again when anybody has written to it."""
        if self._known is None or self._known.version != self._store.version():
            self._known = StoredAbilities(self._store)
        return self._known

    def _of_profile(self, agent: str | None) -> tuple[Sequence[str], int]:
        """The core abilities and the token limit that the profile of `agent` names, if any."""
        rows = find_documents(self._store, "agent", agent or "")
        if not rows or rows[0].state != "active" or rows[0].id != agent:
            return (), DEFAULT_MAX_TOKENS
        abilities = rows[0].data.get("abilities") or {}
        return abilities.get("core") or (), abilities.get("maxTokens") or DEFAULT_MAX_TOKENS

    def _with_content(
        self,
        select: Callable[[Iterable[Ability]], AbilitySelection],
        abilities: Iterable[Ability],
    ) -> AbilitySelection:
        """The selection with content; made anew as long as it holds what cannot be read."""
        usable = {ability.id: ability for ability in abilities}
        contents: dict[str, Ability] = {}
        issues: list[Issue] = []
        selection = select(usable.values())
        while unread := [one.item for one in selection.ranked if one.item.id not in contents]:
            known = len(usable)
            for ability in unread:
                try:
                    contents[ability.id] = self._read(ability)
                except MetierError as error:
                    del usable[ability.id]
                    issues.append(Issue(error.code, error.message, ability.path, hint=error.hint))
            if len(usable) < known:
                selection = select(usable.values())
        ranked = [replace(one, item=contents[one.item.id]) for one in selection.ranked]
        issues += map(self._explained, selection.issues)
        return selection._replace(ranked=ranked, issues=issues)

    def _explained(self, issue: Issue) -> Issue:
        """An ability that does not exist, or one whose file is there and was left out?"""
        if issue.code != "ABILITY_NOT_FOUND":
            return issue
        file = left_out(self._store, "ability", issue.message.split("'")[1])
        if not file:
            return issue
        message = f"{issue.message}: its file was left out"
        return issue._replace(message=message, path=file, hint="metier lint")

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
        changed = errors[0] if errors else "it has another id now"
        raise _unusable(ability, "ABILITY_VALIDATION_ERROR", f"its file has changed: {changed}")


def _broken_profile(agent: str | None, file: str) -> Issue:
    message = f"the profile of agent '{agent}' has errors and was left out"
    return Issue("AGENT_INVALID", message, file, hint="metier lint")


def _nothing(issue: Issue, max_tokens: int) -> Injection:
    return Injection("", 0, False, (), (issue,), max_tokens, (), AbilitySelection((), (issue,)))


def _unusable(ability: Ability, code: str, why: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"ability '{ability.id}' is left out: {why}",
        code=code,
        where=ability.path,
        hint="metier refresh" if code == "ABILITY_LOAD_FAILED" else "metier lint",
    )
