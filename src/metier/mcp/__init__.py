"""The catalogue over the Model Context Protocol: a thin surface over `Catalog`."""
