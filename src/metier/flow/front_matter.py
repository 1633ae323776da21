"""The front matter of a skill that all hosts read alike."""

from typing import Any

from metier.core.names import is_capability_name
from metier.parse.frontmatter import read_matter
from metier.parse.yaml12 import difference
from metier.values.rows import Row

LONGEST_DESCRIPTION = 1024
_DUPLICATE_KEY = "FM105"


def portable_front_matter(row: Row, raw: bytes) -> tuple[dict[str, Any], str]:
    """The front matter in `raw`, and why hosts cannot rely on it; empty when they can."""
    read = read_matter(raw, row.path)
    flaws = [
        issue.message for issue in read.issues if issue.is_error or issue.code == _DUPLICATE_KEY
    ]
    if read.matter is None or flaws:
        return {}, flaws[0] if flaws else "it has no front matter"
    data = read.matter.data
    description = data.get("description")
    if data.get("name") != row.own_name or not is_capability_name(row.own_name):
        return data, "its name breaks the naming rule, or has changed"
    if not isinstance(description, str) or not description.strip():
        return data, "it has no description"
    if len(description) > LONGEST_DESCRIPTION:
        return data, f"its description is longer than {LONGEST_DESCRIPTION} characters"
    other = difference(raw)
    return data, f"hosts read its front matter differently: {other}" if other else ""
