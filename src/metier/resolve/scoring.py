"""The scores of spec 4: what each component is, and the numbers that weigh them."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from metier.core import bm25
from metier.core.arrays import Floats, Mask, Places, arrays_of
from metier.resolve.words import Hits, sums

WEIGHTS = {"S_contract": 0.60, "S_desc": 0.20, "S_namepath": 0.10, "S_runtime": 0.10}
SKILL_WEIGHTS = {"S_desc": 0.7, "S_namepath": 0.3}
"""S_skill: what the skill says of itself in words."""
MATCH_SCORES = {"exact": 1.0, "alias": 0.8, "fuzzy": 0.33, "provisional": 0.25, "none": 0.0}
BM25 = {"k1": bm25.K1, "b": bm25.B}
INVALID_TOKEN = {"each": 0.02, "most": 0.20}
UNKNOWN_CLAUSE = {"each": 0.05, "most": 0.20}
OVERCLAIM = {"free": 20, "medians": 3, "step": 5, "each": 0.05, "most": 0.25}
INFLATION = 0.15
DIVERGENCE = {"few": 5, "absolute": 0.35, "without_spread": 0.15, "sigmas": 2}
HISTORY = {"least": 0.70, "most": 1.00, "slope": 0.30}
DECIMALS = 12
_NO_SPREAD = 1e-12


def rounded(values: Floats) -> Floats:
    """Scores as they are compared and reported."""
    return values.round(DECIMALS)


def composite(contract: Floats, desc: Floats, namepath: Floats, runtime: Floats) -> Floats:
    """S_total."""
    weighted = WEIGHTS["S_contract"] * contract + WEIGHTS["S_desc"] * desc
    weighted = weighted + WEIGHTS["S_namepath"] * namepath
    return rounded(weighted + WEIGHTS["S_runtime"] * runtime)


def skill_score(desc: Floats, namepath: Floats) -> Floats:
    """S_skill."""
    return rounded(SKILL_WEIGHTS["S_desc"] * desc + SKILL_WEIGHTS["S_namepath"] * namepath)


def mean_length(lengths: Floats, without: int | None) -> float:
    """The mean length of the texts; the text `without` does not count."""
    others = lengths if without is None else arrays_of(lengths).delete(lengths, without)
    return float(others.sum()) / len(others) if len(others) else 0.0


def weights_of_stem(
    places: Places, counts: Floats, lengths: Floats, mean: float, without: int | None = None
) -> Floats:
    """What a stem counts in BM25 for each text that has it.

    `lengths` are those of all texts; the text `without` counts for nothing.
    """
    total, found = len(lengths), len(places)
    if without is not None:
        total, found = total - 1, found - int((places == without).any())
    rarity = bm25.idf(total, found)
    norms = BM25["k1"] * (1 - BM25["b"] + BM25["b"] * (lengths[places] / (mean or 1.0)))
    return rarity * (counts * (BM25["k1"] + 1)) / (counts + norms)


def bm25_scores(hits: Hits, total: int, without: int | None) -> Floats:
    """The weights of the query's stems, added up for each of `total` texts."""
    scores = sums(hits.places, hits.values, total)
    if without is not None:
        scores[without] = 0.0
    return scores


def description_scores(scores: Floats, highest: float) -> Floats:
    """S_desc: what BM25 gives, over the highest that it gives to any text."""
    return rounded(scores / highest) if highest > 0 else scores


def label_scores(shared: Places, distinct: Floats, query: Sequence[str]) -> Floats:
    """S_namepath: stems shared with name and folder, over all stems of both.

    `distinct` says how many different stems each name and folder have.
    """
    arrays = arrays_of(distinct)
    scores: Floats = arrays.zeros(len(distinct))
    rows = arrays.flatnonzero(shared)
    scores[rows] = rounded(shared[rows] / (distinct[rows] + len(query) - shared[rows]))
    return scores


def invalid_token_penalties(counts: Floats) -> Floats:
    return _penalties(counts, INVALID_TOKEN)


def unknown_clause_penalties(counts: Floats) -> Floats:
    return _penalties(counts, UNKNOWN_CLAUSE)


def _penalties(counts: Floats, rule: Mapping[str, float]) -> Floats:
    return rounded(arrays_of(counts).minimum(rule["most"], rule["each"] * counts))


def overclaim_penalties(counts: Floats, median: float) -> Floats:
    free = max(OVERCLAIM["free"], OVERCLAIM["medians"] * median)
    arrays = arrays_of(counts)
    steps = arrays.ceil((counts - free) / OVERCLAIM["step"])
    penalties = arrays.minimum(OVERCLAIM["most"], OVERCLAIM["each"] * steps)
    return rounded(arrays.where(counts > free, penalties, 0.0))


def history_multiplier(success_rate: float) -> float:
    value = HISTORY["least"] + HISTORY["slope"] * success_rate
    return round(min(HISTORY["most"], max(HISTORY["least"], value)), DECIMALS)


class Divergence(NamedTuple):
    """Which claims go far beyond what the skills say in words."""

    flagged: Mask
    limit: float | None
    """A delta above it is flagged; None when nothing can be."""
    rule: str
    mean: float
    sigma: float


def diverging(deltas: Floats) -> Divergence:
    """Which of `deltas`, those of all candidates with an explicit match, are out of line."""
    count = len(deltas)
    mean = round(math.fsum(deltas) / count, DECIMALS) if count else 0.0
    variance = math.fsum((delta - mean) ** 2 for delta in deltas) / count if count else 0.0
    sigma = math.sqrt(variance)
    sigma = round(sigma, DECIMALS) if sigma >= _NO_SPREAD else 0.0
    limit: float | None = None
    if count <= 1:
        rule = "one-candidate"
    elif count < DIVERGENCE["few"]:
        rule, limit = "absolute", DIVERGENCE["absolute"]
    elif sigma == 0.0:
        rule, limit = "no-spread", mean + DIVERGENCE["without_spread"]
    else:
        rule, limit = "two-sigma", mean + DIVERGENCE["sigmas"] * sigma
    if limit is None:
        nobody = arrays_of(deltas).zeros(count, dtype=bool)
        return Divergence(nobody, None, rule, mean, sigma)
    limit = round(limit, DECIMALS)
    return Divergence(rounded(deltas) > limit, limit, rule, mean, sigma)


def median_of_others(counts: Floats, without: int | None) -> float:
    arrays = arrays_of(counts)
    others = arrays.sort(counts if without is None else arrays.delete(counts, without))
    if not len(others):
        return 0.0
    middle = len(others) // 2  # `np.median` loads numpy.ma
    return float(others[middle] + others[middle - 1 + len(others) % 2]) / 2
