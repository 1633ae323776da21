"""A table as HTML: as a macro would write it, but much faster."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from markupsafe import Markup, escape

from metier.web.table import Column, Row, Table
from metier.web.words import count, counted, cut, duration, moment, percent, shown, tone

LONGEST_CELL = 400
_FIGURES = ("number", "share", "time", "duration")
Write = Callable[[Any, str], str]
"""A value and where its cell leads, as HTML."""


def table_html(table: Table, caption: str = "") -> Markup:
    """The whole table: its filter, titles and rows, and links to its other pages."""
    name = text_html(caption or f"{table.noun}s")
    title = f'<caption class="unseen">{name}</caption>' if caption else ""
    total = counted(table.total, table.noun)
    above = f'<p class="small soft">{total}</p>' if table.pages > 1 else ""
    return Markup(
        f'<div class="table" id="{table.element}">'
        f'<div class="tools">{filter_html(table, caption)}</div><div class="rows">{above}'
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>{title}'
        f"<thead><tr>{head_html(table)}</tr></thead><tbody>{rows_html(table)}</tbody></table></div>"
        f"{pager_html(table)}</div></div>"
    )


def filter_html(table: Table, caption: str = "") -> Markup:
    """The field that filters a table; htmx replaces only the rows."""
    if not table.filters:
        return Markup("")
    others = "".join(
        f'<input type="hidden" name="{text_html(name)}" value="{text_html(value)}">'
        for name, value in table.other_fields
    )
    rows = f"#{table.element} .rows"
    swap = f'hx-target="{rows}" hx-select="{rows}" hx-swap="outerHTML" hx-push-url="true"'
    return Markup(
        f'<form method="get" action="/{table.page_name}" role="search">{others}'
        f'<input type="search" name="{table.asked.key("filter")}" '
        f'value="{text_html(table.asked.filter)}" placeholder="Filter" '
        f'aria-label="Filter {text_html(caption or f"{table.noun}s")}" '
        f'id="{table.element}-filter" hx-get="/{table.page_name}" hx-include="closest form" '
        f'hx-trigger="input changed delay:200ms, search" {swap}></form>'
    )


def pager_html(table: Table) -> Markup:
    """Which rows are shown, and links to the page before and after."""
    page, last = table.asked.page, table.pages
    span = f"{count(table.first)}–{count(table.last)} of " if table.total else ""
    parts = [f"<span>{span}{counted(table.total, table.noun)}</span>"]
    if page > 1:
        parts.append(_turn(table, page - 1, "prev", "Previous"))
    if last > 1:
        parts.append(f"<span>page {count(page)} of {count(last)}</span>")
    if page < last:
        parts.append(_turn(table, page + 1, "next", "Next"))
    return Markup(f'<p class="pager">{" ".join(parts)}</p>')


def _turn(table: Table, page: int, relation: str, title: str) -> str:
    to = escape(table.page_link(page))
    return f'<a rel="{relation}" href="{to}" hx-get="{to}" {_swap(table)}>{title}</a>'


def rows_html(table: Table) -> Markup:
    """The body of a table; every value is escaped."""
    if not table.rows:
        start = f'<td class="empty" colspan="{len(table.columns)}">'
        return Markup(f"<tr>{start}{text_html(table.empty)}</td></tr>")
    columns = [(column, _start(column), _write(column)) for column in table.columns]
    return Markup("\n".join([_row(columns, row) for row in table.rows]))


def head_html(table: Table) -> Markup:
    """The row of titles; htmx replaces only the table when one is followed."""
    swap = _swap(table)
    links = str(escape("\n".join(table.sort_links()))).split("\n")
    titles = zip(table.columns, links, strict=True)
    return Markup("".join([_title(table, column, to, swap) for column, to in titles]))


def _title(table: Table, column: Column, to: str, swap: str) -> str:
    hint = f' title="{text_html(column.hint)}"' if column.hint else ""
    start = f'<th scope="col" class="{column.kind}" aria-sort="{table.sorted_as(column)}"{hint}>'
    title = text_html(column.title)
    if not column.sorts:
        return f"{start}{title}</th>"
    return f'{start}<a href="{to}" hx-get="{to}" {swap}>{title}</a></th>'


def _swap(table: Table) -> str:
    at = f"#{table.element}"
    return f'hx-target="{at}" hx-select="{at}" hx-swap="outerHTML" hx-push-url="true"'


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


def _duration(value: Any, to: str) -> str:
    return _plain(duration(value), to)


def _long(value: Any, to: str) -> str:
    return f'<div class="clamp">{_plain(value, to)}</div>'


def _picture(value: Any, _to: str) -> str:
    """A picture of `pictures`, which is HTML; anything else is escaped."""
    return str(value) if isinstance(value, Markup) else text_html(value)


def text_html(value: Any) -> str:
    """A value escaped, with invisible characters written out."""
    return _kept_html(value) if type(value) is str and len(value) <= LONGEST_CELL else _html(value)


def _html(value: Any) -> str:
    return str(escape(shown(value)))


_kept_html = lru_cache(maxsize=4_096)(_html)
"""Most values of a column are alike."""


_WRITERS: Mapping[str, Write] = {
    "badge": _badge,
    "bar": _picture,
    "duration": _duration,
    "long": _long,
    "number": _number,
    "share": _share,
    "time": _time,
}
