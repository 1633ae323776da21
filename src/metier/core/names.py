"""Names: the rule for capability and skill names, ids made from file names, canonical ids."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from metier.core.digests import sha256
from metier.core.paths import without_md

_CAPABILITY = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_ID = r"[a-z][a-z0-9-]*\Z"
_NOT_IN_ID = r"[^a-z0-9]+"
_UNDERSCORE = r"_([a-z])"
LONGEST_NAME = 64


def is_capability_name(token: str) -> bool:
    """Whether `token` is 1–64 of a–z, 0–9 and single inner hyphens."""
    return len(token) <= LONGEST_NAME and _CAPABILITY.match(token) is not None


def is_document_id(token: str, longest: int) -> bool:
    """Whether `token` is a–z, then a–z, 0–9 or hyphens, and not too long."""
    return len(token) <= longest and re.match(_ID, token) is not None


def slug(text: str) -> str:
    """`TypeScript Best!` → `typescript-best`."""
    return re.sub(_NOT_IN_ID, "-", text.lower()).strip("-")


def ability_id_from_filename(name: str) -> str:
    """`TypeScript-Best.md` → `typescript-best`; the result may not be a valid id."""
    return slug(without_md(name.rsplit("/", 1)[-1]))


def canonical_id(name: str, folder: str) -> str:
    return f"{name}::{folder}"


def plugin_name(plugin: str, name: str) -> str:
    return _qualified(plugin, ":", name)


def team_name(team: str, name: str) -> str:
    return _qualified(team, "/", name)


def _qualified(namespace: str, separator: str, name: str) -> str:
    """`namespace`, separator, name; a name that already begins so, or has none, stays."""
    if not namespace:
        return name
    start = f"{namespace}{separator}"
    return name if name.startswith(start) else f"{start}{name}"


def name_in_plugin(name: str, plugin: str) -> str:
    return name.removeprefix(f"{plugin}:") if plugin else name


def stable_hash(candidate_id: str) -> str:
    return sha256(candidate_id.lower().encode()).hexdigest()


def camel_case(fields: Mapping[str, Any]) -> dict[str, Any]:
    """`{"tokens_mean": 1}` → `{"tokensMean": 1}`."""
    return {
        re.sub(_UNDERSCORE, lambda m: m[1].upper(), key): value for key, value in fields.items()
    }


@lru_cache(maxsize=4096)
def loose_key(key: str) -> str:
    """Equal for camelCase, snake_case and kebab-case."""
    return key.replace("_", "").replace("-", "").lower()
