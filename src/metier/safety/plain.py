"""Whether a text is surely harmless, at a glance. Light: most names and descriptions are."""

_SEEN = bytes(set(range(32, 127)) - set(b"<[{\\&%=")) + b"\t\n\r"
"""ASCII that people see, without what markup and most escapes start with."""
_OTHER_STARTS = (b"U+00", b"0x", b"/*")
_SMALL = bytes(range(97, 123))
_AS_WRITTEN = bytes.maketrans(_SMALL.upper(), _SMALL)
_AS_RESEMBLED = bytes.maketrans(
    _SMALL.upper() + b"013456789@$!|+lL", _SMALL.replace(b"l", b"i") + b"oieasgtbgasiitii"
)
"""Signs, digits and l as the letters that `safety.letters` reads them as."""
_NO_LETTERS, _NOT_RESEMBLED = (
    bytes(code for code in range(128) if not table[code : code + 1].islower())
    for table in (_AS_WRITTEN, _AS_RESEMBLED)
)
_PARTS = (b"disregard", b"newinstructions", b"nevvinstructions", b"previous")
"""What every phrase has one of."""


def is_plain(text: str) -> bool:
    """Whether `safety.disguise.find_overrides` surely finds nothing."""
    if not text.isascii():
        return False
    raw = text.encode()
    if raw.translate(None, _SEEN) or raw.count(b":") > 1:
        return False
    if any(start in raw for start in _OTHER_STARTS):
        return False
    written = raw.translate(_AS_WRITTEN, _NO_LETTERS)
    resembled = raw.translate(_AS_RESEMBLED, _NOT_RESEMBLED)
    return not any(part in written or part in resembled for part in _PARTS)
