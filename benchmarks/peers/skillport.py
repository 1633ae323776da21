"""skillport: an index in LanceDB behind an MCP server, and a validator."""

import json
import re
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.peers.protocol import DEPTH, Linted, Linter, Peer, Search


def _config(skills: Path, state: Path) -> Any:
    settings: Any = import_module("skillport.shared.config").Config
    return settings(skills_dir=skills, db_path=state / "skills.lancedb")


def _index(skills: Path, state: Path) -> int:
    result = import_module("skillport.modules.indexing").build_index(config=_config(skills, state))
    if not result.success:
        raise RuntimeError(result.message)
    return int(result.skill_count)


def _search(skills: Path, state: Path) -> Search:
    find = import_module("skillport.modules.skills.public.search").search_skills
    config = _config(skills, state)

    def search(task: str) -> list[str]:
        plain = re.sub(r"[^\w\s]", " ", task)  # an apostrophe is a syntax error
        return [one.id for one in find(plain, limit=DEPTH, config=config).skills]

    return search


def _lint_command(programs: Path, skills: Path) -> list[str]:
    return [str(programs / "skillport"), "validate", "--json", str(skills)]


def _linted(output: str, _errors: str) -> Linted:
    summary = json.loads(output)["summary"]
    findings = summary["fatal_issues"] + summary["warning_issues"]
    return Linted(summary["total_skills"], findings)


PEER = Peer(
    name="skillport",
    packages=("skillport", "skillport-mcp"),
    about="MCP server and command line; no embeddings, its default; tasks without punctuation",
    strengths=(
        "Installs and updates skills from GitHub addresses and archives.",
        "Filters what each client sees by category, namespace or name.",
        "Can search by OpenAI embeddings.",
    ),
    index=_index,
    keeps_index=True,
    search=_search,
    lint=Linter(command=_lint_command, read=_linted),
)
