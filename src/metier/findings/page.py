"""What the page of a finding holds, and how its examples are written."""

from typing import NamedTuple


class Page(NamedTuple):
    """What `metier explain CODE` prints below the title."""

    why: str
    """What happens to the user if it stays."""
    bad: str
    """A text that gets the finding, or a few lines that show the situation."""
    good: str
    """The same without it."""


def fenced(*front: str, body: str) -> str:
    """A Markdown document: the lines of its front matter, then its body."""
    return "\n".join(("---", *front, "---", body)) + "\n"
