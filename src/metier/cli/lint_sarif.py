"""Findings as SARIF 2.1.0, for code scanning and editors."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any
from urllib.parse import quote

from metier import __version__
from metier.cli.lint_formats import dumped
from metier.findings import CODES, Finding
from metier.flow.lint_report import Reported, fingerprints
from metier.flow.repairing import Repair

_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
_FINGERPRINT = "metier/v1"
_PAGE = "reference/findings.md"


def as_sarif(reported: Sequence[Reported]) -> str:
    pages = {one.issue.code: one.issue.finding for one in reported}
    codes = sorted(pages)
    driver: dict[str, Any] = {
        "name": "metier",
        "version": __version__,
        "rules": [_rule(code, pages[code]) for code in codes],
    }
    results = [
        _result(one, codes.index(one.issue.code), name)
        for one, name in zip(reported, fingerprints(reported), strict=True)
    ]
    log = {
        "version": "2.1.0",
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints",
                  "results": results}],
    }  # fmt: skip
    return dumped(log)


def _rule(code: str, finding: Finding) -> dict[str, Any]:
    return {
        "id": code,
        "shortDescription": {"text": finding.title},
        "fullDescription": {"text": finding.why},
        "help": {"text": f"metier explain {code}", "markdown": finding.page},
        **({"helpUri": help_uri(code)} if code in CODES else {}),
        "defaultConfiguration": {"level": _LEVELS[finding.severity]},
        "properties": {"hosts": finding.hosts},
    }


def help_uri(code: str) -> str:
    """The page of a code, where this package says its documentation is; else a name for it."""
    try:
        addresses = metadata("metier").get_all("Project-URL") or []
    except PackageNotFoundError:
        addresses = []
    for line in addresses:
        name, _, address = line.partition(", ")
        if name == "Documentation":
            return f"{address.rstrip('/')}/{_PAGE}#{code.lower()}"
    return f"urn:metier:finding:{code}"


def _result(finding: Reported, rule: int, fingerprint: str) -> dict[str, Any]:
    issue = finding.issue
    text = f"{issue.message}; {issue.hint}" if issue.hint else issue.message
    region = {"startLine": issue.line, "startColumn": issue.column}
    result: dict[str, Any] = {
        "ruleId": issue.code,
        "ruleIndex": rule,
        "level": _LEVELS[issue.severity],
        "message": {"text": text},
        "locations": [
            {"physicalLocation": {"artifactLocation": _artifact(finding), "region": region}}
        ],
        "partialFingerprints": {_FINGERPRINT: fingerprint},
        "properties": {"hosts": issue.effects},
    }
    if finding.repair is not None:
        result["fixes"] = [_fix(finding, finding.repair)]
    if finding.owners:
        result["properties"]["owners"] = list(finding.owners)
    return result


def _artifact(finding: Reported) -> dict[str, str]:
    path = finding.issue.path
    return {"uri": ("file://" if path.startswith("/") else "") + quote(path)}


def _fix(finding: Reported, repair: Repair) -> dict[str, Any]:
    return {
        "description": {"text": finding.issue.hint or finding.issue.finding.title},
        "artifactChanges": [
            {"artifactLocation": _artifact(finding), "replacements": list(_replacements(repair))}
        ],
    }


def _replacements(repair: Repair) -> Iterator[dict[str, Any]]:
    """The changed lines, whole."""
    before, after = (
        raw.decode(errors="replace").splitlines(keepends=True)
        for raw in (repair.before, repair.after)
    )
    for kind, start, end, first, last in SequenceMatcher(a=before, b=after, autojunk=False
    ).get_opcodes():  # fmt: skip
        if kind == "equal":
            continue
        region = {"startLine": start + 1, "startColumn": 1, "endLine": end + 1, "endColumn": 1}
        yield {
            "deletedRegion": region,
            "insertedContent": {"text": "".join(after[first:last])},
        }
