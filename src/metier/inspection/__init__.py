"""Read what is not installed yet, and find what to look at. Nothing of it runs."""
