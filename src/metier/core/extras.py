"""What to do when the packages of an extra are not installed."""


def install_hint(extra: str) -> str:
    """The same for every way to install metier: the page has the command of each."""
    return f"install metier with its extra '{extra}' (docs/install.md)"
