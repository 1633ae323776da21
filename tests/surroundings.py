"""Where the tests are started must not matter: what they take from it, and what they refuse."""

import os
import signal
from collections.abc import MutableMapping
from pathlib import Path

KEPT = (
    "METIER_CORPUS", "METIER_LIVE", "METIER_LIVE_CACHE", "METIER_SOAK", "METIER_WRITE_DOCS",
)  # fmt: skip
_PERSONAL = (
    "METIER_", "XDG_", "GIT_", "PG", "LC_", "LANG", "OPENAI_", "ANTHROPIC_", "CLAUDE_",
    "CODEX_", "COPILOT_", "SUDO_", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONUNBUFFERED",
    "PYTHONCOERCECLOCALE", "NO_COLOR", "FORCE_COLOR", "CLICOLOR",
    "COLUMNS", "LINES", "TERM", "TZ",
)  # fmt: skip
_MARKS = (".git", "metier.toml")
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm")
_IGNORABLE = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD)


def forget_the_user(environ: MutableMapping[str, str]) -> None:
    """Remove every variable that says who runs the tests, in which language, on what terminal."""
    for name in list(environ):
        personal = name.startswith(_PERSONAL) or name.lower().endswith(("_proxy", "_api_key"))
        if personal and name not in KEPT:
            del environ[name]


def restore_signals() -> None:
    """Give started processes the usual signals, also under `nohup` or in the background.

    A process that ignores a signal hands that on to those it starts; one that handles it does
    not. So this process goes on ignoring what it was told to ignore, by a handler.
    """
    for number in _IGNORABLE:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _IGNORABLE)


def workspace_around(folder: Path) -> Path | None:
    """What makes `folder`, or one above it, a workspace; every temporary folder would be in it."""
    above = folder.resolve()
    marks = (place / mark for place in (above, *above.parents) for mark in _MARKS)
    return next((mark for mark in marks if mark.exists()), None)


def temporary_folder() -> Path | None:
    """One of the system's folders for temporary files that is in no workspace."""
    folders = [Path(one) for one in _TEMPORARY if os.access(one, os.W_OK | os.X_OK)]
    return next((one for one in folders if not workspace_around(one)), None)
