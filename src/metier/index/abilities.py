"""The abilities that are known (spec 1)."""

import json
import sqlite3
from builtins import list as list_of
from collections import Counter
from collections.abc import Collection, Iterable
from itertools import chain
from typing import cast

from metier.core.registry import Registry
from metier.index.postings import CONTENT, Postings, keys_by_word
from metier.index.store import Store
from metier.values.documents import Ability
from metier.values.files import Entry
from metier.values.listings import Stored


class AbilityRegistry(Registry[Ability]):
    """Abilities by id; registering a known id replaces the ability."""

    def __init__(self, abilities: Iterable[Ability] = ()) -> None:
        super().__init__(lambda ability: ability.ability_id, on_duplicate="replace")
        for ability in abilities:
            self.register(ability)

    def list(
        self,
        *,
        category: str | None = None,
        tags: Collection[str] = (),
        enabled: bool | None = None,
        applicable_to: str | None = None,
    ) -> list_of[Ability]:
        """Abilities that pass every filter, by priority; any of `tags` is enough."""
        wanted = frozenset(tags)
        listed = [
            ability
            for ability in self
            if (category is None or ability.category == category)
            and (not wanted or not wanted.isdisjoint(ability.tags))
            and (enabled is None or ability.enabled is enabled)
            and (applicable_to is None or ability.applies_to(applicable_to))
        ]
        return sorted(listed, key=lambda ability: -ability.priority)


class AbilityRows:
    """Changes to the words of abilities, written at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._postings = Postings(connection, (CONTENT,))
        self._removed: set[int] = set()

    def add(self, key: int, entry: Entry) -> None:
        added = self._postings.added[CONTENT]
        for word in cast(Ability, entry.document).words:
            added[word].append(key)

    def remove(self, old: Stored) -> None:
        self._removed.add(old.key)

    def remove_all(self) -> None:
        self._postings.remove_all()

    def write(self) -> None:
        if self._removed and not self._postings.is_empty:
            self._postings.remove_keys(self._removed, CONTENT)
        self._postings.write()


class StoredAbilities:
    """The abilities of a catalog, without their content."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.registry = AbilityRegistry()
        self.untrusted: set[str] = set()
        """Ids of those from an untrusted workspace."""
        self._teams: dict[str, str] = {}
        self._ids: dict[int, str] = {}
        rows = store.rows(
            "SELECT key, path, description, data, origin, team FROM document"
            " WHERE kind = 'ability' AND state = 'active' ORDER BY rank, path"
        )
        with store.checked():
            for key, path, description, data, origin, team in rows:
                fields = {**json.loads(data), "description": description}
                ability = Ability.of(fields, content="", path=path)
                self.registry.register(ability)
                self._ids[key] = ability.id
                if origin == "untrusted":
                    self.untrusted.add(ability.id)
                if team:
                    self._teams[ability.id] = team

    def for_team(self, team: str) -> Iterable[Ability]:
        """All abilities in order of registration, but those of the team first."""
        if not team:
            return self.registry
        return sorted(self.registry, key=lambda ability: self._teams.get(ability.id) != team)

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        """How many of `words` each ability's content has; abilities with none are absent."""
        counts = Counter(chain.from_iterable(keys_by_word(self._store, words).values()))
        return {self._ids[key]: count for key, count in counts.items() if key in self._ids}
