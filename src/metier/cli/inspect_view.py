"""The report of an inspection: the verdict, what to look at first, then what it would add."""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from metier.cli.layout import terminal_width, wrapped
from metier.core.text import counted, printable
from metier.values.inspection import Addition, Inspection, Noted

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}
_PLURALS = {"ability": "abilities", "mcp-server": "MCP servers"}
_NAMES = {"mcp-server": "MCP server", "settings": "settings file"}
_MOST_FINDINGS = 30
_MOST_OF_A_CODE = 5
_MOST_NAMES = 8
_NO_TERMINAL = 100
_CAVEAT = "It finds only what its patterns match, so read what you install."


def report(found: Inspection, *, everything: bool = False) -> list[str]:
    """The lines of a report."""
    width = terminal_width() if sys.stdout.isatty() else _NO_TERMINAL
    return [
        *_verdict(found, width),
        *_findings(found, width, everything=everything),
        "",
        *_additions(found, width),
        *_scripts(found, width),
        "",
        *wrapped(_CAVEAT, width, ""),
    ]


def _verdict(found: Inspection, width: int) -> Iterator[str]:
    counts = found.counts()
    parts = [counted(counts[one], one) for one in ("error", "warning") if counts[one]]
    verdict = f"Check first: {' and '.join(parts)}" if parts else "Nothing noteworthy"
    yield click.style(verdict, bold=True)
    commit = f" at {found.commit[:12]}" if found.commit else ""
    size = f"{counted(found.files, 'file')}, {found.size:,} bytes"
    yield from wrapped(f"{found.form} {printable(found.source)}{commit}: {size}", width, "")


def _findings(found: Inspection, width: int, *, everything: bool) -> Iterator[str]:
    wanted = list(found.findings) if everything else found.noteworthy
    shown = wanted if everything else _shortened(wanted)
    for one in shown:
        yield from _finding(one, width)
    rest = len(wanted) - len(shown)
    infos = 0 if everything else len(found.findings) - len(wanted)
    more = [f"{rest:,} more"] if rest else []
    more += [counted(infos, "note")] if infos else []
    if more:
        yield f"  not shown: {', '.join(more)} (--all shows them)"


def _shortened(findings: Sequence[Noted]) -> list[Noted]:
    """The first of each code, up to a number in all."""
    seen: Counter[str] = Counter()
    kept = []
    for one in findings:
        seen[one.issue.code] += 1
        if seen[one.issue.code] <= _MOST_OF_A_CODE:
            kept.append(one)
    return kept[:_MOST_FINDINGS]


def _finding(noted: Noted, width: int) -> Iterator[str]:
    issue = noted.issue
    where = f"{issue.path}:{issue.line}" if issue.path else "as a whole"
    mark = click.style(f"{issue.severity} {issue.code}", fg=_COLOURS[issue.severity])
    yield f"  {mark} {printable(where)}"
    yield from wrapped(printable(issue.message), width, "      ")
    if noted.quote:
        yield _cut(f"      > {printable(noted.quote)}", width)


def _cut(line: str, width: int) -> str:
    return line if len(line) <= width else f"{line[: max(20, width - 1)]}…"


def _additions(found: Inspection, width: int) -> Iterator[str]:
    if not found.adds:
        nothing = "It adds no skill, ability, card, agent, command, hook, MCP server or plugin."
        yield from wrapped(nothing, width, "")
        return
    yield click.style("It would add", bold=True)
    kinds = dict.fromkeys(one.kind for one in found.adds)
    for kind in kinds:
        of_kind = [one for one in found.adds if one.kind == kind]
        noun = _NAMES.get(kind, kind)
        names = _named(list(dict.fromkeys(map(_name, of_kind))))
        head = counted(len(of_kind), noun, _PLURALS.get(kind, f"{noun}s"))
        yield from wrapped(f"{head}: {names}", width, "  ")
    tools = sorted({tool for one in found.adds for tool in one.tools})
    if tools:
        yield from wrapped(f"tools asked for: {_named(tools)}", width, "  ")


def _name(addition: Addition) -> str:
    return printable(addition.about if addition.kind == "hook" else addition.name)[:60]


def _named(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return printable(", ".join(names[:_MOST_NAMES])) + more


def _scripts(found: Inspection, width: int) -> Iterator[str]:
    if not found.scripts:
        return
    yield click.style(counted(len(found.scripts), "script"), bold=True)
    ranked = sorted(found.scripts, key=lambda one: (-len(one.touches), one.path))
    for one in ranked[:_MOST_NAMES]:
        touched = ", ".join(one.touches) or "nothing that the patterns know"
        yield from wrapped(f"{printable(one.path)}: {touched}", width, "  ")
    if len(ranked) > _MOST_NAMES:
        yield f"  and {len(ranked) - _MOST_NAMES:,} more: --json"
