"""Front matter: bytes → values, body, issues.

`read_matter` never raises. In lenient mode a text whose YAML does not parse is read again,
one top-level key at a time.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.parse.ordinary import line_of_key, ordinary_values
from metier.values.files import KeyPath, Matter
from metier.values.outcomes import Issue

if TYPE_CHECKING:
    from metier.parse.yaml import Positions, Problem, Tree

LARGEST_FRONT_MATTER = 64 * 1024
_SURELY_SMALL = LARGEST_FRONT_MATTER // 4
"""Characters; each has at most 4 bytes."""
_OPENING = re.compile(rb"---[ \t\r]*(?:\n|\Z)")
_FENCE = re.compile(rb"\n---[ \t]*\r?(?=\n|\Z)")
_TOP_LEVEL_KEY = r"([A-Za-z_][\w.-]*)[ \t]*:(?=[ \t\r]|$)"
_CONTROL_SHARE_OF_BINARY = 0.1
_BLANK = " \t\r\n"
_BLANK_BYTES = _BLANK.encode()
_INKED = re.compile(rb"[^ \t\r\n]")

_CONVERT = "save the file as UTF-8: iconv -f {} -t UTF-8 FILE > NEW"
HINTS = {
    "FM101": "start the file with a line '---', then keys such as 'description:', then '---'",
    "FM102": "put a line that contains only '---' after the last key",
    "FM103": "quote the value, or write it as a block with '|'",
    "FM104": "put the value in quotes",
    "FM105": "remove one of the two",
    "FM106": "write the value out; quote it if it starts with & * or !",
    "FM107": "flatten the structure",
    "FM108": "move the text into the body",
    "FM109": "write one 'key: value' a line",
    "FM111": "this is not a text file: remove it or give it another name",
    "FM112": "use LF line endings",
    "FM113": "remove it",
    "FM114": "write front matter and instructions, or remove the file",
    "FM116": "use spaces",
    "FM117": "make the first line '---' alone, then keys such as 'description:', then '---'",
}
_NO_TABS = "YAML does not allow tabs for indentation"
_QUOTES = frozenset("'\"")
_PLAIN_WORDS = (
    ("a character that YAML does not allow", "a character that YAML does not allow", "remove it"),
    ("did not find expected alphabetic", "a value starts with '*' or '&'", "put it in quotes"),
    ("found undefined alias", "a value starts with '*'", "put it in quotes"),
    ("could not find expected ':'", "this line is not 'key: value'", "indent or quote the text"),
    ("found character that cannot start", "a value starts with a character that YAML reserves,"
     " such as '@', '`' or '%'", "put it in quotes"),
    ("found a tab character", _NO_TABS, "use spaces"),
    ("found unknown escape", "a backslash in double quotes starts no known escape",
     "use single quotes, or write the backslash twice"),
    ("found invalid Unicode character escape", "an escape in double quotes is not a character",
     "write the character itself"),
    ("did not find expected key", "a quote closes too early, or the indentation is off",
     "quote the whole value, and use the other quotes inside it"),
    ("did not find expected ','", "a '[' or '{' is not closed", "close it, or quote the value"),
    ("found unexpected end of stream", "a quote is not closed", "close it"),
    ("did not find expected <document start>", "this line does not belong to the mapping",
     "write 'key: value' on every line"),
)  # fmt: skip
"""Messages of libyaml, what they mean, and what to do."""
_NEVER_LENIENT = frozenset({"FM106", "FM107", "FM108"})


class SplitText(NamedTuple):
    """A text split into front matter and body; `matter` is None if it cannot be used."""

    matter: Matter | None
    issues: list[Issue]
    fenced: bool
    """Whether the text has front matter."""


class _Parts(NamedTuple):
    yaml: str
    yaml_line: int
    """The line of the file on which the YAML starts, counted from 1."""
    body: str
    body_line: int


def read_matter(raw: bytes, path: str, *, lenient: bool = False) -> SplitText:
    """Split a file's bytes. A text without front matter is all body."""
    issues: list[Issue] = []
    text = _text_in(raw, path, issues)
    if text is None:
        return SplitText(None, issues, False)
    try:
        return _read(text, path, issues, lenient=lenient)
    except UnicodeDecodeError:
        repaired = _decode(text, path, issues, lenient=lenient)
        if repaired is None:
            return SplitText(None, issues, False)
        return _read(repaired.encode(), path, issues, lenient=lenient)


def _read(text: bytes, path: str, issues: list[Issue], *, lenient: bool) -> SplitText:
    """Split a text. Raises `UnicodeDecodeError`, before anything is added to `issues`."""
    opening = _OPENING.match(text)
    if opening is None:
        body, skipped = trim_blank_lines(text)
        return SplitText(Matter({}, body, 1 + skipped, lambda _: (1, 1)), issues, False)
    parts = _split(text, opening.end())
    if parts is None:
        text.decode()
        issues.append(_issue("FM102", "the front matter opened on line 1 is never closed", path))
        return SplitText(None, issues, True)
    if len(parts.yaml) > _SURELY_SMALL and len(parts.yaml.encode()) > LARGEST_FRONT_MATTER:
        message = f"front matter is larger than {LARGEST_FRONT_MATTER // 1024} KiB"
        issues.append(_issue("FM108", message, path))
        return SplitText(None, issues, True)
    matter = _matter(parts, path, issues, lenient=lenient)
    return SplitText(matter, issues, True)


def no_front_matter(matter: Matter, path: str, what: str) -> Issue:
    """The finding for a text without front matter; `what` names it in the message."""
    first, _, rest = matter.body.partition("\n")
    glued = first.removeprefix("---").strip(_BLANK)
    if matter.body_line > 1 or not first.startswith("---") or glued[:1] in ("", "-"):
        return _issue("FM101", f"{what} has no front matter", path)
    message = f"the first line has more than '---', so {what} has no front matter"
    hint = HINTS["FM117"]
    split = read_matter(f"---\n{glued}\n{rest}".encode(), "", lenient=True)
    if split.matter is not None and split.matter.data:
        shown = glued[:40]
        below = "below the second '---'" if glued.startswith("#") else "on the next line"
        hint = f"make the first line '---' alone, and put '{shown}' {below}"
    return Issue("FM117", message, path, 1, 4, hint)


def read_yaml(raw: bytes, path: str) -> SplitText:
    """A YAML file; it has no body."""
    issues: list[Issue] = []
    text = _text_in(raw, path, issues)
    yaml = _decode(text, path, issues, lenient=False) if text is not None else None
    if yaml is None:
        return SplitText(None, issues, False)
    parts = _Parts(yaml, 1, "", 1)
    return SplitText(_matter(parts, path, issues, lenient=False), issues, True)


def _issue(
    code: str, message: str, path: str, line: int = 1, column: int = 1, hint: str = ""
) -> Issue:
    return Issue(code, message, path, line, column, hint or HINTS[code])


def _text_in(raw: bytes, path: str, issues: list[Issue]) -> bytes | None:
    """The bytes without a byte order mark; None if they are not text."""
    has_mark = raw.startswith(b"\xef\xbb\xbf")
    raw = raw[3:] if has_mark else raw
    if not raw or raw.isspace():
        issues.append(_issue("FM114", "the file is empty", path))
        return None
    if b"\0" in raw:
        issues.append(_binary(raw, path))
        return None
    if has_mark:
        issues.append(_issue("FM113", "the file starts with a byte order mark", path))
    newline = raw.find(b"\n")
    if newline > 0 and raw[newline - 1] == 13:
        issues.append(_issue("FM112", "lines end with CRLF", path))
    return raw


def _decode(raw: bytes, path: str, issues: list[Issue], *, lenient: bool) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        return _decode_damaged(raw, path, issues, error, lenient=lenient)


def _binary(raw: bytes, path: str) -> Issue:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return _issue("FM110", "the file is UTF-16", path, hint=_CONVERT.format("UTF-16"))
    at = _line_and_column(raw, raw.index(b"\0"))
    return _issue("FM111", "the file contains a NUL byte", path, *at)


def _decode_damaged(
    raw: bytes, path: str, issues: list[Issue], error: UnicodeDecodeError, *, lenient: bool
) -> str | None:
    text = raw.decode(errors="replace")
    line, column = _line_and_column(raw, error.start)
    if text.count("�") > _CONTROL_SHARE_OF_BINARY * len(text):
        issues.append(_issue("FM111", "the file is not text", path, line, column))
        return None
    message = f"byte 0x{raw[error.start]:02x} is not UTF-8"
    issues.append(_issue("FM110", message, path, line, column, _encoding_hint(raw)))
    return text if lenient else None


def _encoding_hint(raw: bytes) -> str:
    """How to make a text UTF-8; one that has letters in UTF-8 already must not be converted."""
    if not raw.decode(errors="ignore").isascii():
        return "write this letter again: others are UTF-8 already"
    try:
        raw.decode("cp1252")
    except UnicodeDecodeError:
        return _CONVERT.format("ENCODING")
    return f"{_CONVERT.format('WINDOWS-1252')} (probably Windows-1252)"


def _line_and_column(raw: bytes, at: int) -> tuple[int, int]:
    return raw.count(b"\n", 0, at) + 1, at - (raw.rfind(b"\n", 0, at) + 1) + 1


def _split(text: bytes, start: int) -> _Parts | None:
    """The parts of a text whose first fence ends at `start`; None without a second fence."""
    fence = _FENCE.search(text, start - 1)
    if fence is None:
        return None
    yaml = text[start : fence.start() + 1].decode()
    fence_line = yaml.count("\n") + 2
    body, skipped = trim_blank_lines(text, fence.end() + 1)
    return _Parts(yaml, 2, body, fence_line + 1 + skipped if body else fence_line)


def trim_blank_lines(text: bytes, start: int = 0) -> tuple[str, int]:
    """`text` from `start` on without blank lines at its ends, and the number before it."""
    inked = _INKED.search(text, start)
    if inked is None:
        return "", 0
    first = max(text.rfind(b"\n", start, inked.start()) + 1, start)
    end = text.find(b"\n", len(text.rstrip(_BLANK_BYTES)))
    body = text[first : end if end >= 0 else len(text)]
    return body.removesuffix(b"\r").decode(), text.count(b"\n", start, first)


def _matter(parts: _Parts, path: str, issues: list[Issue], *, lenient: bool) -> Matter | None:
    values = ordinary_values(parts.yaml)
    if values is not None:
        return Matter(values, parts.body, parts.body_line, _Positions(parts, values).position)
    from metier.parse.yaml import YamlRejectedError, load_yaml  # most texts are ordinary

    try:
        tree = load_yaml(parts.yaml)
    except YamlRejectedError as rejected:
        problem = rejected.problem
        line = _line_of(parts.yaml, problem.line)
        if problem.code == "FM103" and line[problem.column : problem.column + 1] == "\t":
            return _tabbed(problem, parts, path, issues, lenient=lenient)
        issues.append(_located(problem, parts, path))
        if not lenient or problem.code in _NEVER_LENIENT:
            return None
        return _by_lines(parts, path, issues)
    issues.extend(_located(problem, parts, path) for problem in tree.problems)
    if tree.value is not None and not isinstance(tree.value, dict):
        issues.append(
            _issue("FM109", "the front matter is not a mapping of keys", path, parts.yaml_line)
        )
        return None
    positions = _Positions(parts, {}, tree)
    return Matter(tree.value or {}, parts.body, parts.body_line, positions.position)


def _tabbed(
    problem: "Problem", parts: _Parts, path: str, issues: list[Issue], *, lenient: bool
) -> Matter | None:
    """A text indented with tabs; lenient mode reads tabs as spaces where that is unambiguous."""
    line, column = problem.line + parts.yaml_line, problem.column + 1
    from metier.core.indentation import with_spaces  # few texts have tabs

    indents = not _line_of(parts.yaml, problem.line)[: problem.column].strip(_BLANK)
    spaced = with_spaces(parts.yaml) if indents else None
    if spaced is not None:
        issues.append(_issue("FM116", _NO_TABS, path, line, column))
        parts = parts._replace(yaml=spaced)
        return _matter(parts, path, issues, lenient=True) if lenient else None
    what = _NO_TABS if indents else "a tab where a space is required"
    issues.append(Issue("FM103", f"not valid YAML: {what}", path, line, column, "use spaces"))
    return _by_lines(parts, path, issues) if lenient else None


class _Positions:
    """The positions of the values of a text; an ordinary text is composed only if needed."""

    __slots__ = ("_nodes", "_ordinary", "_parts", "_tree")

    def __init__(self, parts: _Parts, ordinary: dict[str, Any], tree: "Tree | None" = None) -> None:
        self._parts = parts
        self._ordinary = ordinary
        self._tree = tree
        self._nodes: Positions | None = None

    def position(self, path: KeyPath) -> tuple[int, int]:
        """Line and column in the file, counted from 1."""
        yaml, first = self._parts.yaml, self._parts.yaml_line
        if len(path) == 1 and path[0] in self._ordinary:
            return line_of_key(yaml, str(path[0])) + first, 1
        if self._nodes is None:
            from metier.parse.yaml import Positions, load_yaml  # few ask for inner values

            root = (self._tree or load_yaml(yaml)).root
            if root is None:
                return 1, 1
            self._nodes = Positions(root)
        line, column = self._nodes.locate(path)
        return line + first, column + 1


def _located(problem: "Problem", parts: _Parts, path: str) -> Issue:
    line, column = problem.line + parts.yaml_line, problem.column + 1
    if problem.code == "FM104":
        key = re.match(_TOP_LEVEL_KEY, _line_of(parts.yaml, problem.line))
        if key is None or ": " not in key.string[key.end() :].strip() + " ":
            return _misplaced_colon(_line_of(parts.yaml, problem.line), path, line, column)
        message = f"the value of '{key[1]}' holds ': ' and is not quoted"
        return _issue("FM104", message, path, line, column)
    if problem.code == "FM103":
        if problem.message.startswith("did not find expected key") and not _QUOTES & {*parts.yaml}:
            said = "not valid YAML: the indentation is off"
            return Issue("FM103", said, path, line, column, "indent all lines of a value equally")
        return _not_yaml(problem.message, path, line, column)
    return _issue(problem.code, problem.message, path, line, column)


def _misplaced_colon(text: str, path: str, line: int, column: int) -> Issue:
    """A key that is indented below a value, or another colon where no key can be."""
    said, unindented = "a ':' where no key can be", text.lstrip(" ")
    if unindented == text or not re.match(_TOP_LEVEL_KEY, unindented):
        return _not_yaml(said, path, line, column)
    hint = "remove the spaces before the key, or quote the value"
    return Issue("FM103", f"not valid YAML: {said}", path, line, column, hint)


def _not_yaml(said: str, path: str, line: int, column: int) -> Issue:
    for beginning, meaning, hint in _PLAIN_WORDS:
        if said.startswith(beginning):
            return Issue("FM103", f"not valid YAML: {meaning}", path, line, column, hint)
    return _issue("FM103", f"not valid YAML: {said}", path, line, column)


def _line_of(text: str, number: int) -> str:
    return "".join(text.split("\n")[number : number + 1])


def _by_lines(parts: _Parts, path: str, issues: list[Issue]) -> Matter:
    """Each top-level key by itself: as YAML if it parses, else as its text."""
    data: dict[str, Any] = {}
    lines: dict[str, int] = {}
    unread: set[str] = set()
    for key, line, text, plain in _keys_in(parts.yaml):
        if key in data:
            message = f"key '{key}' appears twice; the first one is used"
            issues.append(_issue("FM105", message, path, line + parts.yaml_line))
            continue
        lines[key] = line + parts.yaml_line
        value = _value_of(key, text)
        if value is None:
            unread.add(key)
        data[key] = value[0] if value is not None else _without_quotes(plain)

    def position(key_path: KeyPath) -> tuple[int, int]:
        return (lines.get(str(key_path[0]), 1) if key_path else 1), 1

    return Matter(data, parts.body, parts.body_line, position, frozenset(unread))


def _keys_in(yaml: str) -> Iterator[tuple[str, int, str, str]]:
    """Each key at the top: its name, its line, all of its text, and the text of its value."""
    lines = yaml.split("\n")
    keys = [
        (number, key)
        for number, key in enumerate(map(re.compile(_TOP_LEVEL_KEY).match, lines))
        if key
    ]
    for (start, key), end in zip(
        keys, [*(start for start, _ in keys[1:]), len(lines)], strict=False
    ):
        own = lines[start:end]
        value = " ".join([own[0][key.end() :].strip(), *map(str.strip, own[1:])]).strip()
        yield key[1], start, "\n".join(own), value


def _value_of(key: str, text: str) -> tuple[Any] | None:
    """The value of a key, in a tuple; None if it is not valid YAML."""
    from metier.core.indentation import with_spaces
    from metier.parse.yaml import YamlRejectedError, load_yaml

    try:
        value = load_yaml(with_spaces(text) or text).value
    except YamlRejectedError:
        return None
    if isinstance(value, dict) and len(value) == 1 and key in value:
        return (value[key],)
    return None


def _without_quotes(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
        return value[1:-1]
    return value.lstrip("|>").strip() if value[:1] in "|>" else value
