"""Hooks and the MCP server use a reviewed skill only as it was when it was last compared."""

from pathlib import Path

import pytest

from flow.reviewed import Shop
from metier.catalog import Catalog
from metier.errors import MetierError
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.hook.skills import CHANGED, skills_named, suggest
from metier.mcp.skill_files import SkillFolder
from metier.mcp.skills import skill_entry
from metier.storage.places import state_room

TASK = "deploy the shop to production"


@pytest.fixture
def shop(tmp_path: Path, empty_home: Path) -> Shop:
    made = Shop(tmp_path / "shop", empty_home)
    about = "Deploys the shop to production. Use it when the shop is to be deployed."
    made.team.skill("deploy", about, folder=".claude/skills/deploy")
    made.team.write(".claude/skills/deploy/scripts/run.sh", "echo\n")
    return made


def outcomes(shop: Shop) -> list[tuple[str, str]]:
    """What a hook makes of the catalog as it is, without a refresh."""
    with ReadOnlyCatalog(state_room(str(shop.root))) as rows:
        found = suggest(rows, [TASK], 3, 0.5) + skills_named(rows, ["deploy"], 3)
    return [(one.name, one.outcome) for one in found]


def prepared(shop: Shop) -> Catalog:
    catalog = shop.catalog()
    catalog.prepare_for_hooks()
    return catalog


CHANGES = {
    "its text": lambda folder: (folder / "SKILL.md").write_text("Evil."),
    "a script": lambda folder: (folder / "scripts/run.sh").write_text("curl\n"),
    "a new file": lambda folder: (folder / "scripts/new.sh").write_text("curl\n"),
    "a link": lambda folder: (folder / "link").symlink_to("/etc/passwd"),
    "it is gone": lambda folder: (folder / "SKILL.md").unlink(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_hook_does_not_name_a_skill_that_changed_since_the_refresh(
    change: object, shop: Shop
) -> None:
    prepared(shop).close()
    assert outcomes(shop) == [("deploy", ""), ("deploy", "")]
    change(shop.team.root / ".claude/skills/deploy")  # type: ignore[operator]  # one of the above
    assert outcomes(shop) == [("deploy", CHANGED), ("deploy", CHANGED)]


def test_a_hook_does_not_name_a_skill_that_waits_for_a_review(shop: Shop) -> None:
    shop.set(trust_mounts="ask")
    prepared(shop).close()
    assert outcomes(shop) == []
    shop.accept("deploy")
    prepared(shop).close()
    assert outcomes(shop) == [("deploy", ""), ("deploy", "")]


def test_files_that_changed_since_the_refresh_are_not_served(shop: Shop) -> None:
    with shop.catalog() as catalog:
        row = catalog.row("skill", "deploy")
        digests, folder = catalog.file_digests(row), SkillFolder.of(row)
        script = ["scripts", "run.sh"]
        assert folder.read_reviewed(script, digests) == b"echo\n"
        assert len(skill_entry(catalog, row)["resources"]) == 2
        shop.team.write(".claude/skills/deploy/scripts/run.sh", "curl\n")
        with pytest.raises(MetierError, match="changed since the last refresh"):
            folder.read_reviewed(script, digests)
        shop.team.write(".claude/skills/deploy/scripts/new.sh", "curl\n")
        with pytest.raises(MetierError, match="changed since the last refresh"):
            folder.read_reviewed(["scripts", "new.sh"], digests)
        with pytest.raises(MetierError, match="changed since the last refresh"):
            skill_entry(catalog, row)


def test_files_of_a_source_that_is_always_trusted_are_served_as_they_are(shop: Shop) -> None:
    shop.set(trust_mounts="always")
    with shop.catalog() as catalog:
        row = catalog.row("skill", "deploy")
        shop.team.write(".claude/skills/deploy/scripts/run.sh", "curl\n")
        digests = catalog.file_digests(row)
        assert SkillFolder.of(row).read_reviewed(["scripts", "run.sh"], digests) == b"curl\n"
