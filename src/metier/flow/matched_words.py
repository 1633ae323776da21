"""Which words of a task a skill has, field by field."""

from collections.abc import Mapping, Sequence
from functools import cached_property

from metier.core.clauses import split_clauses
from metier.core.ranking import Ranked, Task
from metier.core.terms import parts_of, raw_words, searched, terms
from metier.index.ranked import RankText
from metier.values.which import Explanation


class MatchedWords(Explanation):
    """Worked out when it is first asked for: most callers want the order and the figures only."""

    def __init__(self, task: Task, near: Mapping[str, float], one: Ranked, texts: RankText) -> None:
        self._spelled = task.spelled
        self._found = sorted(one.near, key=lambda term: (-near[term], term))
        self._body = one.document.body
        self._texts = texts

    @cached_property
    def matched(self) -> Mapping[str, Sequence[str]]:  # type: ignore[override]  # cached
        name, about, examples, _ = self._texts
        fields = {
            "name": name,
            "description": split_clauses(about).about,
            "examples": " ".join(examples),
        }
        found = {field: self._words_in(text) for field, text in fields.items()}
        known = {word for words in found.values() for word in words}
        found["body"] = [
            word
            for term, word in self._spelled.items()
            if word not in known and searched(word, term) in self._body
        ]
        return {field: words for field, words in found.items() if words}

    @cached_property
    def against(self) -> Sequence[str]:  # type: ignore[override]  # cached
        return self._words_in(split_clauses(self._texts.about).against)

    def _words_in(self, text: str) -> list[str]:
        present = set(terms(text))
        return [word for term, word in self._spelled.items() if term in present]

    @cached_property
    def related(self) -> Sequence[str]:  # type: ignore[override]  # cached
        """The strongest first."""
        written = {
            term: word
            for word in reversed(raw_words(f"{self._texts.name} {self._texts.about}"))
            for term in parts_of(word).terms
        }
        spelled = [written.get(term, term) for term in self._found]
        return list({word.casefold(): word for word in reversed(spelled)}.values())[::-1]
