"""Facts about agent hosts, as data: `model.py` says which, `known.py` holds them all.

Light here, in `folders.py` and in `switches.py`: hooks and `metier resolve` import these; a test
compares them with the model.
"""

HOOKED = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")
"""Hosts that can run `metier hook HOST`."""


def host_bit(host: str | None) -> int:
    """The bit of a host in the masks of the catalog; all bits for an unknown host."""
    return 1 << HOOKED.index(host) if host in HOOKED else (1 << len(HOOKED)) - 1
