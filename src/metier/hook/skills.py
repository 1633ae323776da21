"""The skills that fit a prompt. Light."""

from __future__ import annotations

from metier.core.ranking import Task, fires, named, rank
from metier.core.text import routing_text
from metier.hosts import nameable_to
from metier.storage.hook_files import link_stamp
from metier.storage.rank_pool import StoredPool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from metier.hook.catalog_file import CatalogRows


CHANGED = "changed"
"""The outcome of a skill that needs a refresh, and maybe a review."""


class Suggestion:
    """A skill that may be named."""

    def __init__(
        self, name: str, handle: str, description: str, path: str, file: str, score: float
    ) -> None:
        self.name = name
        """The name that hosts know."""
        self.handle = handle
        self.description = description
        self.path = path
        self.file = file
        """Empty for a file of the workspace."""
        self.score = score
        self.outcome = ""

    def as_row(self) -> list[object]:
        return [self.handle, self.path, self.score, self.outcome]


def suggest(
    catalog: CatalogRows,
    messages: Sequence[str],
    most: int,
    threshold: float,
    host: str | None = None,
) -> list[Suggestion]:
    """The skills that fit the prompt, the last of `messages`, best first.

    Those to name, and the best of the others, each with its evidence as score. Skills that only
    the user starts are excluded if `host` honours that, and so are skills of other hosts. A skill
    that was reviewed is not named if its files have changed since the last refresh.
    """
    if not messages:
        return []
    ranked = rank(Task(messages[-1]), StoredPool(catalog.rows, "skill", nameable_to(host)))
    chosen = {one.document.key for one in named(ranked, threshold, most)}
    best = {one.document.key: one for one in ranked[: most + 1]}
    rows = catalog.rows_for(
        "SELECT key, name, handle, description, when_to_use, path,"
        " iif(source = 'workspace', '', file), review FROM document WHERE key",
        best,
    )
    texts = {key: texts for key, *texts in rows}
    suggestions = []
    for key, one in best.items():
        name, handle, about, when, path, file, review = texts[key]
        suggestion = Suggestion(name, handle, routing_text(about, when), path, file, one.evidence)
        if review and key in chosen and has_changed(catalog, path):
            suggestion.outcome = CHANGED
        elif key not in chosen:
            is_strong = fires(one, threshold)
            suggestion.outcome = "beyond-the-count" if is_strong else "below-threshold"
        suggestions.append(suggestion)
    return suggestions


def skills_named(
    catalog: CatalogRows, names: Sequence[str], most: int, host: str | None = None
) -> list[Suggestion]:
    """The skills with these handles, names or folders, in that order, if `host` can load them."""
    sql = (
        "SELECT name, handle, description, when_to_use, path,"
        " iif(source = 'workspace', '', file), review"
        f" FROM document JOIN ranked USING (key) WHERE {nameable_to(host)}"
    )
    found: dict[str, Suggestion] = {}
    for name in names[: 2 * most]:
        end = f"/{name.rpartition(':')[2]}/SKILL.md"
        rows = (
            catalog.rows(f"{sql} AND handle = ? LIMIT 1", (name,))
            or catalog.rows(f"{sql} AND name = ? LIMIT 1", (name,))
            or catalog.rows(
                f"{sql} AND substr(path, ?) = ? ORDER BY path LIMIT 1", (-len(end), end)
            )
        )
        for title, handle, about, when, path, file, review in rows:
            known = Suggestion(title, handle, routing_text(about, when), path, file, 0.0)
            if review and path not in found and has_changed(catalog, path):
                known.outcome = CHANGED
            found.setdefault(path, known)
    return list(found.values())[:most]


def has_changed(catalog: CatalogRows, path: str) -> bool:
    """Whether a file of a skill that was reviewed has changed since the last refresh."""
    stamps = catalog.rows("SELECT stamps FROM bundle WHERE path = ?", (path,))
    lines = stamps[0][0].split("\n") if stamps else [""]
    return any(link_stamp(line.partition("\t")[2]) != line for line in lines)
