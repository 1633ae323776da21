"""A sandboxed Jinja environment in which no expression can fill the memory or run for ever."""

from collections.abc import Callable, Iterable
from typing import Any

from jinja2 import ChainableUndefined, StrictUndefined, nodes
from jinja2.compiler import CodeGenerator, Frame, MacroRef, operators
from jinja2.runtime import LoopContext, Macro
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.utils import Namespace

from metier.core.bounded_filters import (
    TEXT_METHODS,
    TURN,
    bounded_filters,
    bounded_tests,
    check_method,
    check_percent,
    filled,
)
from metier.core.template_work import (
    CHARACTERS_MADE,
    MOST_BITS,
    Work,
    check_length,
    crowded,
    current,
)

_LARGEST_POWER = 10_000
_CALL = 20
"""Work of a call."""
_TURN = 2
_REMOVED_GLOBALS = ("lipsum", "cycler", "joiner")
_IN_SEQUENCES = frozenset({"count", "index"})
_ATTRIBUTES: dict[type, frozenset[str]] = {
    str: TEXT_METHODS,
    dict: frozenset({"get", "items", "keys", "values"}),
    list: _IN_SEQUENCES,
    tuple: _IN_SEQUENCES | {"grouper", "list"},
    range: frozenset({"start", "step", "stop"}),
    LoopContext: frozenset({
        "changed", "cycle", "depth", "depth0", "first", "index", "index0", "last", "length",
        "nextitem", "previtem", "revindex", "revindex0",
    }),
    Macro: frozenset({"arguments", "caller", "catch_kwargs", "catch_varargs", "name"}),
}  # fmt: skip
"""Attributes that a template may use; `grouper` and `list` are those of `groupby`."""


class Undefined(ChainableUndefined, StrictUndefined):
    """Can be tested and given a default, but not used."""


class _Namespace(Namespace):
    """Its repr hides its values, which may be recursive."""

    def __repr__(self) -> str:
        return "<namespace>"


_TAKE_PAIRS = (dict, _Namespace)
"""Callables that accept a list of pairs."""


class _Generator(CodeGenerator):
    """Generates code that counts its work; each block counts its own parts when entered."""

    _due = 0
    """Work that the next block counts for its surroundings."""

    def write_commons(self) -> None:
        super().write_commons()
        self.writeline("work = environment.work()")

    def blockvisit(self, nodes: Iterable[nodes.Node], frame: Frame) -> None:
        body = list(nodes)
        self.writeline(f"work.spend({self._due + _TURN + _parts(body)})")
        self._due = 0
        super().blockvisit(body, frame)

    def macro_body(
        self, node: nodes.Macro | nodes.CallBlock, frame: Frame
    ) -> tuple[Frame, MacroRef]:
        self._due = _parts(node.defaults)
        return super().macro_body(node, frame)

    def visit_Template(self, node: nodes.Template, frame: Frame | None = None) -> None:  # noqa: N802
        for loop in node.find_all(nodes.For):
            if loop.test is not None:
                much = nodes.Const(_TURN + _parts([loop.test]))
                loop.test = nodes.Filter(
                    loop.test, TURN, [much], [], None, None, lineno=loop.lineno
                )
        for block in node.find_all(nodes.AssignBlock):
            if block.filter is not None:
                block.body.append(_never(list(block.filter.iter_child_nodes())))
        super().visit_Template(node, frame)

    def _output_child_to_const(self, node: nodes.Expr, frame: Frame, finalize: Any) -> str:
        if not isinstance(node, nodes.TemplateData):
            raise nodes.Impossible
        return super()._output_child_to_const(node, frame, finalize)

    def _output_child_pre(self, _node: nodes.Expr, _frame: Frame, _finalize: Any) -> None:
        self.write("work.shown(")

    def _output_child_post(self, _node: nodes.Expr, _frame: Frame, _finalize: Any) -> None:
        self.write(")")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:  # noqa: N802
        self.write("work.joined((")
        for one in node.nodes:
            self.visit(one, frame)
            self.write(", ")
        self.write("))")

    def visit_List(self, node: nodes.List, frame: Frame) -> None:  # noqa: N802
        self.write("work.made(")
        super().visit_List(node, frame)
        self.write(")")

    def visit_Tuple(self, node: nodes.Tuple, frame: Frame) -> None:  # noqa: N802
        is_value = node.ctx == "load"
        self.write("work.made(" if is_value else "")
        super().visit_Tuple(node, frame)
        self.write(")" if is_value else "")

    def visit_Dict(self, node: nodes.Dict, frame: Frame) -> None:  # noqa: N802
        self.write("work.made({")
        for one in node.items:
            self._visit_read(one.key, frame)
            self.write(": ")
            self.visit(one.value, frame)
            self.write(", ")
        self.write("})")

    def visit_Compare(self, node: nodes.Compare, frame: Frame) -> None:  # noqa: N802
        if len(node.ops) == 1 and node.ops[0].op not in ("in", "notin"):
            self.write("(")
            self._visit_read(node.expr, frame)
            self.write(f" {operators[node.ops[0].op]} ")
            self._visit_read(node.ops[0].expr, frame)
        else:
            self.write("work.compared(")
            self.visit(node.expr, frame)
            for one in node.ops:
                self.write(f", {one.op!r}, ")
                self.visit(one.expr, frame)
        self.write(")")

    def _visit_read(self, node: nodes.Expr, frame: Frame) -> None:
        is_short = isinstance(node, nodes.Const)
        self.write("" if is_short else "work.read(")
        self.visit(node, frame)
        self.write("" if is_short else ")")

    def visit_Getitem(self, node: nodes.Getitem, frame: Frame) -> None:  # noqa: N802
        is_slice = isinstance(node.arg, nodes.Slice)
        self.write("work.made(" if is_slice else "")
        super().visit_Getitem(node, frame)
        self.write(")" if is_slice else "")


def _never(expressions: list[nodes.Node]) -> nodes.If:
    """A no-op that shows Jinja the names in the filter of a set block."""
    return nodes.If(nodes.Const(False), [nodes.Output(expressions)], [], [])


def _parts(body: Iterable[nodes.Node]) -> int:
    """Count nodes, without those in inner blocks."""
    count = 0
    waiting = list(body)
    while waiting:
        node = waiting.pop()
        count += 1
        if isinstance(node, nodes.TemplateData):
            count += len(node.data) // CHARACTERS_MADE
        waiting += node.iter_child_nodes(exclude=("body", "else_"))
    return count


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """Prefers keys of a mapping to its methods, and limits the size of values."""

    code_generator_class = _Generator
    intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%", "**"])

    def __init__(self) -> None:
        super().__init__(undefined=Undefined, keep_trailing_newline=True, optimized=False)
        for name in _REMOVED_GLOBALS:
            del self.globals[name]
        self.globals["namespace"] = _Namespace
        self.filters = bounded_filters(self.filters)
        self.tests.update(bounded_tests(self.tests))

    def work(self) -> Work:
        return current()

    def is_safe_attribute(self, obj: Any, attr: str, _value: Any) -> bool:
        if isinstance(obj, Undefined | Namespace):
            return not attr.startswith("_")
        return any(isinstance(obj, kind) and attr in known for kind, known in _ATTRIBUTES.items())

    def getattr(self, obj: Any, attribute: str) -> Any:
        if isinstance(obj, dict) and attribute in obj:
            return obj[attribute]
        current().spend(1)
        return super().getattr(obj, attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        work = current()
        work.spend(1)
        if isinstance(obj, dict) and not isinstance(argument, str):
            work.read(argument)
            work.spend(crowded(len(obj)))
        return super().getitem(obj, argument)

    def call_binop(self, _context: Any, operator: str, left: Any, right: Any) -> Any:
        work = current()
        if not (isinstance(left, int | float) and isinstance(right, int | float)):
            work.read(left)
            work.read(right)
        if operator == "**":
            _check_power(left, right)
        elif operator == "%" and isinstance(left, str):
            check_percent(work, left, right)
        elif operator == "+" and hasattr(left, "__len__") and hasattr(right, "__len__"):
            check_length(len(left) + len(right))
        elif operator == "*":
            _check_product(left, right)
            _check_product(right, left)
        return work.made(self.binop_table[operator](left, right))

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        work = current()
        work.spend(_CALL + len(args) + len(kwargs))
        if not isinstance(obj, Macro):
            args = self._counted(work, obj, args, kwargs)
        return work.made_anew(super().call(context, obj, *args, **kwargs))

    def _counted(
        self, work: Work, obj: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Any, ...]:
        """Count the work of a call; the arguments, with iterators made lists."""
        owner = getattr(obj, "__self__", None)
        if args and (obj in _TAKE_PAIRS or (isinstance(owner, str) and obj.__name__ == "join")):
            args = (list(args[0]) if hasattr(args[0], "__next__") else args[0], *args[1:])
        for one in (*args, *kwargs.values()):
            work.read(one)
        if isinstance(owner, str):
            check_method(work, owner, obj.__name__, args, kwargs)
        elif isinstance(owner, list | tuple):
            work.read(owner)
        elif isinstance(owner, dict):
            work.spend(crowded(len(owner)))
        elif args and obj in _TAKE_PAIRS and not isinstance(args[0], dict):
            work.spend(len(args[0]) * crowded(len(args[0])))
        return args

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        if super().wrap_str_format(value) is None:
            return None
        text: str = value.__self__
        if value.__name__ == "format_map":
            return lambda values: filled(self, current(), text, (), values)
        return lambda *args, **kwargs: filled(self, current(), text, args, kwargs)


def _check_power(left: Any, right: Any) -> None:
    if abs(left) > _LARGEST_POWER or abs(right) > _LARGEST_POWER:
        raise OverflowError("a power is too large")
    if isinstance(left, int) and isinstance(right, int):
        bits = (left.bit_length() - 1) * right
        if bits > MOST_BITS:
            raise OverflowError("a power is too large")


def _check_product(values: Any, times: Any) -> None:
    if hasattr(values, "__len__") and isinstance(times, int):
        check_length(len(values) * times)


environment = BoundedEnvironment()
