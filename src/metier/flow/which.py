"""Which skills fit a task, why, and why another does not."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from metier.core.clauses import split_clauses
from metier.core.coerce import texts_of
from metier.core.nearest import did_you_mean
from metier.core.ranking import (
    BY_WORDS,
    CHANCE_EVIDENCE,
    COSINE_EVIDENCE,
    OWN_EVIDENCE,
    Document,
    Ranked,
    Task,
    Terms,
    fires,
    rank,
    rank_terms,
    stored_weight,
)
from metier.core.stems import STOP_WORDS
from metier.core.terms import ASKING, parts_of, raw_words, searched, terms
from metier.core.text import words
from metier.core.word_table import shipped_table
from metier.errors import UsageError
from metier.hosts import HOOKED, host_bit
from metier.hosts.switches import honours_the_switch
from metier.index.documents import select_rows
from metier.index.pools import pool_of
from metier.index.ranked import MOST_EXAMPLES, RankText, rank_words
from metier.index.store import Store
from metier.storage.pool import StoredPool, nameable_to
from metier.values.agents import STANDARD, AgentMatch, AgentProfile
from metier.values.capabilities import CapabilitiesConfig
from metier.values.rows import Row
from metier.values.selection import Injection
from metier.values.which import Expectation, RankedDocument, Which

MOST_WORDS_TO_ADD = 6
_WORDS_OF_A_NOTE = 5
_UNTRUSTED = "hooks name no skill of this workspace until you trust it: metier trust"


def which_comes(
    store: Store,
    config: CapabilitiesConfig,
    question: "SkillQuestion",
    expected: Row | None = None,
) -> Which:
    """The skills for a task. Raises `UsageError` for an unknown host."""
    host = question.host
    if host is not None and host not in HOOKED:
        hint = did_you_mean(host, HOOKED, f"hosts: {', '.join(HOOKED)}")
        raise UsageError(f"'{host}' is no host", hint=hint)
    finder = SkillFinder(store, question, config.skill_threshold, config.skill_suggestions)
    skills = finder.skills()
    return Which(
        task=question.task,
        threshold=config.skill_threshold,
        host=host,
        skills=skills[: question.limit],
        named=[one for one in skills[: config.skill_suggestions] if one.fires],
        notes=[_UNTRUSTED] if any(one.origin == "untrusted" for one in skills) else [],
        most=config.skill_suggestions,
        expectation=None if expected is None else finder.expectation(expected),
    )


def with_others(
    found: Which,
    injection: Injection | None,
    matches: Sequence[AgentMatch],
    profiles: Iterable[AgentProfile],
) -> Which:
    """The skills that were found, with the cards, abilities and agents that would come."""
    return found.with_others(injection, matches, agent_notes(profiles, matches, found.task))


def agent_notes(
    profiles: Iterable[AgentProfile], matches: Sequence[AgentMatch], task: str
) -> list[str]:
    """Which of the chosen agents have no example or keyword like the task, and what would match."""
    known = {profile.agent_id: profile.selection for profile in profiles}
    if known.keys() <= {STANDARD}:
        return []
    content = [word for word in dict.fromkeys(words(task)) if word not in STOP_WORDS]
    said = [word for word in content if not ASKING.intersection(terms(word))][:_WORDS_OF_A_NOTE]
    found = []
    for match in matches:
        selection = known.get(match.agent_id)
        if selection is None or {"exampleTasks", "keyword"} & match.parts.keys():
            continue
        if not match.parts:
            would = f": as keywords these would match: {', '.join(said)}" if said else ""
            return [f"no example task or keyword of an agent matched{would}"]
        has = [*(selection.get("exampleTasks") or ()), *(selection.get("keywords") or ())]
        what = f"; it has: {', '.join(has[:_WORDS_OF_A_NOTE])}" if has else ""
        would = f"; as keywords these would match: {', '.join(said)}" if said else ""
        text = f"no example task or keyword of '{match.agent_id}' matched{what}{would}"
        found.append(text)
    return found


class SkillQuestion(NamedTuple):
    """A task, and for which host."""

    task: str
    host: str | None = None
    limit: int = 10
    include_untrusted: bool = True


class SkillFinder:
    """Answers one question about the skills of a catalog, by the rule that hooks use."""

    def __init__(self, store: Store, question: SkillQuestion, threshold: float, most: int) -> None:
        self._store = store
        self._threshold = threshold
        self._most = most
        self._question = question
        self._task = Task(question.task)
        condition = nameable_to(question.host)
        if question.include_untrusted:
            condition = condition.replace("origin != 'untrusted' AND ", "")
        self._pool = pool_of(store, "skill", condition)
        self._terms: Terms | None = None
        self._ranked: list[Ranked] = []
        if self._pool.total and self._task.counts:
            self._terms = Terms(self._task, self._pool)
            self._ranked = rank_terms(self._task, self._pool, self._terms)

    def skills(self) -> list[RankedDocument]:
        """The best candidates, explained."""
        best = self._ranked[: max(self._question.limit, self._most)]
        paths = [one.document.path for one in best]
        marks = ", ".join("?" * len(paths))
        where = f"kind = 'skill' AND path IN ({marks})"
        rows = {row.path: row for row in select_rows(self._store, where, paths)}
        return [self._explained(one, rows[one.document.path]) for one in best]

    def _explained(self, one: Ranked, row: Row) -> RankedDocument:
        assert self._terms is not None
        matched, against = self._matched(one, row)
        share = 1.0 if one.chance is None else OWN_EVIDENCE
        meaning = round(share * COSINE_EVIDENCE * max(0.0, one.cosine), 6)
        related = round(share * one.related, 6)
        examples = round(CHANCE_EVIDENCE * (one.chance or 0.0), 6)
        return RankedDocument(
            kind="skill",
            id=row.id,
            name=row.handle,
            path=row.path,
            description=row.routing_text,
            score=one.score,
            evidence=one.evidence,
            fires=fires(one, self._threshold),
            parts={
                "words": round(one.evidence - meaning - related - examples, 6),
                "related": related,
                "meaning": meaning,
            }
            | ({} if one.chance is None else {"examples": examples}),
            matched=matched,
            against=against,
            related=self._related_in(one, row),
            origin=row.origin,
        )

    def _matched(self, one: Ranked, row: Row) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
        """The words of the task in each field, and those in clauses that say "not for"."""
        clauses = split_clauses(row.routing_text)
        examples = " ".join(texts_of(row.data.get("examples"))[:MOST_EXAMPLES])
        texts = {"name": row.name, "description": clauses.about, "examples": examples}
        found = {field: self._words_in(set(terms(text))) for field, text in texts.items()}
        body = one.document.body
        known = {word for words in found.values() for word in words}
        found["body"] = [
            word
            for term, word in self._task.spelled.items()
            if word not in known and searched(word, term) in body
        ]
        against = self._words_in(set(terms(clauses.against)))
        return {field: words for field, words in found.items() if words}, against

    def _words_in(self, present: set[str]) -> list[str]:
        return [word for term, word in self._task.spelled.items() if term in present]

    def _related_in(self, one: Ranked, row: Row) -> list[str]:
        """The words of a skill that are related to words of the task, the strongest first."""
        assert self._terms is not None
        near = self._terms.near
        written = {
            term: word
            for word in reversed(raw_words(f"{row.name} {row.routing_text}"))
            for term in parts_of(word).terms
        }
        found = [term for term in one.document.terms if term in near]
        found.sort(key=lambda term: (-near[term], term))
        spelled = [written.get(term, term) for term in found]
        return list({word.casefold(): word for word in reversed(spelled)}.values())[::-1]

    # An expected skill

    def expectation(self, row: Row) -> Expectation:
        """Why a skill is not first, and which words would make it so."""
        first = self.skills()[:1]
        reasons = self._obstacles(row)
        place = next(
            (at for at, one in enumerate(self._ranked, 1) if one.document.path == row.path), 0
        )
        ranked = self._ranked[place - 1 : place] if place else self._alone(row)
        own = self._explained(ranked[0], row) if ranked else None
        missing = self._missing(row)
        lost_to = first[0] if first and place != 1 else None
        figures = [*reasons, *self._figures(own, place, lost_to)]
        return Expectation(
            name=row.handle,
            place=place,
            fires=own is not None and own.fires,
            reasons=reasons if reasons and own is None else figures,
            missing=missing,
            would_win=[] if reasons or (own and own.fires and place == 1) else self._winning(row),
            lost_to=lost_to,
            own=own,
        )

    def _alone(self, row: Row) -> list[Ranked]:
        """A skill that is no candidate, with its evidence."""
        keys = self._store.rows(
            "SELECT key FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        if self._terms is None or not keys:
            return []
        return rank_terms(self._task, _Single(self._pool, keys[0][0]), self._terms)

    def _obstacles(self, row: Row) -> list[str]:
        """Why a skill cannot fire here at all."""
        host, found = self._question.host, []
        if row.state == "shadowed":
            found.append(f"it is shadowed by {row.shadowed_by}")
        if row.state == "excluded":
            found.append(f"it is excluded: {row.reason}")
        if row.is_manual and honours_the_switch(host):
            found.append("only its user starts it: disable-model-invocation is true")
        facts = self._store.rows(
            "SELECT hosts, safe FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        for hosts, safe in facts:
            if not hosts & host_bit(host):
                which = f" --host {host}" if host else ""
                found.append(f"{host or 'no host'} does not load it: metier doctor{which}")
            if not safe:
                found.append("its text overrides instructions, so hooks do not name it")
        return found

    def _figures(
        self, own: RankedDocument | None, place: int, first: RankedDocument | None
    ) -> list[str]:
        if not self._task.counts:
            return ["the task has no words that could match"]
        if own is None:
            return ["it is not ranked"]
        found = []
        threshold = self._threshold
        if own.evidence < threshold:
            found.append(
                f"its evidence is {own.evidence:.2f}, below the threshold of {threshold:g}"
            )
        elif not own.fires:
            found.append("a single common word is too little")
        if own.against:
            found.append(f"it says that it is not for: {', '.join(own.against)}")
        if not place:
            found.append(f"its words are not among the best {BY_WORDS}")
        if first is not None:
            more = first.evidence - own.evidence
            ahead = f", with {more:.2f} more evidence" if more > 0 else ""
            at = f"place {place}: " if place else ""
            found.append(f"{at}'{first.name}' is first{ahead}")
        return found

    def _missing(self, row: Row) -> list[str]:
        """The words of the task that a skill lacks, the rarest first."""
        stored = self._store.rows(
            "SELECT terms FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        has = set(stored[0][0].split()) if stored else set()
        known = self._terms.idf if self._terms else {}
        unknown = max(known.values(), default=0.0) + 1
        lacking = [term for term in self._task.counts if term not in has and term not in ASKING]
        lacking.sort(key=lambda term: (-known.get(term, unknown), term))
        return list(dict.fromkeys(self._task.spelled[term].lower() for term in lacking))

    def _winning(self, row: Row) -> list[str]:
        """The fewest of the missing words, rarest first, that make a skill fire as the first."""
        added: list[str] = []
        for word in self._missing(row)[:MOST_WORDS_TO_ADD]:
            added.append(word)
            pool = _Edited(self._pool, self._store, row, added)
            found = rank(self._task, pool)[:1]
            is_first = bool(found) and found[0].document.path == row.path
            if is_first and fires(found[0], self._threshold):
                return added
        return []


class _Single(StoredPool):
    """A pool with one candidate, compared with the mean of all."""

    def __init__(self, pool: StoredPool, key: int) -> None:
        self.__dict__.update(pool.__dict__)
        self._key = key
        self.total = 1  # so small that every document is a candidate

    def candidates(self, _keys: Sequence[int] | None) -> list[Document]:
        return super().candidates([self._key])


class _Edited(StoredPool):
    """A pool in which the description of one skill starts with more words."""

    def __init__(self, pool: StoredPool, store: Store, row: Row, words: Sequence[str]) -> None:
        self.__dict__.update(pool.__dict__)
        [(self._key, known, vector)] = store.rows(
            "SELECT key, terms, vector FROM document JOIN ranked USING (key) WHERE path = ?",
            (row.path,),
        )
        examples = texts_of(row.data.get("examples"))[:MOST_EXAMPLES]
        about = f"{' '.join(words)}. {row.routing_text}"
        edited = rank_words(RankText(row.name, about, examples))
        self._weights = edited.weights
        self._added = edited.weights.keys() - known.split()
        table = shipped_table()
        self._vector = table.vector(edited.plain) if table else None
        if self._vector and self._sums:
            old = memoryview(vector).cast("h") if vector else [0] * len(self._sums)
            parts = zip(self._sums, old, self._vector, strict=True)
            self.mean = self._mean([total - one + other for total, one, other in parts])

    def found(self, wanted: Sequence[str]) -> Mapping[str, int]:
        known = dict(super().found(wanted))
        for term in self._added.intersection(wanted):
            known[term] = known.get(term, 0) + 1
        return known

    def postings(self, wanted: Sequence[str]) -> Mapping[str, Mapping[int, int]]:
        known = dict(super().postings(wanted))
        for term in self._weights.keys() & set(wanted):
            known[term] = {**known.get(term, {}), self._key: stored_weight(self._weights[term])}
        return known

    def candidates(self, keys: Sequence[int] | None) -> list[Document]:
        found = super().candidates(keys)
        for one in found:
            if one.key == self._key:
                one.vector = self._vector or one.vector
        return found
