"""The command `metier`."""

import gc
import sys

from metier.hosts import HOOKED

_MANY = 50_000
"""New objects after which garbage is collected: short commands make fewer, rules included."""


def _serve(host: str, more: list[str]) -> None:
    """Answer a host. Whatever is wrong with this installation must not stop it."""
    try:
        if more:
            _reject(host, more)
            return
        from metier.hook.serve import serve  # every prompt waits: load nothing else

        serve(host)
    except Exception as error:
        _log(host, error)


def _log(host: str, error: Exception) -> None:
    """Log why there is no answer, if this installation still can."""
    try:
        from metier.hook.journal import Journal
        from metier.storage.workspace import find_workspace

        journal = Journal()
        journal.enter(find_workspace())
        journal.fail(host, error, 0.0)
    except Exception:
        return  # the host must not notice


def _reject(host: str, more: list[str]) -> None:
    """Log and print in one line why there is no answer."""
    from metier.hook.journal import Journal
    from metier.storage.workspace import find_workspace

    why = f"'metier hook {host}' takes nothing else, but was given: {' '.join(more)}"
    journal = Journal()
    journal.enter(find_workspace())
    journal.note(host, why)
    if sys.stderr is not None:
        sys.stderr.write(f"error: {why}\nhint: metier hook --help\n")


def main() -> None:
    arguments = sys.argv[1:]
    if len(arguments) > 1 and arguments[0] == "hook" and arguments[1] in HOOKED:
        more = arguments[2:]
        if "--help" not in more and "-h" not in more:
            _serve(arguments[1], more)
            return
        arguments = ["hook", "--help"]
    gc.disable()  # what this loads stays until the process ends
    try:
        from metier.cli import run  # Ctrl-C while this loads is no error
    except KeyboardInterrupt:
        sys.exit(130)
    gc.enable()
    gc.set_threshold(_MANY)
    code = run(arguments)
    gc.freeze()  # skip the garbage collection at exit
    sys.exit(code)


if __name__ == "__main__":
    main()
