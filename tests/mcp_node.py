"""Clients from npm that the tests talk to the MCP server with, and what they read YAML with."""

import fcntl
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY

NODE = REPOSITORY / "tests" / "mcp" / "node"
INSTALL = "npm install --no-audit --no-fund --no-package-lock --ignore-scripts --fetch-retries=0"
INSTALL_SECONDS = 300
READ_SECONDS = 120


def install_clients() -> None:
    """Install them once; tests in several processes wait for the one that does it."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("npm is not installed: no Inspector")
    wanted = json.loads((NODE / "package.json").read_text())["dependencies"]
    with (NODE / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if all(
            f"npm:@modelcontextprotocol/inspector@{_version(one)}" == wanted[one] for one in wanted
        ):
            return
        try:
            subprocess.run(
                INSTALL.split(), cwd=NODE, timeout=INSTALL_SECONDS, capture_output=True, check=True
            )
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"the Inspector cannot be installed: {type(error).__name__}")
        (NODE / "node_modules" / ".gitignore").write_text("*\n")


def _version(name: str) -> str:
    file = NODE / "node_modules" / name / "package.json"
    return str(json.loads(file.read_text())["version"]) if file.exists() else ""


def problems_by_hosts(given: list[tuple[str, Any]], folder: Path) -> list[str]:
    """What hosts would say to each text and the front matter that it is said to have."""
    file = folder / "given.json"
    file.write_text(json.dumps([{"text": text, "frontmatter": data} for text, data in given]))
    done = subprocess.run(
        ["node", str(NODE / "yaml12.mjs"), str(file)],
        capture_output=True,
        text=True,
        timeout=READ_SECONDS,
        check=True,
    )
    found: list[str] = json.loads(done.stdout)
    assert len(found) == len(given)
    return found
