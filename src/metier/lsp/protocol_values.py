"""Values of metier → values of the protocol."""

from collections.abc import Iterable

from lsprotocol import types

from metier.findings import Finding
from metier.flow.editing import Repaired, SettingsProblem
from metier.flow.key_help import Offer
from metier.lsp.positions import Lines
from metier.values.outcomes import Issue

SOURCE = "metier"
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "info": types.DiagnosticSeverity.Information,
}


def diagnostic(issue: Issue, lines: Lines) -> types.Diagnostic:
    """A finding, from its position to the end of the line."""
    start = lines.offset_of(issue.line, issue.column)
    return types.Diagnostic(
        range=lines.range(start, lines.rest_of_line(start)),
        message=_with_hint(issue.message, issue.hint),
        severity=_SEVERITIES[issue.severity],
        code=issue.code,
        source=SOURCE,
    )


def settings_diagnostic(problem: SettingsProblem, lines: Lines) -> types.Diagnostic:
    start = lines.offset_of(problem.line, problem.column)
    return types.Diagnostic(
        range=lines.range(start, lines.rest_of_line(start)),
        message=_with_hint(problem.message, problem.hint),
        severity=types.DiagnosticSeverity.Error,
        code=problem.code,
        source=SOURCE,
    )


def _with_hint(message: str, hint: str) -> str:
    return f"{message}\n{hint}" if hint else message


def page(code: str, finding: Finding) -> str:
    """The page of a finding as Markdown."""
    return f"**{code}** {finding.title} ({finding.severity})\n\n{finding.page.strip()}"


def completion(
    offer: Offer, start: types.Position, end: types.Position, lead: str
) -> types.CompletionItem:
    """An offer that replaces what is written; `lead` is written before it."""
    is_key = offer.insert.endswith(": ")
    return types.CompletionItem(
        label=offer.label,
        kind=types.CompletionItemKind.Property if is_key else types.CompletionItemKind.Value,
        detail=offer.detail or None,
        documentation=offer.about or None,
        filter_text=offer.label,
        text_edit=types.TextEdit(types.Range(start, end), lead + (offer.insert or offer.label)),
    )


def edit(repaired: Repaired, text: str, lines: Lines) -> types.TextEdit:
    """The smallest edit from one text to the other."""
    start, end, new = changed_part(text, repaired.text)
    return types.TextEdit(lines.range(start, end), new)


def changed_part(before: str, after: str) -> tuple[int, int, str]:
    """The part of `before` that differs, and what takes its place; CR LF is never cut."""
    start = _common(before, after)
    start -= _is_inside_line_end(before, start)
    rest = min(len(before), len(after)) - start
    end = _common(before[::-1][:rest], after[::-1][:rest])
    end -= _is_inside_line_end(before, len(before) - end)
    return start, len(before) - end, after[start : len(after) - end]


def _is_inside_line_end(text: str, offset: int) -> bool:
    return offset > 0 and text[offset - 1 : offset + 1] == "\r\n"


def _common(first: str, other: str) -> int:
    """How many characters two texts have in common at their start."""
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def action(
    uri: str,
    version: int | None,
    edits: Iterable[types.TextEdit],
    title: str,
    kind: types.CodeActionKind | str,
    diagnostics: list[types.Diagnostic] | None = None,
    *,
    versioned: bool = False,
) -> types.CodeAction:
    """A repair for the editor to apply; with `versioned`, only to the text it was made for."""
    changes = list(edits)
    if versioned:
        document = types.OptionalVersionedTextDocumentIdentifier(uri=uri, version=version)
        workspace_edit = types.WorkspaceEdit(
            document_changes=[types.TextDocumentEdit(document, changes)]
        )
    else:
        workspace_edit = types.WorkspaceEdit(changes={uri: changes})
    return types.CodeAction(title, kind=kind, diagnostics=diagnostics, edit=workspace_edit)
