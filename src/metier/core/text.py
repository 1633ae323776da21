"""Words: the tokenizer of every rule."""

_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
_ASCII_WORDS = str.maketrans(
    {chr(code): " " for code in range(128) if chr(code).lower() not in _ALPHABET}
    | {chr(code): chr(code).lower() for code in range(65, 91)}
)
"""Lower case, and a space for every separator."""


def words(text: str) -> list[str]:
    """Case-folded NFC words of letters, marks and digits, in order."""
    if text.isascii():
        return text.translate(_ASCII_WORDS).split()
    from unicodedata import normalize  # a hook with an ASCII prompt does not load it

    folded = normalize("NFC", text).casefold()
    has_marks = False
    for char in set(folded).difference(_ALPHABET):
        category = _category(char)
        if category == "M":
            has_marks = True
        elif not category:
            folded = folded.replace(char, " ")
    found = folded.split(" ")
    if has_marks:
        return [word for word in found if _has_letter(word)]
    return [word for word in found if word]


def _has_letter(word: str) -> bool:
    """Whether a word is not made of marks alone; ASCII in it is letters and digits."""
    return word != "" and (word.isascii() or any(_category(char) == "L" for char in word))


_categories: dict[str, str] = {}


def _category(char: str) -> str:
    """ "L" for a letter or digit, "M" for a mark, else ""."""
    known = _categories.get(char)
    if known is None:
        from unicodedata import category  # as above

        found = category(char)
        is_letter = found[0] == "L" or found == "Nd"
        known = "L" if is_letter else "M" if found[0] == "M" else ""
        _categories[char] = known
    return known


def is_part_of_word(char: str) -> bool:
    return char.isalnum() if char.isascii() else _category(char) != ""


def printable(text: str) -> str:
    """`text` with control, direction and zero-width characters written out."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(ascii(char)[1:-1] if _is_unprintable(char) else char for char in text)


def one_line(text: str) -> str:
    """`printable` with every run of white space as one space."""
    return printable(" ".join(text.split()))


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 file`, `2 files`."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def _is_unprintable(char: str) -> bool:
    if char < "\xa0":
        return (char < " " and char not in "\t\n") or char >= "\x7f"
    return char in _HIDDEN or "\U000e0000" <= char <= "\U000e0fff"


_HIDDEN = frozenset(
    "\u061c\u180e\u200b\u200c\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e"
    "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
"""Direction, zero-width and line characters; not U+200D, which joins emoji."""


def is_cjk(char: str) -> bool:
    """Chinese, Japanese or Korean: scripts without spaces between words."""
    return char >= "\u3040" and (
        "\u4e00" <= char <= "\u9fff"  # ideographs
        or char <= "\u30ff"  # Hiragana, Katakana
        or "\uac00" <= char <= "\ud7a3"  # Hangul
        or "\u31f0" <= char <= "\u31ff"
        or "\u3400" <= char <= "\u4dbf"
        or "\uf900" <= char <= "\ufaff"
        or "\U00020000" <= char <= "\U0003fffd"
    )


def routing_text(description: str, when_to_use: str) -> str:
    """Joined as in Claude Code."""
    return f"{description} - {when_to_use}" if when_to_use else description
