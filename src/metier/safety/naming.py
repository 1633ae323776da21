"""Whether a hook may name a document: its text overrides no instructions."""

_SUSPECT = ("gnr", "drgrd", "nwnrucn", "nvvnrucn")
"""What `_SKELETON` leaves of "ignore", "disregard" and "new instructions", also of "nevv"."""
_MARKUP = ("&", "<", "](", "][")
_SKELETON = {
    code: chr(code).lower() if chr(code).lower() in "cdfghjkmnpqruvwxyz" else None
    for code in range(128)
}
"""Keeps the letters that no digit or sign looks like, except g."""
_LIKE_G = {ord(digit): "g" for digit in "69"}


def may_be_named(text: str) -> bool:
    """Whether `text` overrides no instructions; most texts pass the fast checks."""
    if _is_plain(text) and not _is_suspect(text) and not _is_suspect(text.translate(_LIKE_G)):
        return True
    from metier.safety.disguise import find_overrides  # few texts need it, and it loads a lot

    return not find_overrides(text)


def _is_plain(text: str) -> bool:
    """Whether `text` is shown as written: no markup, nothing invisible."""
    is_shown = text.isascii() and text.replace("\n", " ").replace("\t", " ").isprintable()
    return is_shown and not any(mark in text for mark in _MARKUP)


def _is_suspect(text: str) -> bool:
    skeleton = text.translate(_SKELETON)
    return any(one in skeleton for one in _SUSPECT)
