"""Remove role markers, tags, chat tokens and HTML comments from prose, and our own marks anywhere.

Code is not changed otherwise. A removal may uncover another marker, as in `<sys<system>tem>`, so
`defused` repeats until nothing is left.
"""

import html
import re
import unicodedata
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

from metier.core.markdown import Span, code_and_comments
from metier.safety.lookalikes import EITHER_CODES, MARK_CODE, like, shape

ROLES = ("user", "assistant", "system", "human", "developer", "tool")
MOST_ROUNDS = 4
"""A text that needs more is hostile: code is changed as well."""
MOST_MARKERS = 2_000
"""A text with more of them is hostile as well; the longest real skill has far fewer."""
_ABOUT_ROLES = (
    "reminder|prompt|message|instructions?|turn|input|output|query|calls?|results?|response|use"
    "|note|context"
)
"""Follow a role in tags such as `<system-reminder>`."""
_MARK = rf"\x{MARK_CODE:02x}"
_LEAD = rf"(?:[ \t>#*_~+|.)0-9{_MARK}-]|\[[ xX]?\])*+"
"""May precede a role at the start of a line: quote, heading and list markers, emphasis."""
_ENTITY = re.compile(rb"(&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_HIDDEN = b"\0"
"""Replaces each character of code and comments."""
_COMMENT_START = "<!--"
_COMMENT = re.compile(_COMMENT_START)
_LARGEST_CACHE = 20_000


def _any(*words: str) -> str:
    """A pattern for any of the words, with combining marks on any letter."""
    return "|".join("".join(f"{_letter(letter)}{_MARK}*" for letter in word) for word in words)


def _letter(letter: str) -> str:
    either = (f"\\x{code:02x}" for code, letters in EITHER_CODES.items() if letter in letters)
    forms = {"i": "il", "l": "il"}.get(letter, letter) + "".join(either)
    return f"(?:rn|[{forms}])" if letter == "m" else f"[{forms}]"


def _compiled(pattern: str) -> re.Pattern[bytes]:
    return re.compile(pattern.encode(), re.IGNORECASE)


_name = f"(?:{_any(*ROLES)})(?:[-_]?(?:{_ABOUT_ROLES})\\b)?"
_ROLE = _compiled(rf"\n(?=[^\n]){_LEAD}(?P<role>{_any(*ROLES)})(?=[*_~ \t]*:)")
_ANGLE = _compiled(
    rf"<(?=[^<=!]|<[\s/s])(?:(?P<close>/?)(?P<name>{_name})(?:[ \t][^<>\0\n]{{0,200}}|\s*/?)>"
    rf"|(?:\s+/?|/\s+)(?:{_name})\s*>"
    rf"|\s*+(?P<ends>/?)\s*+(?P<mark>{_any('reference')})(?:\s++[^<>\0\n]*+)?+\s*+>"
    r"|(?P<token>\|[^<>|\0\s](?:[^<>|\0\n]{0,98}[^<>|\0\s])?\|>"
    r"|<\s*/?SYS\s*>>|(?:start|end)_of_(?:turn|text|image)>|[be]os>)"
    r"|(?P<stroke>/?s>))"
)
_BRACKET = _compiled(r"\[(?P<token>/?INST\])")
_GAP = rf"[{_MARK}\s\\*_`~>|#-]*+"
"""May be inside a mark that is wrapped over lines, quoted or emphasised."""
_OUR_MARK = _compiled(
    rf"<(?=[^<=!a-qs-z]){_GAP}(?:(?P<ends>/){_GAP})?{_GAP.join(map(_letter, 'reference'))}"
    rf"(?:(?=(?:{_GAP}|[^<>]*?){_GAP.join(map(_letter, 'code'))}{_GAP}=)"
    rf"|(?(ends)(?=[\s{_MARK}]++[^\s>])|(?!)))"
)
"""A mark as metier writes it, with a code, or a closing one with more than its name."""
_ROLE_IN_PARTS = _compiled(rf"(\n(?=[^\n]){_LEAD})({_any(*ROLES)})(?=[*_~ \t]*:)")
_ANGLE_SIGN = re.compile("<")
_ANGLES = re.compile(f"[{''.join(map(re.escape, like('<')))}]")


Places = tuple[int, int]
"""Where a marker starts and ends."""


class Edit(NamedTuple):
    start: int
    end: int
    text: str
    kind: str
    """role · tag · mark · token · comment · ours"""


class Defused(NamedTuple):
    text: str
    shown: bytes
    """Its shape."""
    edits: list[Edit]
    """What was changed first."""


def defused(text: str) -> tuple[str, list[Edit]]:
    """The text without markers and comments outside code, and the first edits. Idempotent."""
    result = defused_shape(text, shape(text))
    return result.text, result.edits


def defused_shape(text: str, shown: bytes) -> Defused:
    """Like `defused`, for a text and its shape."""
    seen = _seen(shown)
    suspects = [list(islice(some, MOST_MARKERS + 1)) for some in _suspects(text, seen)]
    if max(map(len, suspects)) > MOST_MARKERS:
        return _blunt(text, shown)
    first = _edits(text, seen, suspects)
    found = first
    for _ in range(MOST_ROUNDS):
        if not found:
            return Defused(text, shown, first)
        shown = _edited_shape(shown, found)
        text = _edited(text, found)
        seen = _seen(shown)
        found = _edits(text, seen, _suspects(text, seen))
    return _blunt(text, shown)._replace(edits=first) if found else Defused(text, shown, first)


def _suspects(text: str, seen: bytes) -> Iterator[Iterator[Places]]:
    """Each kind of marker, code included, and the comments.

    Hiding code uncovers no other marker: no pattern matches hidden characters, or looks past the
    end of a marker for what must not be there.
    """
    for pattern in (_ROLE, _ANGLE, _BRACKET, _OUR_MARK):
        yield ((max(0, one.start() - 1), one.end() - 1) for one in pattern.finditer(seen))
    yield (one.span() for one in _COMMENT.finditer(text))


def _edits(text: str, seen: bytes, suspects: Iterable[Iterable[Places]]) -> list[Edit]:
    """The changes to a text; `seen` is what is seen of its shape."""
    near = sorted({at for some in suspects for span in some for at in span})
    if not near:
        return []
    spans = code_and_comments(text, near)
    comments = [Edit(at, end, "", "comment") for at, end, kind in spans if kind == "comment"]
    markers = _marker_edits(text, _without(seen, spans))
    return _first_of_each(merge(comments, markers, _our_marks(text, seen), key=_longest_first))


def _seen(shown: bytes) -> bytes:
    """A shape after a line end, with entities replaced by what they show; one byte longer."""
    lines = b"\n" + shown
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b" \n").replace(b"\r", b"\n")
    if b"&" not in lines:
        return lines
    parts = _ENTITY.split(lines)
    parts[1::2] = map(_ENTITIES.__getitem__, parts[1::2])
    return b"".join(parts)


class _Entities(dict[bytes, bytes]):
    """What an entity shows, padded with marks; `&lt;` and other punctuation stays."""

    def __missing__(self, entity: bytes) -> bytes:
        if len(self) > _LARGEST_CACHE:
            self.clear()
        value = self[entity] = self._shown(entity)
        return value

    def _shown(self, entity: bytes) -> bytes:
        character = html.unescape(entity.decode())
        if len(character) == 1 and unicodedata.category(character) in ("Cf", "Mn"):
            return bytes([MARK_CODE]) * len(entity)
        is_kept = character.isalnum() or character.isspace() or character == ":"
        if len(character) != 1 or not is_kept:
            return entity
        return shape(character).ljust(len(entity), bytes([MARK_CODE]))


_ENTITIES = _Entities()


def _without(seen: bytes, spans: list[Span]) -> bytes:
    """What is seen, with code and comments hidden."""
    parts = []
    at = 0
    for start, end, _ in spans:
        parts.append(seen[at : start + 1])
        parts.append(_HIDDEN * (end - start))
        at = end + 1
    return b"".join([*parts, seen[at:]])


def _marker_edits(text: str, prose: bytes) -> list[Edit]:
    angles = list(_ANGLE.finditer(prose))
    closed = {match["name"].lower() for match in angles if match["close"]}
    return list(
        merge(
            _roles(text, prose),
            (
                Edit(match.start() - 1, match.end() - 1, "", "token")
                for match in _BRACKET.finditer(prose)
            ),
            (edit for match in angles if (edit := _angle(text, match, closed)) is not None),
        )
    )


def _roles(text: str, prose: bytes) -> Iterator[Edit]:
    for match in _ROLE.finditer(prose):
        start, end = match.start("role") - 1, match.end("role") - 1
        yield Edit(start, end, f"[{text[start:end]}]", "role")


def _angle(text: str, match: re.Match[bytes], closed: set[bytes]) -> Edit | None:
    start, end = match.start() - 1, match.end() - 1
    if match["token"]:
        return Edit(start, end, "", "token")
    if match["stroke"]:
        is_token = match[0].islower()
        return Edit(start, end, f"[{match[0][1:-1].decode()}]", "token") if is_token else None
    if _is_type_argument(text, match, closed):
        return None
    return Edit(start, end, "", "mark" if match["mark"] else "tag")


def _is_type_argument(text: str, match: re.Match[bytes], closed: set[bytes]) -> bool:
    """Whether a tag is the `<User>` of `Promise<User>`: attached, capitalised, never closed."""
    name = match["name"] or match["mark"]
    if not name or match["close"] or match["ends"] or name.lower() in closed:
        return False
    start, end = match.start() - 1, match.end() - 1
    before, after = text[max(start - 1, 0) : start], text[end : end + 1]
    attached = before.isalnum() or before == "_"
    return attached and not after.isalnum() and name[:1].isupper() and name[1:].islower()


def _our_marks(text: str, seen: bytes) -> Iterator[Edit]:
    """Marks like our own, in code too; only their bracket is changed."""
    for match in _OUR_MARK.finditer(seen):
        start, end = match.start() - 1, match.end() - 1
        yield Edit(start, end, f"({text[start + 1 : end]}", "ours")


def _longest_first(edit: Edit) -> tuple[int, int]:
    return edit.start, -edit.end


def _first_of_each(found: Iterable[Edit]) -> list[Edit]:
    """The edits without those that overlap an earlier one."""
    kept = []
    at = 0
    for edit in found:
        if edit.start >= at:
            kept.append(edit)
            at = edit.end
    return kept


def _edited(text: str, found: list[Edit]) -> str:
    parts = []
    at = 0
    for start, end, replacement, _ in found:
        parts.append(text[at:start])
        parts.append(replacement)
        at = end
    return "".join([*parts, text[at:]])


def _edited_shape(shown: bytes, found: list[Edit]) -> bytes:
    """The shape of the edited text; a role between brackets keeps its own."""
    parts = []
    at = 0
    for start, end, replacement, kind in found:
        parts.append(shown[at:start])
        if kind == "role":
            parts.append(b"[" + shown[start:end] + b"]")
        elif kind == "ours":
            parts.append(b"(" + shown[start + 1 : end])
        else:
            parts.append(replacement.encode())
        at = end
    return b"".join([*parts, shown[at:]])


def _blunt(text: str, shown: bytes) -> Defused:
    """The text with every tag, token and role broken, in code too, and the first of these edits."""
    is_ascii = text.isascii()
    angles = islice((_ANGLE_SIGN if is_ascii else _ANGLES).finditer(text), MOST_MARKERS)
    first = [Edit(one.start(), one.end(), "(", "tag") for one in angles]
    text = text.replace("<", "(") if is_ascii else _ANGLES.sub("(", text)
    shown = shown.replace(b"<", b"(")
    seen = _seen(shown)
    if seen[1:] == shown and is_ascii and _BRACKET.search(seen) is None:
        parts = _ROLE_IN_PARTS.split(seen)
        parts[2::3] = [b"[%b]" % role for role in parts[2::3]]
        broken = b"".join(parts)[1:]
        roles = list(islice(_roles(text, seen), MOST_MARKERS))
        return Defused(broken.decode(), broken, sorted([*first, *roles]))
    brackets = [Edit(one.start() - 1, one.start(), "(", "token") for one in _BRACKET.finditer(seen)]
    found = sorted([*brackets, *_roles(text, seen)])
    return Defused(_edited(text, found), _edited_shape(shown, found), sorted([*first, *found]))
