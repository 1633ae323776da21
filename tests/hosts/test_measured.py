"""What was measured in real hosts, as data and in the documentation."""

import json
from pathlib import Path
from typing import Any

import pytest

from live.lab import HOSTS
from metier import hosts
from metier.hosts.known import HOSTS as KNOWN

FILE = Path(hosts.__file__).with_name("measured.json")
PAGE = Path(__file__).parents[2] / "docs/hosts.md"
MEASURED: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_host_of_the_lab_was_measured_in_the_version_that_it_installs() -> None:
    measured = {entry["host"]: entry["version"] for entry in MEASURED}
    assert set(measured) == set(HOSTS)
    for host in HOSTS.values():
        assert measured[host.name] == (host.version or measured[host.name])


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: str(entry["host"]))
def test_the_page_of_hosts_names_the_version_that_was_measured(entry: dict[str, Any]) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = f"| {KNOWN[entry['host']].title} | "
    measured = [line for line in lines if line.startswith(start) and "| measured |" in line]
    assert any(f" {entry['version']} " in line for line in measured)


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: str(entry["host"]))
def test_hooks_and_listing_of_a_measured_host_work(entry: dict[str, Any]) -> None:
    assert "the text of the hook arrives once in the users turn" in entry["what"]
    assert "a host lists what its rule says" in entry["what"]
