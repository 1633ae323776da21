"""Examples: tasks that a document is for, or not."""

import json
from typing import Any, NamedTuple

from metier.core.digests import sha256
from metier.values.files import Kind


class Example(NamedTuple):
    """A task that a document is for, or not."""

    kind: Kind
    name: str
    """Of the document, as written; empty if the task is for none."""
    task: str
    is_for: bool
    source: str
    """`front matter`, `recorded`, or the path of an evaluation file."""

    @property
    def id(self) -> str:
        """What `metier examples remove` takes."""
        text = json.dumps([self.kind, self.name, self.task, self.is_for])
        return sha256(text.encode()).hexdigest()[:8]

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind,
            "name": self.name,
            "task": self.task,
            "isFor": self.is_for,
            "source": self.source,
        }
