"""Findings as text for people, and as JSON, GitHub annotations or a GitLab report for programs."""

from collections.abc import Sequence
from typing import Any

from metier.core.text import printable
from metier.flow.lint_report import Reported, fingerprints
from metier.values.outcomes import Issue

_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}
_GITLAB_LEVELS = {"error": "major", "warning": "minor", "info": "info"}


def rendered(output_format: str, reported: Sequence[Reported]) -> str:
    """The findings in one of `lint_options.FORMATS`."""
    if output_format == "sarif":
        from metier.cli.lint_sarif import as_sarif  # other formats do not need it

        return as_sarif(reported)
    if output_format == "html":
        from metier.cli.lint_html import as_html  # other formats do not need it

        return as_html(reported)
    made = {"text": as_text, "json": as_json, "github": as_github, "gitlab": as_gitlab}
    return made[output_format](reported)


def as_text(reported: Sequence[Reported]) -> str:
    lines = []
    for issue, *_ in reported:
        fixable = " [*]" if issue.fixable else ""
        location = f"{issue.path}:{issue.line}:{issue.column}"
        message = f"{issue.message}{for_hosts(issue)}"
        lines.append(f"{location}: {issue.code}{fixable} {message}")
        if issue.hint:
            lines.append(f"    hint: {issue.hint}")
    return "".join(f"{on_one_line(line)}\n" for line in lines)


def for_hosts(issue: Issue) -> str:
    """` [codex, copilot]`: the hosts that a finding matters to, unless it matters to all."""
    return f" [{', '.join(issue.some_hosts)}]" if issue.some_hosts else ""


def on_one_line(text: str) -> str:
    """`printable`, with line ends and tabs written out too: a file name may hold any of them."""
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def as_json(reported: Sequence[Reported]) -> str:
    return dumped([_json(one) for one in reported])


def _json(finding: Reported) -> dict[str, Any]:
    owners = {"owners": list(finding.owners)} if finding.owners else {}
    return {**finding.issue.to_json(), **owners}


def dumped(value: Any) -> str:
    import json  # text needs none of it

    from metier.safety.escapes import escaped_json

    return escaped_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def as_github(reported: Sequence[Reported]) -> str:
    """Workflow commands that GitHub shows beside the changed lines."""
    lines = []
    for issue, *_ in reported:
        properties = (
            f"title={_property(f'metier {issue.code}')},file={_property(issue.path)},"
            f"line={issue.line},col={issue.column}"
        )
        text = f"{issue.message} ({issue.hint})" if issue.hint else issue.message
        lines.append(f"::{_GITHUB_LEVELS[issue.severity]} {properties}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    from metier.safety.escapes import visible

    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_gitlab(reported: Sequence[Reported]) -> str:
    """A Code Quality report, which GitLab shows in merge requests."""
    ids = fingerprints(reported)
    return dumped([_gitlab(one, name) for one, name in zip(reported, ids, strict=True)])


def _gitlab(finding: Reported, fingerprint: str) -> dict[str, Any]:
    issue = finding.issue
    text = f"{issue.message}; {issue.hint}" if issue.hint else issue.message
    return {
        "description": text,
        "check_name": issue.code,
        "fingerprint": fingerprint,
        "severity": _GITLAB_LEVELS[issue.severity],
        "location": {"path": finding.path, "lines": {"begin": issue.line}},
    }
