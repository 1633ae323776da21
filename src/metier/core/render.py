"""How a part looks when it is handed over."""

SEPARATOR = "\n\n---\n\n"
"""Between two parts."""


def with_heading(title: str, content: str) -> str:
    """`content` below a heading of the second level, which is one line whatever `title` holds."""
    heading = f"## {' '.join(title.split())}"
    return f"{heading}\n\n{content}" if content else heading
