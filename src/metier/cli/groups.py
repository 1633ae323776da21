"""Commands below commands: `metier hook install`."""

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource

from metier.cli.shared_options import shared_options
from metier.core.nearest import did_you_mean


class CommandGroup(click.Group):
    """A group whose shared options apply to its commands."""

    def __init__(
        self,
        name: str | None,
        *,
        default: str = "",
        on_unknown: Callable[[list[str]], Exception] | None = None,
        **settings: Any,
    ) -> None:
        """`default` runs when no command is named; `on_unknown` makes the error for another."""
        super().__init__(name, **{"params": shared_options(), "no_args_is_help": False, **settings})
        self._default = default
        self.on_unknown = on_unknown

    def add(self, command: click.Command) -> click.Command:
        self.add_command(command)
        return command

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # fixed signature
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = {*self.commands, *ctx.help_option_names}
        if self._default and (not args or (args[0][:1] == "-" and named.isdisjoint(args))):
            args = [self._default, *args]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        if self.callback is None:
            given = {name: value for name, value in ctx.params.items() if value}
            ctx.default_map = dict.fromkeys(self.commands, given)
        return super().invoke(ctx)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in self.commands and not args[0].startswith("-"):
            if self.on_unknown:
                raise self.on_unknown(args)
            parts = [
                f"no such command '{self.name} {args[0]}'",
                did_you_mean(args[0], self.commands),
            ]
            ctx.fail("; ".join(filter(None, parts)))
        return super().resolve_command(ctx, args)


_INNER = "metier.inner"


class GroupArgument(click.Argument):
    """An argument of an `ArgumentGroup`, whose `subcommand_metavar` shows it."""

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  # fixed signature
        return []


class ArgumentGroup(CommandGroup):
    """A group that takes arguments itself, unless the first of them is one of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        with_value = {
            name for option in shared_options() if not option.is_flag for name in option.opts
        }
        words = [
            word
            for before, word in zip(["", *args], args, strict=False)
            if word[:1] != "-" and before not in with_value
        ]
        if words and words[0] in self.commands:
            ctx.meta[_INNER] = True
            return super().parse_args(ctx, args)
        ctx.allow_interspersed_args = True
        return click.Command.parse_args(self, ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        if _INNER not in ctx.meta:
            return params
        return [one for one in params if not isinstance(one, click.Argument)]


def with_commands(
    command: click.Command, *inner: click.Command, kind: type[CommandGroup] = CommandGroup
) -> CommandGroup:
    """A group that runs `command` when no inner command is given."""

    def callback(**given: Any) -> Any:
        context = click.get_current_context()
        name = context.invoked_subcommand
        if name is None:
            return command.callback(**given) if command.callback else None
        shared = {option.name for option in shared_options()}
        for parameter in command.params:
            key = parameter.name or ""
            if key not in given:
                continue
            if context.get_parameter_source(key) is ParameterSource.DEFAULT:
                del given[key]
            elif key not in shared:
                context.fail(f"'{command.name} {name}' takes no {parameter.opts[-1]} before it")
        context.default_map = {name: given}
        return None

    return kind(
        command.name,
        callback=callback,
        params=command.params,
        help=command.help,
        invoke_without_command=True,
        commands={one.name or "": one for one in inner},
    )
