"""The command `metier`."""

import gc
import sys

_HOSTS = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")


def _serve(host: str, more: list[str]) -> None:
    """Answer a host; whatever is wrong with this installation must not stand in its way."""
    try:
        if more:
            _refuse(host, more)
            return
        from metier.hook.serve import serve  # every prompt waits for it: nothing else is loaded

        serve(host)
    except Exception:
        return


def _refuse(host: str, more: list[str]) -> None:
    """Say in one line, to whoever looks, why there is no answer: it could be the wrong one."""
    from metier.hook.journal import Journal
    from metier.storage.workspace import find_workspace

    why = f"'metier hook {host}' takes nothing else, but was given: {' '.join(more)}"
    journal = Journal()
    journal.enter(find_workspace())
    journal.note(host, why)
    if sys.stderr is not None:
        sys.stderr.write(f"error: {why}\nhint: metier hook --help\n")


def main() -> None:
    """Run the command line; the exit code is the process's."""
    if len(sys.argv) > 2 and sys.argv[1] == "hook" and sys.argv[2] in _HOSTS:
        more = sys.argv[3:]
        if "--help" not in more and "-h" not in more:
            _serve(sys.argv[2], more)
            return
    try:
        from metier.cli import run  # a stop while this loads is no error either
    except KeyboardInterrupt:
        sys.exit(130)
    code = run(sys.argv[1:])
    gc.freeze()  # skip the garbage collection at exit
    sys.exit(code)


if __name__ == "__main__":
    main()
