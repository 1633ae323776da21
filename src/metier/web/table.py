"""Tables that sort, filter and page on the server, by the query of the address."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from metier.web.page import View
from metier.web.query import Query, address, encoded

Row = Mapping[str, Any]
Kind = Literal["text", "id", "number", "share", "badge", "time", "duration", "long", "bar"]
SIZES = (50, 100, 200, 500)
_MOST_PAGES = 1 << 30


class Column(NamedTuple):
    key: str
    """Of the value in each row."""
    title: str
    kind: Kind = "text"
    href: Callable[[Row], str] | None = None
    """Where a cell leads; always an address of ours."""
    sorts: bool = True
    hint: str = ""
    """Explains the column."""
    digits: int | None = None
    """Of a number, after the point; by default as many as it has."""


class Asked(NamedTuple):
    """What the query asks of a table; the names of its parameters start with the table's name."""

    prefix: str
    sort: str
    descending: bool
    page: int
    """From 1."""
    size: int
    filter: str

    @property
    def offset(self) -> int:
        return (self.page - 1) * self.size

    def key(self, name: str) -> str:
        return f"{self.prefix}{name}"


def asked_of(
    query: Query, columns: Sequence[Column], *, name: str = "", sort: str = "", size: int = 50
) -> Asked:
    """What is asked of a table; `sort` is its usual order, `-key` if falling.

    Raises `UsageError` for a column that it does not have.
    """
    prefix = f"{name}." if name else ""
    keys = [column.key for column in columns if column.sorts]
    usual = [sort] if sort.lstrip("-") not in keys else []
    wanted = query.choice(f"{prefix}sort", [*usual, *keys, *(f"-{key}" for key in keys)], sort)
    return Asked(
        prefix=prefix,
        sort=wanted.removeprefix("-"),
        descending=wanted.startswith("-"),
        page=query.number(f"{prefix}page", 1, least=1, most=_MOST_PAGES),
        size=query.number(f"{prefix}size", size, least=1, most=max(SIZES)),
        filter=query.text(f"{prefix}filter"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows of one page of a table, with links to the others."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    total: int
    asked: Asked
    query: Query
    page_name: str
    noun: str = "row"
    filters: bool = True
    """Whether there is a field to filter by."""
    empty: str = "nothing here"

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // self.asked.size))

    @property
    def first(self) -> int:
        return min(self.asked.offset + 1, self.total)

    @property
    def last(self) -> int:
        return min(self.asked.offset + len(self.rows), self.total)

    @property
    def element(self) -> str:
        return f"table-{self.name or 'main'}"

    def sort_links(self) -> list[str]:
        """For each column, what sorts by it or turns its order round."""
        sort = self.asked.key("sort")
        rest = self.query.replaced({sort: None, self.asked.key("page"): None}).encoded()
        start = f"/{self.page_name}?{rest}{'&' if rest else ''}"
        return [f"{start}{encoded([(sort, self._order_by(one))])}" for one in self.columns]

    def _order_by(self, column: Column) -> str:
        is_same = self.asked.sort == column.key
        usual = "-" if column.kind in ("number", "share", "bar", "time", "duration") else ""
        sign = ("" if self.asked.descending else "-") if is_same else usual
        return f"{sign}{column.key}"

    def page_link(self, number: int) -> str:
        return self._link(page=number if number > 1 else None)

    @property
    def other_fields(self) -> list[tuple[str, str]]:
        """What the filter's form sends along."""
        own = {self.asked.key("filter"), self.asked.key("page")}
        return [item for item in self.query.items if item[0] not in own]

    def sorted_as(self, column: Column) -> str:
        """For `aria-sort`."""
        if self.asked.sort != column.key:
            return "none"
        return "descending" if self.asked.descending else "ascending"

    def _link(self, **changes: str | int | None) -> str:
        named = {self.asked.key(name): value for name, value in changes.items()}
        return address(self.page_name, self.query.replaced(named))

    def to_json(self) -> dict[str, Any]:
        keys = [column.key for column in self.columns]
        return {
            "total": self.total,
            "page": self.asked.page,
            "pages": self.pages,
            "size": self.asked.size,
            "sort": f"{'-' if self.asked.descending else ''}{self.asked.sort}",
            "filter": self.asked.filter,
            "columns": keys,
            "rows": [dict(row) for row in self.rows],
        }


def table_of(
    view: View,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    name: str = "",
    sort: str = "",
    size: int = 50,
    noun: str = "row",
    empty: str = "nothing here",
) -> Table:
    """A table of rows that are all here: filters by any text in them, sorts and cuts."""
    asked = asked_of(view.query, columns, name=name, sort=sort, size=size)
    found = [row for row in rows if _matches(row, columns, asked.filter.casefold())]
    if asked.sort:
        found.sort(key=lambda row: _order(row.get(asked.sort)), reverse=asked.descending)
    return Table(
        name=name,
        columns=columns,
        rows=found[asked.offset : asked.offset + asked.size],
        total=len(found),
        asked=asked,
        query=view.query,
        page_name=view.page,
        noun=noun,
        filters=len(rows) > 5 or bool(asked.filter),
        empty=empty,
    )


def _matches(row: Row, columns: Sequence[Column], wanted: str) -> bool:
    return not wanted or any(wanted in str(row.get(one.key, "")).casefold() for one in columns)


def _order(value: Any) -> tuple[int, Any]:
    """Numbers before texts, nothing last."""
    if value is None or value == "":
        return 2, ""
    if isinstance(value, (int, float)):
        return 0, value
    return 1, str(value).casefold()
