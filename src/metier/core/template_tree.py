"""Templates as trees: read within limits, looked through, and never evaluated."""

from typing import Any
from unicodedata import normalize

from jinja2 import TemplateAssertionError, TemplateSyntaxError, nodes
from jinja2.compiler import find_undeclared
from jinja2.parser import Parser

from metier.core.bounded_jinja import environment
from metier.core.template_work import MOST_BITS

LONGEST_TEMPLATE = 100_000
"""Characters of a text with places to fill."""
MOST_PARTS = 20_000
"""Names, values, operators and statements in a template."""
DEEPEST_TEMPLATE = 50
"""Parts inside each other: Python has limits for the code that is made of them."""
DEEPEST_LOOPS = 15
MOST_NAMES = 1_000
"""Different names in a template."""
_OTHER_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block)
_ESCAPES = (nodes.EvalContextModifier, nodes.ScopedEvalContextModifier)


def read_text(text: str) -> nodes.Template:
    """The tree of a template. Raises a syntax error of Jinja, or `ValueError` at a limit."""
    _check_length(text)
    return _checked(environment.parse(text))


def read_expression(text: str) -> nodes.Template:
    """The tree of a template that outputs one expression. Raises as `read_text` does."""
    _check_length(text)
    parser = Parser(environment, text, state="variable")
    found = parser.parse_expression()
    if not parser.stream.eos:
        line = parser.stream.current.lineno
        raise TemplateSyntaxError("chunk after expression", line)
    output = nodes.Output([found], lineno=1)
    return _checked(nodes.Template([output], lineno=1).set_environment(environment))


def _check_length(text: str) -> None:
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"it has {len(text)} characters, the limit is {LONGEST_TEMPLATE}")


def _checked(tree: Any) -> nodes.Template:
    found: nodes.Template = tree
    _check_size(found)
    _check_code(found)
    _refuse(found)
    return found


def _check_size(tree: nodes.Template) -> None:
    """Raise `ValueError` for a tree that is too large to be worked with."""
    count = 0
    names: set[str] = set()
    waiting: list[tuple[nodes.Node, int, int]] = [(tree, 0, 0)]
    while waiting:
        node, depth, loops = waiting.pop()
        count += 1
        loops += isinstance(node, nodes.For)
        if isinstance(node, nodes.Name):
            names.add(node.name)
        if count > MOST_PARTS:
            raise ValueError(f"it has more than {MOST_PARTS} parts")
        if depth > DEEPEST_TEMPLATE or loops > DEEPEST_LOOPS:
            raise ValueError("it is nested too deeply")
        if len(names) > MOST_NAMES:
            raise ValueError(f"it has more than {MOST_NAMES} different names")
        waiting += [(one, depth + 1, loops) for one in node.iter_child_nodes()]


def _check_code(tree: nodes.Template) -> None:
    """Raise for what reads well but could not be made into code."""
    for node in tree.find_all(nodes.Node):
        if isinstance(node, nodes.Const) and isinstance(node.value, int):
            if node.value.bit_length() > MOST_BITS:
                raise ValueError("a number is too large")
        elif isinstance(node, nodes.Call | nodes.Filter | nodes.Test):
            _check_different([str(one.key) for one in node.kwargs], node)
        elif isinstance(node, nodes.Macro | nodes.CallBlock):
            _check_different([one.name for one in node.args], node)
            _check_caller(node)
        elif isinstance(node, nodes.For):
            _check_loop(node)


def _check_different(names: list[str], node: nodes.Node) -> None:
    if len({normalize("NFKC", one) for one in names}) < len(names):
        raise TemplateAssertionError("an argument is there twice", node.lineno)


def _check_caller(node: nodes.Macro | nodes.CallBlock) -> None:
    names = [one.name for one in node.args]
    without_default = names[: len(names) - len(node.defaults)]
    if "caller" in without_default and find_undeclared(node.body, ("caller",)):
        raise TemplateAssertionError(
            'When defining macros or call blocks the special "caller" argument must be omitted '
            "or be given a default.",
            node.lineno,
        )


def _check_loop(node: nodes.For) -> None:
    for name in node.find_all(nodes.Name):
        if name.ctx == "store" and name.name == "loop":
            message = "Can't assign to special loop variable in for-loop target"
            raise TemplateAssertionError(message, name.lineno)


def _refuse(tree: nodes.Template) -> None:
    """Raise `ValueError` for what can never work: other templates, and parts of Python."""
    for node in tree.find_all((*_OTHER_FILES, *_ESCAPES, nodes.Getattr)):
        if isinstance(node, _OTHER_FILES):
            raise ValueError(
                "include, import, extends and block cannot be used: there are no other files"
            )
        if isinstance(node, _ESCAPES):
            raise ValueError("autoescape cannot be used")
        if isinstance(node, nodes.Getattr) and node.attr.startswith("__"):
            raise ValueError(f"'{node.attr}' cannot be used")
