"""What every command shares: options, streams, the catalogue."""

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from metier.catalog import Catalog, Refreshed, workspace_of
from metier.cli.layout import wrapped
from metier.cli.options import shared_options
from metier.cli.shown import shown_file
from metier.config import Config, Settings, read_settings
from metier.core.nearest import nearest
from metier.core.text import printable
from metier.errors import DamagedError, MetierError, StoreError, UsageError
from metier.flow.boundary import NONE, RECORD, VARIABLE, Boundary, check_digest, read_boundary
from metier.index.refresh import OnProgress
from metier.safety.escapes import escaped_json
from metier.storage.database import MEANINGLESS
from metier.storage.places import ignored_folders, state_room
from metier.storage.workspace import is_workspace
from metier.values.files import Kind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

LAST = "last"
"""What the latest run may be called."""
OUTSIDE = "this is no workspace: only skill folders are read, and nothing is kept"
_BAR_FROM = 500
"""Files to read from which on a progress bar is worth drawing."""


class Session:
    """One command's options, and the workspace that it works on."""

    def __init__(
        self,
        *,
        root: str | None = None,
        config_file: str | None = None,
        as_json: bool = False,
        no_refresh: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        trust_once: bool = False,
        for_host: bool = False,
    ) -> None:
        """`for_host`: a host started the command, so no flag and no variable gives it power."""
        self.root = root
        self.config_file = config_file
        self.as_json = as_json
        self.no_refresh = no_refresh
        self.quiet = quiet
        self.verbose = verbose
        self.trust_once = trust_once
        self.for_host = for_host

    def anew(self) -> "Session":
        """The same options, with settings and trust that are read again."""
        made = copy(self)
        made.__dict__.pop("boundary", None)
        return made

    def workspace(self) -> str:
        """The workspace; where there is none, the current folder."""
        return workspace_of(self.root)

    def is_outside(self) -> bool:
        """Whether there is no workspace: none was named, and no folder above is one."""
        return not is_workspace(self.root)

    def require_workspace(self) -> str:
        """The workspace. Raises `UsageError` where there is none."""
        if self.is_outside():
            raise UsageError(
                "there is no workspace here",
                where=self.workspace(),
                hint="metier init makes this folder one; --root names another",
            )
        return self.workspace()

    def ignored_folders(self) -> list[str]:
        """A line for each variable that names a folder of the user's and is not used."""
        return ignored_folders(workspace="" if self.is_outside() else self.workspace())

    def config(self) -> Config:
        """The settings in force."""
        return self.boundary.config

    @cached_property
    def boundary(self) -> Boundary:
        """The workspace, and what the user lets it do; says what of its settings is ignored."""
        workspace = self.workspace()
        is_outside = self.is_outside()
        for line in self.ignored_folders():
            self.note(f"warning: {line}")
        if self.trust_once:
            self.require_workspace()
        boundary = read_boundary(
            workspace,
            file=self.config_file,
            trust=RECORD if is_outside else self._trust(workspace),
            for_host=self.for_host,
            is_outside=is_outside,
        )
        self._note_ignored(boundary)
        if is_outside and not self.for_host:
            self.note_wrapped(f"note: {OUTSIDE}; to make this folder one: metier init")
        return boundary

    def settings(self) -> Settings:
        """The settings of the workspace as they were read. Raises `UsageError` without one."""
        return read_settings(
            self.require_workspace(), file=self.config_file, for_host=self.for_host
        )

    def _trust(self, workspace: str) -> str:
        """Where trust comes from: this very command, the environment, or the user's record."""
        if self.for_host:
            return RECORD
        if self.trust_once:
            from metier.cli.review import confirmed_once  # few commands ask

            return confirmed_once(self, workspace)
        given = os.environ.get(VARIABLE)
        if given not in (None, "", RECORD, NONE):
            check_digest(given, f"{VARIABLE} is not a digest such as sha256:…")
        return given or RECORD

    def _note_ignored(self, boundary: Boundary) -> None:
        """One line about settings that do not count, and how to let them."""
        trust, ignored = boundary.trust, boundary.config.ignored
        if trust.is_trusted or not (ignored or trust.state == "changed" or trust.detail):
            return
        why = {"changed": "it changed since you trusted it"}
        told = trust.detail or why.get(trust.state)
        about = f" ({told})" if told else ""
        left = f"; ignored: {shortened(ignored)}" if ignored else ""
        how = "" if self.for_host else "; to review it: metier trust"
        self.note_wrapped(f"note: this workspace is not trusted{about}{left}{how}")

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
            catalog = self._current(Catalog.in_memory(self.boundary))
        with catalog, _damage_named(catalog):
            yield catalog

    def open_catalog(self) -> Catalog:
        """The workspace's catalogue as it is; made when there is none."""
        return Catalog.within(self.boundary)

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

    def shown(self, file: str) -> str:
        """A file as it can be opened from the current folder."""
        return shown_file(file, self.workspace())

    def note(self, text: str) -> None:
        """A line for people, on standard error."""
        if not self.quiet:
            click.echo(printable(text), err=True)

    def note_wrapped(self, text: str) -> None:
        """The same, broken between words on a terminal."""
        if sys.stderr.isatty():
            import shutil  # nothing else here needs what it loads

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


@contextmanager
def _damage_named(catalog: Catalog) -> Iterator[None]:
    """Say that a catalogue turned out to be damaged: the next command builds it again."""
    try:
        yield
    except (DamagedError, *MEANINGLESS) as error:
        is_damaged = isinstance(error, DamagedError) or bool(catalog.store.damage())
        if not is_damaged or getattr(error, "where", "") not in ("", catalog.store.path):
            raise
        catalog.store.is_damaged = True
        raise DamagedError(
            "the catalogue was damaged",
            where=catalog.store.path,
            hint="the next command builds it again: try once more",
        ) from error


def names_from_catalog(
    context: click.Context, ask: Callable[[Catalog], list[str]], incomplete: str
) -> "list[CompletionItem]":
    """Names that complete what was typed; nothing when there is no catalogue to ask."""
    root = context.params.get("root") or context.find_root().params.get("root")
    try:
        if not state_room(workspace_of(root)).exists():
            return []
        with Catalog.open(root) as catalog:
            names = ask(catalog) if catalog.is_built() else []
    except MetierError:
        return []
    fitting = (name for name in names if name.startswith(incomplete))
    from click.shell_completion import CompletionItem  # only a shell asks for it

    return [CompletionItem(name) for name in fitting if name.isprintable()]


def complete_names(kind: Kind) -> "Callable[..., list[CompletionItem]]":
    """Completes the name of a document of `kind`."""

    def complete(ctx: click.Context, _parameter: Any, incomplete: str) -> "list[CompletionItem]":
        return names_from_catalog(ctx, lambda catalog: catalog.names(kind), incomplete)

    return complete


def shortened(names: Sequence[str], most: int = 3) -> str:
    """`a, b, c and 4 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(_one_line, names[:most])) + more


def counted(count: int, one: str, many: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def _one_line(text: str) -> str:
    return printable(" ".join(text.split()))


def metier_command(
    name: str, *, catalog: bool = True, for_host: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the options that all of them have, after its own and in one order.

    `catalog` commands look for changes first; those `for_host` take no power from flags.
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
            trust_once: bool = False,
            **options: Any,
        ) -> Any:
            session = Session(
                root=root,
                config_file=config_file,
                as_json=as_json,
                no_refresh=no_refresh,
                quiet=quiet,
                verbose=verbose,
                trust_once=trust_once,
                for_host=for_host,
            )
            return function(session, **options)

        made = click.command(name)(wrapped)
        made.params += _common_options(catalog=catalog, for_host=for_host)
        return made

    return decorate


def _common_options(*, catalog: bool, for_host: bool) -> list[click.Parameter]:
    as_json, *others = shared_options()
    options: list[click.Parameter] = [as_json]
    if catalog:
        options.append(
            click.Option(["--no-refresh"], is_flag=True, help="Do not look for changes first.")
        )
    if not for_host:
        text = "Review what the workspace may do, and trust it for this command only."
        options.append(click.Option(["--trust-once"], is_flag=True, help=text))
    return [*options, *others]
