"""The catalog over the Model Context Protocol: a thin surface over `Catalog`."""
