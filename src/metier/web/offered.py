"""Names that a field completes."""

from collections.abc import Sequence
from functools import cached_property

from markupsafe import Markup

from metier.web.rows import text_html


class Offered:
    """Names in order; as JSON a list, as HTML the options of a `datalist`, made once."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    @cached_property
    def options(self) -> Markup:
        return Markup("".join(f'<option value="{text_html(name)}">' for name in self.names))

    def to_json(self) -> list[str]:
        return self.names
