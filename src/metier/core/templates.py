"""Templates and conditions of workflows: sandboxed Jinja in which an unknown name is an error."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any
from unicodedata import normalize

from jinja2 import StrictUndefined, Template, TemplateAssertionError, TemplateSyntaxError, nodes
from jinja2.compiler import find_undeclared
from jinja2.parser import Parser

from metier.core.bounded_jinja import environment
from metier.core.json_values import thaw
from metier.core.template_names import free_names
from metier.core.template_work import LONGEST, MOST_BITS, OverdueError, begin, end, is_going_on

__all__ = [
    "Compiled", "Names", "OverdueError", "References", "TemplateError", "compiled_expression",
    "compiled_text", "compiled_value", "is_template",
]  # fmt: skip

Names = Mapping[str, Any]
Compiled = Callable[[Names], Any]
"""Renders with names. Raises `TemplateError`, or `OverdueError` after the deadline."""
_RESULT = "result"
LONGEST_TEMPLATE = 100_000
MOST_PARTS = 20_000
"""Nodes of a template."""
DEEPEST_TEMPLATE = 50
"""Nested nodes; Python limits the generated code."""
DEEPEST_LOOPS = 15
MOST_NAMES = 1_000
_OTHER_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends, nodes.Block)
_ESCAPES = (nodes.EvalContextModifier, nodes.ScopedEvalContextModifier)


class TemplateError(ValueError):
    """An invalid or failed template; the message is one line."""


def is_template(text: str) -> bool:
    return "{{" in text or "{%" in text or "{#" in text


@lru_cache(maxsize=4096)
def compiled_text(text: str) -> Compiled:
    """Compile a template. Raises `TemplateError`."""
    if not is_template(text):
        return lambda _names: text
    template = _compiled(_checked(lambda: read_text(text)))

    def render(names: Names) -> str:
        made: str = _run(template.render, names)
        if len(made) > LONGEST:
            raise TemplateError(f"the text has {len(made)} characters, the limit is {LONGEST}")
        return made

    return render


@lru_cache(maxsize=4096)
def compiled_expression(text: str) -> Compiled:
    """Compile an expression. Raises `TemplateError`."""
    tree = _checked(lambda: read_expression(text))
    target = nodes.Name(_RESULT, "store")
    tree.body = [nodes.Assign(target, tree.body[0].nodes[0], lineno=1)]
    template = _compiled(tree)

    def value_of(names: Names) -> Any:
        context = template.new_context(dict(names))
        for _ in template.root_render_func(context):
            pass
        return context.vars[_RESULT]

    def evaluate(names: Names) -> Any:
        value = _run(value_of, names)
        _check_defined(value)
        return value

    return evaluate


def compiled_value(value: Any) -> Compiled:
    """Compile every text in `value`; a lone `{{ … }}` keeps the type of its value."""
    return _compiled_value(value) if _has_template(value) else lambda _names: thaw(value)


def _compiled_value(value: Any) -> Compiled:
    if isinstance(value, str):
        inner = _only_expression(value)
        return compiled_expression(inner) if inner is not None else compiled_text(value)
    if isinstance(value, Mapping):
        parts = {key: _compiled_value(one) for key, one in value.items()}
        return _together(lambda names: {key: part(names) for key, part in parts.items()})
    if isinstance(value, list | tuple):
        items = [_compiled_value(one) for one in value]
        return _together(lambda names: [item(names) for item in items])
    return lambda _names: value


def _has_template(value: Any) -> bool:
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, Mapping):
        return any(map(_has_template, value.values()))
    return isinstance(value, list | tuple) and any(map(_has_template, value))


def _together(fill: Compiled) -> Compiled:
    """Let all templates in a value share one budget of work."""
    return lambda names: _run(fill, names)


def _only_expression(text: str) -> str | None:
    inner = text.strip()
    if not (inner.startswith("{{") and inner.endswith("}}")):
        return None
    tree = _checked(lambda: read_text(inner)).body
    is_alone = (
        len(tree) == 1
        and isinstance(tree[0], nodes.Output)
        and len(tree[0].nodes) == 1
        and not isinstance(tree[0].nodes[0], nodes.TemplateData)
    )
    return inner[2:-2].removeprefix("-").removesuffix("-").strip() if is_alone else None


def _check_defined(value: Any) -> None:
    """Raise `TemplateError` for an undefined value, also inside others."""
    waiting = [value]
    seen: set[int] = set()
    while waiting:
        one = waiting.pop()
        if isinstance(one, StrictUndefined):
            raise TemplateError(_one_line(one._undefined_message))
        if isinstance(one, list | tuple | dict) and id(one) not in seen:
            seen.add(id(one))
            waiting += one.values() if isinstance(one, dict) else one


class References:
    """The names and steps that a template uses, without evaluating it."""

    def __init__(self, text: str, *, is_expression: bool = False) -> None:
        read = read_expression if is_expression else read_text
        tree = _checked(lambda: read(text))
        self._tree = tree
        self._guarded = {id(inner) for node in _asking(tree) for inner in _inside(node)}
        used = {one.name for one in tree.find_all(nodes.Name) if id(one) not in self._guarded}
        free: set[str] = _checked(lambda: free_names(tree))
        self.names = free & used

    def of(self, name: str) -> set[str]:
        """The ids in `steps.<id>` or `steps['<id>']`, for `steps`."""
        return {part for _, part in self._parts(name)}

    def needed(self, name: str) -> set[str]:
        """The same without those with a default or `is defined`."""
        return {part for node, part in self._parts(name) if id(node) not in self._guarded}

    def _parts(self, name: str) -> list[tuple[nodes.Node, str]]:
        found = self._tree.find_all((nodes.Getattr, nodes.Getitem))
        parts = [(node, _part(node)) for node in found if _is_name(node.node, name)]
        return [(node, part) for node, part in parts if part is not None]

    @property
    def parts_of_steps(self) -> set[str]:
        """`output` in `steps.<id>.output`."""
        found = self._tree.find_all(nodes.Getattr)
        outer = (node for node in found if isinstance(node.node, nodes.Getattr | nodes.Getitem))
        return {node.attr for node in outer if _is_name(node.node.node, "steps")}


def _is_name(node: nodes.Node, name: str) -> bool:
    return isinstance(node, nodes.Name) and node.name == name


def _part(node: nodes.Getattr | nodes.Getitem) -> str | None:
    if isinstance(node, nodes.Getattr):
        return node.attr
    is_text = isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str)
    return node.arg.value if is_text else None  # type: ignore[attr-defined]


def _asking(tree: nodes.Template) -> list[nodes.Expr]:
    """Operands of `is defined` and `default`."""
    found = tree.find_all((nodes.Test, nodes.Filter))
    asks = ("defined", "undefined", "default", "d")
    return [node.node for node in found if node.name in asks and node.node is not None]


def _inside(node: nodes.Expr) -> list[nodes.Node]:
    """The node, and the nodes whose attributes and items it uses."""
    found: list[nodes.Node] = [node]
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
        found.append(node)
    return found


def _checked(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except TemplateSyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno > 1 else ""
        raise TemplateError(f"{error.message}{where}") from None
    except RecursionError:
        raise TemplateError("it is nested too deeply") from None
    except (ValueError, OverflowError) as error:
        raise TemplateError(_one_line(error)) from None


def _compiled(tree: nodes.Template) -> Template:
    try:
        made: Template = _checked(lambda: environment.from_string(tree))
    except TemplateError:
        raise
    except Exception as error:  # also what Python says of the code that is made of it
        raise TemplateError(_one_line(error)) from None
    return made


def _run(call: Compiled, names: Names) -> Any:
    if is_going_on():
        return call(names)
    work = begin()
    try:
        return call(names)
    except OverdueError:
        raise
    except RecursionError:
        raise TemplateError("nested too deeply") from None
    except Exception as error:  # a template is data: whatever it does wrong is one error
        raise TemplateError(_one_line(error)) from None
    finally:
        end(work)


def _one_line(said: object) -> str:
    return " ".join((str(said) or type(said).__name__).split())[:300]


# Reading templates as trees, within limits; nothing is evaluated


def read_text(text: str) -> nodes.Template:
    """Parse a template. Raises `TemplateSyntaxError`, or `ValueError` at a limit."""
    _check_length(text)
    return _within_limits(environment.parse(text))


def read_expression(text: str) -> nodes.Template:
    """Parse an expression as a template. Raises like `read_text`."""
    _check_length(text)
    parser = Parser(environment, text, state="variable")
    found = parser.parse_expression()
    if not parser.stream.eos:
        line = parser.stream.current.lineno
        raise TemplateSyntaxError("chunk after expression", line)
    output = nodes.Output([found], lineno=1)
    return _within_limits(nodes.Template([output], lineno=1).set_environment(environment))


def _check_length(text: str) -> None:
    if len(text) > LONGEST_TEMPLATE:
        raise ValueError(f"it has {len(text)} characters, the limit is {LONGEST_TEMPLATE}")


def _within_limits(tree: Any) -> nodes.Template:
    found: nodes.Template = tree
    _check_size(found)
    _check_code(found)
    _refuse(found)
    return found


def _check_size(tree: nodes.Template) -> None:
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
    """Raise for trees that cannot be compiled."""
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
    if len({normalize("NFKC", name) for name in names}) < len(names):
        raise TemplateAssertionError("an argument is given twice", node.lineno)


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
    """Raise `ValueError` for other templates, autoescape and dunder attributes."""
    for node in tree.find_all((*_OTHER_FILES, *_ESCAPES, nodes.Getattr)):
        if isinstance(node, _OTHER_FILES):
            raise ValueError(
                "include, import, extends and block cannot be used: there are no other files"
            )
        if isinstance(node, _ESCAPES):
            raise ValueError("autoescape cannot be used")
        if isinstance(node, nodes.Getattr) and node.attr.startswith("__"):
            raise ValueError(f"'{node.attr}' cannot be used")
