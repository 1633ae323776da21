"""What a workspace may do, shown to its user, who then decides."""

import os
import sys
from typing import Any

import click

from metier.cli.layout import flowed
from metier.cli.session import Session
from metier.config.described import described, differences
from metier.config.owners import foreign_owner
from metier.config.powers import Powers
from metier.config.record import Entry, TrustRecord
from metier.errors import TrustError
from metier.flow.boundary import power_set, recorded, safe_directories, untrusted_error
from metier.safety.escapes import visible
from metier.values.trust import Trust

SPEAK = "its skills, cards and abilities may be put into prompts by a hook"


class Review:
    """The powers of a workspace, and its trust record."""

    def __init__(self, session: Session) -> None:
        self.workspace = session.require_workspace()
        settings = session.settings()
        self.foreign = foreign_owner(self.workspace, safe_directories(settings))
        self.powers: Powers = power_set(settings)
        self.entry: Entry | None = recorded(self.workspace)

    @property
    def digest(self) -> str:
        return self.powers.digest

    @property
    def state(self) -> str:
        if self.foreign:
            return "owner"
        if self.entry is None:
            return "new"
        return "trusted" if self.entry.digest == self.digest else "changed"

    @property
    def speaks(self) -> bool:
        """Whether hooks may inject its text."""
        return self.state == "trusted" and self.entry is not None and self.entry.speak

    def changes(self) -> list[str]:
        """Differences from the recorded powers."""
        if self.entry is None or self.state != "changed":
            return []
        return differences(self.entry.powers, self.powers)

    def require_owner(self) -> None:
        """Raise `TrustError` if another user owns the workspace."""
        if self.foreign:
            trust = Trust("owner", detail=f"{self.foreign} belongs to another user of this system")
            raise untrusted_error(self.workspace, trust, "this")

    def record(self, *, speak: bool) -> None:
        record = TrustRecord(workspace=self.workspace)
        record.put(self.workspace, Entry.of(self.powers, speak=speak))

    def rows(self, *, speak: bool) -> list[tuple[str, str]]:
        rows = [("workspace", self.workspace), *described(self.powers)]
        rows += [("speak", SPEAK)] if speak else []
        rows += [("changed", change) for change in self.changes()]
        return [*rows, ("digest", self.digest)]

    def to_json(self) -> dict[str, Any]:
        powers = self.powers
        return {
            "schemaVersion": "1",
            "workspace": self.workspace,
            "state": self.state,
            "digest": self.digest,
            "speak": self.speaks,
            "powers": powers.to_json(),
            "consents": [one._asdict() for one in sorted(powers.consents())],
            "keys": powers.keys(),
            "changes": self.changes(),
        }


def has_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def show(review: Review, *, err: bool = False, speak: bool = True) -> None:
    rows = review.rows(speak=speak)
    width = max(len(kind) for kind, _ in rows)
    stream = sys.stderr if err else sys.stdout
    is_terminal = stream.isatty()
    for kind, text in rows:
        start, exact = f"{kind:{width}}  ", _exact(text)
        if is_terminal:
            columns = os.get_terminal_size(stream.fileno()).columns
            click.echo(flowed(exact.split(" "), columns, width + 2, start), err=err)
        else:
            click.echo(start + exact, err=err)


def _exact(text: str) -> str:
    """`text` on one line, with hidden characters escaped."""
    for char, shown in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
        text = text.replace(char, shown)
    return visible(text)


def confirmed_once(session: Session, workspace: str) -> str:
    """Ask the user; the digest of the powers. Raises `TrustError`."""
    if not has_terminal():
        raise TrustError(
            "--trust-once asks a question, and there is no terminal",
            where=workspace,
            hint="metier trust --accept sha256:… needs none",
        )
    review = Review(session)
    review.require_owner()
    show(review, err=True, speak=False)
    if not click.confirm("Trust this workspace for this one command?", err=True):
        raise TrustError("not trusted, nothing was done", where=workspace)
    return review.digest


def offered(session: Session) -> bool:
    """Whether the workspace is trusted; on a terminal, offer a review."""
    if session.boundary.trust.is_trusted:
        return True
    if session.trust_once or session.for_host or session.as_json or not has_terminal():
        return False
    review = Review(session)
    if review.foreign:
        return False
    show(review, err=True, speak=False)
    if not click.confirm("Trust this workspace?", err=True):
        return False
    review.record(speak=False)
    del session.boundary
    return True
