"""All scores of the candidates of one question, each computed when it is first asked for."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from metier.core.arrays import Array, Floats, Mask, Places, arrays_of
from metier.core.once import once
from metier.core.stems import stems
from metier.resolve.aliases import AliasTables
from metier.resolve.matching import Matches, match
from metier.resolve.pool import Pool
from metier.resolve.scoring import (
    INFLATION,
    Divergence,
    bm25_scores,
    composite,
    description_scores,
    diverging,
    history_multiplier,
    label_scores,
    rounded,
    skill_score,
)
from metier.resolve.words import contained, distinct, stems_of_capability, sums
from metier.values.contracts import Mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of the pool."""

    requires: tuple[str, ...]
    query: str
    mode: Mode
    consumer: int | None
    """The place of the skill that asks; it is no candidate."""
    aliases: AliasTables
    rates: Mapping[str, float]
    """Success rates by candidate id."""
    host: str | None = None
    with_divergence: bool = True


class Scores:
    """One array a component; one entry for each candidate that was scored."""

    def __init__(
        self, pool: Pool, question: Question, *, everyone: bool, cleared: Collection[int] = ()
    ) -> None:
        """Score the candidates that match any requirement, or all of them.

        `cleared` are places of candidates whose probes have passed.
        """
        self._pool = pool
        self._question = question
        self._cleared = cleared
        matches = match(pool, question.requires, question.aliases, question.mode)
        if question.consumer is not None:
            matches = matches.where(matches.rows != question.consumer)
        self._arrays = pool.arrays
        self.places = self._arrays.arange(len(pool)) if everyone else self._matching(matches)
        """Where the scored candidates stand in the pool, in ascending order."""
        if not everyone:
            matches = matches._replace(rows=self.places.searchsorted(matches.rows))
        self._everyone = everyone
        self.matches = matches
        """Its rows are places in the arrays here."""

    def _matching(self, matches: Matches) -> Places:
        """The candidates that match anything, in ascending order."""
        is_there = self._arrays.zeros(len(self._pool), dtype=bool)
        is_there[matches.rows] = True
        return self._arrays.flatnonzero(is_there)

    def look_up(self) -> None:
        """Fetch the words that any score may need, while the catalogue is open."""
        if "namepath" not in self.__dict__:
            self._pool.prose.look_up(self.query_stems)
            self._pool.labels.look_up(self.query_stems)
        if "deltas" not in self.__dict__ and self._question.with_divergence:
            claimed = [stem for name in self.matches.names for stem in stems_of_capability(name)]
            self._pool.prose.look_up(claimed)
            self._pool.labels.look_up(claimed)

    def _here(self, values: Array) -> Array:
        """Of the values of all candidates those of the scored ones."""
        return values if self._everyone else values[self.places]

    # What it claims

    @once
    def contract(self) -> Floats:
        return rounded(self._sums(self.matches.scores) / max(1, len(self._question.requires)))

    @once
    def resolved(self) -> Floats:
        """How many required capabilities it resolves."""
        return self._sums(self._is_resolved)

    @once
    def resolved_contract(self) -> Floats:
        """The mean score of those, for the gates of `cover`."""
        points = self._sums(self.matches.scores * self._is_resolved)
        return rounded(points / self._arrays.maximum(1.0, self.resolved))

    @once
    def coverage(self) -> Floats:
        return rounded(self.resolved / max(1, len(self._question.requires)))

    @once
    def specificity(self) -> Floats:
        """What it resolves over all that it provides: the narrower of two skills fits better."""
        claims, arrays = self._pool.claims(self._question.mode), self._arrays
        found: Floats = arrays.zeros(len(self.places))
        rows = arrays.flatnonzero(self.resolved)
        at = self.places[rows]
        different = self._pool.prose.distinct[at]
        provided = arrays.where(claims.prose[at], different, claims.counts[at])
        found[rows] = rounded(self.resolved[rows] / arrays.maximum(1.0, provided))
        return found

    @property
    def _is_resolved(self) -> Mask:
        return self.matches.resolved(self._question.mode)

    def _sums(self, values: Floats | Mask) -> Floats:
        """The sum of `values`, one for each match, for each candidate."""
        return sums(self.matches.rows, values, len(self.places))

    # What it says in words, and where it works

    @once
    def bm25(self) -> Floats:
        """What BM25 gives for every candidate of the pool."""
        consumer = self._question.consumer
        hits = self._pool.weighted_hits(self.query_stems, consumer)
        return bm25_scores(hits, len(self._pool), consumer)

    @once
    def desc(self) -> Floats:
        highest = float(self.bm25.max()) if len(self._pool) else 0.0
        return description_scores(self._here(self.bm25), highest)

    @once
    def namepath(self) -> Floats:
        labels = self._pool.labels
        hits = labels.hits(self.query_stems).places
        shared = self._arrays.bincount(hits, minlength=len(self._pool))
        return label_scores(self._here(shared), self._here(labels.distinct), self.query_stems)

    @once
    def query_stems(self) -> list[str]:
        """The different stems of the query."""
        return list(dict.fromkeys(stems(self._question.query)))

    @once
    def skill(self) -> Floats:
        return skill_score(self.desc, self.namepath)

    @once
    def runtime(self) -> Floats:
        return self._here(self._pool.runtime(self._question.host))

    # Penalties

    @once
    def invalid_tokens(self) -> Floats:
        return self._here(self._pool.claims(self._question.mode).invalid_tokens)

    @once
    def unknown_clauses(self) -> Floats:
        return self._here(self._pool.claims(self._question.mode).unknown_clauses)

    @once
    def overclaim(self) -> Floats:
        claims = self._pool.claims(self._question.mode)
        return self._here(claims.overclaim(self._question.consumer))

    @once
    def explicit(self) -> Mask:
        """Whether any match is one of names."""
        return self._sums(self.matches.explicit) > 0

    @once
    def deltas(self) -> Floats:
        """How far the claims of each go beyond its name and description."""
        deltas: Floats = self._arrays.zeros(len(self.places))
        rows = self._arrays.flatnonzero(self.explicit)
        if self._question.with_divergence and len(rows):
            claims = self.matches.where(self.matches.explicit)
            claims = claims._replace(rows=rows.searchsorted(claims.rows))
            deltas[rows] = _deltas(self._pool, claims, self.places[rows])
        return deltas

    @once
    def divergence(self) -> Divergence:
        """Whose claims go too far, among those with an explicit match."""
        if not self._question.with_divergence or not self.explicit.any():
            unchecked = self._arrays.zeros(int(self.explicit.sum()), dtype=bool)
            return Divergence(unchecked, None, "not-checked", 0.0, 0.0)
        return diverging(self.deltas[self.explicit])

    @once
    def flagged(self) -> Mask:
        flagged: Mask = self._arrays.zeros(len(self.places), dtype=bool)
        flagged[self.explicit] = self.divergence.flagged
        return flagged

    @once
    def inflation(self) -> Floats:
        penalized = self.flagged
        if self._cleared:
            cleared = self._arrays.array(sorted(self._cleared), dtype=int)
            penalized = penalized & ~contained(self.places, cleared)
        is_lenient = self._question.mode == "best-effort"
        return self._arrays.where(penalized, INFLATION if is_lenient else 0.0, 0.0)

    @once
    def penalties(self) -> Floats:
        claims = self._pool.claims(self._question.mode)
        penalties = self._here(claims.penalties(self._question.consumer))
        return rounded(penalties + self.inflation) if self.matches.names else penalties

    # Altogether

    @once
    def multiplier(self) -> Floats:
        """The history multipliers; 1.0 without a record."""
        rates = self._question.rates
        multipliers: Floats = self._arrays.ones(len(self._pool))
        for key in rates.keys() & self._pool.places.keys() if rates else ():
            multipliers[self._pool.places[key]] = history_multiplier(rates[key])
        return self._here(multipliers)

    @once
    def total(self) -> Floats:
        return composite(self.contract, self.desc, self.namepath, self.runtime)

    @once
    def final(self) -> Floats:
        return self._final_of(self.total)

    @once
    def final_of_resolved(self) -> Floats:
        """S_total_final if what is not resolved were not required, for the gates of `cover`."""
        contract = self.resolved_contract
        return self._final_of(composite(contract, self.desc, self.namepath, self.runtime))

    def _final_of(self, total: Floats) -> Floats:
        penalized = rounded(self._arrays.maximum(0.0, total - self.penalties))
        return rounded(penalized * self.multiplier) if self._question.rates else penalized


def _deltas(pool: Pool, claims: Matches, places: Places) -> Floats:
    """What each candidate claims, less what name, description and folder bear out of it."""
    arrays, count = pool.arrays, len(places)
    named = arrays.bincount(claims.rows, minlength=count)
    claimed = sums(claims.rows, claims.scores, count) / named
    known, member, stem = _claimed_stems(claims)
    at = places[member]
    asked: Floats = arrays.bincount(member, minlength=count).astype(float)
    in_prose = sums(member, pool.prose.has(known, stem, at), count)
    in_labels = sums(member, pool.labels.has(known, stem, at), count)
    borne_out = arrays.where(asked > 0, in_prose / arrays.maximum(1.0, asked), 1.0)
    union = pool.labels.distinct[places] + asked - in_labels
    labelled = in_labels / arrays.maximum(1.0, union)
    return rounded(rounded(claimed) - skill_score(rounded(borne_out), rounded(labelled)))


def _claimed_stems(
    claims: Matches,
) -> tuple[list[str], Places, Places]:
    """The stems of the matching names; pairs of a row and the number of a stem, each once."""
    numbers: dict[str, int] = {}
    by_name = [
        [numbers.setdefault(stem, len(numbers)) for stem in stems_of_capability(name)]
        for name in claims.names
    ]
    arrays = arrays_of(claims.rows)
    counts: Places = arrays.array([len(one) for one in by_name], dtype=int)
    starts = counts.cumsum() - counts
    flat: Places = arrays.array([number for one in by_name for number in one], dtype=int)
    repeats = counts[claims.tokens]
    members = claims.rows.repeat(repeats)
    within = arrays.arange(len(members)) - (repeats.cumsum() - repeats).repeat(repeats)
    wanted = flat[starts[claims.tokens].repeat(repeats) + within]
    size = max(1, len(numbers))
    pairs = distinct(members * size + wanted)
    return list(numbers), pairs // size, pairs % size
