"""Options that every command with a workspace has, and the group before it."""

import click


def shared_options() -> list[click.Option]:
    """They mean the same before the command and after it; there the later one wins."""
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
            help="Settings to use.",
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help="Print data only."),
        click.Option(["-v", "--verbose"], is_flag=True, help="Show tracebacks."),
    ]
