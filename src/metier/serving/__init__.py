"""What the local servers share: where they listen, whom they answer, the catalog in a thread."""
