"""Documents as the catalog knows them."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from metier.core.coerce import is_manual, is_switched_off, scalar_text_of
from metier.core.names import canonical_id, name_in_plugin
from metier.core.text import routing_text
from metier.errors import DamagedError
from metier.values.files import Kind, Origin
from metier.values.outcomes import Exclusion, Issue, exact_copy, same_id, same_name
from metier.values.trust import BLOCKED, HELD


class Row(NamedTuple):
    """One document; its body stays in its file."""

    kind: Kind
    handle: str
    """A skill's name, after its team's if it has one; the id of any other document."""
    name: str
    description: str
    path: str
    source: str
    state: str
    """`active`, `shadowed` by another of its name, or `excluded`."""
    reason: str
    shadowed_by: str
    file: str
    sha256: str
    issues: int
    capabilities: tuple[str, ...]
    data_json: str
    origin: Origin = "workspace"
    plugin: str = ""
    team: str = ""
    owner: str = ""
    """The owner of its team."""
    review: str = ""
    """`reviewed`, `changed`, `held` or `blocked`; empty if its source is always trusted."""

    @property
    def own_name(self) -> str:
        """Its name without its plugin's, as its file has it."""
        return name_in_plugin(self.name, self.plugin)

    @property
    def id(self) -> str:
        """`name::folder` of a skill, the id of any other document."""
        if self.kind != "skill":
            return self.handle
        return canonical_id(self.name, self.path.rpartition("/")[0] or ".")

    @property
    def data(self) -> dict[str, Any]:
        """Its front matter beyond name and description."""
        try:
            data: dict[str, Any] = json.loads(self.data_json)
        except ValueError:
            raise DamagedError(
                "the catalog is damaged", hint="the next refresh builds it again"
            ) from None
        return data

    @property
    def routing_text(self) -> str:
        """The text by which a skill is found; the description of any other document."""
        when = scalar_text_of(self.data.get("when_to_use")) if self.kind == "skill" else ""
        return routing_text(self.description, when)

    @property
    def is_held(self) -> bool:
        """Whether it must not be used: not reviewed, or its source is never trusted."""
        return self.reason in (HELD, BLOCKED)

    def why_excluded(self, issues: Sequence[Issue]) -> str:
        """The reason, and what to do, in one line; `issues` are those of the document."""
        detail = Exclusion.of(self.path, self.reason, issues, self.shadowed_by, self.is_off).detail
        return "; ".join(
            filter(
                None, (self.reason, detail, Exclusion.next_step(self.reason, issues, self.origin))
            )
        )

    @property
    def is_manual(self) -> bool:
        """Whether only the user starts the skill."""
        return self.kind == "skill" and is_manual(self.data)

    @property
    def is_off(self) -> bool:
        return self.kind == "skill" and is_switched_off(self.data)

    def to_json(self) -> dict[str, Any]:
        out: dict[str, Any] = {
            "kind": self.kind,
            "id": self.id,
            "name": self.name,
            "description": self.description,
            "path": self.path,
            "source": self.source,
            "origin": self.origin,
            "state": self.state,
            "sha256": self.sha256,
            "issues": self.issues,
            "metadata": self.data,
        }
        if self.kind == "skill":
            out["capabilities"] = list(self.capabilities)
        if self.is_manual:
            out["manual"] = True
        if self.plugin:
            out["plugin"] = self.plugin
        if self.team:
            out["team"] = self.team
        if self.owner:
            out["owner"] = self.owner
        if self.shadowed_by:
            out["shadowedBy"] = self.shadowed_by
        if self.reason:
            out["reason"] = self.reason
        if self.review:
            out["review"] = self.review
        return out


class Page(NamedTuple):
    """Some active documents, sorted by handle."""

    rows: list[Row]
    total: int
    last: str
    """Where the next page starts; empty on the last."""


def shadowed(row: Row, shown: Callable[[str], str] = str) -> Issue:
    """The finding of a shadowed document; `shown` formats the path of the other."""
    first = shown(row.shadowed_by)
    if row.kind != "skill":
        return same_id(row.id, row.path, first)
    if row.state == "excluded":
        return exact_copy(row.path, row.shadowed_by, first)
    return same_name(row.name, row.path, row.shadowed_by, first)
