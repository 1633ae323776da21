"""The reference of the Python interface, from signatures and docstrings."""

import ast
import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import metier

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
    return "\n".join(parts)


_INTRODUCTION = """\
Import these names from `metier`. The guide is [Python](../python.md). Names that are not on this
page may change in any version; one of these warns first ([versions](../install.md#versions)).
"""


def _class_text(name: str, one: type) -> str:
    parts = [f"## {name}\n", _doc(one)]
    fields = _fields(one)
    if fields:
        parts += ["```python", *fields, "```\n"]
    for method, member in _methods(one):
        parts.append(_function_text(f"### {name}.{method}", method, member))
    return "\n".join(parts)


def _fields(one: type) -> list[str]:
    types = _annotations(one)
    if issubclass(one, tuple):
        return [f"{name}: {type_}" for name, type_ in types.items()]
    if not dataclasses.is_dataclass(one):
        return []
    return [
        f"{field.name}: {types[field.name]}"
        for field in dataclasses.fields(one)
        if not field.name.startswith("_")
    ]


def _annotations(one: type) -> dict[str, str]:
    """The types of the fields as they are written, those of bases too."""
    found: dict[str, str] = {}
    for base in reversed(one.__mro__):
        if base.__module__.startswith("metier."):
            written = ast.parse(textwrap.dedent(inspect.getsource(base))).body[0]
            assert isinstance(written, ast.ClassDef)
            found |= {
                line.target.id: _type_text(line.annotation)
                for line in written.body
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)
            }
    return found


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
    return (inspect.isfunction(plain) or isinstance(member, property)) and bool(plain.__doc__)


def _function_text(heading: str, name: str, member: Any) -> str:
    return f"{heading}\n\n```python\n{_signature(name, member)}\n```\n\n{_doc(member)}"


def _signature(name: str, member: Any) -> str:
    """As it is written in the source: the same for every version of Python."""
    plain: Any = (
        member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    )
    written = ast.parse(textwrap.dedent(inspect.getsource(plain))).body[0]
    assert isinstance(written, (ast.FunctionDef, ast.AsyncFunctionDef))
    returned = _type_text(written.returns)
    if isinstance(member, property):
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
