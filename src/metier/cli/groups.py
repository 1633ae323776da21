"""Commands below commands: `metier hook install`."""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from metier.cli.options import shared_options
from metier.core.nearest import nearest


class CommandGroup(click.Group):
    """Commands in the order they were given in."""

    on_unknown: Callable[[list[str]], Exception] | None = None
    """The error for arguments that begin with an unknown word."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # fixed signature
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            if self.on_unknown:
                raise self.on_unknown(args)
            near = nearest(args[0], self.commands)
            meant = f"; did you mean '{near}'?" if near else ""
            ctx.fail(f"no such command '{self.name} {args[0]}'{meant}")
        return super().resolve_command(ctx, args)


def with_commands(command: click.Command, *inner: click.Command) -> CommandGroup:
    """`command` with others below it: it does its own work when none of them follows.

    Shared options before an inner command count for it; the command's own do not.
    """

    def callback(**given: Any) -> Any:
        context = click.get_current_context()
        name = context.invoked_subcommand
        if name is None:
            return command.callback(**given) if command.callback else None
        shared = {option.name for option in shared_options()}
        for parameter in command.params:
            key = parameter.name or ""
            if context.get_parameter_source(key) is ParameterSource.DEFAULT:
                del given[key]
            elif key not in shared:
                context.fail(f"'{command.name} {name}' takes no {parameter.opts[-1]} before it")
        context.default_map = {name: given}
        return None

    return CommandGroup(
        command.name,
        callback=callback,
        params=command.params,
        help=command.help,
        invoke_without_command=True,
        commands={one.name or "": one for one in inner},
    )
