"""Pure functions: no files, no clock, no network."""
