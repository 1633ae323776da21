"""The reference of the Python interface, from signatures and docstrings."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

import metier
import metier.types
from metier.mcp import asgi_app
from metier.rules import Rule, RuleFinding, RuleInput
from metier.run.models import (
    ModelOptions,
    OfflineModel,
    Price,
    ProviderSettings,
    model_for,
    price_of,
    using,
)
from metier.testing import CassetteError, RecordedModel, ScriptedModel, Workspace, assertions

_WIDTH = 100
_ERRORS = "## Errors\n\n"


def python_page(note: str) -> str:
    """Every name of `metier.__all__`: classes, errors, functions."""
    found = {name: getattr(metier, name) for name in metier.__all__ if name != "__version__"}
    classes = {name: one for name, one in found.items() if inspect.isclass(one)}
    errors = {name: one for name, one in classes.items() if issubclass(one, Exception)}
    parts = ["# Python API\n", note, _INTRODUCTION]
    parts += [_class_text(name, classes[name]) for name in classes if name not in errors]
    parts += [_function_text(f"## {name}", name, found[name]) for name in found.keys() - classes]
    parts[3:] = sorted(parts[3:], key=lambda text: (not text.startswith("## Catalog\n"), text))
    parts.append(_errors_text(errors))
    parts += [f"## metier.types\n\n{_ABOUT_TYPES}", *map(_type_section, metier.types.__all__)]
    for module, about, members in _ELSEWHERE:
        parts += [f"## {module}\n\n{about}\n", *map(_member_text, members)]
    return "\n".join(parts)


_INTRODUCTION = """\
Import these names from `metier`, and those of the last sections from where they say. The guide is
[Python](../python.md). Names that are not on this page may change in any version; one of these
warns first ([versions](../install.md#versions)).
"""
_ABOUT_TYPES = """\
What methods take and return, for annotations: `from metier.types import Which`. The fields are part
of the interface; the modules in which metier keeps these classes are not.
"""
_ELSEWHERE: list[tuple[str, str, list[Any]]] = [
    (
        "metier.testing",
        "Beside the fixtures of the pytest plugin ([tests](../python.md#test)). `Message`,"
        " `ModelReply`,\n`ModelRequest` and `ToolCall` can be imported from here, too.",
        [
            CassetteError, RecordedModel, ScriptedModel, Workspace, assertions.assert_injected,
            assertions.assert_not_injected, assertions.assert_silent, assertions.assert_which,
        ],
    ),
    (
        "metier.mcp",
        "For applications that serve a catalog, a `McpApp` ([MCP](../mcp.md)).",
        [asgi_app],
    ),
    (
        "metier.run.models",
        "Models by name, for programs that hand over an object ([models](../agents.md#models)).",
        [ModelOptions, OfflineModel, Price, ProviderSettings, model_for, price_of, using],
    ),
    (
        "metier.rules",
        "For packages that bring lint rules ([rules](../own-rules.md)).",
        [Rule, RuleFinding, RuleInput],
    ),
]  # fmt: skip


def _type_section(name: str) -> str:
    """A class without the methods that only metier calls; of an alias, what it stands for."""
    one = getattr(metier.types, name)
    if inspect.isclass(one) and one.__name__ == metier.types.name_at_home(name):
        return _class_text(name, one, "###", _is_read)
    return f"### {name}\n\n```python\n{name} = {_alias_text(name)}\n```\n"


def _alias_text(name: str) -> str:
    """What an alias stands for, as it is written in its module."""
    module = import_module(f"metier.{metier.types.HOMES[name]}")
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            target: ast.expr = node.target
        elif isinstance(node, ast.Assign):
            target = node.targets[0]
        else:
            continue
        if isinstance(target, ast.Name) and target.id == name:
            assert node.value is not None
            return _quoted_as_source(ast.unparse(node.value))
    raise AssertionError(f"{name} is not written in {module.__name__}")


def _is_read(member: Any) -> bool:
    return not inspect.isfunction(member) or inspect.iscoroutinefunction(member)


def _member_text(one: Any) -> str:
    if not inspect.isclass(one):
        return _function_text(f"### {one.__name__}", one.__name__, one)
    head, *rest = _class_text(one.__name__, one, "###").split("\n####", maxsplit=1)
    return "\n####".join([head + _constructor(one), *rest])


def _constructor(one: type) -> str:
    """How to make an object of a class whose fields do not say so."""
    made = None if _has_fields(one) else vars(one).get("__init__")
    if made is None:
        return ""
    call = _signature(one.__name__, made).removeprefix("def ").removesuffix(" -> None")
    return f"\n```python\n{call}\n```\n" + (f"\n{_doc(made)}" if made.__doc__ else "")


def _is_public(member: Any) -> bool:
    """Whether it is not a part that a class keeps for itself."""
    return not isinstance(member, cached_property)


def _class_text(
    name: str, one: type, level: str = "##", is_wanted: Callable[[Any], bool] = _is_public
) -> str:
    parts = [f"{level} {name}\n", _doc(one)]
    fields = list(_fields(one))
    if fields:
        parts += ["```python", *fields, "```\n"]
    for method, member in _methods(one):
        if is_wanted(member):
            parts.append(_function_text(f"{level}# {name}.{method}", method, member))
    return "\n".join(part for part in parts if part)


def _fields(one: type) -> Iterator[str]:
    """The fields with their defaults and docstrings as they are written, those of bases too."""
    for base in reversed(one.__mro__):
        if base.__module__.startswith("metier."):
            written = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(written, ast.ClassDef)
            for line, after in zip(written.body, [*written.body[1:], None], strict=True):
                if not isinstance(line, ast.AnnAssign) or not isinstance(line.target, ast.Name):
                    continue
                if _has_fields(one) or _is_docstring(after):
                    yield from _field(line.target.id, line, after)


def _is_docstring(line: ast.stmt | None) -> bool:
    return isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)


def _has_fields(one: type) -> bool:
    return issubclass(one, tuple) or dataclasses.is_dataclass(one)


def _field(name: str, line: ast.AnnAssign, after: ast.stmt | None) -> Iterator[str]:
    """`name: type = default  # docstring`, with the comment above if it is too long."""
    default = "" if line.value is None else ast.unparse(line.value)
    if name.startswith("_") or "repr=False" in default:
        return
    text = f"{name}: {_quoted_as_source(_type_text(line.annotation))}"
    if default and not default.startswith("field("):
        text += f" = {_quoted_as_source(default)}"
    about = ""
    if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
        about = " ".join(str(after.value.value).split())
    if about and len(f"{text}  # {about}") > _WIDTH:
        yield from textwrap.wrap(about, _WIDTH, initial_indent="# ", subsequent_indent="# ")
        yield text
    else:
        yield f"{text}  # {about}" if about else text


def _quoted_as_source(code: str) -> str:
    return code if '"' in code else code.replace("'", '"')


def _methods(one: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties with a docstring, constructors first, then by name."""
    found = [
        (name, member)
        for base in reversed(one.__mro__)
        if base.__module__.startswith("metier.")
        for name, member in vars(base).items()
        if not name.startswith("_") and _is_shown(member)
    ]
    latest = {name: member for name, member in found if not _is_internal(name, member)}
    yield from sorted(latest.items(), key=lambda at: (not isinstance(at[1], classmethod), at[0]))


def _is_internal(name: str, member: Any) -> bool:
    """Whether only metier's own surfaces can call it: they decide about trust themselves."""
    return "boundary: Boundary" in _signature(name, member)


def _is_shown(member: Any) -> bool:
    plain = getattr(member, "__func__", member)
    is_one = inspect.isfunction(plain) or isinstance(member, property | cached_property)
    return is_one and bool(plain.__doc__)


def _function_text(heading: str, name: str, member: Any) -> str:
    return f"{heading}\n\n```python\n{_signature(name, member)}\n```\n\n{_doc(member)}"


def _signature(name: str, member: Any) -> str:
    """As it is written in the source: the same for every version of Python."""
    plain: Any = (
        member.fget
        if isinstance(member, property)
        else member.func
        if isinstance(member, cached_property)
        else getattr(member, "__func__", member)
    )
    written = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    assert isinstance(written, (ast.FunctionDef, ast.AsyncFunctionDef))
    returned = _type_text(written.returns)
    if isinstance(member, property | cached_property):
        return f"{name}: {returned}"
    word = "async def" if isinstance(written, ast.AsyncFunctionDef) else "def"
    parameters = list(_parameters(written.args))
    text = f"{word} {name}({', '.join(parameters)}) -> {returned}"
    if len(text) <= _WIDTH:
        return text
    return "\n".join(
        [f"{word} {name}(", *(f"    {one}," for one in parameters), f") -> {returned}"]
    )


def _parameters(given: ast.arguments) -> Iterator[str]:
    plain = [*given.posonlyargs, *given.args]
    missing: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    for one, default in zip(plain, [*missing, *given.defaults], strict=True):
        if one.arg not in ("self", "cls"):
            yield _parameter(one, default)
    if given.vararg:
        yield "*" + _parameter(given.vararg, None)
    elif given.kwonlyargs:
        yield "*"
    for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        yield _parameter(one, default)
    if given.kwarg:
        yield "**" + _parameter(given.kwarg, None)


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    text = f"{one.arg}: {_type_text(one.annotation)}"
    return text if default is None else f"{text} = {ast.unparse(default)}"


def _type_text(annotation: ast.expr | None) -> str:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return "None" if annotation is None else ast.unparse(annotation)


def _doc(member: Any) -> str:
    text = inspect.getdoc(getattr(member, "__func__", member)) or ""
    if re.match(r"\w+\(.*\)$", text.split("\n")[0]):
        text = ""  # a dataclass without a docstring
    return re.sub(r" \(spec \d\)", "", text) + "\n" if text else ""


def _errors_text(errors: dict[str, type]) -> str:
    rows = [f"| `{name}` | `{one.__mro__[1].__name__}` |" for name, one in errors.items()]
    head = "Each has a one-line `message`, a stable `code` ([errors](errors.md)) and a `hint`.\n\n"
    return _ERRORS + head + "| error | is a |\n|---|---|\n" + "\n".join(rows) + "\n"
