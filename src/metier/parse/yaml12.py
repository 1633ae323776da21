"""Front matter that hosts read differently from metier.

metier reads YAML with libyaml, which accepts more than YAML 1.2; hosts follow YAML 1.2.
"""

import re
from collections.abc import Iterator

from yaml.nodes import CollectionNode, MappingNode, Node, ScalarNode

from metier.parse.yaml import load_yaml

_FENCED = re.compile(r"---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_ODD_MARKS = re.compile("\r(?!\n)|[\x85\u2028\u2029\ufeff]|^\\.\\.\\.", re.MULTILINE)
"""Line ends, document ends and marks that not every parser knows."""
_NO_TEXT = re.compile(
    r"null|~|true|false|-|[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]+)?"
    r"|0o[0-7]+|0x[0-9a-f]+|[-+]?\.inf|\.nan",
    re.IGNORECASE,
)
"""Unquoted values that YAML 1.2 does not read as text."""
_SAME_TO_ALL = re.compile(r"null|~|true|false|-?(?:0|[1-9][0-9]{0,39})(?:\.[0-9]{1,40})?")
_QUOTES = ("'", '"')
_BLOCK = re.compile(r"[|>][-0-9]*(?:\s|$)")
"""The start of a block; with `+` it would depend on where the front matter is cut."""
_GLUED = "a comment needs a space before it"
_COMMENT_IN_LIST = re.compile(r"[,:\[{]#")


def difference(raw: bytes) -> str:
    """The first difference in front matter that metier can read; empty for none."""
    fenced = _FENCED.match(raw.decode("utf-8-sig"))
    if fenced is None:
        return "other readers do not recognise its fences"
    yaml = fenced[1]
    if _ODD_MARKS.search(yaml):
        return "it has line endings or other marks that other readers do not recognise"
    root = load_yaml(yaml).root
    lines = yaml.replace("\r", "").split("\n")
    return next(_differences(root, -1, lines), "") if root is not None else ""


def _differences(node: Node, column: int, lines: list[str]) -> Iterator[str]:
    """`column` is that of the keys or dashes above the node."""
    if isinstance(node, ScalarNode):
        if not node.style:
            yield from _of_plain(node)
        elif node.style in _QUOTES:
            yield from _of_quoted(node, column, lines)
        else:
            yield from _of_block(node, column, lines)
    elif isinstance(node, CollectionNode):
        if node.flow_style:
            yield from _of_brackets(node, column, lines)
        inner = column if node.flow_style else node.start_mark.column
        for child in node.value:
            if isinstance(node, MappingNode):
                yield from _of_key(child[0], lines)
            value = child[1] if isinstance(node, MappingNode) else child
            yield from _differences(value, inner, lines)


def _of_plain(node: ScalarNode) -> Iterator[str]:
    if _NO_TEXT.fullmatch(node.value) and not _SAME_TO_ALL.fullmatch(node.value):
        yield _at(
            node.start_mark.line, f"'{node.value[:40]}' without quotes is not text to other readers"
        )


def _of_key(key: ScalarNode, lines: list[str]) -> Iterator[str]:
    """A key must be text, without a `?` before it."""
    line, column = key.start_mark.line, key.start_mark.column
    is_text = key.style in _QUOTES or not (key.style or _NO_TEXT.fullmatch(key.value))
    if not is_text or lines[line][:column].rstrip().endswith("?"):
        yield _at(line, "a key is not plain text")


def _of_block(node: ScalarNode, column: int, lines: list[str]) -> Iterator[str]:
    start = node.start_mark
    if start.column <= column:
        yield _not_indented(start.line)
    if not _BLOCK.match(lines[start.line], start.column):
        yield _at(start.line, "more than a '-' or a digit follows a '|' or '>'")


def _of_quoted(node: ScalarNode, column: int, lines: list[str]) -> Iterator[str]:
    for number in range(node.start_mark.line + 1, node.end_mark.line + 1):
        if _depth(lines[number]) <= column:
            yield _not_indented(number)
    yield from _behind(node, lines)


def _of_brackets(node: CollectionNode, column: int, lines: list[str]) -> Iterator[str]:
    """A list or mapping in brackets; the last bracket may be right below the key."""
    start, end = node.start_mark, node.end_mark
    for number in range(start.line + 1, end.line + 1):
        is_last = number == end.line and end.column == column + 1
        if _depth(lines[number]) < column + (not is_last):
            yield _not_indented(number)
    if any(map(_COMMENT_IN_LIST.search, _lines_of(node, lines))):
        yield _at(start.line, _GLUED)
    yield from _behind(node, lines)


def _behind(node: Node, lines: list[str]) -> Iterator[str]:
    line, column = node.end_mark.line, node.end_mark.column
    if lines[line].startswith("#", column):
        yield _at(line, _GLUED)


def _lines_of(node: Node, lines: list[str]) -> list[str]:
    start, end = node.start_mark, node.end_mark
    own = lines[start.line : end.line + 1]
    own[-1] = own[-1][: end.column]
    own[0] = own[0][start.column :]
    return own


def _depth(line: str) -> float:
    """The indentation of a line; infinite for a blank line."""
    text = line.lstrip(" ")
    return len(line) - len(text) if text else float("inf")


def _at(line: int, what: str) -> str:
    return f"line {line + 2}: {what}"


def _not_indented(line: int) -> str:
    return _at(line, "a value goes on, but not deeper than its key")
