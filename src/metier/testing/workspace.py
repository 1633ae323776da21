"""A workspace in a temporary folder."""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from metier.catalog import Catalog
from metier.config import Config, read_settings
from metier.core.arguments import check_text, wrong_argument
from metier.errors import UsageError
from metier.flow.agent import Agent
from metier.flow.boundary import power_set
from metier.storage.places import state_room
from metier.storage.secret import FILE as SECRET_FILE
from metier.storage.workspace import SETTINGS_FILE

_SECRET = b"the secret of workspaces in test"


class Workspace:
    """A workspace in a folder, trusted as if its user had reviewed it.

    Injected text is the same in every test run: the secret of its markers is fixed.
    """

    def __init__(self, root: Path, home: Path) -> None:
        """`home` is the home folder that its catalogs see."""
        self.root = root
        self._home = home
        self._opened = ExitStack()
        root.mkdir(parents=True, exist_ok=True)
        self.settings("")

    def write(self, path: str, text: str) -> Path:
        """Write a file of the workspace. Raises `UsageError` for a path that leaves it."""
        check_text("text", text)
        file = self.root / path
        if not file.resolve().is_relative_to(self.root.resolve()):
            raise UsageError(f"'{path}' is outside of the workspace", where=str(self.root))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def settings(self, toml: str) -> Path:
        """Write `metier.toml`."""
        return self.write(SETTINGS_FILE, toml)

    def skill(self, name: str, description: str, body: str = "", /, **front_matter: Any) -> Path:
        """Write `skills/NAME/SKILL.md`."""
        return self._document(
            f"skills/{name}/SKILL.md",
            {"name": name, "description": description},
            front_matter,
            body,
        )

    def ability(self, name: str, body: str, /, **front_matter: Any) -> Path:
        """Write `abilities/NAME.md`."""
        return self._document(f"abilities/{name}.md", {"abilityId": name}, front_matter, body)

    def card(self, name: str, body: str, /, **front_matter: Any) -> Path:
        """Write `docs/capabilities/NAME.md`; `name` and `description` are NAME, if not given."""
        head = {"id": name, "name": name, "description": name}
        return self._document(f"docs/capabilities/{name}.md", head, front_matter, body)

    def agent(self, agent: Agent | Mapping[str, Any]) -> Path:
        """Write the profile of an agent. Raises `UsageError` if it has no id."""
        if not isinstance(agent, Agent | Mapping):
            raise wrong_argument("agent", "an Agent, or the content of its file", agent)
        profile = agent.to_profile() if isinstance(agent, Agent) else dict(agent)
        check_text("agentId", profile.get("agentId"))
        return self.write(f"agents/{profile['agentId']}.json", json.dumps(profile, indent=2))

    def _document(
        self, path: str, head: Mapping[str, Any], more: Mapping[str, Any], body: str
    ) -> Path:
        """Front matter as JSON values, which are YAML, too."""
        lines = (f"{key}: {json.dumps(value)}\n" for key, value in {**head, **more}.items())
        return self.write(path, f"---\n{''.join(lines)}---\n\n{body}\n")

    def catalog(self, config: Config | None = None) -> Catalog:
        """The refreshed catalog of what is there now; `close` closes it."""
        digest = power_set(read_settings(str(self.root))).digest
        state_room(str(self.root)).write(SECRET_FILE, _SECRET)
        catalog = Catalog.open(self.root, config=config, home=str(self._home), trust=digest)
        self._opened.callback(catalog.close)
        catalog.refresh()
        return catalog

    def close(self) -> None:
        """Close its catalogs."""
        self._opened.close()
