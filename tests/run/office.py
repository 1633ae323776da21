"""A workspace whose agents are run with a scripted model."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.run.models import ScriptedModel
from metier.values.models import Model, ModelRequest
from metier.values.runs import RunResult
from run.world import Data

TASK = "review the migration"


class Office:
    """A workspace whose agents are run with a scripted model."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        workspace.write("metier.toml", "")
        self.model = ScriptedModel([f"answer {number}" for number in range(20)])
        self.models: list[str] = []
        self._catalog: Catalog | None = None

    @property
    def catalog(self) -> Catalog:
        """Opened with the first question, by a user who trusts what is there by then."""
        if self._catalog is None:
            self.workspace.trust()
            self._catalog = Catalog.open(self.workspace.root)
            self._catalog.refresh()
            self._catalog.agency.model = self._named  # type: ignore[method-assign]
        return self._catalog

    def _named(self, name: str) -> Model:
        self.models.append(name)
        return self.model

    def close(self) -> None:
        if self._catalog is not None:
            self._catalog.close()
        self._catalog = None

    def ability(self, name: str, content: str = "", *front: str) -> str:
        lines = "".join(f"{line}\n" for line in front)
        text = content or f"Knowledge of {name}."
        self.workspace.write(
            f"abilities/{name}.md", f"---\nabilityId: {name}\n{lines}---\n{text}\n"
        )
        return text

    def agent(self, *steps: Data, **data: Any) -> None:
        """Write the agent; the next question opens the catalog again, with trust in it."""
        profile = {"agentId": "worker", "description": "Works.", "systemPrompt": "BASE", **data}
        if steps:
            profile["workflow"] = list(steps)
        self.workspace.write("agents/worker.json", json.dumps(profile))
        self.close()

    def skill(self, name: str, capability: str, body: str = "") -> None:
        self.workspace.skill(
            name,
            f"Does {capability} well. Use it for {capability}.",
            extra=f"capabilities: [{capability}]",
            body=body or f"How to do {capability} by {name}.",
        )

    def run(self, task: str = TASK, **more: Any) -> RunResult:
        return self.catalog.run_sync("worker", task, **more)

    @property
    def request(self) -> ModelRequest:
        """The only thing that was sent."""
        (request,) = self.model.requests
        return request


@pytest.fixture
def office(workspace: Workspace) -> Iterator[Office]:
    made = Office(workspace)
    yield made
    made.close()
