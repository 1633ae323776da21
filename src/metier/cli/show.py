"""`metier show`"""

import shlex
from importlib import resources
from typing import Any

import click
import yaml
from click.shell_completion import CompletionItem

from metier.catalog import Catalog
from metier.cli.session import Session, counted, metier_command, names_from_catalog
from metier.cli.shared_options import KindError
from metier.cli.shown_paths import ShownPaths, row_json
from metier.core.budget import pages
from metier.core.nearest import nearest
from metier.core.text import printable
from metier.errors import NotFoundError, UsageError
from metier.values.agents import STANDARD
from metier.values.capabilities import DEFAULT_MAX_TOKENS
from metier.values.files import KIND_OF, KINDS, Kind
from metier.values.packages import Package
from metier.values.rows import Row

_REFERENCE, _SCHEMA = "reference", "schema"
_SHOWN_ELSEWHERE = frozenset({"id", "abilityId", "agentId", "displayName", "systemPrompt"})


def _complete_kind(_ctx: Any, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    words = (*KINDS, _REFERENCE, _SCHEMA)
    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def _complete(ctx: click.Context, _parameter: Any, incomplete: str) -> list[CompletionItem]:
    kind = KIND_OF.get(ctx.params.get("kind") or "", "skill")
    return names_from_catalog(ctx, lambda catalog: catalog.names(kind), incomplete)


class _KindChoice(click.Choice[str]):
    """A kind, or what may be a name in its place."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value not in self.choices and ctx is not None:
            kinds = names_from_catalog(ctx, lambda catalog: _kinds_of(catalog, value), "")
            if kinds or not nearest(value, self.choices):
                return value
        return super().convert(value, param, ctx)


def _kinds_of(catalog: Catalog, name: str) -> list[str]:
    """The kinds of the documents with this name."""
    return [kind for kind in KINDS if catalog.find(kind, name)]


@metier_command("show", repeats=True)
@click.argument(
    "kind",
    type=_KindChoice([*KIND_OF, _REFERENCE, _SCHEMA]),
    metavar="KIND",
    shell_complete=_complete_kind,
)
@click.argument("wanted", metavar="ID", required=False, shell_complete=_complete)
@click.option("--page", type=click.IntRange(min=1), metavar="N", help="Only page N of its text.")
@click.option(
    "--max-tokens",
    type=click.IntRange(min=1),
    default=DEFAULT_MAX_TOKENS,
    show_default=True,
    metavar="N",
    help="The most tokens per page.",
)
def command(
    session: Session, kind: str, wanted: str | None, page: int | None, max_tokens: int
) -> None:
    """Show one document: its fields, its findings, its text.

    KIND is skill, ability, card or agent, or its plural; without it, ID is what only documents of
    one kind are called. ID is a name, `team/name` for a skill of a team, or the full id
    `name::folder` of a shadowed skill. Long texts can be read in pages.
    `reference SYSTEM_ARCHITECTURE.md` shows a text that is never injected;
    `schema agent-profile` shows the JSON Schema of a format, for editors.
    """
    is_kind = kind in (*KIND_OF, _REFERENCE, _SCHEMA)
    if wanted is None and is_kind:
        context = click.get_current_context()
        [missing] = [one for one in context.command.params if one.name == "wanted"]
        raise click.MissingParameter(ctx=context, param=missing)
    if wanted is not None and not is_kind:
        raise KindError.unknown(kind, f"metier show skill {shlex.quote(wanted)}")
    if kind == _SCHEMA and wanted:
        _show_schema(wanted)
        return
    with session.catalog() as catalog:
        if wanted is None:
            kind, wanted = _only_kind(catalog, kind), kind
        if kind == _REFERENCE:
            _show_reference(session, catalog, wanted, page, max_tokens)
        else:
            _show_document(session, catalog, KIND_OF[kind], wanted, page, max_tokens)


def _only_kind(catalog: Catalog, name: str) -> str:
    """The kind of the documents with this name. Raises `KindError` unless it is one."""
    kinds = _kinds_of(catalog, name)
    if len(kinds) == 1:
        return kinds[0]
    meant = f"metier show {kinds[0] if kinds else 'skill'} {shlex.quote(name)}"
    if kinds:
        raise KindError(f"the kind is missing before '{name}': {' or '.join(kinds)}", meant)
    raise KindError.unknown(name, meant)


def _show_schema(name: str) -> None:
    folder = resources.files("metier") / "schemas"
    ending = ".v1.schema.json"
    known = [one.name.removesuffix(ending) for one in folder.iterdir() if one.name.endswith(ending)]
    if name not in known:
        raise NotFoundError(f"no schema is called '{name}'", hint=", ".join(sorted(known)))
    click.echo((folder / f"{name}{ending}").read_text(encoding="utf-8"), nl=False)


def _show_reference(
    session: Session, catalog: Catalog, name: str, page: int | None, max_tokens: int
) -> None:
    body, which = _paged(catalog, catalog.reference(name), page, max_tokens)
    if session.as_json:
        session.print_json({"kind": _REFERENCE, "id": name, "body": body, **which})
    else:
        click.echo(printable(body))


def _show_document(
    session: Session, catalog: Catalog, kind: Kind, wanted: str, page: int | None, max_tokens: int
) -> None:
    row = _row(catalog, kind, wanted)
    others = [other.id for other in catalog.find(kind, wanted) if other != row]
    shown = ShownPaths(catalog)
    issues = catalog.issues_of(row, shown)
    body, which = _paged(catalog, catalog.document(row, even_held=True).body, page, max_tokens)
    package = catalog.package_of(row)
    naming = catalog.agents_naming(row) if kind == "skill" else []
    if session.as_json:
        details: dict[str, Any] = {"package": told} if (told := package.to_json()) else {}
        details |= {"namedBy": naming} if naming else {}
        details |= {"body": body, "findings": [shown.issue(issue) for issue in issues]}
        session.print_json({**row_json(row), **details, "others": others, **which})
        return
    facts = [*_facts(row, shown), *_package_facts(package)]
    facts += [("named by agents", ", ".join(naming))] if naming else []
    facts += [("page", f"{which['page']} of {which['pages']}")] if which else []
    facts += [("finding", f"{issue.code} {issue.message}") for issue in issues]
    facts += [("next", issue.hint) for issue in issues if issue.code.startswith("RV")]
    facts += [("also", other) for other in others]
    for name, value in facts:
        click.echo(f"{click.style(f'{printable(name)}:', bold=True)} {printable(value)}")
    click.echo(f"\n{printable(body)}" if body else "\n(no text)")


def _row(catalog: Catalog, kind: Kind, wanted: str) -> Row:
    if kind == "agent" and wanted == STANDARD and not catalog.find(kind, wanted):
        raise NotFoundError(
            f"agent '{STANDARD}' is built in and has no file",
            hint=f"to have your own, write agents/{STANDARD}.yaml",
        )
    return catalog.row(kind, wanted)


def _paged(
    catalog: Catalog, body: str, number: int | None, max_tokens: int
) -> tuple[str, dict[str, int]]:
    if number is None:
        return body, {}
    found = pages(body, max_tokens, catalog.count_tokens)
    if number > len(found):
        count = counted(len(found), "page")
        raise UsageError(f"there is no page {number}: the text has {count}", hint="--page 1")
    return found[number - 1], {"page": number, "pages": len(found)}


def _facts(row: Row, shown: ShownPaths) -> list[tuple[str, str]]:
    facts = [("id", row.id)]
    if row.name != row.handle or row.kind == "skill":
        facts.append(("name", row.name))
    facts += [("description", row.description)]
    facts += [("file", shown(row.path)), ("source", row.source), ("state", row.state)]
    facts += [(key, value) for key in ("team", "owner") if (value := getattr(row, key))]
    if row.reason:
        facts.append(("reason", row.reason))
    if row.review:
        facts.append(("review", row.review))
    if row.shadowed_by:
        facts.append(("shadowed by", shown(row.shadowed_by)))
    if row.capabilities:
        facts.append(("provides", ", ".join(row.capabilities)))
    for key, value in row.data.items():
        if value not in (None, "", [], {}) and key not in _SHOWN_ELSEWHERE:
            facts.append((key, _plain(value)))
    return facts


def _package_facts(package: Package) -> list[tuple[str, str]]:
    facts = [
        ("plugin version", package.version),
        ("marketplace", package.marketplace),
        ("installed from", package.installed_from),
        ("agents of the plugin", ", ".join(package.agents)),
        ("commands of the plugin", ", ".join(package.commands)),
        ("MCP servers of the plugin", ", ".join(package.servers)),
        ("command of the same name", package.same_command),
    ]
    return [(name, value) for name, value in facts if value]


def _plain(value: Any) -> str:
    """Short values on one line, nested values as indented YAML below."""
    if isinstance(value, list) and all(isinstance(entry, str) for entry in value):
        return ", ".join(value)
    if isinstance(value, (list, dict)):
        text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
        return "\n" + "\n".join(f"  {line}" for line in text.rstrip().split("\n"))
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
