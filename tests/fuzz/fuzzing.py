"""Fuzz one target with atheris: `PYTHONPATH=tests python -m fuzz.fuzzing TARGET [OPTION …]`.

Inputs that increase coverage go to a temporary folder; the committed corpus is only read. A
failing input is written to the current folder as `crash-…`.
"""

import sys
import tempfile

import atheris

with atheris.instrument_imports(include=["metier"]):
    from fuzz.targets import CORPUS, TARGETS


def main() -> None:
    name = sys.argv[1] if len(sys.argv) > 1 else ""
    if name not in TARGETS:
        sys.exit(f"error: no target '{name}'; choose one of {', '.join(TARGETS)}")
    with tempfile.TemporaryDirectory(prefix="fuzz-") as found:
        arguments = [sys.argv[0], *sys.argv[2:], found, str(CORPUS / name)]
        atheris.Setup(arguments, TARGETS[name])
        atheris.Fuzz()


if __name__ == "__main__":
    main()
