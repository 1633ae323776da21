"""Stage 6: the text of a prompt: fitted into a budget and rendered."""
