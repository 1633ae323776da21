"""Which skills fit a task, why, and why another does not."""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from metier.core.arguments import check_count, check_optional_text, check_text
from metier.core.encoders import EncoderError
from metier.core.ranked import CHANCE_EVIDENCE, OWN_EVIDENCE
from metier.core.ranking import (
    COSINE_EVIDENCE,
    Ranked,
    Task,
    Terms,
    fires,
    rank,
    rank_terms,
)
from metier.core.stems import STOP_WORDS
from metier.core.terms import ASKING, terms
from metier.core.text import words
from metier.errors import NotFoundError
from metier.flow.candidate_pools import SinglePool, shown_pool, words_of
from metier.flow.edited import EditedPool
from metier.flow.hook_hosts import check_host
from metier.flow.matched_words import MatchedWords
from metier.flow.misspelt import misspelt_words
from metier.hosts import HOOKED, honours_the_switch, host_bit, nameable_to
from metier.index.cached_pools import CachedPool
from metier.index.documents import document_issues, select_rows, unread_note
from metier.index.pools import pool_of
from metier.index.rank_index import meant_text
from metier.index.store import Store
from metier.values.agents import STANDARD, AgentMatch, AgentProfile
from metier.values.rows import Row
from metier.values.selection import Injection
from metier.values.settings_tables import CapabilitiesConfig
from metier.values.trust import NOT_IN_PROMPTS
from metier.values.which import BUILT_IN, Expectation, RankedDocument, ShownText, Which

if TYPE_CHECKING:
    from metier.core.word_table import Vector
    from metier.flow.encoding import Encoding
    from metier.flow.queries import Queries
    from metier.flow.shown_skills import ShownTexts

MOST_WORDS_TO_ADD = 6
_WORDS_OF_A_NOTE = 5


def which_comes(
    store: Store,
    config: CapabilitiesConfig,
    question: "SkillQuestion",
    expected: Row | None = None,
    shown_texts: Callable[[str], "ShownTexts"] | None = None,
    encoding: "Encoding | None" = None,
) -> Which:
    """The skills for a task. Raises `UsageError` for an unknown host.

    With `shown_texts`, those that the host shows the model; else those that its hook may name.
    """
    host = question.host
    check_text("task", question.task)
    check_optional_text("host", host)
    check_count("limit", question.limit)
    check_host(host)
    shown = shown_texts(host) if host and shown_texts else None
    finder = SkillFinder(
        store, question, config.skill_threshold, config.skill_suggestions, shown, encoding
    )
    skills = finder.skills()
    named = [one for one in skills[: config.skill_suggestions] if one.fires]
    return Which(
        task=question.task,
        threshold=config.skill_threshold,
        host=host,
        skills=skills[: question.limit],
        named=named,
        notes=[*_untrusted_notes(named), *_changed_notes(store, named), *_unread(store, skills)],
        most=config.skill_suggestions,
        expectation=None if expected is None else finder.expectation(expected),
        meaning=finder.meaning,
    )


def _unread(store: Store, skills: Sequence[RankedDocument]) -> list[str]:
    note = "" if skills else unread_note(store)
    return [note] if note else []


def _untrusted_notes(named: Sequence[RankedDocument]) -> list[str]:
    names = ", ".join(f"'{one.label(named)}'" for one in named if one.origin == "untrusted")
    return [f"{NOT_IN_PROMPTS}, so they do not name {names}: metier trust"] if names else []


def _changed_notes(store: Store, named: Sequence[RankedDocument]) -> list[str]:
    """A line for skills that are used although they changed since they were reviewed."""
    marks = ", ".join("?" for _ in named)
    where = f"kind = 'skill' AND review = 'changed' AND path IN ({marks})"
    changed = {row.path for row in select_rows(store, where, [one.path for one in named])}
    names = ", ".join(f"'{one.label(named)}'" for one in named if one.path in changed)
    return [f"changed since review: {names}: metier diff"] if names else []


def expected_skill(catalog: "Queries", wanted: str, host: str | None) -> Row:
    """The skill that the host calls so, else the one of the catalog. Raises `NotFoundError`."""
    if host not in HOOKED:
        return catalog.find_skill(wanted)
    shown = catalog.shown_texts(host)
    try:
        rows = catalog.find_skills(wanted)
    except NotFoundError:
        if not (path := shown.meant(wanted, [])):
            raise
    else:
        path = shown.meant(wanted, [row.path for row in rows])
    return select_rows(catalog.store, "kind = 'skill' AND path = ?", [path])[0]


def with_others(
    found: Which,
    injection: Injection | None,
    matches: Sequence[AgentMatch],
    profiles: Iterable[AgentProfile],
) -> Which:
    """The skills that were found, with the cards, abilities and agents that fit."""
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
    would = f"; keywords that would match: {', '.join(said)}" if said else ""
    found = []
    for match in matches:
        selection = known.get(match.agent_id)
        if selection is None or {"exampleTasks", "keyword"} & match.parts.keys():
            continue
        if not match.parts:
            return [f"no agent has an example task or keyword like this task{would}"]
        has = [*(selection.get("exampleTasks") or ()), *(selection.get("keywords") or ())]
        what = f"; it has: {', '.join(has[:_WORDS_OF_A_NOTE])}" if has else ""
        lacks = f"'{match.agent_id}' has no example task or keyword like this task"
        found.append(f"{lacks}{what}{would}")
    return found


def _ahead(first: RankedDocument, own: RankedDocument, *, is_candidate: bool) -> str:
    """What puts the first skill before another; only scores of candidates compare."""
    more = round(first.evidence - own.evidence, 2)
    if more > 0:
        return f", with {more:.2f} more evidence"
    if not is_candidate:
        return ""
    if first.score == own.score:
        return ", with the same evidence and score: the path decides"
    return f", with {'the same evidence and' if more == 0 else 'less evidence but'} a higher score"


class SkillQuestion(NamedTuple):
    """A task, and for which host."""

    task: str
    host: str | None = None
    limit: int = 10
    include_untrusted: bool = True


class SkillFinder:
    """Answers one question about the skills of a catalog, by the rule that hooks use."""

    def __init__(
        self,
        store: Store,
        question: SkillQuestion,
        threshold: float,
        most: int,
        shown: "ShownTexts | None" = None,
        encoding: "Encoding | None" = None,
    ) -> None:
        self._store = store
        self._encoding = encoding
        self._shown = shown
        self._threshold = threshold
        self._most = most
        self._question = question
        self._task = encoding.task(question.task) if encoding else Task(question.task)
        self._pool = self._candidates()
        if self._task.encoded and not self._pool.encoded:
            self._task = Task(question.task)
        self._terms: Terms | None = None
        self._ranked: list[Ranked] = []
        if self._pool.total and self._task.counts:
            self._terms = Terms(self._task, self._pool)
            self._ranked = rank_terms(self._task, self._pool, self._terms)

    @property
    def meaning(self) -> str:
        """What gave the vectors."""
        if self._encoding is None or not self._encoding.is_set:
            return BUILT_IN
        if self._task.counts and not self._task.encoded and not self._encoding.problem:
            return f"{BUILT_IN} ({self._question.host} shows parts of some skills only)"
        return self._encoding.meaning

    def _candidates(self) -> CachedPool:
        untrusted, encoded = self._question.include_untrusted, self._task.encoded
        if self._shown is not None:
            return shown_pool(
                self._store, self._shown, include_untrusted=untrusted, encoded=encoded
            )
        condition = nameable_to(self._question.host)
        if untrusted:
            condition = condition.replace("origin != 'untrusted' AND ", "")
        return pool_of(self._store, "skill", condition, encoded=encoded)

    def skills(self) -> list[RankedDocument]:
        """The best candidates, explained."""
        best = self._ranked[: max(self._question.limit, self._most)]
        paths = [one.document.path for one in best]
        marks = ", ".join("?" * len(paths))
        where = f"kind = 'skill' AND path IN ({marks})"
        rows = {row.path: row for row in select_rows(self._store, where, paths)}
        return [self._explained(one, rows[one.document.path]) for one in best]

    def _explained(self, ranked: Ranked, row: Row) -> RankedDocument:
        assert self._terms is not None
        shown = self._shown
        share = 1.0 if ranked.chance is None else OWN_EVIDENCE
        meaning = round(share * COSINE_EVIDENCE * max(0.0, ranked.cosine), 6)
        related = round(share * ranked.related, 6)
        taught = round(CHANCE_EVIDENCE * (ranked.chance or 0.0), 6)
        return RankedDocument(
            kind="skill",
            id=row.id,
            name=row.handle,
            path=row.path,
            description=row.routing_text,
            score=ranked.score,
            evidence=ranked.evidence,
            fires=fires(ranked, self._threshold),
            parts={
                "words": round(ranked.evidence - meaning - related - taught, 6),
                "related": related,
                "meaning": meaning,
            }
            | ({} if ranked.chance is None else {"examples": taught}),
            explanation=MatchedWords(self._task, self._terms.near, ranked, row, self._cut(row)),
            origin=row.origin,
            shown=shown.texts.get(row.path) if shown else None,
        )

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
        lacking, misspelt = self._lacking(row) if own is not None else ([], {})
        in_body = [] if own is None else list(map(str.lower, own.matched.get("body", ())))
        lost_to = first[0] if first and place != 1 else None
        is_first = own is not None and own.fires and place == 1
        name = row.handle or row.path.split("/")[-2:][0]
        if self._shown is not None:
            name = self._shown.called.get(row.path, name)
        can_win = not reasons and self._cut(row) is None
        figures = [*reasons, *self._figures(own, place, lost_to, is_out=bool(reasons))]
        return Expectation(
            name=name if own is None else own.label(first),
            place=place,
            fires=own is not None and own.fires,
            reasons=reasons if reasons and own is None else figures,
            missing=[word for word in lacking if word not in in_body],
            only_in_body=[word for word in lacking if word in in_body],
            misspelt={word: own.spelled.get(word, meant) for word, meant in misspelt.items()}
            if own is not None
            else {},
            would_win=self._winning(row, lacking) if can_win and not is_first else [],
            is_in_reach=can_win,
            lost_to=lost_to,
            own=own,
        )

    def _alone(self, row: Row) -> list[Ranked]:
        """A skill that is not a candidate, with its evidence."""
        keys = self._store.rows(
            "SELECT key FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        if self._terms is None or not keys:
            return []
        return rank_terms(self._task, SinglePool(self._pool, keys[0][0]), self._terms)

    def _obstacles(self, row: Row) -> list[str]:
        """Why a skill cannot fire here at all."""
        host, found = self._question.host, self._unseen(row)
        if self._shown is None and row.is_manual and honours_the_switch(host):
            found.append("only the user starts it: disable-model-invocation is true")
        facts = self._store.rows(
            "SELECT hosts, safe FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        for hosts, safe in facts:
            if self._shown is None and not hosts & host_bit(host):
                found.append(f"{host or 'no host'} does not load it: metier doctor")
            if not safe:
                found.append("its text overrides instructions, so hooks do not name it")
        return found

    def _unseen(self, row: Row) -> list[str]:
        """Why a skill is not there: in a host, else in the catalog."""
        shown = self._shown
        if shown is not None and (row.state != "excluded" or row.shadowed_by):
            why = shown.unseen.get(row.path)
            return [why] if why else []
        if row.state == "shadowed":
            return [f"it is shadowed by {row.shadowed_by}"]
        if row.state != "excluded":
            return []
        issues = document_issues(self._store, row.kind, row.path)
        why = row.why_excluded(issues)
        if shown is not None and row.path in shown.texts:
            return [f"{shown.host} loads it, but metier does not rank it: {why}"]
        return [f"it is excluded: {why}"]

    def _figures(
        self,
        own: RankedDocument | None,
        index: int,
        first: RankedDocument | None,
        *,
        is_out: bool,
    ) -> list[str]:
        if not self._task.counts:
            return ["the task has no words that could match"]
        if own is None:
            return ["it is not ranked"]
        shown = own.shown
        if shown is not None and not shown.text and not own.fires:
            listing = f"metier listing --host {self._question.host}"
            return [
                f"{self._question.host} shows {shown.extent}: {shown.why}",
                f"next: {listing} says what to shorten or to switch off",
            ]
        found = []
        threshold = self._threshold
        if own.evidence < threshold:
            found.append(
                f"its evidence is {own.evidence:.2f}, below the threshold of {threshold:g}"
            )
        elif not own.fires:
            only_asks = ASKING.issuperset(self._task.counts)
            why = "the task is only small talk" if only_asks else ""
            found.append(why or "one matching word is too little")
        elif index > self._most:
            found.append(f"it fires, but only the first {self._most} are named")
        if shown is not None and shown.why:
            found.append(f"{self._question.host} shows {shown.extent}: {shown.why}")
        if own.against:
            found.append(f"it says that it is not for: {', '.join(own.against)}")
        if not index and not is_out:
            found.append("too few words of the task are in its name or description to rank it")
        if first is not None:
            ahead = _ahead(first, own, is_candidate=bool(index))
            fires = "it fires, in " if own.fires and not found else ""
            at = f"{fires}position {index}: " if index else ""
            found.append(f"{at}'{first.label([own])}' is first{ahead}")
        return found

    def _cut(self, row: Row) -> ShownText | None:
        """What the host shows of a skill, if it does not show its whole text."""
        shown = self._shown.texts.get(row.path) if self._shown else None
        return None if shown is None or shown.state == "whole" else shown

    def _lacking(self, row: Row) -> tuple[list[str], dict[str, str]]:
        """The words of the task that a skill lacks outside its body, the rarest first.

        Those that are probably misspelt are apart, with what they mean.
        """
        stored = self._store.rows(
            "SELECT terms FROM document JOIN ranked USING (key) WHERE path = ?", (row.path,)
        )
        cut = self._cut(row)
        if cut is not None and not cut.text:
            return [], {}
        terms = words_of(cut).weights if cut else stored[0][0].split() if stored else ()
        has = set(terms)
        known = self._terms.idf if self._terms else {}
        unknown = max(known.values(), default=0.0) + 1
        lacking = [term for term in self._task.counts if term not in has and term not in ASKING]
        lacking.sort(key=lambda term: (-known.get(term, unknown), term))
        found = dict.fromkeys(self._task.spelled[term].lower() for term in lacking)
        misspelt = misspelt_words(found, has, self._pool)
        return [word for word in found if word not in misspelt], misspelt

    def _encode(self, name: str, text: str) -> "Vector | None":
        """The vector of an edited skill, as the pool has them."""
        assert self._encoding is not None
        return self._encoding.vector(meant_text(name, text))

    def _winning(self, row: Row, lacking: Sequence[str]) -> list[str]:
        """The fewest of the words that it lacks that make a skill fire as the first."""
        added: list[str] = []
        encode = self._encode if self._pool.encoded else None
        for word in lacking[:MOST_WORDS_TO_ADD]:
            added.append(word)
            text = f"{' '.join(added)}. {row.routing_text}"
            try:
                pool = EditedPool(self._pool, self._store, [(row, text)], encode=encode)
            except EncoderError:
                return []
            found = rank(self._task, pool)[:1]
            is_first = bool(found) and found[0].document.path == row.path
            if is_first and fires(found[0], self._threshold):
                return added
        return []
