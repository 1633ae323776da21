"""The one room for state and settings: where they lie, and how they are opened."""
