"""Skills of the catalog that say nearly the same as a skill that is not in it."""

from collections.abc import Collection

from metier.core.coerce import texts_of
from metier.core.overlap import Text, overlapping
from metier.core.weights import idf
from metier.core.word_table import shipped_table
from metier.flow.overlap import FEWEST_SKILLS, LEAST
from metier.hosts import nameable_to
from metier.index.competitors import Competitor, competitors, document_counts
from metier.index.pools import pool_of
from metier.index.rank_index import MOST_EXAMPLES, RankText, rank_words
from metier.index.store import Store
from metier.values.documents import Skill
from metier.values.rows import Row

MOST_COMPARED = 200
"""New skills that are compared."""
_MOST_CANDIDATES = 40
_MOST_SHOWN = 3


class SimilarSkills:
    """Compares skills with those of a catalog, by the words and the meaning of descriptions."""

    def __init__(self, store: Store, paths: Collection[str]) -> None:
        """`paths` are the skills of the catalog to compare with."""
        condition = nameable_to(None).replace("origin != 'untrusted' AND ", "")
        pool = pool_of(store, "skill", condition)
        self._mean, self._total = pool.mean, pool.total
        self._counts = document_counts(store)
        self._known = [one for one in competitors(store, condition) if one.row.path in paths]
        self._compared = 0

    def to(self, skill: Skill) -> list[tuple[Row, float]]:
        """The most similar skills that overlap enough, with their overlap."""
        self._compared += 1
        if not self._known or self._compared > MOST_COMPARED:
            return []
        examples = texts_of(skill.data.get("examples"))[:MOST_EXAMPLES]
        words = rank_words(RankText("", skill.routing_text, examples))
        table = shipped_table()
        text = Text(words.weights, table.vector(words.plain) if table else None)
        near = self._near(text)
        texts = [text, *(one.text for one in near)]
        pairs = overlapping(texts, self._rarity, self._mean, LEAST)
        found = [(near[pair.second - 1].row, pair.overlap) for pair in pairs if pair.first == 0]
        return found[:_MOST_SHOWN]

    def _near(self, text: Text) -> list[Competitor]:
        """Those that share the most telling words."""
        rarity = {term: self._rarity(term) for term in text.weights}

        def shared(competitor: Competitor) -> float:
            return sum(rarity[term] for term in rarity.keys() & competitor.text.weights.keys())

        return sorted(self._known, key=shared, reverse=True)[:_MOST_CANDIDATES]

    def _rarity(self, term: str) -> float:
        return idf(max(FEWEST_SKILLS, self._total), self._counts.get(term, 1))
