"""Findings as text for people and as JSON, SARIF or GitHub annotations for programs."""

import json
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from metier.core.text import printable
from metier.findings import Finding
from metier.safety.escapes import escaped_json, visible
from metier.values.outcomes import Issue

_SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_GITHUB_LEVELS = {"error": "error", "warning": "warning", "info": "notice"}


def as_text(issues: Sequence[Issue], _version: str) -> str:
    lines = []
    for issue in issues:
        fixable = " [*]" if issue.fixable else ""
        location = f"{issue.path}:{issue.line}:{issue.column}"
        lines.append(f"{location}: {issue.code}{fixable} {issue.message}")
        if issue.hint:
            lines.append(f"    hint: {issue.hint}")
    return "".join(f"{_one_line(line)}\n" for line in lines)


def _one_line(text: str) -> str:
    return printable(text.replace("\n", "\\n").replace("\t", "\\t"))


def as_json(issues: Sequence[Issue], _version: str) -> str:
    return _dumped([issue.to_json() for issue in issues])


def _dumped(value: Any) -> str:
    return escaped_json(json.dumps(value, indent=2, ensure_ascii=False)) + "\n"


def as_github(issues: Sequence[Issue], _version: str) -> str:
    """Workflow commands that GitHub shows beside the changed lines."""
    lines = []
    for issue in issues:
        properties = (
            f"title={_property(f'metier {issue.code}')},file={_property(issue.path)},"
            f"line={issue.line},col={issue.column}"
        )
        text = f"{issue.message} ({issue.hint})" if issue.hint else issue.message
        lines.append(f"::{_GITHUB_LEVELS[issue.severity]} {properties}::{_data(text)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    return visible(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def as_sarif(issues: Sequence[Issue], version: str) -> str:
    pages = {issue.code: issue.finding for issue in issues}
    codes = sorted(pages)
    driver: dict[str, Any] = {
        "name": "metier",
        "version": version,
        "rules": [_sarif_rule(code, pages[code]) for code in codes],
    }
    results = [_sarif_result(issue, codes.index(issue.code)) for issue in issues]
    log = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return _dumped(log)


def _sarif_rule(code: str, page: Finding) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": page.title},
        "help": {"text": f"metier explain {code}"},
        "defaultConfiguration": {"level": _SARIF_LEVELS[page.severity]},
    }


def _sarif_result(issue: Issue, rule: int) -> dict[str, Any]:
    text = f"{issue.message}; {issue.hint}" if issue.hint else issue.message
    uri = ("file://" if issue.path.startswith("/") else "") + quote(issue.path)
    region = {"startLine": issue.line, "startColumn": issue.column}
    return {
        "ruleId": issue.code,
        "ruleIndex": rule,
        "level": _SARIF_LEVELS[issue.severity],
        "message": {"text": text},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": uri},
                    "region": region,
                }
            }
        ],
    }


FORMATS: dict[str, Callable[[Sequence[Issue], str], str]] = {
    "text": as_text,
    "json": as_json,
    "sarif": as_sarif,
    "github": as_github,
}
