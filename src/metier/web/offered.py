"""Names that a field completes."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from markupsafe import Markup

from metier.web.page import View
from metier.web.rows import text_html

_MOST = 1_000


@dataclass(frozen=True)
class Offered:
    """Names in order; as JSON a list, as HTML the options of a `datalist`, made once."""

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
        return Offered(names if len(names) <= _MOST else [])

    return view.cached("skills", make)
