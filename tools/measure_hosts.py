"""Run the tests of real hosts and write what was measured into the facts about hosts.

    python tools/measure_hosts.py           # runs `tests/live` (minutes), then writes
    python tools/measure_hosts.py --dry-run # prints what would be written
    python tools/measure_hosts.py --host codex # only one host

For each host that is installed: its version, the date, the tests that it passed, and the skills
that it brings along, as names and lengths. Version and date also go into the sources of its facts;
`make docs` puts them on the page of hosts. A host that is not installed keeps its old entry.
"""

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from live.lab import HOSTS, Lab, LiveHost, program_of  # noqa: E402  # after the path is set
from live.sent import sent_skills  # noqa: E402

FACTS = ROOT / "src/metier/hosts/measured.json"
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SOURCE = re.compile(r'(_MEASURED = Source\("[^"]*?) [0-9.]+", "[0-9-]+", "measured"\)')
_CLAUDE_COMMANDS = ("init", "security-review")


def version_of(host: LiveHost) -> str:
    """The pinned version, or what a host on the PATH says of itself."""
    if host.version:
        return host.version
    said = subprocess.run(
        [str(program_of(host)), "--version"], capture_output=True, text=True, check=False
    )
    found = _VERSION.search(said.stdout)
    return found[0] if found else "unknown"


def own_skills(host: LiveHost, folder: Path) -> list[dict[str, Any]]:
    """The skills of a host with nothing else on disk: names and lengths, not texts."""
    finished = Lab(host, folder).ask("Say hello.")
    return [
        {
            "name": skill.name,
            "characters": len(skill.text),
            "bytes": len(skill.text.encode()),
            "isFixed": host.name == "claude-code" and skill.name not in _CLAUDE_COMMANDS,
        }
        for skill in sent_skills(host.name, finished.requests)
    ]


def test_results(report: Path) -> Iterator[tuple[str, str, bool]]:
    """The host and the sentence of each test that ran, and whether it passed."""
    for case in ElementTree.parse(report).iter("testcase"):
        if case.find("skipped") is not None:
            continue
        name, _, parameters = case.attrib["name"].partition("[")
        sentence = name.removeprefix("test_").replace("_", " ")
        for host in HOSTS:
            if host in parameters or host in name:
                yield host, sentence, len(case) == 0


def run_tests(folder: Path, only: str | None) -> dict[str, list[str]]:
    """The sentences that hold in every case, by host."""
    report = folder / "report.xml"
    environ = {**os.environ, "METIER_LIVE": "1"}
    words = [sys.executable, "-m", "pytest", "-n", "0", "tests/live", f"--junitxml={report}"]
    words += ["-k", only.partition("-")[0]] if only else []
    subprocess.run(words, cwd=ROOT, env=environ, check=False)
    found: dict[str, dict[str, bool]] = {}
    for host, sentence, is_passed in test_results(report):
        sentences = found.setdefault(host, {})
        sentences[sentence] = is_passed and sentences.get(sentence, True)
    return {host: [text for text in found[host] if found[host][text]] for host in found}


def measured(folder: Path, only: str | None) -> list[dict[str, Any]]:
    """An entry for each host that is installed."""
    passed = run_tests(folder, only)
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    return [
        {
            "host": host.name,
            "version": version_of(host),
            "date": today,
            "what": passed.get(host.name, []),
            "ownSkills": own_skills(host, folder / host.name),
        }
        for host in HOSTS.values()
        if program_of(host) and only in (None, host.name)
    ]


def stamp(entry: dict[str, Any], facts: Path) -> None:
    """Write version and date into the file of a host, as the source of its measured facts."""
    file = facts / f"{entry['host'].replace('-', '_')}.py"
    text = file.read_text(encoding="utf-8")
    source = f'\\g<1> {entry["version"]}", "{entry["date"]}", "measured")'
    file.write_text(_SOURCE.sub(source, text), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--host", choices=list(HOSTS))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        entries = {entry["host"]: entry for entry in measured(Path(folder), given.host)}
    before = json.loads(FACTS.read_text(encoding="utf-8")) if FACTS.exists() else []
    merged = {**{entry["host"]: entry for entry in before}, **entries}
    text = json.dumps([merged[host] for host in sorted(merged)], indent=2) + "\n"
    if given.dry_run:
        print(text, end="")
    else:
        FACTS.write_text(text, encoding="utf-8")
        for entry in entries.values():
            stamp(entry, FACTS.parent / "known")


if __name__ == "__main__":
    main()
