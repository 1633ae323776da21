"""Which skills compete for the same tasks, and what would separate them."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import product
from typing import NamedTuple

from metier.core.overlap import OnProgress, Pair, overlapping
from metier.core.terms import ASKING, parts_of, raw_words
from metier.core.weights import idf
from metier.flow.hook_hosts import check_host
from metier.flow.separating import Separator
from metier.hosts import host_bit, nameable_to
from metier.index.competitors import Competitor, competitors, document_counts
from metier.index.pools import pool_of
from metier.index.store import Store
from metier.values.overlap import Cluster, Overlap, OverlapPair, SameText
from metier.values.rows import Row
from metier.values.settings_tables import CapabilitiesConfig

LEAST = 0.6
"""The least overlap of a pair, by default."""
FEWEST_SKILLS = 1_000
"""Words are at least as rare as among this many skills: of two skills both have what they share."""
_MOST_SHARED = 12
_WORDS_OF_A_CLUSTER = 4
_MOST_MEMBERS = 0.6
"""The share of a cluster that has a word after which it is named."""
_FEWEST_MEMBERS = 3
"""Two skills are a pair."""
_WORK_OF_A_PAIR = 400
"""What it takes to explain a pair, in skills to compare."""


class OverlapQuestion(NamedTuple):
    """What is asked of the skills."""

    least: float = LEAST
    limit: int = 10
    """The pairs to explain."""
    host: str | None = None


def overlap_of(
    store: Store,
    config: CapabilitiesConfig,
    question: OverlapQuestion,
    wanted: Sequence[Row] = (),
    on_progress: OnProgress | None = None,
) -> Overlap:
    """How far skills overlap, or the `wanted` with others. Raises `UsageError` for a host."""
    host = question.host
    check_host(host)
    condition = nameable_to(host).replace("origin != 'untrusted' AND ", "")
    work = _WORK_OF_A_PAIR * question.limit
    report = on_progress or _ignored
    compared = compared_skills(
        store, condition, question.least, lambda done, total: report(done, total + work)
    )
    paths = {row.path for row in wanted}
    pairs = [one for one in compared.pairs if compared.has_any(one, paths)]
    pool = pool_of(store, "skill", condition)
    separator = Separator(store, pool, config.skill_threshold, config.skill_suggestions)
    shown = pairs[: question.limit]
    explained = []
    for number, one in enumerate(shown, start=1):
        explained.append(_explained(one, compared, separator))
        report(compared.count + work * number // len(shown), compared.count + work)
    if not shown:
        report(compared.count + work, compared.count + work)
    same = [one for one in compared.same if not paths or not paths.isdisjoint(one.paths)]
    return Overlap(
        skills=compared.count,
        least=question.least,
        same=same,
        pairs=explained,
        overlaps=[one.overlap for one in pairs],
        clusters=[one for one in compared.clusters() if not paths or _has(one, wanted)],
        compared=[row.handle for row in wanted if row.path in compared.paths],
        notes=[f"'{row.handle}' is not compared: {why_not_compared(row)}" for row in wanted
               if row.path not in compared.paths],
    )  # fmt: skip


def _ignored(_done: int, _total: int) -> None:
    pass


def _has(cluster: Cluster, wanted: Sequence[Row]) -> bool:
    return any(row.handle in cluster.names for row in wanted)


def why_not_compared(row: Row) -> str:
    """Why a skill competes with none."""
    if row.state == "shadowed":
        return f"it is shadowed by {row.shadowed_by}"
    if row.state == "excluded":
        return f"it is excluded: {row.reason}"
    if row.is_manual:
        return "only the user starts it"
    return "no host may name it"


def compared_skills(
    store: Store, condition: str, least: float, on_progress: OnProgress | None = None
) -> "Compared":
    """The pairs of skills that overlap; cached until the catalog changes."""
    key = ("overlap", condition, least)
    return store.cached(key, lambda: _compare(store, condition, least, on_progress))


def _compare(
    store: Store, condition: str, least: float, on_progress: OnProgress | None
) -> "Compared":
    found = competitors(store, condition)
    pool = pool_of(store, "skill", condition)
    counts = document_counts(store)
    groups: dict[str, list[Competitor]] = {}
    for one in found:
        groups.setdefault(one.said, []).append(one)
    distinct = list(groups.values())

    def rarity(term: str) -> float:
        return idf(max(FEWEST_SKILLS, pool.total), counts.get(term, 1))

    texts = [group[0].text for group in distinct]
    pairs = overlapping(texts, rarity, pool.mean, least, on_progress)
    bits = host_bit(None)
    masks = [_loading(group) & bits for group in distinct]
    together = [one for one in pairs if masks[one.first] & masks[one.second]]
    return Compared(distinct, together, rarity)


def _loading(group: Sequence[Competitor]) -> int:
    """The hosts that load any of the skills."""
    bits = 0
    for one in group:
        bits |= one.hosts
    return bits


class Compared:
    """Skills, those with the same text together, and the pairs of texts that overlap."""

    def __init__(
        self,
        groups: Sequence[Sequence[Competitor]],
        pairs: Sequence[Pair],
        rarity: Callable[[str], float],
    ) -> None:
        self.groups = groups
        self.pairs = pairs
        self._rarity = rarity
        self.count = sum(map(len, groups))
        self.paths = {one.row.path for group in groups for one in group}
        self.same = sorted(_same(groups), key=lambda one: (-len(one.names), one.names))

    def has_any(self, pair: Pair, paths: Collection[str]) -> bool:
        """Whether one of a pair is among the skills at these paths; none are all."""
        both = (*self.groups[pair.first], *self.groups[pair.second])
        return not paths or any(one.row.path in paths for one in both)

    def rivals(self, pair: Pair) -> tuple[Row, Row]:
        """One skill of each text, which a host loads together."""
        both = product(self.groups[pair.first], self.groups[pair.second])
        return next((one.row, other.row) for one, other in both if one.hosts & other.hosts)

    def shared_words(self, first: int, second: int) -> list[str]:
        """The words that two texts have, as the first writes them, the rarest first."""
        left, right = (self.groups[place][0] for place in (first, second))
        other = right.text.weights
        both = [
            term
            for term, weight in left.text.weights.items()
            if weight > 0 and other.get(term, 0.0) > 0
        ]
        return self._spelled(both, left)[:_MOST_SHARED]

    def _spelled(self, terms: Iterable[str], skill: Competitor) -> list[str]:
        telling = [term for term in terms if term not in ASKING]
        telling.sort(key=lambda term: (-self._rarity(term), term))
        written = _written(skill.said, set(telling))
        return list(dict.fromkeys(written.get(term, term).lower() for term in telling))

    def clusters(self) -> list[Cluster]:
        """Three skills or more of which each overlaps with another; the largest first."""
        found = []
        for places, highest in components(self.pairs):
            names = [one.row.handle for place in places for one in self.groups[place]]
            if len(names) >= _FEWEST_MEMBERS:
                words = self._common(places)
                found.append(Cluster(names=sorted(names), words=words, highest=highest))
        return sorted(found, key=lambda one: (-len(one.names), -one.highest, one.names))

    def _common(self, places: Sequence[int]) -> list[str]:
        """The rare words that most of some texts have."""
        has = Counter(
            term
            for place in places
            for term, weight in self.groups[place][0].text.weights.items()
            if weight > 0 and term not in ASKING
        )
        fewest = max(2, _MOST_MEMBERS * len(places))
        common = [term for term, count in has.items() if count >= fewest]
        common = common or [term for term, _ in sorted(has.items(), key=_most_first)[:1]]
        written: dict[str, str] = {}
        for place in reversed(places):
            written |= _written(self.groups[place][0].said, set(common))
        common.sort(key=lambda term: (-self._rarity(term) * has[term], term))
        named = [written.get(term, term).lower() for term in common]
        return list(dict.fromkeys(named))[:_WORDS_OF_A_CLUSTER]


def _most_first(item: tuple[str, int]) -> tuple[int, str]:
    return -item[1], item[0]


def _written(text: str, terms: Set[str]) -> Mapping[str, str]:
    """Term → the first word of a text that has it; of pairs of characters all in a row."""
    found: dict[str, str] = {}
    for word in reversed(raw_words(text)):
        run: list[str] = []
        for term in parts_of(word).terms:
            if term.isascii():
                found[term] = word
                continue
            is_next = run and {run[-1], term} <= terms and run[-1][-1:] == term[:1]
            run = [*run, term] if is_next else [term]
            joined = run[0] + "".join(one[-1] for one in run[1:])
            found |= dict.fromkeys(run, joined)
    return found


def _same(groups: Iterable[Sequence[Competitor]]) -> Iterable[SameText]:
    """The skills with the same text that one host loads."""
    for group in groups:
        together = [
            one
            for one in group
            if any(one.hosts & other.hosts for other in group if other is not one)
        ]
        if together:
            yield SameText(
                names=[one.row.handle for one in together],
                paths=[one.row.path for one in together],
                text=together[0].row.routing_text,
            )


def components(pairs: Sequence[Pair]) -> list[tuple[list[int], float]]:
    """The places that pairs connect, and the highest overlap among each."""
    parent: dict[int, int] = {}

    def root(index: int) -> int:
        parent.setdefault(index, index)
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for pair in pairs:
        first, second = sorted((root(pair.first), root(pair.second)))
        parent[second] = first
    members: dict[int, list[int]] = {}
    for place in sorted(parent):
        members.setdefault(root(place), []).append(place)
    highest: dict[int, float] = {}
    for pair in pairs:
        top = root(pair.first)
        highest[top] = max(highest.get(top, 0.0), pair.overlap)
    return [(places, highest[top]) for top, places in members.items()]


def _explained(pair: Pair, compared: Compared, separator: Separator) -> OverlapPair:
    first, second = compared.rivals(pair)
    collisions = separator.collisions(first, second)
    edits, is_silent = separator.edits(first, second, collisions) if collisions else ([], False)
    return OverlapPair(
        first=first.handle,
        second=second.handle,
        paths=(first.path, second.path),
        overlap=pair.overlap,
        words=pair.words,
        meaning=pair.meaning,
        shared=compared.shared_words(pair.first, pair.second),
        collisions=collisions,
        edits=edits,
        separates=is_silent,
    )
