"""Long texts that were pasted into a form, in memory only: an address has no room for them."""

import threading
from hashlib import sha256

from metier.errors import NotFoundError

MOST = 32
"""Texts; the oldest is forgotten first."""


class Pasted:
    """Texts by a key that an address can hold; used by several threads."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._lock = threading.Lock()

    def keep(self, text: str) -> str:
        """The key of a text."""
        key = sha256(text.encode(errors="replace")).hexdigest()[:16]
        with self._lock:
            self._texts.pop(key, None)
            self._texts[key] = text
            while len(self._texts) > MOST:
                del self._texts[next(iter(self._texts))]
        return key

    def find(self, key: str) -> str:
        """Raises `NotFoundError` for a text that was forgotten."""
        with self._lock:
            if key in self._texts:
                return self._texts[key]
        raise NotFoundError(
            "this text is no longer kept", hint="paste it again: long texts are kept in memory only"
        )


PASTED = Pasted()
