"""The titles and rows of a table as HTML: as a macro would write them, but much faster."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from metier.web.table import Column, Row, Table
from metier.web.words import count, cut, moment, percent, shown, tone

LONGEST_CELL = 400
_LONGEST_KEPT = 16_384
"""Of a document whose HTML is kept."""
_FIGURES = ("number", "share", "time")
Write = Callable[[Any, str], str]
"""A value and where its cell leads, as HTML."""


def rows_html(table: Table) -> Markup:
    """The body of a table; every value is escaped."""
    if not table.rows:
        start = f'<td class="empty" colspan="{len(table.columns)}">'
        return Markup(f"<tr>{start}{text_html(table.empty)}</td></tr>")
    columns = [(column, _start(column), _write(column)) for column in table.columns]
    return Markup("\n".join([_row(columns, row) for row in table.rows]))


def head_html(table: Table) -> Markup:
    """The row of titles; htmx replaces only the table when one is followed."""
    links = zip(table.columns, table.sort_links(), strict=True)
    at = text_html(f"#{table.element}")
    return Markup("".join([_title(table, column, to, at) for column, to in links]))


def _title(table: Table, column: Column, link: str, at: str) -> str:
    hint = f' title="{text_html(column.hint)}"' if column.hint else ""
    start = f'<th scope="col" class="{column.kind}" aria-sort="{table.sorted_as(column)}"{hint}>'
    title = text_html(column.title)
    if not column.sorts:
        return f"{start}{title}</th>"
    to = escape(link)
    swap = f'hx-target="{at}" hx-select="{at}" hx-swap="outerHTML" hx-push-url="true"'
    return f'{start}<a href="{to}" hx-get="{to}" {swap}>{title}</a></th>'


def _start(column: Column) -> str:
    """The tag of a cell; on a narrow window a figure is shown beside the title of its column."""
    title = f' data-of="{text_html(column.title)}"' if column.kind in _FIGURES else ""
    return f'<td class="{column.kind}"{title}>'


def _write(column: Column) -> Write:
    return _WRITERS.get(column.kind, _plain) if column.digits is None else _rounded(column.digits)


def _rounded(digits: int) -> Write:
    return lambda value, to: _plain(None if value is None else f"{value:,.{digits}f}", to)


def _row(columns: list[tuple[Column, str, Write]], row: Row) -> str:
    cells = [
        f"{start}{write(row[column.key], column.href(row) if column.href else '')}</td>"
        for column, start, write in columns
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _plain(value: Any, to: str) -> str:
    if value is None:
        return ""
    text = text_html(cut(value if type(value) is str else str(value), LONGEST_CELL))
    return f'<a href="{escape(to)}">{text}</a>' if to else text


@lru_cache(maxsize=1_024)
def _badge(value: Any, _to: str) -> str:
    return f'<span class="badge {tone(value)}">{_spaced(value)}</span>' if value else ""


def _spaced(value: Any) -> str:
    """States such as `rollback_incomplete` as people write them."""
    return text_html(value).replace("_", " ")


def _number(value: Any, to: str) -> str:
    return _plain(count(value) if isinstance(value, (int, float)) else value, to if value else "")


def _share(value: Any, to: str) -> str:
    return _plain(percent(value) if isinstance(value, (int, float)) else value, to)


def _time(value: Any, to: str) -> str:
    if not isinstance(value, (int, float)):
        return _plain(value, to)
    return f"<time>{_plain(moment(value), to)}</time>"


def _long(value: Any, to: str) -> str:
    return f'<div class="clamp">{_plain(value, to)}</div>'


def _picture(value: Any, _to: str) -> str:
    """A picture of `pictures`, which is HTML; anything else is escaped."""
    return str(value) if isinstance(value, Markup) else text_html(value)


def text_html(value: Any) -> str:
    """A value escaped, with invisible characters written out."""
    if type(value) is not str or len(value) > _LONGEST_KEPT:
        return _html(value)
    return _cell_html(value) if len(value) <= LONGEST_CELL else _document_html(value)


def _html(value: Any) -> str:
    return str(escape(shown(value)))


_cell_html = lru_cache(maxsize=4_096)(_html)
"""Most values of a column are alike."""
_document_html = lru_cache(maxsize=128)(_html)
"""The same documents are shown again and again."""


_WRITERS: Mapping[str, Write] = {
    "badge": _badge,
    "bar": _picture,
    "long": _long,
    "number": _number,
    "share": _share,
    "time": _time,
}
