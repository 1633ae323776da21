"""Evaluation cases: the files they are in, figures over their results, and comparisons."""
