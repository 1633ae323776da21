"""Facts about agent hosts, as data: `model.py` says which, `known.py` holds them all.

Light here, in `folders.py` and in `switches.py`: hooks and `metier resolve` import these; a test
compares them with the model.
"""

HOOKED = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")
"""Hosts that can run `metier hook HOST`."""
