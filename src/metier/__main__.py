"""The command `metier`."""

import sys


def main() -> None:
    """Run the command line; the exit code is the process's."""
    try:
        from metier.cli import run  # a stop while this loads is no error either
    except KeyboardInterrupt:
        sys.exit(130)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
