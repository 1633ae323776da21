"""Facts about agent hosts, as data. Light: hooks import it."""

HOOKED = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")
"""Hosts that can run `metier hook HOST`."""
