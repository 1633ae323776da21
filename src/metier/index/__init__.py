"""Stage 4: what is known, in one SQLite file."""
