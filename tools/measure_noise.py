"""How much lint says about skills that the format's own validator accepts.

    python tools/measure_noise.py --validator ~/skills-ref/bin/python FOLDER...

`--validator` is a Python that has the package `skills-ref`. Each FOLDER is a collection of skills;
take collections that no rule was written against. The bar: no error, at most one warning for fifty
skills, and no second finding for one cause: the same code at the same line, or two errors or
warnings at one position. Exit code 1 if it is missed, 0 otherwise, and with nothing to measure.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

SKILLS_FOR_ONE_WARNING = 50
_ACCEPTED = """
import json, sys
from pathlib import Path
from skills_ref.validator import validate
folders = [file.parent for file in Path(sys.argv[1]).rglob("SKILL.md")]
print(json.dumps([str(folder) for folder in folders if not validate(folder)]))
"""


def accepted(validator: str, folder: str) -> set[str]:
    """The SKILL.md files below a folder that `skills-ref` accepts."""
    found = subprocess.run(
        [validator, "-c", _ACCEPTED, folder], check=True, capture_output=True, text=True
    )
    return {os.path.realpath(os.path.join(one, "SKILL.md")) for one in json.loads(found.stdout)}


def findings(folder: str) -> list[dict[str, Any]]:
    """What `metier lint` says about a folder, notes included."""
    command = [sys.executable, "-m", "metier", "lint", "--notes", "--json", folder]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    rows: list[dict[str, Any]] = json.loads(found.stdout)
    return rows


def repeated(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Findings that say again what another says."""
    lines = Counter((row["path"], row["line"], row["code"]) for row in rows)
    serious = [row for row in rows if row["severity"] != "info"]
    places = Counter((row["path"], row["line"], row["column"]) for row in serious)
    return [
        *(f"{path}:{line}: {code} {count} times" for (path, line, code), count in lines.items()
          if count > 1),
        *(f"{path}:{line}:{column}: {count} errors or warnings"
          for (path, line, column), count in places.items() if count > 1),
    ]  # fmt: skip


def measure(validator: str, folder: str) -> bool:
    """Print the figures of one collection; whether it meets the bar."""
    skills = accepted(validator, folder)
    rows = [row for row in findings(folder) if os.path.realpath(row["path"]) in skills]
    by = Counter(row["severity"] for row in rows)
    again = repeated(rows)
    print(
        f"{folder}: {len(skills)} skills accepted by skills-ref; {by['error']} errors, "
        f"{by['warning']} warnings, {by['info']} notes, {len(again)} repeated"
    )
    for row in rows:
        if row["severity"] != "info":
            print(f"  {row['path']}:{row['line']}: {row['code']} {row['message']}")
    for line in again:
        print(f"  {line}")
    allowed = max(1, len(skills) // SKILLS_FOR_ONE_WARNING)
    return not by["error"] and by["warning"] <= allowed and not again


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--validator", default=sys.executable)
    parser.add_argument("folders", nargs="*", metavar="FOLDER")
    given = parser.parse_args()
    if not given.folders:
        print("skipped: name a folder of skills to measure", file=sys.stderr)
        return 0
    met = [measure(given.validator, folder) for folder in given.folders]
    return int(not all(met))


if __name__ == "__main__":
    raise SystemExit(main())
