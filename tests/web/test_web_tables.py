"""Tables: they filter, sort and page by the address, and their HTML."""

import re

import pytest
from markupsafe import escape

from metier.catalog import Catalog
from metier.config import Config
from metier.errors import UsageError
from metier.web.injected_html import pieces_of_text_html
from metier.web.page import View
from metier.web.query import Query
from metier.web.table import Column, table_of
from metier.web.table_html import rows_html, table_html


def view_of(query: str) -> View:
    with Catalog.open(config=Config(host_folders=False)) as catalog:
        items = [tuple(one.split("=")) for one in query.split("&") if one]
        return View(catalog=catalog, query=Query(items), page="x")  # type: ignore[arg-type]


ROWS = [{"name": f"n{number:02}", "size": number} for number in range(12)]
COLUMNS = [Column("name", "Name"), Column("size", "Size", "number")]


def test_a_table_filters_sorts_and_pages_by_the_address() -> None:
    table = table_of(view_of("sort=-size&size=5&page=2"), COLUMNS, ROWS)
    assert [row["size"] for row in table.rows] == [6, 5, 4, 3, 2]
    assert (table.first, table.last, table.total, table.pages) == (6, 10, 12, 3)
    assert table.sort_links() == ["/x?size=5&sort=name", "/x?size=5&sort=size"]
    assert table.page_link(3) == "/x?sort=-size&size=5&page=3"
    found = table_of(view_of("filter=N03"), COLUMNS, ROWS)
    assert [row["name"] for row in found.rows] == ["n03"]
    with pytest.raises(UsageError):
        table_of(view_of("sort=nothing"), COLUMNS, ROWS)


def test_numbers_of_a_column_have_as_many_digits_as_it_says() -> None:
    view = View(catalog=None, query=Query(), page="things")  # type: ignore[arg-type]
    column = Column("share", "Share", "number", digits=2)
    rows = [{"share": share} for share in (0.5, 0.125, None)]
    html = rows_html(table_of(view, [column], rows))
    assert re.findall(r">([^<>]*)</td>", html) == ["0.50", "0.12", ""]


def test_durations_are_written_as_people_read_them_and_sort_by_length() -> None:
    column = Column("seconds", "Took", "duration")
    rows = [{"seconds": seconds} for seconds in (75, 0.009, None, 2.34)]
    html = rows_html(table_of(view_of("sort=-seconds"), [column], rows))
    assert re.findall(r">([^<>]*)</td>", html) == ["", "1 min 15 s", "2.3 s", "9 ms"]


def test_a_table_links_to_its_other_pages_and_keeps_hostile_texts_as_text() -> None:
    view = view_of("filter=n&size=5&page=2&x=<b>")
    html = table_html(table_of(view, COLUMNS, ROWS, noun="name"), "Names")
    assert "<b>" not in html
    assert 'value="&lt;b&gt;"' in html
    assert "6–10 of 12 names" in html
    for relation, page in (("prev", ""), ("next", "&amp;page=3")):
        to = f"/x?filter=n&amp;size=5&amp;x=%3Cb%3E{page}"
        assert f'<a rel="{relation}" href="{to}" hx-get="{to}" hx-target="#table-main"' in html


def test_an_injected_document_is_shown_as_it_is_now() -> None:
    piece = {"kind": "ability", "id": "one", "tokens": 1, "isCut": False}
    for text in ("before", "after", "<b>"):
        html = pieces_of_text_html([{**piece, "text": text}])
        assert f"<pre>{escape(text)}</pre>" in html


def test_two_tables_on_a_page_do_not_share_their_parameters() -> None:
    view = view_of("a.sort=-size&b.page=2")
    first = table_of(view, COLUMNS, ROWS, name="a")
    second = table_of(view, COLUMNS, ROWS, name="b", size=5)
    assert first.rows[0]["size"] == 11
    assert second.rows[0]["size"] == 5
    assert "b.page=2" in first.sort_links()[0]
