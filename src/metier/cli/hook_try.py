"""`metier hook try`"""

import click

from metier.cli.refresh import prepare_hooks
from metier.cli.session import Session, metier_command
from metier.core.text import printable
from metier.errors import UsageError
from metier.hook.journal import Journal
from metier.hook.serve import told
from metier.hosts.known import HOOKS
from metier.hosts.table import HOOKS as ANSWERS
from metier.values.trust import NOT_IN_PROMPTS


class _NotKept(Journal):
    """Says what a hook would log."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def note(self, who: str, what: str) -> None:  # noqa: ARG002  # fixed signature
        self._session.note(f"warning: {what}")


@metier_command("try", catalog=False, for_host=True)
@click.argument("host", metavar="HOST", type=click.Choice(list(HOOKS)))
@click.argument("prompt")
def command(session: Session, host: str, prompt: str) -> int:
    """Print what the hook of a host would tell its model about PROMPT.

    It is worked out as if the host had sent PROMPT as the first of a session, whether or not the
    hook is installed. Nothing is logged. Exits with 1 if the hook would say nothing.
    """
    if not prompt.strip():
        raise UsageError("the prompt is empty", hint=f"metier hook try {host} 'review this diff'")
    prepare_hooks(session, session.config_file, is_silent=True)
    journal = _NotKept(session)
    text, mode = told(host, prompt, session.workspace(), journal)
    if session.as_json:
        session.print_json({"host": host, "prompt": prompt, "mode": mode, "text": text})
    elif text:
        click.echo(printable(text))
    if not ANSWERS[host][2]:
        session.note(f"{host} runs its hook when a session starts, without the prompt")
    if journal.workspace and not journal.may_speak:
        session.note(f"{NOT_IN_PROMPTS}: metier trust")
    if not text:
        why = "" if mode == "on" else f": its mode is {mode}"
        session.note(f"the hook would say nothing{why}")
    return 0 if text else 1
