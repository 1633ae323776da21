"""Encoders of the user's: a file or an address that gives texts their vectors."""
