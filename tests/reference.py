"""Reference pages made from the program itself."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import metier
from metier.cli import group
from metier.findings import CODES, errors

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "Generated from the program by `make docs`.\n"
SCHEMAS = Path(metier.__file__).parent / "schemas"
SCHEMA_ENDING = ".v1.schema.json"
SCHEMA_OF = {
    "import": "import",
    "init": "init",
    "trust --show": "trust",
    "trust --skill": "reviews",
    "trust --mcp": "mcp-review",
    "inspect": "inspection",
    "lock": "lock-written",
    "verify": "verify",
    "diff": "reviews",
    "state adopt": "state-adopted",
    "state copy": "state-copied",
    "state prune": "state-pruned",
    "state show": "state",
    "refresh": "refresh",
    "list": "document-list",
    "show": "document",
    "listing": "listing",
    "disable": "skill-switches",
    "enable": "skill-switches",
    "listing --measure": "listing-measured",
    "resolve": "capability-resolution-report",
    "reports list": "report-list",
    "reports show": "capability-resolution-report",
    "reports diff": "report-diff",
    "reports explain": "report-explanation",
    "history record": "record",
    "eval --live": "eval-live",
    "which": "which",
    "eval": "eval",
    "eval history": "eval-history",
    "eval suggest": "eval-suggested",
    "overlap": "overlap",
    "examples list": "examples",
    "examples export": "examples-exported",
    "examples remove": "examples-removed",
    "select": "select",
    "run": "run",
    "runs list": "runs",
    "runs show": "run",
    "runs steps": "run-steps",
    "runs resume": "run",
    "runs cancel": "run-cancelled",
    "runs fork": "run",
    "runs rm": "runs-removed",
    "runs watch": "run",
    "schedule list": "schedules",
    "schedule add": "schedule",
    "schedule remove": "schedule",
    "worker": "worker-log",
    "inject": "inject",
    "hook stats": "hook-stats",
    "hook stats decisions": "hook-stats-decisions",
    "hook stats label": "hook-stats-label",
    "hook stats resume": "hook-stats-resume",
    "hook install": "host-settings",
    "hook uninstall": "host-settings",
    "hook status": "hook-status",
    "hook try": "hook-try",
    "usage": "usage",
    "mcp --http": "mcp-serving",
    "mcp install": "host-settings",
    "mcp uninstall": "host-settings",
    "web": "web-serving",
    "web --export": "web-exported",
    "lint": "lint",
    "lint --fix --dry-run": "lint-repairs",
    "lint --statistics": "lint-statistics",
    "explain": "explain-list",
    "explain CODE": "explain",
    "dev conformance": "conformance",
    "doctor": "doctor",
    "doctor --host": "doctor-host",
}
"""Which schema the output of a command follows when it is told `--json`."""
OTHER_HOMES = {
    "the files in `agents/`: [agents](../agents.md)": "agent-profile",
    "`metier.lock`: [locks](../locks.md)": "lock",
    "`.dci/aliases.v1.json`, `metier resolve --aliases FILE`": "aliases",
    "`.dci/state/reliability.v1.json`, what `metier history record` and runs store": "reliability",
    "the files in `.metier/reports/`, `Resolution.report`": "capability-resolution-report",
    "each line of `metier run --events`, `metier runs resume` and `fork` too": "event",
    "the MCP tool `skill_list`": "skill-list",
    "the MCP tool `capability_list`": "capability-list",
    "the MCP tool `context_find`": "which",
    "the MCP tool `context_inject`": "context-injection",
    "the MCP tool `capability_resolve`": "capability-resolution-report",
    "the MCP tools `run_start` and `run_get`": "run",
    "an MCP tool that fails": "mcp-error",
}
"""Files and streams that follow a schema."""


def is_writing() -> bool:
    return bool(os.environ.get("METIER_WRITE_DOCS"))


def check(path: Path, text: str) -> None:
    """Compare a page with what the program says, or write it when asked to."""
    if is_writing():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} is out of date: run make docs"


def all_commands() -> dict[str, click.Command]:
    """Every command by what is typed, those in groups too."""
    context = click.Context(group, info_name="metier", **group.context_settings)
    return {
        inner.command_path.removeprefix("metier "): inner.command for inner in contexts(context)
    }


def cli_page() -> str:
    parts = ["# Commands\n", NOTE]
    context = click.Context(group, info_name="metier", **group.context_settings)
    parts.append(f"```text\n{group.get_help(context)}\n```\n")
    for inner in contexts(context):
        text = inner.command.get_help(inner)
        parts.append(f"## {inner.command_path}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def contexts(above: click.Context) -> Iterator[click.Context]:
    """Every command below another, at any depth, in the order of the help."""
    assert isinstance(above.command, click.Group)
    for name in above.command.list_commands(above):
        command = above.command.get_command(above, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=above)
        yield inner
        if isinstance(command, click.Group):
            yield from contexts(inner)


def findings_page() -> str:
    parts = ["# Findings\n", NOTE]
    parts.append("| code | severity | title | `--fix` |\n|---|---|---|---|")
    parts[-1] += "".join(
        f"\n| [{code}](#{code.lower()}) | {rule.severity} | {rule.title} "
        f"| {('with `--unsafe`' if rule.unsafe else 'yes') if rule.fixable else ''} |"
        for code, rule in CODES.items()
    )
    for code, rule in CODES.items():
        title = rule.title[0].upper() + rule.title[1:]
        parts.append(f"\n## {code}\n\n{title} ({rule.severity}).\n\n{rule.page.rstrip()}")
    return "\n".join(parts) + "\n"


def errors_page() -> str:
    rows = "".join(f"| `{code}` | {error.why} |\n" for code, error in errors().items())
    return f"# Errors\n\n{NOTE}\n| code | what it means, what to do |\n|---|---|\n{rows}"


def commands_with_json() -> set[str]:
    """Every command that takes `--json` and does more than to hold others."""
    return {
        name
        for name, command in all_commands().items()
        if command.callback is not None and any("--json" in one.opts for one in command.params)
    }


def schema_names() -> list[str]:
    return sorted(file.name.removesuffix(SCHEMA_ENDING) for file in SCHEMAS.glob("*.json"))


def schemas_page() -> str:
    names = schema_names()
    schemas = {name: json.loads((SCHEMAS / f"{name}{SCHEMA_ENDING}").read_text()) for name in names}
    parts = [
        f"# Schemas\n\n{NOTE}",
        "JSON Schemas (draft 2020-12) of what metier reads and writes; they ship with it as"
        f" `schemas/NAME{SCHEMA_ENDING}`,\nand `metier show schema NAME` prints one. In a field's"
        " name a dot leads into an object, `[]` into a list, `{}` into the\nvalues of an object"
        " whose keys are free. Keys are in camelCase, except where spec 4 names them in snake_case,"
        " as in\nresolution reports: what metier adds to these follows it.\n",
        "| schema | title | what it is |\n|---|---|---|",
        *(
            f"| [{name}](#{name}) | {one['title']} | {_about(one)} |"
            for name, one in schemas.items()
        ),
        "\n| where it is met | schema |\n|---|---|",
        *(
            f"| `metier {command} --json` | [{name}](#{name}) |"
            for command, name in SCHEMA_OF.items()
        ),
        *(f"| {home} | [{name}](#{name}) |" for home, name in OTHER_HOMES.items()),
    ]
    for name, schema in schemas.items():
        parts.append(f"\n## {name}\n\n{schema['title']}. {_about(schema)}".rstrip())
        parts += _tables(schema)
        for inner, definition in schema.get("$defs", {}).items():
            parts.append(f"\n### {inner} of {name}")
            parts += _tables(definition)
    return "\n".join(parts) + "\n"


def _about(schema: Any) -> str:
    """What the schema says of itself, on one line."""
    return " ".join(str(schema.get("description", "")).split()).replace("|", "\\|")


def _tables(schema: Any) -> Iterator[str]:
    """The fields of a schema; what each of several alternatives is."""
    alternatives = schema.get("oneOf") or []
    if alternatives:
        yield f"\nOne of: {', '.join(_type_of(one) for one in alternatives)}."
    either = [one["required"][0] for one in schema.get("anyOf", []) if "required" in one]
    if either:
        yield f"\nOne of these is required: {', '.join(f'`{name}`' for name in either)}."
    prefix, inner = ("[]", schema["items"]) if schema.get("type") == "array" else ("", schema)
    rows = list(_rows(inner, prefix))
    for one in schema.get("allOf", []):
        (wanted,) = one["if"]["properties"].items()
        (kept,) = one["then"]["properties"].items()
        about = f"where `{wanted[0]}` is `{wanted[1]['const']}`"
        rows += _rows(kept[1], kept[0], about)
    if rows:
        yield "\n| field | type | required | meaning |\n|---|---|---|---|"
        yield from rows


def _rows(schema: Any, prefix: str, about: str = "") -> Iterator[str]:
    required = schema.get("required", ())
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}.{name}" if prefix else name
        always = "yes" if name in required else ""
        meaning = "; ".join(one for one in (about, _about(field)) if one)
        yield f"| `{path}` | {_type_of(field)} | {always} | {meaning} |"
        for one in [field, *field.get("anyOf", []), *field.get("oneOf", [])]:
            yield from _rows(*_inside(one, path), about)


def _inside(field: Any, path: str) -> tuple[Any, str]:
    """The object that a field holds, in a list or under free keys as well, and its path."""
    while True:
        items, free = field.get("items"), field.get("additionalProperties")
        if isinstance(items, dict):
            field, path = items, f"{path}[]"
        elif isinstance(free, dict):
            field, path = free, f"{path}{{}}"
        else:
            return field, path


def _type_of(field: Any) -> str:
    if "$ref" in field:
        return f"`{field['$ref'].rpartition('/')[2]}`"
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join(f"`{json.dumps(value)}`" for value in field["enum"])
    several = field.get("anyOf") or field.get("oneOf")
    if several:
        return " or ".join(_type_of(one) for one in several)
    given = field.get("type", "any")
    return " or ".join(_named(one, field) for one in ([given] if isinstance(given, str) else given))


def _named(given: str, field: Any) -> str:
    if given == "array" and isinstance(field.get("items"), dict):
        return f"list of {_type_of(field['items'])}"
    if given == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"object of {_type_of(field['additionalProperties'])}"
    return f"{given}{_bounds(field)}" if given not in ("null", "boolean") else given


def _bounds(field: Any) -> str:
    """` (0–1)` for a number that has limits, and the most characters of a text."""
    least, most = field.get("minimum"), field.get("maximum")
    if least is not None and most is not None:
        return f" ({least}–{most})"
    if least is not None:
        return f" (from {least})"
    longest = field.get("maxLength")
    return f" (at most {longest} characters)" if longest is not None else ""
