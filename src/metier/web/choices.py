"""What pages offer to choose: filters, and names that a field completes.

As JSON a list, as HTML made once and kept with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from markupsafe import Markup

from metier.core.nearest import nearest_name
from metier.web.page import View
from metier.web.table_html import text_html
from metier.web.words import count, cut

_MOST_OFFERED = 1_000
_MOST_NEAR = 5
_OPEN = 4
"""How many are unfolded at first, besides those of which a value is chosen."""
_LONGEST = 60
Facet = Mapping[str, Any]


class Facets:
    """The filters of the catalog."""

    def __init__(self, facets: Sequence[Facet]) -> None:
        self._facets = facets

    def __bool__(self) -> bool:
        return bool(self._facets)

    def to_json(self) -> list[Facet]:
        return list(self._facets)

    @cached_property
    def html(self) -> Markup:
        return Markup("".join([_facet(at, one) for at, one in enumerate(self._facets)]))


def _facet(at: int, facet: Facet) -> str:
    is_open = at < _OPEN or any(value["isChosen"] for value in facet["values"])
    values = "".join(map(_value, facet["values"]))
    mark = " open" if is_open else ""
    return (
        f"<details{mark}><summary>{text_html(facet['title'])}</summary><ul>{values}</ul></details>"
    )


def _value(item: Facet) -> str:
    chosen = ' class="chosen" aria-current="true" title="Remove this filter"'
    hint = f' <span class="soft about">{text_html(cut(item["hint"], _LONGEST))}</span>'
    return (
        f'<li><a href="{text_html(item["href"])}"{chosen if item["isChosen"] else ""}>'
        f"<span>{text_html(cut(item['value'], _LONGEST))}{hint if item['hint'] else ''}</span> "
        f'<span class="soft">{count(item["documents"])}</span></a></li>'
    )


@dataclass(frozen=True)
class Offered:
    """Names in order; as HTML the options of a `datalist`."""

    names: Sequence[str]

    @cached_property
    def options(self) -> Markup:
        return Markup("".join(f'<option value="{text_html(name)}">' for name in self.names))

    def to_json(self) -> list[str]:
        return list(self.names)


def offered_skills(view: View) -> Offered:
    """The names of all skills; of very many none."""

    def make() -> Offered:
        names = view.catalog.names("skill")
        return Offered(names if len(names) <= _MOST_OFFERED else [])

    return view.cached("skills", make)


def near_names(wanted: str, names: Sequence[str]) -> list[str]:
    """The names that have what was typed in them, else the most similar one."""
    typed = _typed(wanted)
    having = [name for name in names if typed in _typed(name)]
    having.sort(key=lambda name: not _typed(name).startswith(typed))
    return having[:_MOST_NEAR] or [*filter(None, [nearest_name(wanted, names)])]


def _typed(name: str) -> str:
    """As one types it: spaces and underscores are hyphens, too."""
    return "-".join(name.casefold().replace("_", " ").split())
