"""The read-only pages as static files: relative links, no script, no forms."""

import fcntl
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from html import escape
from html.parser import HTMLParser
from importlib.resources import files as package_files
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, urlsplit

from metier.catalog import Catalog
from metier.core.coerce import mapping_of
from metier.errors import MetierError, UsageError
from metier.storage.places import user_home
from metier.values.files import Kind
from metier.web.app import all_pages, shown_error
from metier.web.navigation import Navigation
from metier.web.page import Data, Page
from metier.web.query import Query
from metier.web.rendering import PlainJson, environment
from metier.web.table import Table

EXPORTED: Mapping[str, frozenset[str]] = {
    "overview": frozenset(),
    "which": frozenset(),
    "catalog": frozenset({"kind", "state", "source", "page"}),
    "document": frozenset({"kind", "id"}),
    "listing": frozenset({"host", "state"}),
    "overlap": frozenset({"near"}),
    "resolve": frozenset(),
    "reports": frozenset(),
    "report": frozenset({"id"}),
    "inject": frozenset(),
    "agents": frozenset({"page"}),
    "runs": frozenset({"state", "delegated"}),
    "run": frozenset({"id"}),
    "usage": frozenset({"used", "verdict"}),
}
"""Page → the parts of an address that links are followed with."""
_FILTERS = frozenset({"kind", "state", "source"})
"""Of the catalog; a page that has more than one is not exported, nor is its JSON."""
_ASKING = ("which", "resolve", "inject")
"""Pages that answer what is typed: here they say that this needs the server."""
_WITHOUT_JSON = ("document", *_ASKING)
_PROMPTS = frozenset({"task", "prompt"})
"""Values with these names are what users asked."""
_IN_RUNS = frozenset({"input", "output", "sent", "message", "hint", "notes", "warnings"})
"""What runs were given, what was sent for them, and what came back."""
_PRIVATE = {"run": _PROMPTS | _IN_RUNS, "report": _PROMPTS | {"query"}}
_STATIC = ("style.css", "runs.css", "icon.svg")
MARKER = "metier-export.json"
_MAKING = ".metier-"
"""How the names of temporary folders begin."""
_SAFE = re.compile(r"[^a-z0-9]+")
_POLICY = "script-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'"
OnProgress = Callable[[int, int], None]


class Address(NamedTuple):
    """A page that is exported."""

    page: str
    items: tuple[tuple[str, str], ...] = ()

    @property
    def file(self) -> str:
        """The name of its file: the same for the same address."""
        if not self.items:
            return f"{self.page}.html"
        told = "-".join(value for _, value in self.items).lower()
        digest = hashlib.sha256(repr(self.items).encode()).hexdigest()[:10]
        return f"{self.page}-{_SAFE.sub('-', told)[:40].strip('-')}-{digest}.html"

    @property
    def json_file(self) -> str:
        return f"{self.file.removesuffix('.html')}.json"


def address_of(href: str) -> tuple[Address, bool] | None:
    """The exported page that a link leads to, and whether to its JSON; None for no such page."""
    parts = urlsplit(href)
    name = parts.path.removeprefix("/")
    page = name.removesuffix(".json")
    items = tuple(sorted(parse_qsl(parts.query)))
    is_known = not parts.netloc and parts.path.startswith("/") and page in EXPORTED
    if not is_known or not {key for key, _ in items} <= EXPORTED[page]:
        return None
    if page == "catalog" and sum(key in _FILTERS for key, _ in items) > 1:
        return None
    is_json = page != name
    return (Address(page, items), is_json) if page not in _WITHOUT_JSON or not is_json else None


class Exporter:
    """Renders pages of a catalog, from one to the next by their links."""

    def __init__(self, catalog: Catalog, *, with_prompts: bool = False) -> None:
        self._catalog = catalog
        self._with_prompts = with_prompts
        self._pages = {page.name: page for page in all_pages() if page.name in EXPORTED}
        self._navigation = Navigation(list(self._pages.values()))
        self._documents: dict[Address, Address] = {}

    def files(self, on_progress: OnProgress | None = None) -> Iterator[tuple[str, bytes]]:
        """Names and contents; the pages of the sidebar and all that they lead to."""
        for name in _STATIC:
            source = package_files("metier.web").joinpath("static", name)
            yield f"static/{name}", source.read_bytes()
        first = [Address(page.name) for page in self._pages.values() if page.group]
        waiting, known = deque(first), set(first)
        done = 0
        while waiting:
            address = waiting.popleft()
            data, text = self._rendered(address)
            rewritten = _Rewriter(text, partial(self._target, address.page))
            yield address.file, self._shared(rewritten.html().encode("utf-8", "replace"))
            if address.page not in _WITHOUT_JSON:
                yield address.json_file, self._shared(bytes(PlainJson(data).body))
            new = [one for one in rewritten.found if one not in known]
            known.update(new)
            waiting.extend(dict.fromkeys(new))
            done += 1
            if on_progress is not None:
                on_progress(done, len(known))
        yield "index.html", _INDEX

    def _target(self, page: str, to: Address) -> Address | None:
        """The exported page for a link: each document is one, parts of the map only for the map."""
        if to.page == "overlap" and to.items and page != to.page:
            return None
        if to.page == "document" and to not in self._documents:
            self._documents[to] = self._document(to)
        return self._documents.get(to, to)

    def _document(self, to: Address) -> Address:
        """The address of a document by its id, as it may have been named."""
        asked = dict(to.items)
        try:
            row = self._catalog.row(cast(Kind, asked.get("kind", "skill")), asked.get("id", ""))
        except MetierError:  # its page says why
            return to
        return Address("document", (("id", row.id), ("kind", row.kind)))

    def _shared(self, content: bytes) -> bytes:
        """A page without the places of this machine: folders begin with `.` and `~` instead."""
        for folder, instead in ((self._catalog.workspace, b"."), (user_home(os.environ), b"~")):
            if len(folder) > 1:
                content = content.replace(os.fsencode(folder), instead)
        return content

    def _rendered(self, address: Address) -> tuple[Data, str]:
        page, query = self._pages[address.page], Query(address.items)
        try:
            data = page.data(self._catalog, self._query_of(page, query))
        except MetierError as error:  # such as an excluded document
            return {}, self._problem(error)
        if not self._with_prompts:
            data = without_prompts(data, _PRIVATE.get(page.name, _PROMPTS))
        own = {"page": page, "query": query, "data": data, "command": page.command_line(data)}
        values = {**self._around(page.name), **own}
        return data, environment().get_template(f"{page.name}.html").render(values)

    def _problem(self, error: MetierError) -> str:
        told = self._catalog.redactor.value({**shown_error(error), "where": ""})
        values = {**self._around("overview"), "error": told, "status": "Not shown"}
        return environment().get_template("problem.html").render(values)

    def _around(self, name: str) -> dict[str, Any]:
        """What every page shows besides its own data."""
        catalog = self._catalog
        return {
            "nav": self._navigation.on(name),
            "path": f"/{name}",
            "csrf": "",
            "csrf_name": "",
            "export": {"isAsking": name in _ASKING, "withPrompts": self._with_prompts},
            "workspace": os.path.basename(catalog.workspace),
            "is_restricted": catalog.config.is_workspace and not catalog.trust.is_trusted,
            "is_outside": not catalog.config.is_workspace,
            "is_changed": catalog.trust.state == "changed",
        }

    def _query_of(self, page: Page, query: Query) -> Query:
        if self._with_prompts and page.name == "usage":
            return query.replaced({"read": "1", "prompts": "1"})
        return query


def without_prompts(value: Any, private: Collection[str] = _PROMPTS) -> Any:
    """Data without what users asked, and other values of these names; the rest stays as it is."""
    if isinstance(value, Mapping):
        return {
            key: _emptied(one) if key in private else without_prompts(one, private)
            for key, one in value.items()
        }
    if isinstance(value, Table):
        columns = [column for column in value.columns if column.key not in private]
        rows = [without_prompts(row, private) for row in value.rows]
        return replace(value, columns=columns, rows=rows)
    return [without_prompts(one, private) for one in value] if isinstance(value, list) else value


def _emptied(value: Any) -> Any:
    return type(value)() if isinstance(value, (str, list, dict)) else None


_DISABLED = ['role="link"', 'aria-disabled="true"']
"""A link to a page that is not exported."""
_INDEX = (
    b'<!doctype html><html lang="en"><meta charset="utf-8"><title>metier</title>'
    b'<meta http-equiv="refresh" content="0; url=overview.html">'
    b'<p><a href="overview.html">Overview</a></p></html>\n'
)


class _Rewriter(HTMLParser):
    """A page for a folder: links to other files, and nothing that needs the server."""

    def __init__(self, text: str, target: Callable[[Address], Address | None]) -> None:
        super().__init__(convert_charrefs=False)
        self._target = target
        self.found: list[Address] = []
        self._out: list[str] = []
        self._skipped: list[str] = []
        """The elements that are left out, from the outermost."""
        self.feed(text)
        self.close()

    def html(self) -> str:
        return "".join(self._out)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("form", "script", "button"):
            self._skipped.append(tag)
        if self._skipped or tag == "input":
            return
        self._out.append(self._tag(tag, attrs))
        if tag == "head":
            self._out.append(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">')

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if not self._skipped and tag not in ("input", "script"):
            text = self.get_starttag_text() or ""
            self._out.append(text if tag != "a" else self._tag(tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            if tag == self._skipped[-1]:
                self._skipped.pop()
            return
        self._out.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._write(data)

    def handle_entityref(self, name: str) -> None:
        self._write(f"&{name};")

    def handle_charref(self, name: str) -> None:
        self._write(f"&#{name};")

    def handle_decl(self, decl: str) -> None:
        self._write(f"<!{decl}>")

    def _write(self, text: str) -> None:
        if not self._skipped:
            self._out.append(text)

    def _tag(self, tag: str, attrs: list[tuple[str, str | None]]) -> str:
        names = {name for name, _ in attrs}
        if not names & {"href", "src"} and not any(name.startswith("hx-") for name in names):
            return self.get_starttag_text() or ""
        kept = []
        for name, value in attrs:
            if name in ("href", "src"):
                value = self._link(value or "")
                if not value:
                    kept += _DISABLED if tag == "a" else []
                    continue
            if not name.startswith("hx-"):
                kept.append(name if value is None else f'{name}="{escape(value)}"')
        return f"<{' '.join([tag, *kept])}>"

    def _link(self, href: str) -> str:
        """Where a link leads in the folder; empty for a page that is not exported."""
        if href.startswith("/static/"):
            return href.removeprefix("/")
        if not href.startswith("/"):
            return href
        found = address_of(href)
        if found is None:
            return ""
        address, is_json = self._target(found[0]), found[1]
        if address is None:
            return ""
        fragment = urlsplit(href).fragment
        self.found.append(address)
        file = address.json_file if is_json else address.file
        return f"{file}#{fragment}" if fragment else file


# The folder


def write_export(folder: str, files: Iterator[tuple[str, bytes]]) -> int:
    """Write files into a folder that is new, empty or an earlier export; how many.

    They are made in a temporary folder in it, so an interrupted export leaves the earlier one. The
    temporary folder of an export that was killed is removed.
    Raises `UsageError` for any other folder, `OSError`.
    """
    earlier = _earlier(folder)
    os.makedirs(folder, exist_ok=True)
    if not earlier:
        _mark(folder, [])
    _remove_leftovers(folder)
    with tempfile.TemporaryDirectory(prefix=_MAKING, dir=folder) as made, _locked(made):
        os.mkdir(os.path.join(made, "static"))
        written: list[str] = []
        for file, content in files:
            _write(os.path.join(made, file), content)
            written.append(file)
        _clear(folder, earlier)
        os.makedirs(os.path.join(folder, "static"), exist_ok=True)
        _mark(folder, written)
        for file in written:
            os.replace(os.path.join(made, file), os.path.join(folder, file))
    return len(written)


@contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Locked until the end, also that of the process. Raises `BlockingIOError` if it is already."""
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(opened)


def _remove_leftovers(folder: str) -> None:
    """Remove the temporary folders of exports that were killed."""
    for name in os.listdir(folder):
        if re.fullmatch(rf"{re.escape(_MAKING)}[a-z0-9_]{{8}}", name):
            with suppress(OSError), _locked(os.path.join(folder, name)):
                shutil.rmtree(os.path.join(folder, name))


def _earlier(folder: str) -> list[str]:
    """The files of an earlier export. Raises `UsageError` for a folder of something else."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    except NotADirectoryError:
        raise UsageError("the export needs a folder", where=folder) from None
    if not names:
        return []
    try:
        with open(os.path.join(folder, MARKER), encoding="utf-8") as file:
            found = mapping_of(json.load(file)).get("files")
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, list):
        hint = "choose a folder that is new or empty"
        raise UsageError("the folder has other files", where=folder, hint=hint)
    return [name for name in found if isinstance(name, str) and _is_ours(name)]


def _is_ours(name: str) -> bool:
    """Whether an export could have written a file of that name."""
    return re.fullmatch(r"(static/)?[a-z0-9-]+\.(html|json|css|svg)", name) is not None


def _clear(folder: str, names: Sequence[str]) -> None:
    for name in names:
        file = os.path.join(folder, name)
        if os.path.isfile(file) and not os.path.islink(os.path.dirname(file)):
            os.unlink(file)


def _mark(folder: str, names: Sequence[str]) -> None:
    content = {"version": 1, "files": list(names)}
    _write(os.path.join(folder, MARKER), json.dumps(content, indent=1).encode())


def _write(file: str, content: bytes) -> None:
    """Replace a file; a link in its place is not followed."""
    if os.path.islink(file):
        os.unlink(file)
    with open(file, "wb") as out:
        out.write(content)
