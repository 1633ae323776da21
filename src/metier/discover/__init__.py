"""Stage 1: folders → the document files in them, in order, with the excluded ones."""
