"""Every finding and error: code, severity, text and example, as data."""
