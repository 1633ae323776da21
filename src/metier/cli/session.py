"""What every command shares: options, streams, the catalogue."""

import functools
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from metier.catalog import Catalog, Refreshed, state_file, workspace_of
from metier.cli.layout import wrapped
from metier.config import Config, load_config
from metier.core.escapes import escaped_json
from metier.core.nearest import nearest
from metier.core.text import printable
from metier.errors import MetierError, NotFoundError, StoreError
from metier.index.refresh import OnProgress
from metier.values.files import Kind

LAST = "last"
"""What the latest run may be called."""
_BAR_FROM = 500
"""Files to read from which on a progress bar is worth drawing."""


class Session(NamedTuple):
    """One command's options."""

    root: str | None
    config_file: str | None
    as_json: bool
    no_refresh: bool
    quiet: bool
    verbose: bool

    def workspace(self) -> str:
        return workspace_of(self.root)

    def config(self) -> Config:
        """The settings in force."""
        return load_config(self.workspace(), file=self.config_file)

    @contextmanager
    def catalog(self) -> Iterator[Catalog]:
        """The workspace's catalogue, brought up to date unless `--no-refresh`.

        Where nothing can be written it lives in memory, for this one command.
        """
        try:
            catalog = self._current(self.open_catalog())
        except StoreError as error:
            if error.code != "STORE_READ_ONLY":
                raise
            self.note(f"warning: {error.message}; reading everything anew, keeping nothing")
            catalog = self._current(Catalog.in_memory(self.workspace(), config=self.config()))
        with catalog:
            yield catalog

    def open_catalog(self) -> Catalog:
        """The workspace's catalogue as it is; made when there is none."""
        return Catalog.open(self.workspace(), config=self.config())

    def _current(self, catalog: Catalog) -> Catalog:
        """`catalog` when it may be asked; closed again when it cannot be brought up to date."""
        try:
            if not catalog.is_built():
                if catalog.is_kept:
                    self.note(f"building the catalogue of {catalog.workspace} for the first time")
                self.refresh(catalog)
            elif not self.no_refresh:
                self.refresh(catalog)
        except BaseException:
            catalog.close()
            raise
        return catalog

    def refresh(self, catalog: Catalog) -> Refreshed:
        with self.progress("reading") as on_progress:
            return catalog.refresh(on_progress)

    @contextmanager
    def progress(self, verb: str) -> Iterator[OnProgress | None]:
        """A bar on a terminal, once there is enough to read; nothing anywhere else."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        with ExitStack() as stack:
            bars: list[Any] = []

            def advance(done: int, total: int) -> None:
                if total < _BAR_FROM:
                    return
                if not bars:
                    bar = click.progressbar(length=total, label=verb, file=sys.stderr, width=30)
                    bars.append(stack.enter_context(bar))
                bars[0].update(done - bars[0].pos)

            yield advance

    def note(self, text: str) -> None:
        """A line for people, on standard error."""
        if not self.quiet:
            click.echo(printable(text), err=True)

    def note_wrapped(self, text: str) -> None:
        """The same, broken between words on a terminal."""
        if sys.stderr.isatty():
            text = "\n".join(wrapped(text, shutil.get_terminal_size().columns, ""))
        self.note(text)

    def note_unknown_agent(self, catalog: Catalog, agent: str | None) -> None:
        """Say when an agent has no profile: it may be another host's, or a slip of the pen."""
        names = catalog.names("agent")
        if agent is not None and agent not in names and not catalog.left_out("agent", agent):
            near = nearest(agent, names)
            meant = f"; did you mean '{near}'?" if near else ""
            self.note(f"warning: no agent here is called '{agent}'{meant}")

    def tell(self, text: str) -> None:
        """A line of a summary, on standard output."""
        if not self.quiet:
            click.echo(printable(text))

    def print_json(self, value: Any) -> None:
        click.echo(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)))

    def print_table(
        self, columns: Sequence[str], rows: Sequence[Sequence[str]], *, heading: bool = False
    ) -> None:
        """Columns that fit on a terminal; elsewhere one line a row, tabs between.

        `heading` names the columns elsewhere, too.
        """
        if not rows:
            return
        if not sys.stdout.isatty():
            for row in [columns, *rows] if heading else rows:
                click.echo("\t".join(_one_line(cell) for cell in row))
            return
        from metier.cli.terminal import print_table  # rich costs more than most commands

        print_table(columns, [[_one_line(cell) for cell in row] for row in rows])


def names_from_catalog(
    context: click.Context, ask: Callable[[Catalog], list[str]], incomplete: str
) -> list[CompletionItem]:
    """Names that complete what was typed; nothing when there is no catalogue to ask."""
    root = context.params.get("root")
    try:
        if not os.path.exists(state_file(workspace_of(root))):
            return []
        with Catalog.open(root) as catalog:
            names = ask(catalog)
    except MetierError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


def complete_names(kind: Kind) -> Callable[..., list[CompletionItem]]:
    """Completes the name of a document of `kind`."""

    def complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
        return names_from_catalog(ctx, lambda catalog: catalog.names(kind), incomplete)

    return complete


def counted(count: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def metier_command(
    name: str, *, catalog: bool = True
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the options that all of them have, after its own and in one order.

    `catalog` commands look for changes first.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def wrapped(
            root: str | None,
            config_file: str | None,
            quiet: bool,
            verbose: bool,
            as_json: bool = False,
            no_refresh: bool = False,
            **options: Any,
        ) -> Any:
            session = Session(
                root=root,
                config_file=config_file,
                as_json=as_json,
                no_refresh=no_refresh,
                quiet=quiet,
                verbose=verbose,
            )
            return function(session, **options)

        made = click.command(name)(wrapped)
        made.params += _common_options(catalog=catalog)
        return made

    return decorate


def _common_options(*, catalog: bool) -> list[click.Parameter]:
    options: list[click.Parameter] = [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")
    ]
    if catalog:
        options.append(
            click.Option(["--no-refresh"], is_flag=True, help="Do not look for changes first.")
        )
    return [
        *options,
        click.Option(
            ["--root"],
            metavar="DIR",
            type=click.Path(file_okay=False),
            help="The workspace (default: this folder).",
        ),
        click.Option(
            ["--config", "config_file"],
            metavar="FILE",
            type=click.Path(),
            help="Settings to use.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print data only."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show tracebacks."),
    ]


def run_called(catalog: Catalog, wanted: str) -> str:
    """The id of a kept report by itself, by a beginning that no other has, or by `last`."""
    known = catalog.run_ids()
    if wanted == LAST and not known:
        raise NotFoundError("there is no report yet", hint="metier resolve -r CAPABILITY")
    like = known[-1:] if wanted == LAST else [one for one in known if one.startswith(wanted)]
    return like[0] if len(like) == 1 and wanted not in known else wanted
