"""What a hostile text can do to its reader, and how it is kept from doing it."""
