"""Twenty requirements among real skills: each gets an answer with reasons; the page shows it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import boundary_of
from metier import Catalog
from metier.resolve.report import Resolution
from metier.values.policy import PRESETS
from reference import DOCS, check

REQUIREMENTS = (
    "pdf-extraction",
    "web-search",
    "code-review",
    "sql-query",
    "image-generation",
    "unit-testing",
    "docker-deployment",
    "kubernetes-debugging",
    "email-sending",
    "calendar-management",
    "speech-synthesis",
    "data-visualization",
    "commit-message",
    "api-documentation",
    "security-audit",
    "browser-automation",
    "spreadsheet-editing",
    "translation",
    "release-notes",
    "flower-arranging",
)
HEAD = """# Twenty requirements among 10,000 real skills

Written by `pytest -m corpus` with `METIER_WRITE_DOCS=1` from a collection of real skill files.
Hardly any of them have a capability list or a contract. The page does not name the skills, because
they belong to other people. Each row is the result of `metier resolve -r NAME --policy prose`: the
match and the scores of the chosen skill, the figure that ranked it first, how many candidates
passed, and why the others were rejected.

"""
COLUMNS = (
    *("required", "outcome", "match", "final", "S_contract", "S_desc", "S_namepath"),
    *("first by", "passed", "rejected"),
)
TABLE = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|\n"


@pytest.fixture(scope="module")
def catalog(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Catalog]:
    home = str(tmp_path_factory.mktemp("home"))
    with Catalog.in_memory(boundary_of(corpus), home=home) as opened:
        opened.refresh()
        yield opened


@pytest.mark.corpus
@pytest.mark.parametrize("required", REQUIREMENTS)
def test_a_requirement_is_answered_with_reasons(catalog: Catalog, required: str) -> None:
    made = catalog.resolve([required], policy=PRESETS["prose"])
    report = made.report.data
    rows, counted = report["candidates"], report["rejected_without_row"]
    assert len(rows) + sum(counted.values()) == report["discovery"]["included"]
    assert all(row["rejected"] or row["rank"] for row in rows)
    assert made.selected or made.unresolved == (required,)


@pytest.mark.corpus
def test_the_page_of_requirements_is_up_to_date(catalog: Catalog) -> None:
    runs = [catalog.resolve([one], policy=PRESETS["prose"]) for one in REQUIREMENTS]
    check(DOCS / "requirements.md", HEAD + TABLE + "".join(map(_line, runs)))


def _line(made: Resolution) -> str:
    report = made.report.data
    [required] = made.question.requires
    best = next((row for row in report["candidates"] if row["selected"]), None)
    rejected: dict[str, int] = dict(report["rejected_without_row"])
    for row in report["candidates"]:
        for reason in row["rejected"][:1]:
            rejected[reason] = rejected.get(reason, 0) + 1
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(rejected.items()))
    passed = sum(row["rank"] is not None for row in report["candidates"])
    if best is None:
        cells = [""] * 6
    else:
        figures = (best[key] for key in ("S_total_final", "S_contract", "S_desc", "S_namepath"))
        first_by = best["tie_break"]["by"] if best["tie_break"] else "alone"
        cells = [best["matches"][0]["match"], *(f"{one:.3f}" for one in figures), first_by]
    parts = [required, made.outcome.name, *cells, str(passed), reasons]
    return f"| {' | '.join(parts)} |\n"
