"""The command `metier`."""

import sys

_HOSTS = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")


def _serve(host: str) -> None:
    """Answer a host; whatever is wrong with this installation must not stand in its way."""
    try:
        from metier.hooks.serve import serve  # every prompt waits for it: nothing else is loaded

        serve(host)
    except Exception:
        return


def main() -> None:
    """Run the command line; the exit code is the process's."""
    if len(sys.argv) > 2 and sys.argv[1] == "hook" and sys.argv[2] in _HOSTS:
        _serve(sys.argv[2])
        return
    try:
        from metier.cli import run  # a stop while this loads is no error either
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
