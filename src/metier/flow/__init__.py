"""The order of the stages: reading, prompts, resolving, reports, running."""
