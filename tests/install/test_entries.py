"""Entries in hosts' settings never run code of the folder that the host works in."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metier.install.changes import apply
from metier.install.commands import unsafe_entries
from metier.install.plans import make_plan

SCRIPT = ["/opt/metier/bin/metier"]


def hook_entry(command: str) -> str:
    entry = {"type": "command", "command": command, "timeout": 10}
    return json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}})


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "workspace/.claude").mkdir(parents=True)
    return tmp_path / "workspace"


def test_install_replaces_an_entry_that_imports_from_the_folder(place: Path) -> None:
    settings = place / ".claude/settings.json"
    settings.write_text(hook_entry("python3 -m metier hook claude-code"))
    found = unsafe_entries(str(place), str(place.parent / "home"))
    assert found == [(str(settings), "python3 -m metier hook claude-code")]
    home = str(place.parent / "home")
    apply(make_plan("hook", "claude-code", "project", str(place), home, SCRIPT))
    assert f"{SCRIPT[0]} hook claude-code" in settings.read_text()
    assert unsafe_entries(str(place), home) == []


def test_install_replaces_such_a_server_too(place: Path) -> None:
    file = place / ".mcp.json"
    entry = {"type": "stdio", "command": "python3", "args": ["-m", "metier", "mcp"]}
    file.write_text(json.dumps({"mcpServers": {"metier": entry}}))
    home = str(place.parent / "home")
    assert len(unsafe_entries(str(place), home)) == 1
    apply(make_plan("mcp", "claude-code", "project", str(place), home, SCRIPT))
    assert unsafe_entries(str(place), home) == []
    assert SCRIPT[0] in file.read_text()


@pytest.mark.parametrize("flag", ["-P", "-I"])
def test_an_entry_of_the_users_that_is_safe_stays(flag: str, place: Path) -> None:
    settings = place / ".claude/settings.json"
    text = hook_entry(f"python3 {flag} -m metier hook claude-code")
    settings.write_text(text)
    home = str(place.parent / "home")
    assert unsafe_entries(str(place), home) == []
    plan = make_plan("hook", "claude-code", "project", str(place), home, SCRIPT)
    assert not plan.changed


def test_what_is_installed_without_a_script_runs_no_file_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "metier.py").write_text("open('hijacked', 'w')")
    for flags, is_hijacked in ((["-P"], False), ([], True)):
        subprocess.run(
            [sys.executable, *flags, "-m", "metier", "hook", "claude-code"],
            cwd=tmp_path,
            env={**os.environ, "PYTHONSAFEPATH": ""},
            input="{}",
            text=True,
            capture_output=True,
            check=False,
            timeout=300,
        )
        assert (tmp_path / "hijacked").exists() is is_hijacked
