"""Stage 2: text → typed value. Problems travel as issues; nothing here raises on bad input."""
