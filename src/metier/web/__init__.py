"""The inspector: local pages over `Catalog` for people. `pages/` has one file a page."""
