"""Candidates as a refresh stores them and a resolution reads them."""

import json
from collections.abc import Mapping
from typing import Any

from metier.parse.skills import parse_skill
from metier.values.candidates import Candidate, claims_of
from metier.values.documents import Skill


def candidate_of(
    name: str, folder: str, source: str, data: Mapping[str, Any], description: str = "Text."
) -> Candidate:
    """The candidate of a skill with this front matter."""
    matter = json.dumps({"name": name, "description": description, **data}, ensure_ascii=False)
    skill = parse_skill(f"---\n{matter}\n---\nBody.\n".encode(), f"{folder}/SKILL.md").document
    assert isinstance(skill, Skill)
    stored = Candidate.stored(name, folder, source, claims_of(skill))
    return stored._replace(description=description)
