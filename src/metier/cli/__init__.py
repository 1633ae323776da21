"""The command line: a thin surface over `Catalog`."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import click

from metier import __version__
from metier.errors import MetierError


class _Command(NamedTuple):
    module: str
    summary: str


COMMANDS: dict[str, _Command] = {
    "demo": _Command("demo", "Show what metier does, on a bundled example."),
    "init": _Command("init", "Set up this folder as a workspace."),
    "refresh": _Command("refresh", "Bring the catalogue up to what is on disk."),
    "list": _Command("listing", "List skills, abilities, cards or agents."),
    "show": _Command("show", "Show one document, with its findings."),
    "providers": _Command("providers", "Name the skills that provide a capability."),
    "lint": _Command("lint", "Check documents and say what to change."),
    "explain": _Command("explain", "Explain a finding or an error by its code."),
    "doctor": _Command("doctor", "Check the installation, the settings and the catalogue."),
    "completion": _Command("completion", "Print a script that completes commands in a shell."),
}


class _LazyGroup(click.Group):
    """Loads a command's module when that command is asked for, and none for `--help`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # fixed signature
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = COMMANDS.get(cmd_name)
        if entry is None:
            return None
        command: click.Command = import_module(f"metier.cli.{entry.module}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.summary) for name, entry in COMMANDS.items()])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"no such command '{args[0]}'")
        return super().resolve_command(ctx, args)


@click.group(
    cls=_LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="metier")
def group() -> None:
    """Know which skills, abilities, cards and agents exist, and what is wrong with them.

    Data goes to standard output, everything else to standard error. Exit codes: 0 done,
    1 findings or failure, 2 wrong usage or configuration.
    """


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Never raises on what a user can cause."""
    verbose = "-v" in arguments or "--verbose" in arguments
    try:
        result: Any = group.main(args=list(arguments), prog_name="metier", standalone_mode=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else 0
    except MetierError as error:
        if verbose:
            raise
        _print_error(error.message, error.code, error.where, error.hint)
        return error.exit_code
    except click.UsageError as error:
        usage = error.ctx.command_path if error.ctx is not None else "metier"
        _print_error(error.format_message(), "USAGE", "", f"{usage} --help")
        return 2
    except click.ClickException as error:
        _print_error(error.format_message(), "USAGE", "", "")
        return 2
    except (click.Abort, KeyboardInterrupt):
        click.echo("stopped", err=True)
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if verbose:
            raise
        _print_error(error.strerror or str(error), "SYSTEM", error.filename or "", "")
        return 1


def _print_error(message: str, code: str, where: Any, hint: str) -> None:
    click.echo(f"{click.style('error:', fg='red', bold=True)} {message} ({code})", err=True)
    if where:
        click.echo(f"  {where}", err=True)
    if hint:
        click.echo(f"{click.style('hint:', fg='cyan')} {hint}", err=True)
