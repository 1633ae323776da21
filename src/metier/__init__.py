"""metier: the capability layer for AI agents."""
