"""Stage 2: text → typed value. Problems travel as issues; nothing here raises on bad input."""

from metier.parse.kinds import parse_document
from metier.parse.skills import parse_skill

__all__ = ["parse_document", "parse_skill"]
