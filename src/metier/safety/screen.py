"""Whether a text may contain one of the three phrases, by a few passes over bytes.

Most texts contain none. `phrases` reads the others closely, so the screen may only err by letting
a text through to it.
"""

import re
from collections.abc import Iterable, Iterator, Sequence

from metier.safety.letters import (
    AMBIGUOUS,
    BLOCKER,
    FILLERS,
    LIKE_LATIN,
    letters,
    plain_letters,
)
from metier.safety.lookalikes import (
    OTHER_CODE,
    SEVERAL_CODE,
    SIGN_CODE,
    SYMBOL_CODE,
    shape,
    turned,
    without_ligatures,
)

_LARGEST_CACHE = 20_000
_UNCERTAIN = AMBIGUOUS + bytes([OTHER_CODE])
_fillers = "|".join([*FILLERS, "aii"])
_INSIDE = re.compile(f"previous(?:{_fillers}|instructions)".encode())
"""A part of the first phrase that has an end, however many words are between."""
_TAG_START = re.compile(rb"<[/A-Za-z|?!%]")
_HIDES = re.compile(
    rb"<[a-z](?:(?<=[st])(?:tyle|cript|emplate)\b|[^<>]*?\b(?:hidden|display: ?none)\b[^<>]*+>)"
)
_HIDING = (b"<style", b"<script", b"<template", b"hidden", b"display:")
"""What an element that is not shown starts with or has."""
_QUOTED_BRACKET = re.compile(rb"[\"'][^\"'<>]*[<>][^\"']*[\"']")
_MARKS = re.compile(
    rb"\]\(|\]\[|\]\]|\[\[|\[\^|\[/|\\|%%|/\*|:[a-z_]{1,20}+:"
    rb"|\{(?:[#%/!*:.]|(?:empty|blank|zwsp|wj|nbsp|shy)\})"
)
"""Without any of them, and without tags, there is no markup."""
_BOX = re.compile(rb"\[[ xX]\] ")
"""Of a task item."""
_NEAR = 64
"""Bytes that are read on each side of removed markup."""
_LONGEST_PART = 20
"""Letters of "previous instructions", the longest of the parts."""


def may_contain_phrase(text: str, shown: bytes) -> bool:
    """Whether `text`, of which `shown` is the shape, may contain a phrase in any disguise."""
    if SEVERAL_CODE in shown:
        shown = shape(without_ligatures(text))
    return any(map(_may_contain, _variants(shown))) or any(
        _may_contain(shape(one)) for one in turned(text)
    )


def _variants(shown: bytes) -> Iterator[bytes]:
    """A shape as it is, and with the symbols in words read as foreign letters."""
    yield shown
    if SYMBOL_CODE in shown and _SYMBOL_IN_WORD.search(shown) is not None:
        yield shown.translate(_SYMBOL_AS_OTHER)


def _may_contain(shown: bytes) -> bool:
    plain = _decoded(_BOX.sub(b"    ", shown))
    is_certain = len(plain.translate(None, _UNCERTAIN)) == len(plain)
    has_parts = not is_certain or _has_parts(plain)
    if has_parts and _is_suspect(plain):
        return True
    checked = [plain]
    for pattern in _patterns(plain):
        pieces = pattern.split(plain)
        if not has_parts and not _has_parts(_near_removed(pieces, len(plain))):
            continue
        reading = b"".join(pieces)
        if reading not in checked:
            if _is_suspect(reading):
                return True
            checked.append(reading)
    return False


_SYMBOL_IN_WORD = re.compile(
    b"%b(?:[%b]|(?<=[%b].))" % (bytes([SYMBOL_CODE]), LIKE_LATIN, LIKE_LATIN)
)
_SYMBOL_AS_OTHER = bytes.maketrans(bytes([SYMBOL_CODE]), bytes([OTHER_CODE]))


def _patterns(plain: bytes) -> Iterator[re.Pattern[bytes]]:
    """Patterns for the markup that other readings leave out, as far as they differ."""
    is_marked = _MARKS.search(plain) is not None
    if not is_marked and b"<" not in plain:
        return
    from metier.safety.markup import MARKUP_BYTES, TAG_BYTES  # few names have markup

    if b"<" not in plain or _TAG_START.search(plain) is None:
        if is_marked:
            yield MARKUP_BYTES[1]
        return
    yield from MARKUP_BYTES[:2]
    is_quoted = b'"' in plain or b"'" in plain
    if is_quoted and _QUOTED_BRACKET.search(plain) is not None:
        tags = _spans(TAG_BYTES[0], plain)
        for tag, pattern in zip(TAG_BYTES[1:], MARKUP_BYTES[2:-1], strict=True):
            if _spans(tag, plain) != tags:
                yield pattern
    if b"</" in plain and _hides(plain):
        yield MARKUP_BYTES[-1]


def _hides(plain: bytes) -> bool:
    """Whether there may be an element that is not shown."""
    small = plain.lower()
    return any(one in small for one in _HIDING) and _HIDES.search(small) is not None


def _spans(pattern: re.Pattern[bytes], plain: bytes) -> list[tuple[int, int]]:
    return [match.span() for match in pattern.finditer(plain)]


def _near_removed(pieces: Sequence[bytes], length: int) -> bytes:
    """What is left around markup removed from a text of this length.

    All of it where removals are close to each other. A part that is in no piece starts in one and
    ends in another, so it is in what is left.
    """
    if len(pieces) * 4 * _NEAR > length:
        return b"".join(pieces)
    return b"".join(map(_ends, pieces))


def _ends(piece: bytes) -> bytes:
    first, last = piece[:_NEAR], piece[-_NEAR:]
    is_long = len(piece) > 2 * _NEAR and all(
        len(letters(end, False)) >= _LONGEST_PART for end in (first, last)
    )
    return first + BLOCKER + last if is_long else piece


_COMMON = (
    (b"&", re.compile(b"&")),
    (b"\\", re.compile(rb"\\[ux]")),
)
_RARE = (
    (b"%", re.compile(rb"%(?:u00|(?:25)*+(?:[4-7][0-9A-Fa-f]|3[Aa]))")),
    (b"\\", re.compile(rb"\\(?:[013-7]|[ux]\{|uu|U00|N\{)")),
    (b"=", re.compile(rb"=(?:[4-7][0-9A-F]|3A)")),
    (b"U", re.compile(rb"U\+00[3-7]")),
    (b"0", re.compile(rb"0x(?:[4-7][0-9A-Fa-f]|3[Aa])")),
)
"""Escapes by the byte that they start with, which is searched for faster than a pattern."""


def _decoded(shown: bytes) -> bytes:
    is_rare = _has_any(_RARE, shown)
    if not is_rare and not _has_any(_COMMON, shown):
        return shown
    from metier.safety.markup import COMMON_ENTITY_BYTES, ENTITY_BYTES

    pattern = ENTITY_BYTES if is_rare else COMMON_ENTITY_BYTES
    parts = pattern.split(shown)
    parts[1::2] = map(_ENTITIES.__getitem__, parts[1::2])
    return b"".join(parts)


def _has_any(escapes: Iterable[tuple[bytes, re.Pattern[bytes]]], shown: bytes) -> bool:
    return any(start in shown and found.search(shown) is not None for start, found in escapes)


class _Entities(dict[bytes, bytes]):
    """The shape of what each entity shows; never markup."""

    _PLAIN = bytes.maketrans(b"<>[]()&\"'/?", bytes([SIGN_CODE]) * 11)

    def __missing__(self, entity: bytes) -> bytes:
        if len(self) > _LARGEST_CACHE:
            self.clear()
        from metier.safety.markup import ENTITIES, decoded

        match = ENTITIES.fullmatch(entity.decode())
        character = decoded(match) if match is not None else ""
        value = shape(without_ligatures(character)).translate(self._PLAIN, b"-\\")
        self[entity] = value
        return value


_ENTITIES = _Entities()


def _is_suspect(reading: bytes) -> bool:
    from metier.safety.suspects import is_suspect  # many patterns, and few texts need them

    return is_suspect(reading)


def _has_parts(reading: bytes) -> bool:
    """Whether a reading without ambiguous characters contains what every phrase has a part of."""
    return any(map(_has_part, plain_letters(reading)))


def _has_part(found: bytes) -> bool:
    return (
        b"disregard" in found
        or b"newinstructions" in found
        or b"nevvinstructions" in found
        or _INSIDE.search(found) is not None
    )
