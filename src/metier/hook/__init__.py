"""Hooks: hosts call metier for each prompt."""
