"""What was measured in real hosts, as data and in the documentation."""

import json
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from live.lab import HOSTS
from metier import hosts
from metier.hosts.known import HOSTS as KNOWN

FILE = Path(hosts.__file__).with_name("measured.json")
ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/host-sources.md"
MEASURED: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))


def test_every_host_of_the_lab_was_measured_in_the_version_that_it_installs() -> None:
    measured = {entry["host"]: entry["version"] for entry in MEASURED}
    assert set(measured) == set(HOSTS)
    for host in HOSTS.values():
        assert measured[host.name] == (host.version or measured[host.name])


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: str(entry["host"]))
def test_the_page_of_sources_names_the_version_that_was_measured(entry: dict[str, Any]) -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = f"| {KNOWN[entry['host']].title} | "
    measured = [line for line in lines if line.startswith(start) and "| measured |" in line]
    assert any(f" {entry['version']} " in line for line in measured)


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: str(entry["host"]))
def test_measured_facts_have_the_version_and_the_date_of_the_measurement(
    entry: dict[str, Any],
) -> None:
    sources = KNOWN[entry["host"]].sources.values()
    measured = {(one.where.split()[-1], one.date) for one in sources if one.how == "measured"}
    assert measured == {(entry["version"], entry["date"])}


def test_the_script_writes_version_and_date_into_the_file_of_a_host(tmp_path: Path) -> None:
    spec = spec_from_file_location("measure_hosts", ROOT / "tools/measure_hosts.py")
    assert spec is not None
    assert spec.loader is not None
    tool = module_from_spec(spec)
    spec.loader.exec_module(tool)
    source = (Path(hosts.__file__).with_name("known") / "claude_code.py").read_text(
        encoding="utf-8"
    )
    (tmp_path / "claude_code.py").write_text(source, encoding="utf-8")
    tool.stamp({"host": "claude-code", "version": "9.8.7", "date": "2026-12-24"}, tmp_path)
    after = (tmp_path / "claude_code.py").read_text(encoding="utf-8")
    assert '_MEASURED = Source("Claude Code 9.8.7", "2026-12-24", "measured")' in after


@pytest.mark.parametrize("entry", MEASURED, ids=lambda entry: str(entry["host"]))
def test_hooks_and_listing_of_a_measured_host_work(entry: dict[str, Any]) -> None:
    assert "the text of the hook arrives once in the users turn" in entry["what"]
    assert "a host lists what its rule says" in entry["what"]
