"""`metier web`"""

import os
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from metier.cli.session import Session, counted, metier_command
from metier.errors import UsageError, install_hint
from metier.flow.boundary import Boundary
from metier.serving.endpoint import Endpoint

if TYPE_CHECKING:
    from metier.web.catalog_threads import CatalogSource

PORT = 8766
_PACKAGES = ("starlette", "uvicorn")


@metier_command("web", catalog=False, for_host=True)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=PORT,
    show_default=True,
    metavar="N",
    help="The port to listen on; 0 picks a free one.",
)
@click.option("--no-open", is_flag=True, help="Print the address instead of opening a browser.")
@click.option(
    "--allow-host",
    "names",
    metavar="NAME",
    multiple=True,
    help="Another name of this server for the browser, or NAME:PORT; repeatable.",
)
@click.option("--export", "folder", metavar="FOLDER", type=click.Path(),
              help="Write the read-only pages as static files; serve nothing.")  # fmt: skip
@click.option("--with-prompts", is_flag=True, help="Also export your prompts and tasks.")
def command(
    session: Session,
    port: int,
    no_open: bool,
    names: tuple[str, ...],
    folder: str | None,
    with_prompts: bool,
) -> int:
    """Open the inspector: local pages over the catalog, the hosts, the reports and the runs.

    It listens on this machine only, and only the browser that it opens gets in: the address
    holds a token that works once. Until you trust the workspace, its documents are shown and
    nothing in it runs. Ctrl-C ends it. docs/web.md says more.
    """
    _require_packages()
    from metier.web.catalog_threads import CatalogSource
    from metier.web.open_browser import has_browser, open_browser, way_in
    from metier.web.serve import run_web  # it loads a lot

    _ = session.boundary  # notes what is ignored, once

    def boundary() -> Boundary:
        return session.reopened(quiet=True).boundary

    if folder is not None:
        return _export(session, CatalogSource(boundary), folder, with_prompts)
    if with_prompts:
        raise UsageError("--with-prompts belongs to --export", hint="--export FOLDER")

    def ready(url: str, entrance: str) -> None:
        if session.as_json:
            session.print_json({"url": url, "open": entrance})
            sys.stdout.flush()
        is_opened = False
        if not no_open and not session.as_json and has_browser():
            is_opened = open_browser(stack.enter_context(way_in(entrance)))
        if is_opened:
            session.note(f"serving {url} and opening it; Ctrl-C ends it")
        elif not session.as_json:
            served = f"serving {url}; the address" if session.verbose else "this address"
            session.note(f"{served} lets one browser in, once; Ctrl-C ends it")
            click.echo(entrance)
            sys.stdout.flush()

    with ExitStack() as stack:
        run_web(CatalogSource(boundary), Endpoint(port=port, names=names), ready)
    session.note("stopped")
    return 0


def _export(session: Session, source: "CatalogSource", folder: str, with_prompts: bool) -> int:
    from metier.web.exporting import Exporter, write_export  # it loads a lot

    with source.opened() as catalog, session.progress("exporting") as on_progress:
        exporter = Exporter(catalog, with_prompts=with_prompts)
        count = write_export(folder, exporter.files(on_progress))
    if session.as_json:
        session.print_json({"folder": folder, "files": count})
    else:
        session.tell(f"wrote {counted(count, 'file')}: open {os.path.join(folder, 'index.html')}")
    return 0


def _require_packages() -> None:
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        message = f"the package {missing[0]} is not installed"
        raise UsageError(message, hint=install_hint("web"))
