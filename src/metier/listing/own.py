"""The skills that a host brings along, from what was measured: names and lengths, not texts."""

import json
import os
from typing import Any

from metier import hosts
from metier.hosts.known import HOSTS
from metier.hosts.listing_types import Skill

_FILE = os.path.join(os.path.dirname(hosts.__file__), "measured.json")


def own_skills(host: str) -> list[Skill]:
    """The host's own skills that are on no disk; each text is a stand-in of the right length."""
    loading = HOSTS[host].loading
    if loading is not None and loading.own_folder:
        return []  # they are on disk, and found like others
    with open(_FILE, encoding="utf-8") as file:
        measured: list[dict[str, Any]] = json.load(file)
    found = [entry for entry in measured if entry["host"] == host]
    return [_skill(given) for entry in found for given in entry["ownSkills"]]


def _skill(given: dict[str, Any]) -> Skill:
    length = given["characters"]
    stand_in = f"({length} characters of the host's own) ".ljust(length, "·")[:length]
    return Skill(
        name=given["name"],
        folder=given["name"],
        description=stand_in,
        path="",
        scope="own",
        is_fixed=given["isFixed"],
    )
