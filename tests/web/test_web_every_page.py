"""What holds for every page of the inspector."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from conftest import Workspace
from mcp_served import example, own_home
from metier.catalog import Catalog
from metier.web.app import all_pages
from metier.web.page import Page
from metier.web.query import Query
from metier.web.table import Table
from web_served import Inspected, inspected

_ASKED = {
    "agents": {"task": "prepare a release"},
    "competing": {"id": "release-notes"},
    "document": {"id": "release-notes"},
    "inject": {"task": "review this"},
    "listing": {"host": "claude-code"},
    "recompute": {"require": "web-search"},
    "resolve": {"require": "web-search", "full": "1"},
    "which": {"task": "write release notes"},
}
"""What pages are asked that show little by themselves."""
_TABLES = {
    "agents": ["table-main"],
    "catalog": ["table-main"],
    "inject": ["table-left"],
    "listing": ["table-main"],
    "overlap": ["table-c", "table-main"],
    "reports": ["table-r"],
    "resolve": ["table-all"],
    "runs": ["table-main"],
    "usage": ["table-s", "table-d", "table-e", "table-r"],
}
"""The tables of pages that have some."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Inspected]:
    """The example workspace, which its user trusts."""
    with own_home(tmp_path_factory.mktemp("home")):
        root = example(tmp_path_factory.mktemp("site"))
        with inspected(root) as made:
            yield made


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_every_page_can_be_copied_as_a_command(site: Inspected, page: Page) -> None:
    text = site.client.get(f"/{page.name}", params=_ASKED.get(page.name)).text
    assert re.search(r'<button type="button" class="copy" data-copy="metier [^"]+" hidden>', text)


@pytest.mark.parametrize("page", all_pages(), ids=lambda page: page.name)
def test_every_table_sorts_filters_and_pages_on_the_server(site: Inspected, page: Page) -> None:
    asked = Query(_ASKED.get(page.name, {}).items())

    def tables(catalog: Catalog, query: Query) -> dict[str, Table]:
        return {one.element: one for one in _tables(page.data(catalog, query))}

    def check(catalog: Catalog) -> None:
        assert [*tables(catalog, asked)] == _TABLES.get(page.name, [])
        for name, table in tables(catalog, asked).items():
            key = table.asked.key
            assert any(column.sorts for column in table.columns)
            for column in table.columns:
                if column.sorts:
                    query = asked.replaced({key("sort"): f"-{column.key}"})
                    found = tables(catalog, query)[name]
                    assert (found.asked.sort, found.asked.descending) == (column.key, True)
                    assert found.total == table.total
            cut = tables(catalog, asked.replaced({key("size"): 1, key("page"): 2}))[name]
            assert [*cut.rows] == [*table.rows[1:2]]
            if name != "table-main" or page.name != "catalog":  # which has a search field
                none = asked.replaced({key("filter"): "zzz-nothing-has-this"})
                assert tables(catalog, none)[name].total == 0

    asyncio.run(site.reading.ask(check))


def _tables(value: object) -> Iterator[Table]:
    if isinstance(value, Table):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _tables(one)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("which", []),
        ("overlap", []),
        ("catalog", []),
        ("agents", []),
        ("resolve", ["answer"]),
        ("inject", ["answer", "pieces"]),
        ("overview", ["hosts"]),
    ],
)
def test_what_a_page_computes_is_kept_until_the_catalog_changes(
    workspace: Workspace, name: str, parts: list[str]
) -> None:
    page = next(one for one in all_pages() if one.name == name)
    query = Query(_ASKED.get(name, {}).items())
    workspace.skill("release-notes", "Write release notes", extra="capabilities: [web-search]")
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()

        def data() -> object:
            found: Any = page.data(catalog, query)
            for part in parts:
                found = found[part]
            return found

        first = data()
        assert data() is first
        workspace.skill("another", "Write release notes too")
        catalog.refresh()
        assert data() is not first
