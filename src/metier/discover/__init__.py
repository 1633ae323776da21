"""Stage 1: folders → the document files in them, in order, and the excluded files."""
