"""YAML as metier reads it: a strict subset, composed by the C library.

Only `true` and `false` are booleans, only plain decimals are numbers, dates stay text. The
first of two equal keys wins. Anchors, aliases, tags and deep nesting are rejected before they
can cost anything.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from yaml import YAMLError
from yaml._yaml import CParser
from yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent, ScalarEvent
from yaml.nodes import MappingNode, Node, ScalarNode
from yaml.reader import ReaderError

from metier.core.names import loose_key
from metier.parse.ordinary import plain_value
from metier.values.files import KeyPath

DEEPEST = 20
_FLOW_OPENINGS_WITHOUT_A_LOOK = 15
_MAY_BE_ANCHOR = re.compile(r"&\S")
_BEFORE_ANCHOR = frozenset(" \t\r\n,[{:?-")
_MAY_BE_TAG = re.compile(r"(?:^|[\s\[{,])!(?:\s|$)")
_STRANGE_START = re.compile("\r(?!\n)|\ufeff")
"""Other line starts of libyaml, which the patterns above miss."""
_NOT_OUR_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
_MAY_BE_DEEP = re.compile(r"\n[ \t?:-]{9}")


class Problem(NamedTuple):
    """A problem and its position; lines and columns count from 0."""

    code: str
    message: str
    line: int
    column: int


class YamlRejectedError(Exception):
    """The text is not YAML, or not allowed."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Tree(NamedTuple):
    """A YAML text as plain values, with the nodes they came from."""

    value: Any
    root: Node | None
    problems: list[Problem]
    """Keys that appear twice."""


class _Composer(CParser):
    """Composes nodes without PyYAML's tag guessing: a node's tag is empty unless written."""

    def resolve(self, kind: Any, value: Any, implicit: Any) -> str:  # noqa: ARG002  # fixed signature
        return ""

    def descend_resolver(self, parent: Any, index: Any) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


def load_yaml(text: str) -> Tree:
    """The values of one YAML text.

    Raises `YamlRejectedError`, with the location, if the text is not YAML or not allowed.
    """
    if not text.isascii():
        text = _NOT_OUR_LINE_ENDS.sub(" ", text)
    try:
        if _needs_a_look(text):
            _reject_by_events(text)
        root = _Composer(text).get_single_node()
    except YAMLError as error:
        raise YamlRejectedError(_problem_of(error, text)) from None
    if root is None:
        return Tree(None, None, [])
    problems: list[Problem] = []
    return Tree(_build(root, 1, problems), root, problems)


class Positions:
    """The positions of the values of a tree."""

    def __init__(self, root: Node) -> None:
        self._root = root
        self._written: dict[int, _Children] = {}
        self._loose: dict[int, _Children] = {}
        """Per mapping: by keys as written, and by their loose form."""

    def locate(self, path: KeyPath) -> tuple[int, int]:
        """Line and column of the value at `path`, or of the deepest part of it that exists."""
        mark = self._root.start_mark
        node = self._root
        for step in path:
            found = self._child(node, step)
            if found is None:
                break
            node, mark = found
        return mark.line, mark.column

    def _child(self, node: Node, step: str | int) -> tuple[Node, Any] | None:
        if isinstance(step, int):
            items = node.value if isinstance(node.value, list) else []
            return (items[step], items[step].start_mark) if step < len(items) else None
        if not isinstance(node, MappingNode):
            return None
        if id(node) not in self._written:
            self._written[id(node)] = _children(node, str)
        found = self._written[id(node)].get(step)
        if found is None:
            if id(node) not in self._loose:
                self._loose[id(node)] = _children(node, loose_key)
            found = self._loose[id(node)].get(loose_key(step))
        return found


_Children = dict[str, tuple[Node, Any]]
"""By key: a value and the position of its key; the first of equal keys counts."""


def _children(node: MappingNode, spelled: Callable[[str], str]) -> _Children:
    return {spelled(key.value): (value, key.start_mark) for key, value in reversed(node.value)}


def _needs_a_look(text: str) -> bool:
    return (
        text.count("[") + text.count("{") > _FLOW_OPENINGS_WITHOUT_A_LOOK
        or ("&" in text and _may_hold_anchor(text))
        or ("!" in text and _MAY_BE_TAG.search(text) is not None)
        or (("\r" in text or "\ufeff" in text) and _STRANGE_START.search(text) is not None)
        or _MAY_BE_DEEP.search(f"\n{text}") is not None
    )


def _may_hold_anchor(text: str) -> bool:
    return any(
        match.start() == 0 or text[match.start() - 1] in _BEFORE_ANCHOR
        for match in _MAY_BE_ANCHOR.finditer(text)
    )


def _reject_by_events(text: str) -> None:
    """Reject anchors, aliases and deep nesting from the flat stream of events.

    Composing would recurse in C for as long as the text opens brackets.
    """
    depth = 0
    parser = _Composer(text)
    while (event := parser.get_event()) is not None:
        if isinstance(event, CollectionStartEvent):
            depth += 1
            if depth > DEEPEST:
                raise _reject("FM107", f"nested deeper than {DEEPEST} levels", event.start_mark)
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        if isinstance(event, AliasEvent):
            raise _reject("FM106", f"alias '*{event.anchor}' is not allowed", event.start_mark)
        if isinstance(event, (ScalarEvent, CollectionStartEvent)):
            if event.anchor:
                raise _reject("FM106", f"anchor '&{event.anchor}' is not allowed", event.start_mark)
            if event.tag:
                raise _reject("FM106", f"tag '{event.tag}' is not allowed", event.start_mark)


def _build(node: Node, depth: int, problems: list[Problem]) -> Any:
    if node.tag:
        raise _reject("FM106", f"tag '{node.tag}' is not allowed", node.start_mark)
    if type(node) is ScalarNode:
        return node.value if node.style else plain_value(node.value)
    if depth > DEEPEST:
        raise _reject("FM107", f"nested deeper than {DEEPEST} levels", node.start_mark)
    if type(node) is MappingNode:
        return _mapping(node, depth, problems)
    return [_build(item, depth + 1, problems) for item in node.value]


def _mapping(node: MappingNode, depth: int, problems: list[Problem]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        if type(key) is not ScalarNode:
            raise _reject("FM103", "a key is not plain text", key.start_mark)
        if key.tag:
            raise _reject("FM106", f"tag '{key.tag}' is not allowed", key.start_mark)
        name = key.value
        if name in values:
            mark = key.start_mark
            message = f"key '{name}' appears twice; the first one is used"
            problems.append(Problem("FM105", message, mark.line, mark.column))
            _build(value, depth + 1, problems)
        else:
            values[name] = _build(value, depth + 1, problems)
    return values


def _reject(code: str, message: str, mark: Any) -> YamlRejectedError:
    return YamlRejectedError(Problem(code, message, mark.line, mark.column))


def _problem_of(error: YAMLError, text: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if isinstance(error, ReaderError):
        before = text.encode()[: error.position].decode(errors="ignore")
        line, column = before.count("\n"), len(before) - (before.rfind("\n") + 1)
        return Problem("FM103", "a character that YAML does not allow", line, column)
    message = str(getattr(error, "problem", None) or error).partition("\n")[0]
    if mark is None:
        return Problem("FM103", message, 0, 0)
    code = "FM104" if message.startswith("mapping values are not allowed") else "FM103"
    return Problem(code, message, mark.line, mark.column)
