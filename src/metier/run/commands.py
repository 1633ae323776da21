"""Commands as tools: no shell, little environment, inside the workspace, only with consent."""

import json
import os
import re
import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, NoReturn

from metier.core.paths import is_inside
from metier.core.process import minimal_environment
from metier.core.unread import why_not_json
from metier.errors import UsageError
from metier.run.processes import Ended, run_process
from metier.run.tool import MOST_OUTPUT, Tool, ToolContext, ToolError, invalid

DEFAULT_TIMEOUT = 60.0
_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def command_tool(
    name: str,
    argv: Sequence[str],
    *,
    workspace: str,
    description: str = "",
    schema: Mapping[str, Any] | None = None,
    folder: str = ".",
    timeout: float = DEFAULT_TIMEOUT,
    stdin: Literal["none", "json"] = "none",
    output: Literal["text", "json"] = "text",
    environment: Sequence[str] = (),
    raw: Sequence[str] = (),
) -> Tool:
    """A command as a tool; it always needs consent.

    `{name}` in an element of `argv` becomes the argument `name`: it stays one element, and no
    shell ever sees it. A value cannot become an option: one that starts with `-` is refused
    where the element begins with it (`{name}`), unless `raw` lists the argument; inside a larger
    element (`--x={name}`) it is harmless. Each such argument is required by the schema or has a
    default there; without a schema each is a required text. With `stdin="json"` the arguments
    are written to the command as JSON.

    The command runs in `folder`, which lies inside `workspace` once symlinks are followed, with
    PATH, HOME, LANG, what `environment` names, METIER_RUN_ID, METIER_STEP_ID and
    METIER_IDEMPOTENCY_KEY. Its output is what it prints, without the line ends that close it, or
    with `output="json"` the value that this text is. Raises `UsageError`.
    """
    command = _Command(
        argv=tuple(argv),
        folder=folder,
        workspace=workspace,
        stdin=stdin,
        output=output,
        environment=tuple(environment),
        raw=frozenset(raw),
        defaults=_defaults(schema),
    )
    command.check(name, _settled(schema))
    return Tool(
        name=name,
        description=description,
        schema=_required_texts(command.placeholders) if schema is None else schema,
        prepare=command.prepared,
        call=command.run,
        timeout=timeout,
        needs_consent=True,
    )


class _Prepared(NamedTuple):
    argv: tuple[str, ...]
    stdin: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    argv: tuple[str, ...]
    folder: str
    workspace: str
    stdin: str
    output: str
    environment: tuple[str, ...]
    raw: frozenset[str]
    defaults: Mapping[str, Any]

    @property
    def placeholders(self) -> list[str]:
        found = (name for element in self.argv for name in _PLACEHOLDER.findall(element))
        return list(dict.fromkeys(found))

    def check(self, name: str, settled: frozenset[str] | None) -> None:
        """Raise `UsageError` unless it can be run with any arguments that fit the schema."""
        if not self.argv or not all(isinstance(one, str) and "\0" not in one for one in self.argv):
            raise UsageError(f"tool '{name}': 'argv' is a list of texts, the program first")
        if not self.argv[0] or _PLACEHOLDER.search(self.argv[0]):
            raise UsageError(f"tool '{name}': the program cannot come from an argument")
        open_ones = [one for one in self.placeholders if settled is not None and one not in settled]
        if open_ones:
            raise UsageError(
                f"tool '{name}': nothing says that there is an argument '{open_ones[0]}'",
                hint="list it under 'required' in the schema, or give it a 'default' there",
            )
        if self._inside() is None:
            raise UsageError(f"tool '{name}': the folder '{self.folder}' leaves the workspace")

    def prepared(self, args: dict[str, Any]) -> _Prepared:
        """The command line for `args`. Raises `ToolError` with every value that it refuses."""
        given = {**self.defaults, **args}
        problems: list[str] = []
        argv = [self._filled(element, given, problems) for element in self.argv]
        if problems:
            raise invalid(problems)
        stdin = json.dumps(args, ensure_ascii=False).encode() if self.stdin == "json" else None
        return _Prepared(tuple(argv), stdin)

    async def run(self, prepared: _Prepared, context: ToolContext) -> Any:
        """What the command prints. Raises `ToolError`."""
        folder = self._inside()
        if folder is None:
            raise ToolError(f"the folder '{self.folder}' leaves the workspace")
        try:
            ended = await run_process(
                prepared.argv,
                folder=folder,
                environment=self._environment(context),
                stdin=prepared.stdin,
                most_output=MOST_OUTPUT,
            )
        except (OSError, ValueError) as error:
            raise ToolError(f"cannot be started: {error}") from None
        return self._read(ended)

    def _filled(self, element: str, given: Mapping[str, Any], problems: list[str]) -> str:
        names = _PLACEHOLDER.findall(element)
        filled = _PLACEHOLDER.sub(lambda found: _as_text(given[found[1]]), element)
        becomes_option = filled.startswith("-") and not element.startswith("-")
        if "\0" in filled:
            problems.append(f"arguments.{names[0]}: holds a NUL character")
        elif becomes_option and not self.raw.issuperset(names):
            problems.append(f"arguments.{names[0]}: starts with '-', so it would be an option")
        return filled

    def _inside(self) -> str | None:
        """Where it runs, symlinks followed; None when that is outside the workspace."""
        workspace = os.path.realpath(self.workspace)
        folder = os.path.realpath(os.path.join(workspace, self.folder))
        return folder if is_inside(folder, workspace) else None

    def _environment(self, context: ToolContext) -> dict[str, str]:
        return {
            **minimal_environment(self.environment),
            "METIER_RUN_ID": context.run_id,
            "METIER_STEP_ID": context.step_id,
            "METIER_IDEMPOTENCY_KEY": context.idempotency_key,
        }

    def _read(self, ended: Ended) -> Any:
        if ended.too_much:
            raise ToolError(f"printed more than {MOST_OUTPUT:,} bytes and was stopped")
        if ended.code:
            raise ToolError(_reason(ended), retryable=True)
        text = ended.output.decode("utf-8", errors="replace").rstrip("\r\n")
        return _from_json(text) if self.output == "json" else text


def _settled(schema: Mapping[str, Any] | None) -> frozenset[str] | None:
    """The arguments that are always there; None when any is."""
    if schema is None:
        return None
    return frozenset([*schema.get("required", ()), *_defaults(schema)])


def _defaults(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    properties = (schema or {}).get("properties") or {}
    return {name: one["default"] for name, one in properties.items() if "default" in one}


def _required_texts(names: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {name: {"type": "string"} for name in names},
        "required": list(names),
        "additionalProperties": False,
    }


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _reason(ended: Ended) -> str:
    """The exit code or signal, and the last line of stderr."""
    lines = ended.errors.decode("utf-8", errors="replace").strip().splitlines()
    said = f": {lines[-1].strip()}" if lines else ""
    return f"{_signal(-ended.code) if ended.code < 0 else f'exit code {ended.code}'}{said}"


def _signal(number: int) -> str:
    try:
        return f"ended by {signal.Signals(number).name}"
    except ValueError:
        return f"ended by signal {number}"


def _from_json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"what it printed is not JSON: {why_not_json(error, text)}") from None


def _no_constant(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
