"""Write the hashed requirements in `requirements/` from `pyproject.toml` and `constraints.txt`.

Run it with `make requirements` after a change of either. The files name no address: pip looks
where it is configured to look, and installs only what has one of the hashes.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
OLDEST_PYTHON = "3.11"
OLDEST_PYTHON_OF = {"site": "3.11.5"}  # zensical needs pymdown-extensions, which needs that
HEADER = "# Written by `make requirements`. Every file that pip may install, by its hash.\n"
SETS = {
    "pip": ("requirements/pip.in",),
    "demo": ("pyproject.toml", "requirements/build.in", "--extra", "mcp", "--extra", "web"),
    "test": ("pyproject.toml", "requirements/build.in", "--extra", "dev"),
    "fuzz": ("requirements/fuzz.in",),
    "release": ("requirements/release.in",),
    "site": ("requirements/site.in",),
}
"""File → what uv compiles it from."""


def compiled(name: str) -> str:
    """The pinned and hashed requirements of a set, for every platform."""
    python = OLDEST_PYTHON_OF.get(name, OLDEST_PYTHON)
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal"),
        *("--generate-hashes", "--no-annotate", "--no-header"),
        *("--python-version", python, "--constraint", "constraints.txt", *SETS[name]),
    ]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def main() -> None:
    for name in SETS:
        (FOLDER / f"{name}.txt").write_text(HEADER + compiled(name), encoding="utf-8")
        print(f"requirements/{name}.txt")


if __name__ == "__main__":
    main()
