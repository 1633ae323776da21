"""Evaluation cases: read, scored and compared."""
