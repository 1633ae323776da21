"""Switches in files beside a SKILL.md, such as Codex's `agents/openai.yaml`."""

import os
import re
import stat

from metier.hosts.model import Switch
from metier.storage.room import read_regular

_LARGEST = 1 << 20


def is_set_beside(folder: str, switch: Switch) -> bool:
    """Whether the YAML file beside a skill has the switch, by its last key."""
    file = f"{folder}/{switch.file}"
    try:
        if stat.S_ISLNK(os.lstat(file.rpartition("/")[0]).st_mode):
            return False
        text = read_regular(file, _LARGEST, links=False).decode(errors="replace")
    except OSError:
        return False
    key, values = switch.key.rpartition(".")[2], "|".join(switch.effects)
    return re.search(rf"\b{key}[ \t]*:[ \t]*(?:{values})\b", text) is not None
