"""Where state and settings are stored, and how they are opened."""
