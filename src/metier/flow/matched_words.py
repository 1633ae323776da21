"""Which words of a task a skill has, field by field."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

from metier.core.clauses import split_clauses
from metier.core.coerce import texts_of
from metier.core.ranking import Ranked, Task
from metier.core.stems import STOP_WORDS
from metier.core.terms import parts_of, raw_words, searched, terms
from metier.core.text import is_cjk
from metier.index.rank_index import MOST_EXAMPLES, RankText
from metier.values.rows import Row
from metier.values.which import Explanation, ShownText

_LONGEST_WORD = 30
_FILLERS = STOP_WORDS | frozenset(
    """
    al alla auch auf aus avec bei che com como con dans dass de dei del della dem den der des die
    du ein eine einem einen einer el ele elle en es est et für ihr il im ist la las le les lo los
    mais mit na nach nicht no non nos nous o oder os para par pas per por pour que qui se sich sie
    sind su sur um uma un una und une uno vom von vous wenn wie wir y zu zum zur
    """.split()  # noqa: SIM905  # reads better
)
"""Words that say nothing; those of other languages count in the ranking, but explain nothing."""


class MatchedWords(Explanation):
    """Worked out when it is first asked for: most callers want the order and the figures only."""

    def __init__(
        self, task: Task, near: Mapping[str, float], ranked: Ranked, row: Row, cut: ShownText | None
    ) -> None:
        self._spelled = task.spelled
        self._near = near
        self._one = ranked
        self._row = row
        self._cut = cut

    @cached_property
    def _texts(self) -> RankText:
        if self._cut is not None:
            return RankText(self._cut.name, self._cut.text)
        examples = texts_of(self._row.data.get("examples"))[:MOST_EXAMPLES]
        return RankText(self._row.name, self._row.routing_text, examples)

    @cached_property
    def matched(self) -> Mapping[str, Sequence[str]]:  # type: ignore[override]  # cached
        name, about, examples, _ = self._texts
        body = self._one.document.body
        fields = {
            "name": name,
            "description": split_clauses(about).about,
            "examples": " ".join(examples),
        }
        found = {field: self._words_in(text) for field, text in fields.items()}
        known = {word for words in found.values() for word in words}
        found["body"] = _each_once(
            word
            for term, word in self._spelled.items()
            if word not in known and searched(word, term) in body
        )
        return {field: words for field, words in found.items() if words}

    @cached_property
    def spelled(self) -> Mapping[str, str]:  # type: ignore[override]  # cached
        body, found = self._one.document.body, {}
        for term, word in self._spelled.items():
            if word in self.matched.get("body", ()):
                other = _other_word(body, searched(word, term), term)
                if other not in ("", word.lower()):
                    found[word] = other
        return found

    @cached_property
    def against(self) -> Sequence[str]:  # type: ignore[override]  # cached
        return self._words_in(split_clauses(self._texts.about).against)

    def _words_in(self, text: str) -> list[str]:
        present = set(terms(text))
        return _each_once(word for term, word in self._spelled.items() if term in present)

    @cached_property
    def related(self) -> Sequence[str]:  # type: ignore[override]  # cached
        """The strongest first; only those that a reader takes for a word."""
        near = self._near
        found = sorted(self._one.near, key=lambda term: (-near[term], term))
        written = {
            term: word
            for word in reversed(raw_words(f"{self._texts.name} {self._texts.about}"))
            for term in parts_of(word).terms
        }
        spelled = [_readable(term, written.get(term, term)) for term in found]
        spelled = [word for word in spelled if word and word.casefold() not in _FILLERS]
        return list({word.casefold(): word for word in reversed(spelled)}.values())[::-1]


def _other_word(body: str, form: str, term: str) -> str:
    """The first word of a body that starts with `form`; empty if one of them is the term's own."""
    if not form.startswith(" "):
        return ""
    found = [body[at + 1 : body.find(" ", at + 1)] for at in _places(body, form)]
    if any(term in parts_of(word).terms for word in found):
        return ""
    return found[0] if found else ""


def _places(text: str, form: str) -> Iterator[int]:
    at = text.find(form)
    while at >= 0:
        yield at
        at = text.find(form, at + 1)


def _readable(term: str, written: str) -> str:
    """A term as it is written, unless that is a clause without spaces; empty if it is too long."""
    word = term if any(map(is_cjk, written)) else written
    return word if len(word) <= _LONGEST_WORD else ""


def _each_once(found: Iterable[str]) -> list[str]:
    """An identifier is one word, however many of its parts are found."""
    return list(dict.fromkeys(found))
