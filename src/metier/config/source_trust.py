"""How far a source of skills is trusted."""

from collections.abc import Iterable, Mapping
from typing import Any

from metier.config import Config
from metier.values.files import Found, Root
from metier.values.reviews import strictest
from metier.values.trust import ALWAYS, NEVER


def is_all_trusted(config: Config, roots: Iterable[Root]) -> bool:
    """Whether no skill below these roots needs a review."""
    if config.trust_sources or config.own_trust:
        return False
    groups = {root.group for root in roots if root.kind == "skill"}
    return all(getattr(config, f"trust_{group}") == ALWAYS for group in groups)


def level_of(config: Config, found: Found) -> str:
    """The user's level for the source of a skill, or the workspace's if that is stricter.

    An untrusted workspace tightens its own skills only.
    """
    users = {
        group: getattr(config, f"trust_{group}")
        for group in ("workspace", "user", "plugins", "mounts")
    }
    level = _named(found, {**users, "sources": config.trust_sources}, ALWAYS)
    if not config.own_trust or (not config.is_trusted and found.origin == "user"):
        return level
    return strictest((level, _named(found, config.own_trust, level)))


def _named(found: Found, levels: Mapping[str, Any], default: str) -> str:
    """The strictest level that names the source itself, else that of its group."""
    sources = levels.get("sources") or {}
    named = [sources[name] for name in (found.source, found.plugin) if name and name in sources]
    return strictest(named) if named else levels.get(found.group, default)


def settings_mark(config: Config) -> str:
    """Changes when skills may be trusted otherwise."""
    levels = (config.trust_workspace, config.trust_user, config.trust_plugins, config.trust_mounts)
    own = sorted(config.own_trust.items(), key=str)
    return f"{levels}{sorted(config.trust_sources.items())}{own}"


def blocked_detail(found: Found) -> str:
    return f"its source '{found.plugin or found.source}' is never trusted ({NEVER!r} in [trust])"
