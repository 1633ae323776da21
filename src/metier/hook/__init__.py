"""Hooks: how agent hosts call metier for each prompt, and how that is set up."""
