"""Ask a vulnerability service about everything in `requirements/`; skip visibly without one.

Exit code 1 if something is known to be vulnerable. Run it with `make audit`.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "requirements"


def audited(file: Path) -> list[dict[str, Any]] | None:
    """What pip-audit says of each dependency in `file`; None if no service answers."""
    command = [
        *(sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip"),
        *("--format", "json", "--progress-spinner", "off", "--requirement", str(file)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        *_, reason = ["", *done.stderr.strip().splitlines()]
        if "requests.exceptions." not in done.stderr and "ServiceError" not in done.stderr:
            sys.exit(f"error: pip-audit failed: {reason}")
        return None
    return found


def main() -> int:
    vulnerable = 0
    for file in sorted(FOLDER.glob("*.txt")):
        found = audited(file)
        if found is None:
            print(f"{file.name}: skipped, no vulnerability service can be reached")
            continue
        known = [one for one in found if one.get("vulns")]
        for dependency in known:
            ids = ", ".join(vuln["id"] for vuln in dependency["vulns"])
            print(f"{file.name}: {dependency['name']} {dependency['version']}: {ids}")
        print(f"{file.name}: {len(found)} dependencies, {len(known)} vulnerable")
        vulnerable += len(known)
    return int(vulnerable > 0)


if __name__ == "__main__":
    sys.exit(main())
