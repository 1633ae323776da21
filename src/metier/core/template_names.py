"""The free names of a template, found without compiling it."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

from jinja2 import TemplateAssertionError, nodes

from metier.core.bounded_jinja import environment

_IN_MACROS = ("caller", "kwargs", "varargs")
"""Names that every macro has."""


class _Scope:
    def __init__(self, outer: "_Scope | None" = None, *, is_branch: bool = False) -> None:
        """A branch of `if` shares the names around it."""
        self.outer = outer
        self.is_branch = is_branch
        self.known: set[str] = set()
        self.stored: set[str] = set()

    def knows(self, name: str) -> bool:
        return name in self.known or (self.outer is not None and self.outer.knows(name))

    def stores(self, name: str) -> bool:
        around = self.outer if self.is_branch else None
        return name in self.stored or (around is not None and around.stores(name))

    @property
    def whole(self) -> "_Scope":
        return self.outer.whole if self.is_branch and self.outer is not None else self


def free_names(tree: nodes.Template) -> set[str]:
    """Names that a template does not set, as Jinja's compiler finds them."""
    return _FreeNames(tree).found


class _FreeNames:
    def __init__(self, tree: nodes.Template) -> None:
        self.found: set[str] = set()
        self._later: list[tuple[list[nodes.Node], _Scope]] = []
        self._open(tree.body, None, "self")
        while self._later:
            body, scope = self._later.pop()
            self._visit_all(body, scope)
        self.found -= set(environment.globals)

    def _open(self, body: Iterable[nodes.Node], outer: _Scope | None, *known: str) -> None:
        """Visit `body` in its own scope, after `outer` is complete."""
        scope = _Scope(outer.whole if outer is not None else None)
        scope.known.update(known)
        scope.stored.update(known)
        self._later.append((list(body), scope))

    def _visit_all(self, body: Iterable[nodes.Node], scope: _Scope, soft: bool = False) -> None:
        for one in body:
            self._visit(one, scope, soft)

    def _visit(self, node: nodes.Node, scope: _Scope, soft: bool) -> None:
        """With `soft`, unknown filters and tests are allowed."""
        soft = soft or scope.is_branch or isinstance(node, nodes.CondExpr)
        special = _VISITS.get(type(node))
        if special is not None:
            special(self, node, scope)
            return
        if not soft:
            _check_exists(node)
        self._visit_all(node.iter_child_nodes(), scope, soft)

    def _load(self, name: str, scope: _Scope) -> None:
        if not scope.knows(name):
            scope.known.add(name)
            self.found.add(name)

    def _visit_name(self, node: nodes.Name, scope: _Scope) -> None:
        if node.ctx == "load":
            self._load(node.name, scope)
        else:
            scope.known.add(node.name)
            scope.stored.add(node.name)

    def _visit_attribute(self, node: nodes.NSRef, scope: _Scope) -> None:
        self._load(node.name, scope)

    def _visit_if(self, node: nodes.If, scope: _Scope) -> None:
        self._visit(node.test, scope, soft=True)
        branches = [_Scope(scope, is_branch=True) for _ in range(3)]
        bodies: tuple[Iterable[nodes.Node], ...] = (node.body, node.elif_, node.else_)
        for branch, body in zip(branches, bodies, strict=True):
            self._visit_all(body, branch)
        around = scope.whole.outer
        for name in set().union(*(one.stored for one in branches)):
            if not scope.stores(name) and not (around is not None and around.knows(name)):
                self.found.add(name)
        for branch in branches:
            scope.known |= branch.known
            scope.stored |= branch.stored

    def _visit_for(self, node: nodes.For, scope: _Scope) -> None:
        self._visit(node.iter, scope, soft=False)
        names = [
            one.name
            for one in chain([node.target], node.target.find_all(nodes.Name))
            if isinstance(one, nodes.Name)
        ]
        self._open(node.body, scope, "loop", *names)
        self._open(node.else_, scope)
        self._open([node.test] if node.test is not None else [], scope, *names)

    def _visit_macro(self, node: nodes.Macro, scope: _Scope) -> None:
        scope.known.add(node.name)
        scope.stored.add(node.name)
        self._open([*node.args, *node.defaults, *node.body], scope, *_IN_MACROS)

    def _visit_call_block(self, node: nodes.CallBlock, scope: _Scope) -> None:
        self._visit(node.call, scope, soft=False)
        self._open([*node.args, *node.defaults, *node.body], scope, *_IN_MACROS)

    def _visit_filter_block(self, node: nodes.FilterBlock, scope: _Scope) -> None:
        self._visit_all(node.filter.iter_child_nodes(), scope)
        self._open([*node.body, node.filter], scope)

    def _visit_with(self, node: nodes.With, scope: _Scope) -> None:
        self._visit_all(node.values, scope)
        self._open([*node.targets, *node.body], scope)

    def _visit_assign(self, node: nodes.Assign, scope: _Scope) -> None:
        self._visit(node.node, scope, soft=False)
        self._visit(node.target, scope, soft=False)

    def _visit_assign_block(self, node: nodes.AssignBlock, scope: _Scope) -> None:
        self._visit(node.target, scope, soft=False)
        self._open([*node.body, *([node.filter] if node.filter is not None else [])], scope)


_VISITS: dict[type[nodes.Node], Any] = {
    nodes.Name: _FreeNames._visit_name,
    nodes.NSRef: _FreeNames._visit_attribute,
    nodes.If: _FreeNames._visit_if,
    nodes.For: _FreeNames._visit_for,
    nodes.Macro: _FreeNames._visit_macro,
    nodes.CallBlock: _FreeNames._visit_call_block,
    nodes.FilterBlock: _FreeNames._visit_filter_block,
    nodes.With: _FreeNames._visit_with,
    nodes.Assign: _FreeNames._visit_assign,
    nodes.AssignBlock: _FreeNames._visit_assign_block,
}


def _check_exists(node: nodes.Node) -> None:
    if isinstance(node, nodes.Filter) and node.name not in environment.filters:
        raise TemplateAssertionError(f"No filter named {node.name!r}.", node.lineno)
    if isinstance(node, nodes.Test) and node.name not in environment.tests:
        raise TemplateAssertionError(f"No test named {node.name!r}.", node.lineno)
