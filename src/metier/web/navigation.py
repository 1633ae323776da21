"""The sidebar's links as HTML, made once for each page."""

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from metier.web.page import Page

Groups = Mapping[str, Sequence[Page]]


def groups_of(pages: Sequence[Page]) -> Groups:
    """The pages of the sidebar under their headings."""
    groups: dict[str, list[Page]] = {}
    for page in pages:
        if page.group:
            groups.setdefault(page.group, []).append(page)
    return groups


class Navigation:
    """What the sidebar links to from each page."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._groups = groups_of(pages)
        self._made = {page.name: self._links(page) for page in pages}
        self._elsewhere = self._links(None)

    def on(self, name: str) -> Markup:
        """The links, with the page of that name marked, or the page that it belongs to."""
        return self._made.get(name, self._elsewhere)

    def _links(self, current: Page | None) -> Markup:
        parts = []
        for title, members in self._groups.items():
            items = "".join(f"<li>{_link(one, current)}</li>" for one in members)
            parts.append(f'<p class="group">{escape(title)}</p><ul>{items}</ul>')
        return Markup("".join(parts))


def _link(page: Page, current: Page | None) -> str:
    is_own = current is not None and current.name == page.name
    is_above = current is not None and current.under == page.name
    mark = ' aria-current="page"' if is_own else ' aria-current="true"' if is_above else ""
    return f'<a href="/{page.name}"{mark}>{escape(page.title)}</a>'
