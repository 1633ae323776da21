"""The command line: a thin surface over `Catalog`."""

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import click

from metier import __version__
from metier.cli.layout import colour_wanted
from metier.cli.shared_options import shared_options, usage_hint, usage_message
from metier.core.nearest import nearest, suggestion
from metier.core.paths import is_utf8
from metier.core.process import (
    discard_output,
    loading_numpy,
    use_one_thread,
    without_garbage_collection,
)
from metier.core.text import printable
from metier.errors import ConfigError, MetierError, TrustError, UsageError

COMMANDS = {
    "demo": "Show what metier does, on a bundled example.",
    "init": "Set up this folder as a workspace.",
    "import": "Bring the documents of other tools into this workspace.",
    "trust": "Review what a workspace may do, and trust it.",
    "inspect": "Show what a package would add, before you install it.",
    "lock": "Write metier.lock, with the hashes of the skills of this workspace.",
    "verify": "Compare the skills of this workspace with metier.lock.",
    "diff": "Show what changed in a skill since you reviewed it.",
    "state": "Show where state is kept, copy it, or remove what is old.",
    "refresh": "Update the catalog from disk.",
    "list": "List skills, abilities, cards or agents.",
    "show": "Show one document, with its findings.",
    "listing": "Show what a host tells the model about your skills, and what is lost.",
    "disable": "Switch a skill off in the settings of your hosts.",
    "enable": "Switch a skill on again, as it was before.",
    "which": "Show which skill fires for a task, and why not another.",
    "eval": "Measure how often the right skills fire.",
    "examples": "List, export and remove the examples that teach which skill a task is for.",
    "overlap": "Find skills that compete for the same tasks, and separate them.",
    "resolve": "Choose the skills that provide capabilities, and say why.",
    "reports": "List, show, compare and explain reports of resolutions.",
    "history": "Record whether providers succeeded.",
    "select": "Show which agents fit a task, and why.",
    "run": "Run an agent on a task.",
    "worker": "Execute runs from the queue, on this machine.",
    "schedule": "List, add and remove scheduled runs of agents.",
    "runs": "List, show, resume, cancel, fork or remove runs.",
    "inject": "Print the text of the cards and abilities that a task needs.",
    "hook": "Inject cards and name skills in a host; show what hooks did.",
    "usage": "Show which skills your hosts used, from their transcripts.",
    "mcp": "Serve the catalog to agents over the Model Context Protocol.",
    "lsp": "Show findings, help and repairs in an editor while you type.",
    "web": "Open the inspector: pages that show what would happen, and why.",
    "lint": "Check documents and say what to change.",
    "explain": "Explain a finding or an error by its code.",
    "dev": "Run the conformance suite of the resolver.",
    "doctor": "Check the installation, the settings, the catalog and the runs.",
    "completion": "Print a script that completes commands in a shell.",
}
MOVED = {
    "conformance": "dev conformance",
    "hook refresh": "refresh",
    "providers": "list --capability",
    "record": "history record",
    "report": "reports",
    "stats": "hook stats",
}
"""Names of the last version."""
MEANT = {
    "abilities": ("list abilities",),
    "agents": ("list agents",),
    "cards": ("list cards",),
    "check": ("lint",),
    "clean": ("state prune",),
    "delete": ("disable",),
    "describe": ("show",),
    "find": ("which", "list --search"),
    "fix": ("lint --fix",),
    "help": ("--help",),
    "info": ("show",),
    "install": ("hook install", "mcp install"),
    "logs": ("hook stats decisions",),
    "ls": ("list",),
    "remove": ("hook uninstall", "mcp uninstall"),
    "search": ("which", "list --search"),
    "open": ("web",),
    "prune": ("state prune",),
    "serve": ("mcp", "web"),
    "skills": ("list",),
    "status": ("doctor",),
    "suggest": ("which",),
    "sync": ("refresh",),
    "test": ("lint",),
    "ui": ("web",),
    "uninstall": ("hook uninstall", "mcp uninstall"),
    "update": ("refresh",),
    "validate": ("lint",),
    "version": ("--version",),
}
"""What other programs call a command → what it is called here."""
_NO_COMMAND = dict.fromkeys(
    ("config", "settings"), "settings are in metier.toml: docs/reference/settings.md"
)
"""What no command does → what to use instead."""
_LIKENESS = 0.7
"""The least similarity of a typo to a command: `test` does not mean `trust`."""
_MODULES = {
    "import": "import_documents",
    "list": "list_documents",
    "run": "run_agent",
    "usage": "skill_usage",
}
STOPPED, PIPE_CLOSED = 130, 141
_COMPLETION = "_METIER_COMPLETE"
"""Set by a shell that completes a command line."""


class _LazyGroup(click.Group):
    """Loads a command's module when that command is asked for, and none for `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # fixed signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = _MODULES.get(cmd_name, cmd_name)
        with loading_numpy(), without_garbage_collection():
            command: click.Command = import_module(f"metier.cli.{module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        for size in (1, 2):
            if (old := " ".join(args[:size])) in MOVED:
                raise _moved(old, args[size:])
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            parts = [f"no such command '{args[0]}'", _instead(args[0])]
            ctx.fail("; ".join(filter(None, parts)))
        return super().resolve_command(ctx, args)


def _moved(old: str, others: Sequence[str]) -> UsageError:
    """The error for a name of the last version; the hint keeps the arguments after it."""
    new = MOVED[old]
    name, option, _ = new.partition(" --")
    is_kept = others and not (option and others[0].startswith("-"))
    import shlex  # few commands were called otherwise

    command = shlex.join([*new.split(), *others]) if is_kept else f"{name} --help"
    return UsageError(f"'metier {old}' is now 'metier {new}'", hint=f"metier {command}")


def _instead(typed: str) -> str:
    """What to use instead of a command that does not exist; empty if nothing is near."""
    if typed in _NO_COMMAND:
        return _NO_COMMAND[typed]
    near = MEANT.get(typed) or [nearest(typed, COMMANDS, likeness=_LIKENESS)]
    return suggestion("' or '".join(near))


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="metier")
@click.pass_context
def group(context: click.Context, /, **given: Any) -> None:
    """Show which skills, abilities, cards and agents fit a task, and why. Check them, inject
    only the text that a task needs, and run agents that survive a crash.

    Data goes to standard output, everything else to standard error. In a pipe, rows are separated
    by tabs: lists have no header, tables of figures have one. Exit codes: 0 done; 1 findings,
    unresolved, or a failed run; 2 wrong usage or configuration; 3 a decision is pending, or the
    workspace is not trusted; 130 cancelled.

    The options below go before or after the command; those after it win.
    """
    name = context.invoked_subcommand or ""
    command = group.get_command(context, name)
    known = {parameter.name for parameter in command.params} if command is not None else set()
    for option in shared_options():
        if given[option.name or ""] and option.name not in known:
            context.fail(f"'{name}' takes no {option.opts[-1]}")
    context.default_map = {name: {key: value for key, value in given.items() if value}}


group.params += shared_options()


def run(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; errors are printed, not raised."""
    _prepare_streams()
    use_one_thread()
    if not arguments and _COMPLETION not in os.environ:
        context = click.Context(group, info_name="metier", **group.context_settings)
        click.echo(group.get_help(context), err=True, color=colour_wanted())
        return 2
    try:
        result: Any = group.main(
            args=list(arguments),
            prog_name="metier",
            standalone_mode=False,
            color=colour_wanted(),
        )
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except SystemExit as stop:  # click exits like this after completion, or on a closed pipe
        return _leave_closed_pipe() if stop.code == 1 else 0
    except BrokenPipeError:
        return _leave_closed_pipe()
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return STOPPED
    except Exception as error:
        if _is_verbose(arguments):
            import traceback

            traceback.print_exc()
        if isinstance(error, UnicodeEncodeError) and not all(map(is_utf8, arguments)):
            error = UsageError("an argument is not UTF-8", hint="metier --help")
        return _report(error, arguments)


def _prepare_streams() -> None:
    """Let output survive unencodable characters and closed streams."""
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  # open until the process ends
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _is_verbose(arguments: Sequence[str]) -> bool:
    return any(
        one == "--verbose" or (one.startswith("-") and not one.startswith("--") and "v" in one)
        for one in arguments
    )


def _leave_closed_pipe() -> int:
    discard_output()
    return PIPE_CLOSED


def _report(error: Exception, arguments: Sequence[str]) -> int:
    """Print an error and return the exit code."""
    if isinstance(error, MetierError):
        _print_error(error.message, error.code, _where(error), _hint_of(error))
        return error.exit_code
    if isinstance(error, click.ClickException):
        named = [one for one in arguments if one in COMMANDS][:1]
        context = getattr(error, "ctx", None)
        inner = context.command_path if context is not None and context.parent else ""
        path = inner or " ".join(("metier", *named))
        known = _secrets_of(context)
        _print_error(known(usage_message(error)), "USAGE", "", known(usage_hint(error, path)))
        return 2
    if isinstance(error, OSError):
        where = error.filename if isinstance(error.filename, str) else ""
        if not where and not _can_print():
            discard_output()
            message = f"standard output: {error.strerror or error}"
            _print_error(message, "SYSTEM", "", "")
            return 2
        name = os.path.basename(where.rstrip("/")) or where
        message = ": ".join(filter(None, [name, error.strerror or str(error)]))
        _print_error(message, "SYSTEM", where, "")
        return 1
    _print_error(f"{type(error).__name__}: {error}", "INTERNAL", "", "-v shows where it happened")
    return 1


def _secrets_of(context: click.Context | None) -> Callable[[str], str]:
    """What removes the secrets of the workspace's settings from a text."""
    from metier.cli.session import Session  # wrong usage of a command that was not loaded

    root = context.find_root().params.get("root") if context is not None else None
    session = Session(root, quiet=True)
    try:
        session.config()
    except (MetierError, OSError):
        return str
    return session.redactor.text


def _where(error: MetierError) -> str:
    if not isinstance(error, ConfigError):
        return error.where
    from metier.config.setting_lines import where_with_line  # few settings are wrong

    return where_with_line(error)


def _hint_of(error: MetierError) -> str:
    """What to do next; without a terminal, as in CI, it names the variable to set."""
    if not isinstance(error, TrustError):
        return error.hint
    from metier.cli.review import has_terminal  # only a command that needs trust loads these
    from metier.flow.boundary import REVIEW_HINT, VARIABLE

    if not error.hint.startswith(REVIEW_HINT) or has_terminal():
        return error.hint
    instead = f"without a terminal: set {VARIABLE} to the digest that metier trust --show prints"
    return f"{error.hint}; {instead}"


def _can_print() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _print_error(message: str, code: str, where: str, hint: str) -> None:
    from metier.safety.redact import without_tokens  # what went wrong may be a secret

    message, where, hint = map(without_tokens, (message, where, hint))
    colour = colour_wanted()
    title = click.style("error:", fg="red", bold=True)
    click.echo(f"{title} {printable(' '.join(message.split()))} ({code})", err=True, color=colour)
    if where:
        click.echo(f"  {printable(where)}", err=True, color=colour)
    if hint:
        click.echo(f"{click.style('hint:', fg='cyan')} {printable(hint)}", err=True, color=colour)
