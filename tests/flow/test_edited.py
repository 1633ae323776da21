"""What an edit of a description would change, without writing it."""

from collections.abc import Iterator

import pytest

from conftest import Workspace
from metier import Catalog
from metier.core.ranking import SMALL_POOL, Task, rank
from metier.flow.edited import EditedPool
from metier.index.pools import pool_of

TABLES = "Extracts tables from PDF invoices."
SCANS = "Straightens scanned pages of newspapers."
TASKS = [
    "extract the tables of these PDF invoices",
    "straighten the scanned pages",
    "tables in scanned newspapers",
    "park the boat near the harbour",
    "grumble mumble",
]


@pytest.fixture(params=[5, SMALL_POOL + 5], ids=["small", "large"])
def catalog(request: pytest.FixtureRequest, workspace: Workspace) -> Iterator[Catalog]:
    workspace.skill("tables", TABLES, body="Look for columns.")
    workspace.skill("scans", SCANS, extra="examples: [clean this page]")
    for number in range(request.param):
        workspace.skill(
            f"filler-{number}", f"Answers letter {number} about parking near a harbour."
        )
    with Catalog.open(workspace.root) as opened:
        opened.refresh()
        yield opened


def evidence(catalog: Catalog, task: str, texts: dict[str, str] | None = None,
             alone: bool = False) -> dict[str, float]:  # fmt: skip
    """The evidence of two skills for a task, by name."""
    pool = pool_of(catalog.store, "skill")
    if texts is not None:
        rows = [(catalog.row("skill", name), text) for name, text in texts.items()]
        pool = EditedPool(pool, catalog.store, rows, alone=alone)  # type: ignore[assignment]  # both
    ranked = rank(Task(task), pool)
    found = {one.document.path.split("/")[1]: one.evidence for one in ranked}
    return {name: found[name] for name in ("tables", "scans") if found.get(name)}


def test_without_a_change_the_evidence_is_the_same(catalog: Catalog) -> None:
    now = {task: evidence(catalog, task) for task in TASKS}
    assert any(now.values())
    for task, here in now.items():
        for alone in (True, False):
            same = evidence(catalog, task, {"tables": TABLES, "scans": SCANS}, alone)
            assert {name: same[name] for name in here} == here


def test_an_edit_gives_the_evidence_that_writing_it_gives(
    catalog: Catalog, workspace: Workspace
) -> None:
    texts = {
        "tables": f"columns. {TABLES} Not for newspapers.",
        "scans": "Straightens pages of invoices.",
    }
    before = {task: [evidence(catalog, task, texts, alone) for alone in (True, False)]
              for task in TASKS}  # fmt: skip
    workspace.skill("tables", texts["tables"], body="Look for columns.")
    workspace.skill("scans", texts["scans"], extra="examples: [clean this page]")
    catalog.refresh()
    after: dict[str, dict[str, float]] = {}
    for task, both in before.items():
        after[task] = evidence(catalog, task)
        for found in both:
            assert {name: found[name] for name in after[task]} == after[task]
    assert any(after.values())
