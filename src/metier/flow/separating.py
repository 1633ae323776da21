"""On which tasks two skills collide, and the smallest edit that separates them."""

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import takewhile

from metier.core.coerce import texts_of
from metier.core.ranking import Pool, Ranked, Task, fires, named, rank
from metier.core.terms import ASKING
from metier.core.triggers import Triggers, triggers_of
from metier.core.word_table import shipped_table
from metier.flow.edited import EditedPool
from metier.index.rank_index import MOST_EXAMPLES
from metier.index.store import Store
from metier.storage.rank_pool import StoredPool
from metier.values.overlap import Collision, Edit
from metier.values.rows import Row

MOST_TASKS = 6
"""The tasks of a skill that are tried."""
MOST_WORDS = 6
"""The words that an edit adds in one direction."""
MOST_NOT_FOR = 3
"""The words of a "not for" clause: one with more hardly says what the skill is not for."""
_STEM, _ENDING = 5, 2
"""Letters that two stems share at least, and that follow at most, in forms of one word."""


@cache
def is_word(text: str) -> bool:
    """Whether the word table has a word."""
    table = shipped_table()
    return table is not None and table.find(text) is not None


def triggers(row: Row) -> Triggers:
    """The tasks in a skill's own text."""
    examples = texts_of(row.data.get("examples"))[:MOST_EXAMPLES]
    return triggers_of(row.routing_text, examples, is_word)


class Separator:
    """Tries the tasks of skills, and edits of their descriptions, by the rule that hooks use."""

    def __init__(self, store: Store, pool: StoredPool, threshold: float, most: int) -> None:
        self._store = store
        self._pool = pool
        self._threshold = threshold
        self._most = most
        self._ranked: dict[str, list[Ranked]] = {}
        self._tasks: dict[str, Sequence[str]] = {}

    def named_for(self, task: str) -> list[str]:
        """The paths of the skills that a hook would name, the best first."""
        if task not in self._ranked:
            ranked = rank(Task(task), self._pool)
            self._ranked[task] = named(ranked, self._threshold, self._most)
        return [one.document.path for one in self._ranked[task]]

    def tasks(self, row: Row) -> Sequence[str]:
        """The first tasks in a skill's own text."""
        if row.path not in self._tasks:
            self._tasks[row.path] = triggers(row).wanted[:MOST_TASKS]
        return self._tasks[row.path]

    def collisions(self, first: Row, second: Row) -> list[Collision]:
        """The tasks of each of two skills for which the other fires too."""
        return [
            Collision(
                task=task,
                skill=row.handle,
                rival=rival.handle,
                is_ahead=row.path not in found[: found.index(rival.path)],
            )
            for row, rival in ((first, second), (second, first))
            for task in self.tasks(row)
            if rival.path in (found := self.named_for(task))
        ]

    def edits(
        self, first: Row, second: Row, collisions: Sequence[Collision]
    ) -> tuple[list[Edit], bool]:
        """The fewest words that help, and whether the other skill is silent after that.

        If nothing silences it, words after which each skill comes first for its own tasks.
        """
        both = ((first, second), (second, first))
        silencing = {first.path: _Words(first), second.path: _Words(second)}
        for row, rival in both:
            tasks = [one.task for one in collisions if one.skill == row.handle]
            if tasks:
                silencing[rival.path].not_for = self._not_for(rival, tasks)
                silencing[row.path].add = self._words_to_add(row, tasks)
        if self._separates(list(silencing.values()), collisions):
            return _edits(silencing.values()), True
        leading = {first.path: _Words(first), second.path: _Words(second)}
        for row, rival in both:
            behind = [one.task for one in collisions if one.skill == row.handle and one.is_ahead]
            leading[row.path].add = self._words_to_lead(row, rival, behind)
        return (_edits(leading.values()) if self._leads(leading, collisions) else []), False

    def _not_for(self, rival: Row, tasks: Sequence[str]) -> list[str]:
        """The fewest words that stop a rival from firing for tasks; none of its own."""
        chosen: list[str] = []
        own = Task(_own_text(rival)).counts
        words = [word for word in self._lacking(rival, tasks) if not _is_form_of_any(word, own)]
        for word in words[:MOST_NOT_FOR]:
            chosen.append(word)
            if not self._fires_for_any(rival, tasks, chosen):
                return self._fewest(rival, tasks, chosen)
        return chosen

    def _fewest(self, rival: Row, tasks: Sequence[str], words: Sequence[str]) -> list[str]:
        """Without the words that are not needed."""
        kept = list(words)
        for word in words[:-1]:
            fewer = [one for one in kept if one != word]
            if not self._fires_for_any(rival, tasks, fewer):
                kept = fewer
        return kept

    def _fires_for_any(self, rival: Row, tasks: Sequence[str], not_for: Sequence[str]) -> bool:
        pool = self._alone([(rival, _Words(rival, (), not_for).text)])
        return any(self._firing(task, pool) for task in tasks)

    def _words_to_add(self, row: Row, tasks: Sequence[str]) -> list[str]:
        """Words that make a skill fire for those of its own tasks for which it does not."""
        added: list[str] = []
        for task in tasks:
            for word in ["", *self._lacking(row, [task])[:MOST_WORDS]]:
                added += [word] if word else []
                if self._firing(task, self._alone([(row, _Words(row, added).text)])):
                    break
        return added

    def _words_to_lead(self, row: Row, rival: Row, tasks: Sequence[str]) -> list[str]:
        """The fewest words that put a skill before a rival for tasks."""
        added: list[str] = []
        for word in ["", *self._lacking(row, tasks)[:MOST_WORDS]] if tasks else []:
            added += [word] if word else []
            pool = EditedPool(self._pool, self._store, [(row, _Words(row, added).text)])
            if all(self._is_before(row, rival, task, pool) for task in tasks):
                return added
        return added

    def _is_before(self, row: Row, rival: Row, task: str, pool: Pool) -> bool:
        found = [one.document.path for one in rank(Task(task), pool)[: self._most]]
        return row.path in (found[: found.index(rival.path)] if rival.path in found else found)

    def _leads(self, edits: "dict[str, _Words]", collisions: Sequence[Collision]) -> bool:
        """Whether each skill comes before the other for its own tasks after edits."""
        rows = {one.row.handle: one.row for one in edits.values()}
        pool = EditedPool(self._pool, self._store, [(one.row, one.text) for one in edits.values()])
        return any(one.add for one in edits.values()) and all(
            self._is_before(rows[one.skill], rows[one.rival], one.task, pool) for one in collisions
        )

    def _separates(self, edits: "Sequence[_Words]", collisions: Sequence[Collision]) -> bool:
        """Whether each colliding task is for one skill, and no skill loses one of its tasks."""
        pool = self._alone([(one.row, one.text) for one in edits])
        paths = {one.row.handle: one.row.path for one in edits}
        if any(self._firing(one.task, pool) != {paths[one.skill]} for one in collisions):
            return False
        return all(
            one.row.path in self._firing(task, pool)
            for one in edits
            for task in self.tasks(one.row)
            if one.row.path in self.named_for(task)
        )

    def _lacking(self, row: Row, tasks: Iterable[str]) -> list[str]:
        """The words of tasks that a skill lacks; those of most tasks first, then the rarest."""
        has = Task(_own_text(row)).counts
        times: dict[str, int] = {}
        terms: dict[str, str] = {}
        for task in map(Task, tasks):
            words = {task.spelled[term].lower(): term for term in task.counts}
            for word, term in words.items():
                if term not in has and term not in ASKING:
                    times[word] = times.get(word, 0) + 1
                    terms[word] = term
        known = self._pool.found(list(terms.values()))
        return sorted(times, key=lambda word: (-times[word], known.get(terms[word], 0), word))

    def _alone(self, texts: Sequence[tuple[Row, str]]) -> Pool:
        return EditedPool(self._pool, self._store, texts, alone=True)

    def _firing(self, task: str, pool: Pool) -> set[str]:
        ranked = rank(Task(task), pool)
        return {one.document.path for one in ranked if fires(one, self._threshold)}


def _own_text(row: Row) -> str:
    return f"{row.name} {row.routing_text}"


def _is_form_of_any(word: str, stems: Iterable[str]) -> bool:
    """Whether a word looks like a form of one of these, as `diagnose` of `diagnostic`."""
    return any(_are_forms(one, other) for one in Task(word).counts for other in stems)


def _are_forms(one: str, other: str) -> bool:
    shared = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    return shared >= _STEM and max(len(one), len(other)) - shared <= _ENDING


class _Words:
    """Words for the description of a skill."""

    def __init__(self, row: Row, add: Sequence[str] = (), not_for: Sequence[str] = ()) -> None:
        self.row = row
        self.add = add
        self.not_for = not_for

    @property
    def text(self) -> str:
        """The description with more words before it, and a clause after it."""
        text = self.row.routing_text
        if self.add:
            text = f"{' '.join(self.add)}. {text}"
        if self.not_for:
            text = f"{text.rstrip(' .')}. Not for {', '.join(self.not_for)}."
        return text


def _edits(words: Iterable[_Words]) -> list[Edit]:
    return [
        Edit(skill=one.row.handle, add=one.add, not_for=one.not_for)
        for one in words
        if one.add or one.not_for
    ]
