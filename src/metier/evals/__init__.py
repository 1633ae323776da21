"""Evaluation cases: how well documents are chosen for tasks."""
