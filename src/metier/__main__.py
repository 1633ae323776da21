"""The command `metier`."""

import sys

_HOSTS = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")


def main() -> None:
    """Run the command line; the exit code is the process's."""
    if len(sys.argv) == 3 and sys.argv[1] == "hook" and sys.argv[2] in _HOSTS:
        from metier.hooks.serve import serve  # every prompt waits for it: nothing else is loaded

        serve(sys.argv[2])
        return
    try:
        from metier.cli import run  # a stop while this loads is no error either
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
