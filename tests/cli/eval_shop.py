"""A workspace with skills and evaluation cases, and `metier eval` in it."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cli.printed import Finished, run_here
from conftest import Workspace

PDF = "extract the tables of this PDF file"
ROWS = [
    {"query": PDF, "should_trigger": True},
    {"query": "draw charts of the numbers", "should_trigger": False},
    {"query": "bake a cake", "should_trigger": True},
]


def filled(workspace: Workspace) -> Workspace:
    """Trusted, with three skills, and cases for one of them."""
    workspace.skill("papers", "Extracts tables from PDF files.")
    workspace.skill("sql", "Writes database queries in SQL.")
    workspace.skill("charts", "Draws charts of numbers.")
    workspace.write("skills/papers/evals/trigger-eval.json", json.dumps(ROWS))
    workspace.trust()
    return workspace


def evaluate(shop: Workspace, *arguments: str) -> Finished:
    return run_here(shop.root, "eval", *arguments)


def data(shop: Workspace, *arguments: str) -> Any:
    return json.loads(evaluate(shop, *arguments, "--json").stdout)


def git(root: Path, *arguments: str) -> None:
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *arguments], cwd=root, check=True, capture_output=True)


def committed(shop: Workspace) -> Workspace:
    """With a commit in which a description was worse."""
    if shutil.which("git") is None:
        pytest.skip("there is no git")
    shutil.rmtree(shop.root / ".git")
    shop.skill("papers", "Does something else.")
    git(shop.root, "init", "-q")
    git(shop.root, "add", "-A")
    git(shop.root, "commit", "-qm", "one")
    shop.skill("papers", "Extracts tables from PDF files.")
    shop.trust()
    return shop
