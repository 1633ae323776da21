"""TOML with limits: `tomllib` takes quadratic time for long dotted keys."""

import re
from collections.abc import Callable
from typing import Any

MOST_PARTS = 50
"""Parts of one dotted key."""
DEEPEST = 50
_TOKEN = re.compile(
    r'#[^\n]*|"""(?:[^"\\]|\\.|"{1,2}(?!"))*+(?:"{3,5})?|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'''(?:[^']|'{1,2}(?!'))*+(?:'{3,5})?|'[^'\n]*'?"
    r"|(?P<number>(?<!\w)[0-9][0-9A-Fa-fobx_]{1000,})"
    r"|(?P<dot>\.)|(?P<open>[\[{])|(?P<close>[\]}])|(?P<end>[\n=,])",
    re.DOTALL,
)
"""Comments and strings are skipped. Numbers that Python would not print are rejected."""


_POSITION = re.compile(r"\(at line (\d+), column (\d+)\)\Z")
"""How `tomllib` says where an error is; before Python 3.14 it says so in words only."""


class TomlError(ValueError):
    """Why a text is not valid TOML, and where if that is known."""

    def __init__(self, message: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


def toml_of(text: str, parse_float: Callable[[str], Any] = float) -> dict[str, Any]:
    """Parse `text`. Raises `TomlError`."""
    import tomllib  # most workspaces have no settings

    text = text.replace("\r\n", "\n")
    _check_bounds(text)
    try:
        return tomllib.loads(text, parse_float=parse_float)
    except RecursionError:
        raise TomlError("it is nested too deeply") from None
    except ValueError as error:
        said = _POSITION.search(str(error))
        raise TomlError(str(error), *map(int, said.groups() if said else ())) from None


def _check_bounds(text: str) -> None:
    depth = dots = 0
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        if kind is None:
            continue
        dots = dots + 1 if kind == "dot" else 0
        depth += (kind == "open") - (kind == "close")
        problem = ""
        if kind == "number":
            problem = "a number with more digits than metier reads"
        elif dots >= MOST_PARTS:
            problem = f"a key of more than {MOST_PARTS} parts"
        elif depth > DEEPEST:
            problem = f"nested deeper than {DEEPEST} levels"
        if problem:
            line = text.count("\n", 0, token.start()) + 1
            raise TomlError(f"{problem} (at line {line})", line, 1)
