"""Templates and conditions of workflows: sandboxed Jinja in which an unknown name is an error."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from jinja2 import StrictUndefined, TemplateSyntaxError, meta, nodes

from metier.core.bounded_jinja import LONGEST, BoundedEnvironment, bounded_work

Names = Mapping[str, Any]
Compiled = Callable[[Names], Any]


class TemplateError(ValueError):
    """A template that cannot be read, or that failed; the message is one line."""


_environment = BoundedEnvironment()


def is_template(text: str) -> bool:
    return "{{" in text or "{%" in text or "{#" in text


@lru_cache(maxsize=4096)
def compiled_text(text: str) -> Compiled:
    """A function that gives `text` with its places filled. Raises `TemplateError`."""
    if not is_template(text):
        return lambda _names: text
    template = _checked(lambda: _environment.from_string(text))

    def render(names: Names) -> str:
        made: str = _run(lambda: template.render(names))
        if len(made) > LONGEST:
            raise TemplateError(f"the text has {len(made)} characters, the limit is {LONGEST}")
        return made

    return render


@lru_cache(maxsize=4096)
def compiled_expression(text: str) -> Compiled:
    """A function that gives the value of an expression. Raises `TemplateError`."""
    expression = _checked(lambda: _environment.compile_expression(text, undefined_to_none=False))

    def evaluate(names: Names) -> Any:
        value = _run(lambda: expression(**names))
        _check_defined(value)
        return value

    return evaluate


def compiled_value(value: Any) -> Compiled:
    """A function that gives `value` with every text in it filled.

    A text that is nothing but one `{{ … }}` becomes the value inside, whatever its type.
    """
    if isinstance(value, str):
        inner = _only_expression(value)
        return compiled_expression(inner) if inner is not None else compiled_text(value)
    if isinstance(value, Mapping):
        parts = {key: compiled_value(one) for key, one in value.items()}
        return lambda names: {key: part(names) for key, part in parts.items()}
    if isinstance(value, list | tuple):
        items = [compiled_value(one) for one in value]
        return lambda names: [item(names) for item in items]
    return lambda _names: value


def _only_expression(text: str) -> str | None:
    inner = text.strip()
    if not (inner.startswith("{{") and inner.endswith("}}")):
        return None
    tree = _checked(lambda: _environment.parse(inner)).body
    is_alone = (
        len(tree) == 1
        and isinstance(tree[0], nodes.Output)
        and len(tree[0].nodes) == 1
        and not isinstance(tree[0].nodes[0], nodes.TemplateData)
    )
    return inner[2:-2].removeprefix("-").removesuffix("-").strip() if is_alone else None


def _check_defined(value: Any) -> None:
    """Raise `TemplateError` for a value that is not there, or holds one."""
    if isinstance(value, StrictUndefined):
        raise TemplateError(value._undefined_message)
    if isinstance(value, list | tuple):
        for one in value:
            _check_defined(one)
    elif isinstance(value, dict):
        _check_defined(list(value.values()))


class References:
    """The names and steps that a template speaks of."""

    def __init__(self, text: str, *, is_expression: bool = False) -> None:
        source = f"{{{{ {text} }}}}" if is_expression else text
        if is_expression:
            compiled_expression(text)
        else:
            compiled_text(text)
        tree = _checked(lambda: _environment.parse(source))
        self._tree = tree
        self._guarded = {id(inner) for node in _asking(tree) for inner in _inside(node)}
        _refuse(tree)
        free: set[str] = _checked(lambda: meta.find_undeclared_variables(tree))
        used = {one.name for one in tree.find_all(nodes.Name) if id(one) not in self._guarded}
        self.names = free & used

    def of(self, name: str) -> set[str]:
        """What stands behind a name: the ids in `steps.<id>` or `steps['<id>']`."""
        return {part for _, part in self._parts(name)}

    def needed(self, name: str) -> set[str]:
        """The same without what has a default, or is only asked for with `is defined`."""
        return {part for node, part in self._parts(name) if id(node) not in self._guarded}

    def _parts(self, name: str) -> list[tuple[nodes.Node, str]]:
        found = self._tree.find_all((nodes.Getattr, nodes.Getitem))
        parts = [(node, _part(node)) for node in found if _is_name(node.node, name)]
        return [(node, part) for node, part in parts if part is not None]

    @property
    def parts_of_steps(self) -> set[str]:
        """What is wanted of steps: `output` in `steps.<id>.output`."""
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
    """What stands before `is defined` or `default`."""
    found = tree.find_all((nodes.Test, nodes.Filter))
    asks = ("defined", "undefined", "default", "d")
    return [node.node for node in found if node.name in asks and node.node is not None]


def _inside(node: nodes.Expr) -> list[nodes.Node]:
    """The node, and what its attributes and items are taken of."""
    found: list[nodes.Node] = [node]
    while isinstance(node, nodes.Getattr | nodes.Getitem):
        node = node.node
        found.append(node)
    return found


_OTHER_FILES = (nodes.Include, nodes.Import, nodes.FromImport, nodes.Extends)


def _refuse(tree: nodes.Template) -> None:
    """Raise `TemplateError` for what can never work: other templates, and parts of Python."""
    if next(tree.find_all(_OTHER_FILES), None) is not None:
        raise TemplateError("include, import and extends cannot be used: there are no other files")
    for node in tree.find_all(nodes.Getattr):
        if node.attr.startswith("__"):
            raise TemplateError(f"'{node.attr}' cannot be used")


def _checked(make: Callable[[], Any]) -> Any:
    try:
        return make()
    except TemplateSyntaxError as error:
        where = f" (line {error.lineno})" if error.lineno > 1 else ""
        raise TemplateError(f"{error.message}{where}") from None
    except (RecursionError, ValueError, OverflowError) as error:
        raise TemplateError(_one_line(error)) from None


def _run(call: Callable[[], Any]) -> Any:
    try:
        with bounded_work():
            return call()
    except RecursionError:
        raise TemplateError("nested too deeply") from None
    except Exception as error:  # a template is data: whatever it does wrong is one error
        raise TemplateError(_one_line(error)) from None


def _one_line(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:300]
