"""The skills that fit a prompt best: BM25 over name and routing text. Light.

Only the rarest words of a long prompt count, and a limited number of postings is read;
`benchmarks/hooks.py` measures what that costs in hits.
"""

from __future__ import annotations

from metier.core.bm25 import bm25_scores, idf, unpacked
from metier.core.stems import stems
from metier.core.text import routing_text
from metier.hosts import host_bit
from metier.hosts.switches import honours_the_switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metier.hook.store import CatalogRows

MOST_TERMS = 48
MOST_POSTINGS = 12_000
NAME_BONUS = 0.75
"""Added for a name with all words of the prompt, in part for a part."""
FEW_TERMS = 8
"""Scores for a prompt with more words are scaled down: more words match by chance."""
_MOST_ROWS = 60
"""The most skills whose rows are read; some may be shadowed."""


class Suggestion:
    """A skill that may be named."""

    def __init__(self, name: str, description: str, path: str, file: str, score: float) -> None:
        self.name = name
        self.description = description
        self.path = path
        self.file = file
        """Empty for a file of the workspace."""
        self.score = score
        self.outcome = ""

    def as_row(self) -> list[object]:
        return [self.name, self.path, self.score, self.outcome]


def suggest(
    catalog: CatalogRows,
    messages: Sequence[str],
    most: int,
    threshold: float,
    host: str | None = None,
) -> list[Suggestion]:
    """The skills that fit the prompt, the last of `messages`, best first.

    A score of 1 is that of one word that only one skill has; words in a name count more. Skills
    that only the user starts are excluded if `host` honours that, and so are skills of other hosts.
    """
    counted = catalog.setting("stems")
    if not counted or not messages:
        return []
    total, length = map(int, counted.split())
    if not total:
        return []
    terms = _rarest(catalog, list(dict.fromkeys(stems(messages[-1]))))
    weights = {stem: idf(total, found) for stem, found in terms}
    sql = "SELECT postings FROM posting WHERE field = 'prose' AND term = ?"
    scores = bm25_scores(
        ((weight, unpacked(catalog.rows(sql, (stem,))[0][0])) for stem, weight in weights.items()),
        length / total,
    )
    unit = idf(total, 1) * max(1.0, len(terms) / FEW_TERMS) ** 0.5
    best = sorted(scores, key=lambda key: (-scores[key], key))[: max(_MOST_ROWS, 4 * most)]
    offered = _offered(host)
    rows = catalog.rows_for(
        "SELECT key, name, description, when_to_use, path, iif(source = 'workspace', '', file)"
        " FROM document JOIN skill_size USING (key)"
        f" WHERE {offered} AND key",
        best,
    )
    suggestions = [
        Suggestion(
            name,
            routing_text(about, when),
            path,
            file,
            round(scores[key] / unit + _bonus(name, weights), 6),
        )
        for key, name, about, when, path, file in rows
    ]
    suggestions.sort(key=lambda one: (-one.score, one.path))
    return _judged(suggestions[: most + 1], most, threshold)


def _offered(host: str | None) -> str:
    """The condition for skills that may be named to a host."""
    manual = " AND NOT manual" if honours_the_switch(host) else ""
    usable = "state = 'active' AND origin != 'untrusted' AND safe"
    return f"{usable} AND hosts & {host_bit(host)}{manual}"


def skills_named(
    catalog: CatalogRows, names: Sequence[str], most: int, host: str | None = None
) -> list[Suggestion]:
    """The skills with these names or folders, in that order; those that `host` cannot load not."""
    sql = (
        "SELECT name, description, when_to_use, path, iif(source = 'workspace', '', file)"
        f" FROM document JOIN skill_size USING (key) WHERE {_offered(host)}"
    )
    found: dict[str, Suggestion] = {}
    for name in names[: 2 * most]:
        end = f"/{name.rpartition(':')[2]}/SKILL.md"
        rows = catalog.rows(f"{sql} AND name = ? LIMIT 1", (name,)) or catalog.rows(
            f"{sql} AND substr(path, ?) = ? ORDER BY path LIMIT 1", (-len(end), end)
        )
        for title, about, when, path, file in rows:
            known = Suggestion(title, routing_text(about, when), path, file, 0.0)
            found.setdefault(path, known)
    return list(found.values())[:most]


def _rarest(catalog: CatalogRows, wanted: Sequence[str]) -> list[tuple[str, int]]:
    """The stems that the fewest skills have, and how many; as many as may be read."""
    rows = catalog.rows_for(
        "SELECT found, term FROM posting WHERE field = 'prose' AND term", wanted
    )
    terms: list[tuple[str, int]] = []
    left = MOST_POSTINGS
    for found, stem in sorted(rows)[:MOST_TERMS]:
        if found > left:
            break
        left -= found
        terms.append((stem, found))
    return terms


def _bonus(name: str, weights: dict[str, float]) -> float:
    """The weight of the prompt's words in a name, as a share of all."""
    inside = sum(weights.get(stem, 0.0) for stem in dict.fromkeys(stems(name)))
    return NAME_BONUS * inside / sum(weights.values())


def _judged(suggestions: list[Suggestion], most: int, threshold: float) -> list[Suggestion]:
    for place, one in enumerate(suggestions):
        if one.score < threshold:
            one.outcome = "below-threshold"
        elif place >= most:
            one.outcome = "beyond-the-count"
    return suggestions
