"""Which documents fit a task, by words and by meaning. Light: hooks use it as it is.

    W     = 3·name + 1·description + 1·examples - 1·against + 0.5·body, each by its length
    words = Σ idf · 2.2·n/(n+1.2) · 2.2·W/(W+1.2)      n: how often the task has the word
    score = z(words/best + 0.3·share of the name) + 1.2·g·z(cosine)
                                                       g = min(1, 12 / words of the task)

Related words of the word table count as weak words. `z` is over the candidates: the best by words,
or all documents of a small pool. The score orders; whether a document fires is decided by its
evidence, which no other document changes:

    evidence = (Σ idf · (words outside the body + ⅓ of what the body adds) + related) / idf of a
               word that one document has, + 2·cosine, + 0.5 if the task has its whole name

Documents with examples, which `core.learned` gives a chance, take the places of their scores in
the order of their chances; likely ones rise above all that have less evidence:

    evidence = ¼ of that + 8·chance
"""

from __future__ import annotations

from operator import itemgetter

from metier.core.ranked import CLEAR_CHANCE, ordered_by_chance
from metier.core.ranked import Document as Document
from metier.core.ranked import Ranked as Ranked
from metier.core.terms import ASKING, parts_of, plain_words, raw_words, searched
from metier.core.weights import IMPACTS, NO_WEIGHT, WEIGHTS, by_length, idf, saturated, z_scores
from metier.core.word_table import UNIT, dot, shipped_table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from metier.core.word_table import Vector

    Nameable = Callable[[Sequence[int]], list[int]]
    """Those of some keys whose documents may be named, in the same order."""

NAME, DESCRIPTION, EXAMPLES, AGAINST, BODY = 3.0, 1.0, 1.0, -1.0, 0.5
"""The weights of fields."""
NAME_SHARE = 0.3
MEANING = 1.2
FULL_MEANING = 12
"""The words of a task up to which meaning counts fully: long tasks have words enough."""
RELATED = 0.5
UNKNOWN = 0.5
"""The idf of a word that only bodies have, as a part of the highest."""
BODY_EVIDENCE = 1 / 3
COSINE_EVIDENCE = 2.0
NAME_EVIDENCE = 0.5
"""For a task that has the whole name of a document."""
FEWEST_WORDS, CLEAR_COSINE = 2, 0.45
"""The words that it takes, unless the meaning is clear, or examples are."""
LIKELY = 0.1
"""The chance that makes a candidate without any word of the task."""

MOST_TERMS, MOST_BODY_TERMS = 40, 20
"""The rarest words of a task that count, and those that are looked for in bodies."""
MOST_POSTINGS, MOST_RELATED_POSTINGS = 9_000, 2_000
MOST_VECTOR_WORDS = 64
"""The words of a task whose meaning counts."""
MOST_RELATED = 48
"""The nearest related words of a task that count."""
MOST_FOR_RELATED = 24
"""The words of a task up to which related words count: long tasks have words enough."""
MOST_EXPANDED = 12
"""The words of a task that get related words."""
BY_WORDS = 80
"""The best by words outside bodies; the bodies of these are looked at."""
BY_MEANING = 60
SMALL_POOL = 250
"""The size of a pool up to which meaning alone can make a candidate."""


class Matches:
    """The documents that have some terms outside their body."""

    def __init__(
        self, postings: Mapping[str, Mapping[int, int]], weights: Mapping[str, float]
    ) -> None:
        self._postings = {term: postings[term] for term in weights if term in postings}
        self._weights = weights

    def best(self, nameable: Nameable) -> list[int]:
        """The keys of the best documents by words, of equal ones all."""
        scores: dict[int, float] = {}
        known, impacts = scores.get, IMPACTS
        for term, postings in self._postings.items():
            weight = self._weights[term]
            for key, stored in postings.items():
                scores[key] = known(key, 0.0) + weight * impacts[stored]
        return _best(scores, nameable)

    def of(self, keys: Sequence[int]) -> Mapping[int, Mapping[str, int]]:
        """Key → term that the document has, in the order of the weights → stored weight."""
        found: dict[int, dict[str, int]] = {key: {} for key in keys}
        for term, postings in self._postings.items():
            for key in found.keys() & postings.keys():
                found[key][term] = postings[key]
        return found


class Pool:
    """Documents of one kind in a catalog; `index.pools` answers alike to the last bit, faster."""

    total: int
    """How many there are."""
    mean: Vector | None
    """The mean of their vectors."""
    scale = 1.0
    """Times this, their cosines are like those of the word table."""

    def found(self, terms: Sequence[str]) -> Mapping[str, int]:
        """How many documents have each term outside their body; absent terms are not there."""
        raise NotImplementedError

    def postings(self, terms: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        """Term → key of each document that has it → stored weight."""
        raise NotImplementedError

    def nameable(self, keys: Sequence[int]) -> list[int]:
        """Those of the keys whose documents may be named, in the same order."""
        raise NotImplementedError

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        """The documents with these keys; without keys all that may be named."""
        raise NotImplementedError

    def chances(self, _task: Task) -> Mapping[int, float]:
        """How likely each document with examples is meant; empty if nothing was learnt."""
        return {}

    def matches(self, weights: Mapping[str, float]) -> Matches:
        """The documents that have the terms with these weights."""
        return Matches(self.postings(list(weights)), weights)

    def best(self, matches: Matches) -> list[int]:
        """The keys of the best documents by words that may be named."""
        return matches.best(self.nameable)

    def counts(
        self, documents: Sequence[Document], forms: Sequence[str]
    ) -> Iterable[Mapping[int, int]]:
        """For each document: position of a form → how often its body has it; without zeros."""
        places = range(len(forms))
        for one in documents:
            found = map(one.body.count, forms)
            yield {place: count for place, count in zip(places, found, strict=True) if count}

    def dots(self, documents: Sequence[Document], vector: Vector) -> list[int]:
        """The products of a vector and the vector of each document; 0 for one without."""
        return [dot(one.vector, vector) if one.vector is not None else 0 for one in documents]


class Task:
    """The words of a task, ready for any pool."""

    encoded = False
    """Whether its vector is that of the user's encoder."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.counts: dict[str, int] = {}
        self.spelled: dict[str, str] = {}
        """A word of the task for each of its terms: one that is no more than the term if any is."""
        self._vectors: list[Vector | None] = []
        self.joined: set[str] = set()
        """Identifiers as wholes, as terms."""
        alone: dict[str, str] = {}
        for word in raw_words(text):
            found = parts_of(word).terms
            for term in found:
                self.counts[term] = self.counts.get(term, 0) + 1
                self.spelled.setdefault(term, word if term.isascii() else term)
                if len(found) == 1 and term.isascii():
                    alone.setdefault(term, word)
            if len(found) > 1 and word.isascii():
                self.joined.add(found[-1])
        self.spelled |= alone

    def word_of(self, term: str) -> str:
        """What a term counts for: the parts of an identifier are one word, its whole another."""
        return term if term in self.joined else self.spelled[term]

    @property
    def is_identifier(self) -> bool:
        """Whether it says nothing but one identifier."""
        said = [term for term in self.counts if term not in ASKING]
        return len(said) > 1 and len({self.spelled[term] for term in said}) == 1

    def vector(self) -> Vector | None:
        """Its meaning; worked out once."""
        if not self._vectors:
            table, words = shipped_table(), plain_words(self.text)[:MOST_VECTOR_WORDS]
            self._vectors.append(table.vector(words) if table else None)
        return self._vectors[0]


class Terms:
    """The terms of a task that a pool has, with their weights; related terms apart."""

    def __init__(self, task: Task, pool: Pool) -> None:
        self.unit = idf(pool.total, 1)
        """The idf of a word that one document has."""
        known = pool.found(list(task.counts))
        self.idf = {term: idf(pool.total, count) for term, count in known.items()}
        chosen, left = _rarest(known, MOST_TERMS, MOST_POSTINGS)
        self.own = {term: self.idf[term] * saturated(task.counts[term]) for term in sorted(chosen)}
        """Term → weight, in a fixed order: sums do not depend on the catalog."""
        absent = [term for term in task.counts if term not in known]
        self.considered = [*chosen, *absent][:MOST_TERMS]
        """The terms of the task that are looked for, those that only bodies may have too."""
        self.near = _related(task, self.considered, pool, left)
        self.matches = pool.matches({**self.own, **self.near})


def rank(task: Task, pool: Pool) -> list[Ranked]:
    """The candidates in a pool, best first. Equal catalogs give equal orders and figures."""
    return rank_terms(task, pool, Terms(task, pool)) if pool.total and task.counts else []


def rank_terms(task: Task, pool: Pool, terms: Terms) -> list[Ranked]:
    """As `rank`, with the terms of the task in the pool at hand."""
    chances = pool.chances(task)
    keys = None
    if pool.total > SMALL_POOL:
        keys = pool.best(terms.matches)
        likely = [key for key, chance in chances.items() if chance >= LIKELY]
        keys += pool.nameable([key for key in likely if key not in keys])
    found = [Ranked(one) for one in pool.candidates(keys)]
    for one in found:
        one.chance = chances.get(one.document.key)
    if task.is_identifier:
        for one in found:
            one.is_by_parts = True
    _weigh(found, task, terms, pool)
    found = _ordered_by_meaning(found, task, pool)
    if not chances:
        return found
    return ordered_by_chance(found, only_asks=ASKING.issuperset(task.counts))


def fires(ranked: Ranked, threshold: float) -> bool:
    """Whether there is evidence enough, and more than one common word or identifier."""
    is_clear = ranked.cosine >= CLEAR_COSINE and not ranked.is_by_parts
    is_clear = is_clear or (ranked.chance or 0.0) >= CLEAR_CHANCE
    is_common = ranked.matched < FEWEST_WORDS and not is_clear
    return ranked.evidence >= threshold and not is_common and not ranked.is_chatter


def named(ranked: Sequence[Ranked], threshold: float, most: int) -> list[Ranked]:
    """The documents to name: those of the first `most` that fire."""
    return [one for one in ranked[:most] if fires(one, threshold)]


def evidence_of(text: str, pool: Pool, threshold: float) -> dict[int, float]:
    """The keys of the documents that fire for a text, with their evidence."""
    ranked = rank(Task(text), pool)
    return {one.document.key: one.evidence for one in ranked if fires(one, threshold)}


def _best(scores: Mapping[int, float], nameable: Nameable) -> list[int]:
    """The keys of the best documents that may be named; of equal ones all, whatever their keys."""
    order = sorted(scores.items(), key=itemgetter(1), reverse=True)
    kept: list[int] = []
    start = 0
    while start < len(order) and len(kept) < BY_WORDS and order[start][1] > 0:
        end = min(start + BY_WORDS, len(order))
        while end < len(order) and order[end][1] == order[end - 1][1]:
            end += 1
        kept += nameable([key for key, score in order[start:end] if score > 0])
        start = end
    score_of = [scores[key] for key in kept]
    cut = BY_WORDS
    while cut < len(kept) and score_of[cut] == score_of[cut - 1]:
        cut += 1
    return kept[:cut]


def _rarest(known: Mapping[str, int], most: int, postings: int) -> tuple[list[str], int]:
    """The rarest terms within the limits, and how many postings are left."""
    chosen: list[str] = []
    for count, term in sorted((count, term) for term, count in known.items())[:most]:
        if count > postings:
            break
        postings -= count
        chosen.append(term)
    return chosen, postings


def _related(task: Task, considered: Sequence[str], pool: Pool, left: int) -> dict[str, float]:
    """Stems related to the words of a task, and their weights."""
    table = shipped_table()
    if table is None or len(task.counts) > MOST_FOR_RELATED:
        return {}
    near: dict[str, float] = {}
    for term in considered[:MOST_EXPANDED]:
        for word in plain_words(task.spelled[term]):
            for stem, nearness in table.related(word):
                if stem not in task.counts:
                    near[stem] = max(near.get(stem, 0.0), nearness)
    found = pool.found(list(near))
    best = sorted(found, key=lambda stem: (-near[stem], stem))[:MOST_RELATED]
    least = min(left, MOST_RELATED_POSTINGS)
    kept, _ = _rarest({stem: found[stem] for stem in best}, len(best), least)
    return {stem: RELATED * near[stem] * idf(pool.total, found[stem]) for stem in sorted(kept)}


class _Word:
    """A term of the task and what it is worth."""

    __slots__ = ("factor", "idf", "is_evidence", "mark", "term")

    def __init__(self, term: str, task: Task, terms: Terms, mark: int) -> None:
        self.term = term
        self.mark = mark
        """A bit for the word that it counts for."""
        self.idf = terms.idf.get(term, UNKNOWN * terms.unit)
        self.factor = self.idf * saturated(task.counts[term])
        self.is_evidence = _is_evidence(term)


def _weigh(found: Sequence[Ranked], task: Task, terms: Terms, pool: Pool) -> None:
    """Fill in words, matched words, the share of the name and the evidence of words."""
    wanted = terms.considered
    marks: dict[str, int] = {}
    for term in wanted:
        marks.setdefault(task.word_of(term), 1 << len(marks))
    words = [_Word(term, task, terms, marks[task.word_of(term)]) for term in wanted]
    places = {term: place for place, term in enumerate(wanted)}
    forms = [searched(task.spelled[term], term) for term in wanted[:MOST_BODY_TERMS]]
    documents = [one.document for one in found]
    outside = terms.matches.of([one.key for one in documents])
    for one, inside in zip(found, pool.counts(documents, forms), strict=True):
        has = outside[one.document.key]
        _weigh_related(one, has, terms)
        _weigh_words(one, words, places, has, inside, terms.unit)
        names = one.document.name_terms
        one.share = sum([name in task.counts for name in names]) / len(names) if names else 0.0
        if one.share == 1 and not ASKING.issuperset(names):
            one.evidence += NAME_EVIDENCE
            one.matched = max(one.matched, sum(map(_is_evidence, names)))


def _weigh_related(ranked: Ranked, has: Mapping[str, int], terms: Terms) -> None:
    near = terms.near
    for term, stored in has.items():
        if term in near:
            part = near[term] * max(0.0, IMPACTS[stored])
            ranked.words += part
            ranked.related += part / terms.unit
            ranked.near.append(term)


def _weigh_words(
    ranked: Ranked,
    words: Sequence[_Word],
    places: Mapping[str, int],
    has: Mapping[str, int],
    inside: Mapping[int, int],
    unit: float,
) -> None:
    """`places` are the positions of words; `inside` says how often the body has the one there."""
    part = BODY / by_length("body", ranked.document.body_words)
    total, evidence, marks = ranked.words, ranked.related, 0
    for place in sorted({places[term] for term in has if term in places} | inside.keys()):
        word = words[place]
        stored, count = has.get(word.term, NO_WEIGHT), inside.get(place, 0)
        alone = whole = IMPACTS[stored]
        if count:
            whole = saturated(WEIGHTS[stored] + part * count)
        total += word.factor * whole
        if word.is_evidence:
            if stored > NO_WEIGHT:
                marks |= word.mark
            evidence += word.idf * (alone + BODY_EVIDENCE * (whole - alone)) / unit
    ranked.words, ranked.evidence, ranked.matched = total, evidence, marks.bit_count()


def _is_evidence(term: str) -> bool:
    is_small_number = len(term) < 3 and term.isdigit()
    return term not in ASKING and not is_small_number


def _ordered_by_meaning(found: list[Ranked], task: Task, pool: Pool) -> list[Ranked]:
    found.sort(key=lambda one: (-round(one.words, 9), one.document.path))
    if pool.total > SMALL_POOL:
        likely = [one for one in found[BY_MEANING:] if (one.chance or 0.0) >= LIKELY]
        found = found[:BY_MEANING] + likely
    own = task.vector()
    if own is not None and pool.mean is not None:
        _compare(found, own, pool.mean, pool)
    best = max((one.words for one in found), default=0.0)
    by_words = z_scores(
        [(one.words / best if best > 0 else 0.0) + NAME_SHARE * one.share for one in found]
    )
    by_meaning = z_scores([one.cosine for one in found])
    gate = MEANING * min(1.0, FULL_MEANING / max(1, len(task.counts)))
    for one, words, meaning in zip(found, by_words, by_meaning, strict=True):
        one.score = round(words + gate * meaning, 6)
        one.evidence = round(one.evidence + COSINE_EVIDENCE * max(0.0, one.cosine), 6)
    found.sort(key=lambda one: (-one.score, one.document.path))
    return found


def _compare(found: Sequence[Ranked], task: Vector, mean: Vector, pool: Pool) -> None:
    """Fill in the cosine of each candidate and the task, both seen from the mean of the pool."""
    own = [number - middle for number, middle in zip(task, mean, strict=True)]
    own_length, beside = dot(own, own) ** 0.5, dot(mean, own)
    middle = dot(mean, mean) + UNIT * UNIT
    documents = [one.document for one in found]
    dots = zip(found, pool.dots(documents, mean), pool.dots(documents, own), strict=True)
    for one, along_mean, along in dots:
        if one.document.vector is not None:
            length = max(1, middle - 2 * along_mean) ** 0.5
            one.cosine = round(pool.scale * (along - beside) / max(1.0, length * own_length), 9)
