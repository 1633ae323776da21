"""Stage 6: what is handed over: fitted into a budget, rendered, with all that was left out."""
