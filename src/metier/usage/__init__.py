"""Reads the transcripts that hosts keep: which skills were used, when, and on whose initiative."""
