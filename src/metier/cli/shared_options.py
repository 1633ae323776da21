"""Shared options, and messages for wrong usage."""

import re
from collections.abc import Sequence

import click

from metier.core.nearest import nearest, suggestion
from metier.values.files import KINDS

_QUOTED_OPTION = re.compile(r"'(--?[\w-]+)'")
_WRONG_CHOICE = re.compile(r"'(.*?)' is not one of ", re.DOTALL)
_EXTRA = re.compile(r"unexpected extra arguments? \(([^\s)]+)")
_RANGE = re.compile(r"is not in the range (\S+)<=x<=([^\s.]+)")
_WORDS = {
    "is not a valid integer range": "is not a whole number",
    "is not a valid integer": "is not a whole number",
    "is not a valid float range": "is not a number",
    "is not in the range x>=": "is less than ",
    "got unexpected extra argument": "unexpected argument",
}


def shared_options() -> list[click.Option]:
    """Options of all commands, valid before and after the command; the later option wins."""
    return [
        click.Option(["--json", "as_json"], is_flag=True, help="Print JSON."),
        click.Option(
            ["--root"],
            metavar="DIR",
            type=click.Path(file_okay=False),
            help="The workspace (default: the one around this folder).",
        ),
        click.Option(
            ["--config", "config_file"],
            metavar="FILE",
            type=click.Path(),
            help="The settings file to use.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print data only."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show tracebacks."),
    ]


class KindError(click.UsageError):
    """A word in the place of a kind, and the command that was meant."""

    def __init__(self, message: str, meant: str) -> None:
        super().__init__(message)
        self.meant = meant

    @classmethod
    def unknown(cls, word: str, meant: str) -> "KindError":
        return cls(f"'{word}' is not a kind of document: {', '.join(KINDS)}", meant)


def usage_message(error: click.ClickException) -> str:
    """A message of click in our style."""
    if isinstance(error, click.MissingParameter):
        return _missing(error)
    if isinstance(error, click.BadParameter) and error.param is not None:
        return f"invalid value for {_called(error.param)}: {_plain(error.message)}"
    if isinstance(error, click.NoSuchOption):
        near = sorted(error.possibilities or ())
        meant = f"; did you mean {' or '.join(near)}?" if near else ""
        return f"no such option {error.option_name}{meant}"
    return _plain(error.format_message())


def usage_hint(error: click.ClickException, path: str) -> str:
    """The value that was meant, or else where the help of the command at `path` is."""
    if isinstance(error, KindError):
        return error.meant
    wanted = _WRONG_CHOICE.match(error.message)
    parameter = error.param if isinstance(error, click.BadParameter) else None
    choices = getattr(parameter.type, "choices", ()) if parameter is not None else ()
    near = _nearest_choice(wanted[1], list(choices)) if wanted else ""
    context = error.ctx if isinstance(error, click.UsageError) else None
    pattern = _right_usage(error, context) if context is not None else ""
    return suggestion(near, f"{path}{pattern}; {path} --help" if pattern else f"{path} --help")


def _right_usage(error: click.ClickException, context: click.Context) -> str:
    """What belongs behind the command instead; empty if only its help says that."""
    command = context.command
    if isinstance(error, click.MissingParameter) and error.param is not None:
        if isinstance(error.param, click.Option):
            return f" {_called(error.param)} {error.param.make_metavar(context)}"
        pieces = (part for one in command.params for part in one.get_usage_pieces(context))
        return "" if getattr(error.param.type, "choices", ()) else " ".join(["", *pieces])
    message = error.message.lower()
    if isinstance(command, click.Group) and context.parent and "command" in message:
        return f" {'|'.join(command.list_commands(context))}"
    extra = _EXTRA.search(error.message)
    takers = [one for one in command.params if extra and extra[1] in _choices_of(one)]
    return f" {_called(takers[0])} {extra[1]}" if extra and takers else ""


def _choices_of(parameter: click.Parameter) -> Sequence[str]:
    return tuple(getattr(parameter.type, "choices", ()))


def _nearest_choice(wanted: str, choices: list[str]) -> str:
    """The first choice that begins like it, or else the most similar one."""
    longer = (one for one in choices if wanted and one.startswith(wanted))
    return next(longer, "") or nearest(wanted, choices)


def _missing(error: click.MissingParameter) -> str:
    if error.param is None:
        return _plain(error.format_message())
    what = f"missing {error.param.param_type_name} {_called(error.param)}"
    known = getattr(error.param.type, "choices", ())
    return f"{what}: one of {', '.join(map(str, known))}" if known else what


def _called(parameter: click.Parameter) -> str:
    if isinstance(parameter, click.Option):
        return max(parameter.opts, key=len)
    word = (parameter.metavar or "").strip("[].…")
    return word if word.isalpha() and word.isupper() else (parameter.name or "").upper()


def _plain(text: str) -> str:
    text = _QUOTED_OPTION.sub(r"\1", " ".join(text.split()).removesuffix("."))
    text = text[:1].lower() + text[1:] if text[1:2].islower() else text
    for theirs, ours in _WORDS.items():
        text = text.replace(theirs, ours)
    return _RANGE.sub(r"is not from \1 to \2", text)
