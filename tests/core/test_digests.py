"""Digests are the same whichever library makes them."""

import hashlib

from metier.core.digests import file_digest


def test_digests_are_the_same_before_and_after_much_was_read() -> None:
    for raw in (b"", b"a", b"b" * (1 << 20), b"a", b"c"):
        assert file_digest(raw) == hashlib.sha256(raw).hexdigest()
