"""Skills of one name in several teams or plugins: a name that means more than one of them."""

from collections.abc import Sequence

_MOST_LISTED = 5


def why_ambiguous(name: str, handles: Sequence[str]) -> str:
    """Why a name does not mean one of the skills with these handles; empty if it does."""
    if name in handles or len(handles) < 2:
        return ""
    more = f" and {len(handles) - _MOST_LISTED} more" if len(handles) > _MOST_LISTED else ""
    shown = f"{', '.join(handles[:_MOST_LISTED])}{more}"
    return f"{len(handles)} skills have this name; use the handle of one: {shown}"
