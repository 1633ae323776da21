"""Findings as one HTML page: nothing to load, no script, every text escaped."""

from collections.abc import Sequence
from html import escape

from metier import __version__
from metier.core.text import counted
from metier.flow.lint_counts import by_owner, by_rule
from metier.flow.lint_report import Reported
from metier.safety.escapes import visible

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #8884; }
td.number { width: 5rem; font-variant-numeric: tabular-nums; }
code { font-size: .9em; overflow-wrap: anywhere; }
summary { cursor: pointer; font-weight: 600; margin: .6rem 0; }
.error { color: #c62828; } .warning { color: #a06000; } .info { color: #1565c0; }
.hint { opacity: .75; }
@media (max-width: 40rem) {
  body { margin: 1rem auto; } h1 { font-size: 1.4rem; }
  th, td { font-size: .8rem; padding-right: .4rem; overflow-wrap: anywhere; }
  th { overflow-wrap: normal; } td a { white-space: nowrap; } td.number { width: auto; }
}
@media (prefers-color-scheme: dark) {
  .error { color: #ff8a80; } .warning { color: #ffcc80; } .info { color: #82b1ff; }
}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_SEVERITIES = {"error": "error", "warning": "warning", "info": "note"}


def as_html(reported: Sequence[Reported]) -> str:
    issues = [one.issue for one in reported]
    files = len({issue.path for issue in issues})
    found = f"{counted(len(issues), 'finding')} in {counted(files, 'file')}"
    title = f"metier lint: {found}" if issues else "No findings"
    owners = by_owner(reported)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{_text(title)}</h1>",
        _rules(reported) if issues else "<p>Nothing to change.</p>",
        _table(["findings", "owner"], [[f"{n:,}", _text(who)] for who, n in owners]),
        *(_group(reported, rule.code) for rule in by_rule(issues)),
        f"<p>metier {_text(__version__)}</p></body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _rules(reported: Sequence[Reported]) -> str:
    rows = [
        [
            f"{rule.findings:,}", f"{rule.files:,}",
            f'<a href="#{rule.code}">{rule.code}</a>',
            f'<span class="{rule.severity}">{_SEVERITIES[rule.severity]}</span>',
            _text(rule.title),
        ]
        for rule in by_rule(one.issue for one in reported)
    ]  # fmt: skip
    return _table(["findings", "files", "code", "severity", "rule"], rows)


def _group(reported: Sequence[Reported], code: str) -> str:
    """The findings of a rule, folded, with its explanation."""
    rows = [_row(one) for one in reported if one.issue.code == code]
    finding = next(one.issue.finding for one in reported if one.issue.code == code)
    return (
        f'<details id="{code}" open><summary class="{finding.severity}">'
        f"{code} {_text(finding.title)}</summary><p>{_text(finding.why)}</p>"
        f"{_table(['where', 'what'], rows)}</details>"
    )


def _row(finding: Reported) -> list[str]:
    issue = finding.issue
    hint = f'<br><span class="hint">{_text(issue.hint)}</span>' if issue.hint else ""
    owners = (
        f'<br><span class="hint">{_text(" ".join(finding.owners))}</span>' if finding.owners else ""
    )
    place = f"{issue.path}:{issue.line}:{issue.column}"
    return [f"<code>{_text(place)}</code>{owners}", f"{_text(issue.message)}{hint}"]


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of cells that are HTML already; empty without rows."""
    if not rows:
        return ""
    head = "".join(f"<th>{column}</th>" for column in columns)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>\n" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>"


def _cell(cell: str) -> str:
    is_number = cell.replace(",", "").isdigit()
    return f'<td class="number">{cell}</td>' if is_number else f"<td>{cell}</td>"


def _text(text: str) -> str:
    return escape(visible(text))
