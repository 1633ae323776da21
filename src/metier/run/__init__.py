"""Runs agents: workflows, steps, models and tools."""
