"""Reference pages made from the program itself."""

import os
from pathlib import Path

import click

from metier.cli import COMMANDS, group
from metier.lint.pages import ERROR_PAGES, PAGES
from metier.values.codes import CODES

DOCS = Path(__file__).parents[1] / "docs"
NOTE = "Generated from the program; `make docs` writes it anew.\n"


def is_writing() -> bool:
    return bool(os.environ.get("METIER_WRITE_DOCS"))


def check(path: Path, text: str) -> None:
    """Compare a page with what the program says, or write it when asked to."""
    if is_writing():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.read_text() == text, f"{path.name} is out of date: run make docs"


def cli_page() -> str:
    parts = ["# Commands\n", NOTE]
    context = click.Context(group, info_name="metier", **group.context_settings)
    parts.append(f"```text\n{group.get_help(context)}\n```\n")
    for name in COMMANDS:
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        parts.append(f"## metier {name}\n\n```text\n{command.get_help(inner)}\n```\n")
    return "\n".join(parts)


def findings_page() -> str:
    parts = ["# Findings\n", NOTE]
    parts.append("| code | severity | title | `--fix` |\n|---|---|---|---|")
    parts[-1] += "".join(
        f"\n| [{code}](#{code.lower()}) | {rule.severity} | {rule.title} "
        f"| {'yes' if rule.fixable else ''} |"
        for code, rule in CODES.items()
    )
    for code, rule in CODES.items():
        page = PAGES[code]
        bad, good = page.bad.strip("\n"), page.good.strip("\n")
        parts.append(
            f"\n## {code}\n\n{rule.title.capitalize()} ({rule.severity}). {page.why}\n\n"
            f"Bad:\n\n````text\n{bad}\n````\n\nGood:\n\n````text\n{good}\n````"
        )
    return "\n".join(parts) + "\n"


def errors_page() -> str:
    rows = "".join(f"| `{code}` | {text} |\n" for code, text in ERROR_PAGES.items())
    return f"# Errors\n\n{NOTE}\n| code | what it means, what to do |\n|---|---|\n{rows}"
