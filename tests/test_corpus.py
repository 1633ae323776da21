"""Ten thousand real SKILL.md files: none stops the load, and what is refused is explained."""

import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

from metier.index.capabilities import find_skills_by_capability
from metier.index.documents import excluded_documents, find_documents, providers, stored_issues
from metier.index.skills import SkillRepository
from metier.index.store import Store
from metier.load import read_skills
from metier.values.loads import LoadSummary
from metier.values.outcomes import Issue

pytestmark = pytest.mark.corpus

FENCED = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
DESCRIBED = re.compile(r"^description[ \t]*:(?!\s*(?:$|['\"]{2}\s*$))", re.MULTILINE)
BLOCK = re.compile(r"^description[ \t]*:[ \t]*\r?\n[ \t]+\S", re.MULTILINE)

NOT_YET_PLACED = "SK312"
"""Has a test of its own in test_catalog.py that says where it should point."""


class Load(NamedTuple):
    folder: Path
    store: Store
    repository: SkillRepository
    summary: LoadSummary

    def refused(self) -> set[str]:
        """Paths of the files of which no skill could be made."""
        rows = excluded_documents(self.store)
        return {row.path for row in rows if row.reason != "duplicate-content"}

    def issues(self) -> dict[str, list[Issue]]:
        found: dict[str, list[Issue]] = {}
        for issue in stored_issues(self.store):
            found.setdefault(issue.path, []).append(issue)
        return found


@pytest.fixture(scope="module")
def load(corpus: Path) -> Iterator[Load]:
    """The whole collection, loaded once and kept nowhere."""
    with closing(Store.in_memory()) as store:
        repository = SkillRepository(store, read_skills)
        yield Load(corpus, store, repository, repository.load_skills_from_disk([corpus]))


@pytest.fixture(scope="module")
def files(corpus: Path) -> dict[str, bytes]:
    return {
        path.relative_to(corpus).as_posix(): path.read_bytes()
        for path in corpus.rglob("*")
        if path.name in ("SKILL.md", "skill.md")
    }


def has_description(raw: bytes) -> bool:
    """Whether a plain look finds a description between the first two fences."""
    fenced = FENCED.match(raw.decode(errors="replace"))
    if fenced is None:
        return False
    return bool(DESCRIBED.search(fenced[1]) or BLOCK.search(fenced[1]))


def test_no_file_stops_the_load_and_every_one_is_counted(
    load: Load, files: dict[str, bytes]
) -> None:
    assert load.summary.total_on_disk == len(files) > 1000
    assert load.summary.loaded + load.summary.skipped == len(files)
    assert len(load.repository.list_skills(shadowed=True)) == load.summary.loaded


def test_nearly_every_file_with_a_description_is_usable(
    load: Load, files: dict[str, bytes]
) -> None:
    described = {path for path, raw in files.items() if has_description(raw)}
    assert len(described) > 0.9 * len(files)
    lost = sorted(described & load.refused())
    assert len(lost) <= 0.01 * len(described), lost[:20]


def test_every_refused_file_is_told_where_and_what_to_do(load: Load) -> None:
    issues = load.issues()
    assert load.refused()
    for path in load.refused():
        errors = [issue for issue in issues.get(path, []) if issue.is_error]
        assert errors, path
        for issue in errors:
            assert issue.line >= 1
            assert issue.column >= 1
            assert issue.hint.strip(), issue


def test_every_finding_points_at_a_line_that_exists(load: Load, files: dict[str, bytes]) -> None:
    assert load.issues()
    for path, issues in load.issues().items():
        lines = files[path].count(b"\n") + 1
        placed = [issue for issue in issues if issue.code != NOT_YET_PLACED]
        beyond = [issue for issue in placed if not 1 <= issue.line <= lines or issue.column < 1]
        assert beyond == []


def test_every_skill_is_found_by_its_id_and_by_its_name(load: Load) -> None:
    assert load.repository.list_skills()
    for row in load.repository.list_skills(shadowed=True):
        assert [one.path for one in find_documents(load.store, "skill", row.id)] == [row.path]
    for row in load.repository.list_skills():
        assert find_documents(load.store, "skill", row.name)[0].path == row.path


@pytest.mark.invariant(id="INV-IDX-7")
def test_index_and_sql_agree_on_every_capability(load: Load) -> None:
    index = load.repository.get_capability_index()
    known = set(index)
    assert known
    others = {one.swapcase() for one in known} | {f"{one[:-1]}_" for one in known} | {"%", ""}
    for capability in known | others:
        by_index = find_skills_by_capability(index, capability)
        by_sql = [row.name for row in load.repository.list_skills(capability=capability)]
        assert by_index == by_sql == providers(load.store, capability)


def test_a_further_load_changes_nothing(load: Load) -> None:
    before = load.store.connection.total_changes
    for _ in range(2):
        assert load.repository.load_skills_from_disk([load.folder]) == load.summary
    changes = load.store.connection.total_changes - before
    (parts,) = load.store.rows("SELECT count(*) FROM trail_part")[0]
    assert changes in (0, 1 + parts), "the trail of a walk is kept once, or was kept before"
