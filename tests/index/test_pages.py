"""Documents page by page: the same as the whole list, whatever is searched for."""

import pytest

from conftest import Workspace
from metier import Catalog
from metier.config import Config
from metier.index.documents import page_of_documents

TEXTS = ["Die STRASSE", "die straße", "İstanbul", "nothing of it", "a%b_c", "two\nlines"]


@pytest.fixture
def catalog(workspace: Workspace) -> Catalog:
    for number in range(30):
        text = TEXTS[number % len(TEXTS)].replace("\n", " ")
        workspace.skill(f"skill-{number:02}", f"{text} {number % 4}", extra="capabilities: [one]")
    catalog = Catalog.open(workspace.root, config=Config(host_folders=False))
    catalog.refresh()
    return catalog


@pytest.mark.parametrize("limit", [1, 3, 29, 30, 31])
@pytest.mark.parametrize("capability", [None, "one", "none"])
@pytest.mark.parametrize(
    "search", [None, "", "Straße", "STRASSE 2", "istanbul", "%", "_c", "skill-1", "\n", "zzz"]
)
def test_pages_together_are_the_list(
    catalog: Catalog, search: str | None, capability: str | None, limit: int
) -> None:
    wanted = [row.name for row in catalog.skills(search=search, capability=capability)]
    found, after = [], ""
    while True:
        page = page_of_documents(
            catalog.store, "skill", limit=limit, after=after, search=search, capability=capability
        )
        assert page.total == len(wanted)
        assert len(page.rows) <= limit
        found += [row.name for row in page.rows]
        if not page.last:
            break
        after = page.last
    assert found == wanted
    catalog.close()


def test_a_search_sees_what_was_written_since(catalog: Catalog, workspace: Workspace) -> None:
    assert page_of_documents(catalog.store, "skill", limit=5, search="brand new").total == 0
    workspace.skill("another", "Brand new.")
    catalog.refresh()
    page = page_of_documents(catalog.store, "skill", limit=5, search="brand new")
    assert [row.name for row in page.rows] == ["another"]
    catalog.close()
