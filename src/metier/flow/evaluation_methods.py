"""The methods of a catalog that judge its skills: evaluations and overlap."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.core.arguments import (
    check_listener,
    check_optional_text,
    checked,
    count,
    list_of,
    number,
    texts,
)
from metier.core.process import without_garbage_collection

if TYPE_CHECKING:
    from metier.config import Config
    from metier.core.overlap import OnProgress
    from metier.flow.eval_drafts import Drafts
    from metier.flow.evaluating import EvaluatedCatalog
    from metier.flow.overlap_map import OverlapMap
    from metier.index.store import Store
    from metier.values.evals import EvalCase, Evaluation
    from metier.values.overlap import Overlap
    from metier.values.rows import Row


class EvaluationMethods:
    """How often the right skills fire, and which compete."""

    store: "Store"
    config: "Config"

    if TYPE_CHECKING:

        def find_skill(self, wanted: str) -> "Row": ...

    @checked(
        files=texts("evals.json"),
        cases=list_of("EvalCase"),
        host=check_optional_text,
        on_progress=check_listener,
    )
    def evaluate(
        self: "EvaluatedCatalog",
        files: Sequence[str] = (),
        *,
        cases: "Sequence[EvalCase]" = (),
        host: str | None = None,
        on_progress: "OnProgress | None" = None,
    ) -> "Evaluation":
        """Evaluate whether the right skills are named, on `cases` and on evaluation files.

        Without either, the files of the workspace are found by their names. A file that cannot be
        read is in `problems`, a case with an unknown name in `unknown`, and `passed` is false.
        Raises `UsageError` for an unknown host, and for a case that expects nothing.
        """
        from metier.flow.eval_cases import check_cases  # few commands need it
        from metier.flow.evaluating import evaluate, read_cases

        cases = list(cases)
        check_cases(cases)
        read = read_cases(self, files, finds=not cases)
        read.cases[:0] = cases
        return evaluate(self, read, host=host, on_progress=on_progress)

    @checked(
        skills=texts("pdf-tables"),
        least=number(0, 1),
        limit=count(1),
        host=check_optional_text,
        on_progress=check_listener,
    )
    def overlap(
        self,
        skills: Sequence[str] = (),
        *,
        least: float = 0.6,
        limit: int = 10,
        host: str | None = None,
        on_progress: "OnProgress | None" = None,
    ) -> "Overlap":
        """Which skills compete for the same tasks, or with these `skills`; at most `limit` pairs.

        Raises `NotFoundError` for an unknown skill, `UsageError` for a host.
        """
        from metier.flow.overlap import OverlapQuestion, overlap_of  # few commands need it

        rows = [self.find_skill(name) for name in skills]
        question = OverlapQuestion(least, limit, host)
        with without_garbage_collection():
            return overlap_of(self.store, self.config.capabilities, question, rows, on_progress)

    @checked(least=number(0, 1), host=check_optional_text)
    def overlap_map(self, *, least: float = 0.6, host: str | None = None) -> "OverlapMap":
        """Where skills are by their meaning, and which compete; cached until the catalog changes.

        Raises `UsageError` for a host.
        """
        from metier.flow.overlap_map import overlap_map  # only pages need it

        with without_garbage_collection():
            return overlap_map(self.store, least, host)

    @checked(skills=texts("pdf-tables"), on_progress=check_listener)
    def draft_cases(
        self, skills: Sequence[str] = (), *, on_progress: "OnProgress | None" = None
    ) -> "Drafts":
        """Evaluation cases for these skills, or for all, from their texts, for you to correct.

        Raises `NotFoundError` for an unknown skill.
        """
        from metier.flow.eval_drafts import draft_cases  # few commands need it

        rows = [self.find_skill(name) for name in skills]
        return draft_cases(self.store, self.config.capabilities, rows, on_progress)
