"""Escape characters that a reader does not see.

Not in `core.text`, which hooks import: regular expressions would cost them milliseconds.
"""

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls except tab, LF and CR; bidi, zero-width and tag characters. U+FE0F stays."""
_HIDDEN_ASCII = dict.fromkeys([*range(9), 11, 12, *range(14, 32), 127])
"""For `str.translate`, which reads ASCII several times faster than a regular expression does."""


def escaped_json(text: str) -> str:
    r"""The same JSON with control, bidi and invisible characters as `\uXXXX` escapes."""
    return _HIDDEN.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def visible(text: str) -> str:
    r"""`text` with control, bidi and invisible characters escaped, like `\u202e`."""
    if text.isascii() and len(text.translate(_HIDDEN_ASCII)) == len(text):
        return text
    return _HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)
