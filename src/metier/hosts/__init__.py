"""Facts about agent hosts, as data. Light: hooks import it."""

HOOKED = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")
"""The hosts that can call metier with every prompt or session: `metier hook HOST`."""
