"""Shared by all commands: options, output and the catalog."""

import functools
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import click

from metier.cli.layout import fitted, one_line, print_table, shortened, terminal_width
from metier.cli.redacted_output import redacted_output
from metier.cli.shared_options import shared_options
from metier.cli.shown_paths import shown_file
from metier.config import Config, Settings, read_settings
from metier.config.secret_values import redactor_for
from metier.core.nearest import did_you_mean
from metier.core.text import counted as counted
from metier.core.text import printable
from metier.errors import DamagedError, MetierError, StoreError, UsageError
from metier.flow.boundary import (
    NONE,
    RECORD,
    VARIABLE,
    Boundary,
    checked_digests,
    read_boundary,
    workspace_of,
)
from metier.safety.redactor import NOTHING, Redactor
from metier.storage.places import ignored_folders, state_room
from metier.storage.workspace import is_workspace
from metier.values.files import Kind

if TYPE_CHECKING:  # not every command has a catalog, which is slow to load
    from click.shell_completion import CompletionItem

    from metier.catalog import Catalog, Refreshed

LAST = "last"
"""Another name for the latest run or report."""
OUTSIDE = "this is not a workspace: only skill folders are read, and nothing is stored"
_BAR_FROM = 500


class Session:
    """The options and the workspace of a command."""

    def __init__(
        self,
        root: str | None = None,
        config_file: str | None = None,
        *,
        as_json: bool = False,
        no_refresh: bool = False,
        quiet: bool = False,
        verbose: bool = False,
        trust_once: bool = False,
        for_host: bool = False,
    ) -> None:
        self.root = root
        self.config_file = config_file
        self.as_json = as_json
        self.no_refresh = no_refresh
        self.quiet = quiet
        self.verbose = verbose
        self.trust_once = trust_once
        self.for_host = for_host
        """A host started the command: no flag or variable gives it power."""
        self.notes_trust = True
        """Whether to say that the workspace is not trusted."""
        self.met_damage = False
        """Whether the catalog turned out to be damaged while the command read it."""
        self.has_acted = False
        """Whether the command did something that must not happen twice."""

    def reopened(self, *, quiet: bool = False) -> "Session":
        """The same options, or quieter; settings and trust are read again."""
        options: dict[str, Any] = {name: getattr(self, name) for name in (*_SHARED, "for_host")}
        return Session(**{**options, "quiet": quiet or self.quiet})

    def workspace(self) -> str:
        """The workspace, or the current folder if there is none."""
        return workspace_of(self.root)

    def is_outside(self) -> bool:
        return not is_workspace(self.root)

    def require_workspace(self) -> str:
        """The workspace. Raises `UsageError` if there is none."""
        if self.is_outside():
            raise UsageError(
                "there is no workspace here",
                where=self.workspace(),
                hint="metier init makes this folder a workspace; --root names another",
            )
        return self.workspace()

    def ignored_folders(self) -> list[str]:
        return ignored_folders(workspace="" if self.is_outside() else self.workspace())

    def config(self) -> Config:
        return self.boundary.config

    @cached_property
    def boundary(self) -> Boundary:
        """The workspace and its trust; notes which of its settings are ignored."""
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
            self.note(f"note: {OUTSIDE}; to make this folder a workspace: metier init")
        return boundary

    @property
    def redactor(self) -> Redactor:
        """Removes the values of secrets from output; nothing before the settings are read."""
        return self._redactor if "boundary" in self.__dict__ else NOTHING

    @cached_property
    def _redactor(self) -> Redactor:
        return redactor_for(self.boundary.config)

    def settings(self) -> Settings:
        """The settings of the workspace by layer. Raises `UsageError` if there is none."""
        workspace = self.require_workspace()
        return read_settings(workspace, file=self.config_file, for_host=self.for_host)

    def _trust(self, workspace: str) -> str:
        if self.for_host:
            return RECORD
        if self.trust_once:
            from metier.cli.review import confirmed_once  # few commands ask

            return confirmed_once(self, workspace)
        given = os.environ.get(VARIABLE)
        if given not in (None, "", RECORD, NONE):
            checked_digests(given, f"{VARIABLE} is not a digest such as sha256:…")
        return given or RECORD

    def _note_ignored(self, boundary: Boundary) -> None:
        trust, ignored = boundary.trust, boundary.config.ignored
        wrong = boundary.config.ignored_wrong
        if (
            not self.notes_trust
            or trust.is_trusted
            or not (ignored or trust.state == "changed" or trust.detail)
        ):
            return
        changed = "it changed since you trusted it" if trust.state == "changed" else ""
        why = trust.detail or changed
        parts = [f"note: this workspace is not trusted{f' ({why})' if why else ''}"]
        parts += [f"ignored: {shortened(ignored)}"] if ignored else []
        more = f", and {len(wrong) - 1:,} more (metier doctor)" if len(wrong) > 1 else ""
        parts += [f"also wrong: {one_line(wrong[0])}{more}"] if wrong else []
        show = " --show" if trust.detail.startswith(VARIABLE) else ""
        parts += [] if self.for_host else [f"to review it: metier trust{show}"]
        self.note("; ".join(parts))

    def note_state(self) -> None:
        """Warn that runs and reports come from elsewhere, since the workspace is not trusted."""
        from metier.flow.state_settings import ignored_state  # few commands read runs

        if why := ignored_state(self.config()):
            self.note(f"warning: {why}; to use it: metier trust")

    @contextmanager
    def catalog(self) -> "Iterator[Catalog]":
        """The catalog, refreshed unless `--no-refresh`; in memory if nothing can be written."""
        try:
            catalog = self._current(self.open_catalog())
        except StoreError as error:
            if error.code != "STORE_READ_ONLY":
                raise
            self.note(f"warning: {error.message}; reading everything again, storing nothing")
            from metier.catalog import Catalog  # see above

            catalog = self._current(Catalog.in_memory(self.boundary))
        with catalog, self._damage_named(catalog):
            yield catalog

    @contextmanager
    def _damage_named(self, catalog: "Catalog") -> Iterator[None]:
        """Raise `DamagedError` for errors that a damaged catalog causes."""
        from metier.storage.database import MEANINGLESS  # loads sqlite3

        store = catalog.store
        try:
            yield
        except (DamagedError, *MEANINGLESS) as error:
            is_damaged = isinstance(error, DamagedError) or bool(store.damage())
            if not is_damaged or getattr(error, "where", "") not in ("", store.path):
                raise
            store.is_damaged = self.met_damage = True
            message, hint = f"{store.called} is damaged", store.if_damaged
            raise DamagedError(message, where=store.path, hint=hint) from error

    def open_catalog(self) -> "Catalog":
        """The catalog without a refresh; created if there is none."""
        from metier.catalog import Catalog  # see above

        return Catalog.within(self.boundary)

    def _current(self, catalog: "Catalog") -> "Catalog":
        """Refresh the catalog; close it if that fails."""
        try:
            is_built = catalog.is_built()
            store = catalog.store
            was_there = is_built or store.is_damaged or store.was_damaged or self.met_damage
            if catalog.is_kept and not was_there:
                self.note(f"building the catalog of {catalog.workspace}")
            if not is_built or not self.no_refresh:
                self.refresh(catalog)
        except BaseException:
            catalog.close()
            raise
        return catalog

    def refresh(self, catalog: "Catalog") -> "Refreshed":
        with self.progress("reading") as reading, self.progress("encoding", after=1) as encoding:
            refreshed = catalog.refresh(reading, on_encoded=encoding)
        if catalog.store.was_damaged or self.met_damage:
            self.note(f"the catalog of {catalog.workspace} was damaged and has been rebuilt")
        return refreshed

    @cached_property
    def standard_input(self) -> str:
        """All of it, read once: a command may run again."""
        return sys.stdin.read()

    @cached_property
    def standard_input_bytes(self) -> bytes:
        return sys.stdin.buffer.read()

    @contextmanager
    def progress(
        self, verb: str, *, after: float | None = None
    ) -> Iterator[Callable[[int, int], None] | None]:
        """A progress bar on a terminal, for many files, or `after` so many seconds."""
        if self.quiet or not sys.stderr.isatty():
            yield None
            return
        started = time.monotonic()
        with ExitStack() as stack:
            bars: list[Any] = []

            def advance(done: int, total: int) -> None:
                if total < _BAR_FROM if after is None else time.monotonic() < started + after:
                    return
                if not bars:
                    bar = click.progressbar(length=total, label=verb, file=sys.stderr, width=30)
                    bars.append(stack.enter_context(bar))
                bars[0].update(done - bars[0].pos)

            yield advance

    def shown(self, file: str) -> str:
        return shown_file(file, self.workspace())

    def note(self, text: str) -> None:
        if not self.quiet:
            self._echo(text)

    def fault(self, text: str) -> None:
        """Print an error that does not end the command, --quiet or not."""
        self._echo(f"error: {text}")

    def _echo(self, text: str) -> None:
        """Print to standard error, wrapped on a terminal."""
        text = printable(self.redactor.text(text))
        if sys.stderr.isatty():
            text = "\n".join(fitted(line, terminal_width()) for line in text.split("\n"))
        click.echo(text, err=True)

    def note_unknown_agent(self, catalog: "Catalog", agent: str | None) -> None:
        """Warn about an agent without a profile: another host's, or a typo."""
        names = catalog.names("agent")
        if agent is not None and agent not in names and not catalog.excluded_path("agent", agent):
            parts = [f"warning: no agent here is called '{agent}'", did_you_mean(agent, names)]
            self.note("; ".join(filter(None, parts)))

    def tell(self, text: str) -> None:
        """Print a line to standard output."""
        if not self.quiet:
            click.echo(printable(self.redactor.text(text)))

    def print_json(self, value: Any) -> None:
        import json  # many commands print none

        from metier.safety.escapes import escaped_json  # tables need none of its expressions

        value = self.redactor.value(value)
        click.echo(escaped_json(json.dumps(value, indent=2, ensure_ascii=False)))

    def print_list(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        noun: str,
        *,
        plural: str = "",
        total: int = 0,
        answer: int | None = None,
    ) -> None:
        """A table and a count on a terminal, else tab-separated rows without a header.

        `total` is how many there are without `--limit`; the column `answer` is cut last.
        """
        self.print_table(columns, rows, heading=False, answer=answer)
        total = max(total, len(rows))
        if len(rows) < total:
            self.note(f"{len(rows):,} of {counted(total, noun, plural)}: --limit {total} shows all")
        elif rows and sys.stdout.isatty():
            self.note(counted(total, noun, plural))

    def print_table(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str]],
        *,
        heading: bool = True,
        answer: int | None = None,
    ) -> None:
        """A table on a terminal, else tab-separated rows, with a header if `heading`."""
        if not rows:
            return
        rows = self.redactor.value(list(rows))
        if not sys.stdout.isatty():
            for row in [columns, *rows] if heading else rows:
                click.echo("\t".join(one_line(cell) for cell in row))
            return
        print_table(columns, [[one_line(cell) for cell in row] for row in rows], answer)


def names_from_catalog(
    context: click.Context, ask: "Callable[[Catalog], list[str]]", incomplete: str
) -> "list[CompletionItem]":
    """Names that complete `incomplete`; none without a catalog."""
    from metier.catalog import Catalog  # see above

    root = context.params.get("root") or context.find_root().params.get("root")
    try:
        if not state_room(workspace_of(root)).exists():
            return []
        with Catalog.open(root) as catalog:
            names = ask(catalog) if catalog.is_built() else []
    except MetierError:
        return []
    from click.shell_completion import CompletionItem  # only a shell asks for it

    matching = (name for name in names if name.startswith(incomplete))
    return [CompletionItem(_for_shell(name)) for name in matching if name.isprintable()]


def _for_shell(name: str) -> str:
    """Escape a name for bash, unless a quote is open."""
    word = os.environ.get("COMP_WORDS", "").rpartition("\n")[2]
    is_quoted = word.startswith(("'", '"'))
    if os.environ.get("_METIER_COMPLETE") != "bash_complete" or is_quoted:
        return name
    import re  # only a shell asks for it

    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", name)


def complete_from(ask: "Callable[[Catalog], list[str]]") -> "Callable[..., list[CompletionItem]]":
    def complete(ctx: click.Context, _parameter: Any, incomplete: str) -> "list[CompletionItem]":
        return names_from_catalog(ctx, ask, incomplete)

    return complete


def complete_names(kind: Kind) -> "Callable[..., list[CompletionItem]]":
    return complete_from(lambda catalog: catalog.names(kind))


_SHARED = (*("root", "config_file", "as_json", "no_refresh", "quiet", "verbose", "trust_once"),)
"""The options that all commands have."""


def metier_command(
    name: str, *, catalog: bool = True, for_host: bool = False, repeats: bool = False
) -> Callable[[Callable[..., Any]], click.Command]:
    """A command with the shared options after its own.

    `catalog` adds `--no-refresh`; with `for_host` no flag gives power; with `repeats` it runs
    again, once, if it finds the catalog damaged before it has acted.
    """

    def decorate(function: Callable[..., Any]) -> click.Command:
        @functools.wraps(function)
        def wrapper(**given: Any) -> Any:
            shared = {name: given.pop(name) for name in _SHARED if name in given}
            session = Session(**shared, for_host=for_host)
            with redacted_output(lambda: session.redactor), _redacted_errors(session):
                try:
                    return function(session, **given)
                except DamagedError:
                    if not (repeats and session.met_damage) or session.has_acted:
                        raise
                return function(session, **given)

        command = click.command(name)(wrapper)
        command.params += _common_options(catalog=catalog, for_host=for_host)
        return command

    return decorate


@contextmanager
def _redacted_errors(session: Session) -> Iterator[None]:
    """Remove the values of secrets from errors."""
    try:
        yield
    except MetierError as error:
        redacted = session.redactor.text
        error.message, error.hint = redacted(error.message), redacted(error.hint)
        error.where = redacted(error.where)
        raise


def _common_options(*, catalog: bool, for_host: bool) -> list[click.Parameter]:
    as_json, *others = shared_options()
    flags = {}
    if catalog:
        flags["--no-refresh"] = "Do not refresh the catalog first."
    if not for_host:
        text = "Review what the workspace may do, and trust it for this command only."
        flags["--trust-once"] = text
    return [
        as_json,
        *(click.Option([name], is_flag=True, help=text) for name, text in flags.items()),
        *others,
    ]
