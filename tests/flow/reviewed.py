"""A workspace with a mount and a plugin, whose skills need a review."""

from pathlib import Path

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.config.review_record import ReviewRecord
from metier.flow.boundary import Boundary
from metier.flow.reviews import Reviewed
from metier.values.rows import Row
from metier.values.settings import Mount
from metier.values.trust import Trust


class Shop:
    """A trusted workspace; `levels` are settings such as `trust_mounts`."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        (root / ".git").mkdir(parents=True, exist_ok=True)
        self.own = Workspace(root)
        self.team = Workspace(root.parent / "team")
        self.team.root.mkdir(exist_ok=True)
        self.config = Config(mounts=(Mount(str(self.team.root), "team", "workspace"),))

    def set(self, **levels: object) -> None:
        self.config = self.config._replace(**levels)  # type: ignore[arg-type]  # any setting

    def catalog(self, *, trusted: bool = True) -> Catalog:
        trust = Trust("trusted") if trusted else Trust()
        config = self.config._replace(is_trusted=trusted)
        catalog = Catalog.within(Boundary(str(self.root), trust, config), home=str(self.home))
        catalog.refresh()
        return catalog

    def row(self, name: str) -> Row:
        with self.catalog() as catalog:
            return catalog.row("skill", name)

    def standing(self, name: str) -> tuple[str, str]:
        """State and review of a skill after a refresh."""
        row = self.row(name)
        return row.state, row.review

    def review(self, name: str) -> Reviewed:
        with self.catalog() as catalog:
            return catalog.reviews.named(catalog.find("skill", name), name)

    def accept(self, name: str) -> None:
        with self.catalog() as catalog:
            reviews = catalog.reviews
            reviews.accept([reviews.named(catalog.find("skill", name), name)])

    def record(self, *, is_users: bool = False) -> ReviewRecord:
        return ReviewRecord(str(self.root), is_users=is_users)

    def plugin_skill(self, version: str, body: str = "Do it.", extra: str = "") -> Path:
        """A skill of a plugin that Claude Code has installed."""
        cache = Workspace(self.home / ".claude/plugins/cache")
        folder = f"market/acme/{version}/skills/tool"
        return cache.skill("tool", folder=folder, body=body, extra=extra)
