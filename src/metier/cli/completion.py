"""`metier completion`"""

import click
from click.shell_completion import get_completion_class

from metier.errors import UsageError

_QUOTING = {
    "read type value": "read -r type value",
    "COMPREPLY+=($value)": 'COMPREPLY+=("$value")',
    'string split ","': 'string split --max 1 ","',
}
"""Make click's scripts for bash and fish keep names with spaces whole; zsh needs none."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script that completes commands, options and names in SHELL.

    For bash: eval "$(metier completion bash)"
    """
    from metier.cli import group  # the group loads this module

    complete = get_completion_class(shell)
    if complete is None:
        raise UsageError(f"no completion for {shell}")
    script = complete(group, {}, "metier", "_METIER_COMPLETE").source()
    for theirs, ours in _QUOTING.items():
        script = script.replace(theirs, ours)
    click.echo(script)
