"""How far skills are trusted, and how those are excluded that are not. Light."""

ALWAYS, ON_FIRST_USE, ASK, NEVER = LEVELS = ("always", "on-first-use", "ask", "never")
"""How far a source is trusted, the strictest last."""
HELD, BLOCKED = "unreviewed", "blocked"
"""Reasons of exclusion: until its user reviews the skill; by its source."""
