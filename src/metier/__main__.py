"""The command `metier`."""

import sys


def main() -> None:
    """Run the command line; the exit code is the process's."""
    from metier.cli import run  # `hook HOST` must not pay for the rest

    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
