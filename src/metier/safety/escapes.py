"""Characters that a reader does not see, written out where data is shown or stored.

Not in `text`: hooks import that, and the regular expressions would cost them milliseconds.
"""

import re

_HIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Controls but tab, line feed and carriage return; bidi, zero-width and tag characters.

U+FE0F stays: it only gives an emoji its colours.
"""


def escaped_json(text: str) -> str:
    r"""JSON in which every control, bidi and invisible character is a `\uXXXX` escape.

    `text` is JSON already, and the result parses to the same value. Characters beyond U+FFFF
    become two escapes, a pair of surrogates.
    """
    return _HIDDEN.sub(_json_escape, text)


def _json_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def visible(text: str) -> str:
    r"""`text` with every control, bidi and invisible character written out, like `\u202e`.

    Tabs and ends of lines stay. A joiner between emoji is written out like any other.
    """
    return _HIDDEN.sub(lambda found: ascii(found[0])[1:-1], text)
