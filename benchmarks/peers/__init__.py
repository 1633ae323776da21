"""metier beside the tools that people would use instead, measured on the same input in one run."""
