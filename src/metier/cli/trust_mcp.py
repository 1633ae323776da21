"""`metier trust --mcp`: review an MCP server, and record what was reviewed."""

import click

from metier.cli.review import has_terminal
from metier.cli.session import Session
from metier.core.text import counted, printable
from metier.errors import StoreError, TrustError, UsageError
from metier.flow.boundary import check_digest
from metier.flow.mcp_review import McpReviews, ServerReview, ToolChange

_MARKS = {"new": "+", "changed": "~", "removed": "-", "same": " "}
_COLOURS = {"+": "green", "-": "red", "~": "yellow"}
_MOST_LINES = 60


def trust_server(
    session: Session, name: str, *, only_show: bool, accept: str | None, revoke: bool
) -> int:
    """Show a server, and record it: after a question, by its digest, or not at all."""
    reviews = McpReviews(session.boundary)
    if revoke:
        was_on = reviews.revoke(name)
        told = "all tools are switched off" if was_on else "all tools were already switched off"
        session.note(f"MCP server '{name}': {told}")
        return 0
    is_asking = not only_show and accept is None
    if is_asking and not has_terminal():
        raise TrustError(
            "a review needs a terminal to ask on; nothing was recorded",
            code="REVIEW_NEEDS_TERMINAL",
            hint=f"metier trust --mcp {name} --show, then --accept DIGEST",
        )
    review = reviews.review(name)
    if accept is not None:
        _check(review, accept)
        _record(session, reviews, review)
        return 0
    if session.as_json:
        session.print_json(review.to_json())
    else:
        _show(session, review, err=is_asking)
    if only_show:
        return 0
    if review.is_same and review.before is not None and review.before.by == "user":
        session.note(f"MCP server '{name}' is as you reviewed it")
        return 0
    if not click.confirm(f"Accept MCP server '{printable(name)}' as it is now?", err=True):
        raise TrustError("not accepted, nothing was recorded")
    _record(session, reviews, review)
    return 0


def _check(review: ServerReview, digest: str) -> None:
    check_digest(digest, "--accept takes a digest such as sha256:…")
    if review.now.digest != digest:
        raise UsageError(
            "the server has another digest; nothing was recorded",
            code="TRUST_DIGEST_DIFFERS",
            where=review.now.digest,
            hint=f"metier trust --mcp {review.settings.name} --show says what is in it",
        )


def _record(session: Session, reviews: McpReviews, review: ServerReview) -> None:
    try:
        reviews.accept(review)
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(f"the review cannot be recorded: {why}", where=error.filename) from None
    tools = counted(len(review.now.tools), "tool")
    session.note(f"accepted: MCP server '{review.settings.name}' with {tools}")


def _show(session: Session, review: ServerReview, *, err: bool) -> None:
    before = review.before
    state = {"new": "not reviewed", "same": "as it was reviewed", "changed": "changed"}
    when = f" since {before.at[:16].replace('T', ' ')}" if before and not review.is_same else ""
    how = ", accepted on first use" if before and before.by == "first-use" else ""
    name = click.style(f"MCP server '{printable(review.settings.name)}'", bold=True)
    _echo(f"{name}: {state[review.state]}{when}{how}", err)
    if before is not None and before.start != review.now.start:
        _echo(_coloured(f"  - {printable(' '.join(before.start))}", "-"), err)
        _echo(_coloured(f"  + {printable(' '.join(review.now.start))}", "+"), err)
    else:
        _echo(f"  {printable(' '.join(review.now.start))}", err)
    for tool in review.tools():
        _show_tool(tool, err)
    if not err:
        session.tell(f"  digest: {review.now.digest}")


def _show_tool(tool: ToolChange, err: bool) -> None:
    mark = _MARKS[tool.change]
    _echo(_coloured(f"{mark} {printable(tool.name)} ({tool.change})", mark), err)
    if tool.change == "same":
        return
    for line in tool.lines[:_MOST_LINES]:
        is_diff = tool.change == "changed"
        _echo(_coloured(f"      {printable(line)}", line if is_diff else ""), err)
    if len(tool.lines) > _MOST_LINES:
        _echo(f"      and {len(tool.lines) - _MOST_LINES:,} more lines: --show --json", err)
    for note in tool.notes:
        _echo(f"      note: {printable(note)}", err)


def _coloured(text: str, mark: str) -> str:
    return click.style(text, fg=_COLOURS.get(mark[:1]))


def _echo(text: str, err: bool) -> None:
    click.echo(text, err=err)
