"""Whether a hook may name a document: its text overrides no instructions."""

_SUSPECT = (b"gnr", b"drgrd", b"nwnrucn", b"nvvnrucn")
"""What `_SKELETON` leaves of "ignore", "disregard" and "new instructions", also of "nevv"."""
_MARKUP = ("<", "](", "][", "[^", "\\", "[[", "[/", "]]", "/*", "{", "%", "=", "U+00", "0x")
_SIGNS = {ord(sign): " " for sign in "—–‘’“”…→←↔•·×≥≤✅❌✓✗⚠★─├└"}
"""Visible signs that look like no letter."""
_LETTERS = b"cdfghjkmnpqruvwxyz"
_SKELETON = bytes(range(256)).lower()
_DROPPED = bytes(code for code in range(256) if bytes([code]).lower() not in _LETTERS)
"""All but the letters that no digit or sign looks like, except g."""
_LIKE_G = bytes.maketrans(b"69", b"gg")


def may_be_named(text: str) -> bool:
    """Whether `text` overrides no instructions; most texts pass the fast checks."""
    if _is_plain(text):
        raw = text.encode()
        if not _is_suspect(raw) and not _is_suspect(raw.translate(_LIKE_G)):
            return True
    from metier.safety.disguise import find_overrides  # few texts need it, and it loads a lot

    return not find_overrides(text)


def _is_plain(text: str) -> bool:
    """Whether `text` is shown as written: no markup, no escapes, nothing invisible."""
    if not text.isascii():
        text = text.translate(_SIGNS)
    is_shown = text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable()
    is_bare = not any(mark in text for mark in _MARKUP) and text.count(":") < 2
    return is_shown and is_bare and not _may_have_entity(text)


def _may_have_entity(text: str) -> bool:
    """Whether a character may be written as `&…;`."""
    start = text.find("&")
    return start >= 0 and ";" in text[start:]


def _is_suspect(text: bytes) -> bool:
    skeleton = text.translate(_SKELETON, _DROPPED)
    return any(one in skeleton for one in _SUSPECT)
