"""Protection against hostile text and addresses."""
