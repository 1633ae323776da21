"""`metier lsp`"""

import os
from importlib.util import find_spec

from metier.cli.session import Session, metier_command
from metier.errors import UsageError, install_hint


@metier_command("lsp", catalog=False, for_host=True)
def command(session: Session) -> int:
    """Serve an editor over the Language Server Protocol, on standard input and output.

    It shows findings while you type, explains them and the keys of front matter, completes keys,
    values, capabilities and names, offers repairs, and finds the skills that provide a capability.
    It checks the text in the editor, not the file, and never writes a file. In a workspace that
    you have not trusted it only reads documents.

    docs/editor.md has the settings of editors.
    """
    if find_spec("pygls") is None:
        raise UsageError("the package pygls is not installed", hint=install_hint("lsp"))
    from metier.lsp.serve import run_stdio  # the package loads a lot

    os.environ.setdefault("METIER_OFFLINE", "1")  # no editor waits for sources of cards
    run_stdio(session.workspace())
    return 0
