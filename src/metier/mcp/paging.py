"""Cursors: where the next page begins, as a word that means nothing to a client."""

import base64
import binascii

from metier.errors import UsageError


def cursor_after(handle: str) -> str:
    """The cursor of the page after `handle`; empty for none."""
    return base64.urlsafe_b64encode(handle.encode()).decode().rstrip("=")


def handle_of(cursor: str) -> str:
    """What a cursor stands for. Raises `UsageError` for one that was never given out."""
    try:
        raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        handle = raw.decode()
    except (binascii.Error, ValueError):
        handle = ""
    if cursor and cursor_after(handle) != cursor:
        raise UsageError(
            "the cursor is none that this server gave out",
            code="TOOL_VALIDATION_ERROR",
            hint="leave it out to begin with the first page",
        )
    return handle
