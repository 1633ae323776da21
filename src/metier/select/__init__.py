"""Stage 5: what fits a task: one small scorer a kind."""
