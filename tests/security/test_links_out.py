"""Links out of a workspace: followed once its user trusted it with them, and refused before."""

import os
from pathlib import Path

import pytest

from conftest import Workspace
from metier.catalog import Catalog
from metier.cli import run
from metier.config.powers import Powers
from metier.flow.boundary import Boundary, read_boundary
from metier.flow.hook_refresh import depended_on

LINKS = ("skills/one", ".claude/skills/one", ".agents/skills/one")


@pytest.fixture
def checkout(empty_home: Path) -> Workspace:
    """Another folder of the same user."""
    return Workspace(empty_home / "src" / "other")


def link(workspace: Workspace, path: str, target: Path) -> None:
    file = workspace.root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.symlink_to(target)


def boundary(workspace: Workspace) -> Boundary:
    return read_boundary(os.path.realpath(workspace.root))


def listed(workspace: Workspace) -> list[str]:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return [row.path for row in catalog.skills()]


def refused(workspace: Workspace) -> list[str]:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return [one.path for one in catalog.issues() if one.code == "IO202"]


@pytest.mark.parametrize("path", LINKS)
def test_a_link_counts_once_the_workspace_is_trusted_with_it(
    workspace: Workspace, checkout: Workspace, path: str
) -> None:
    link(workspace, path, checkout.skill("one", folder="one").parent)
    assert (listed(workspace), refused(workspace)) == ([], [path])
    workspace.trust()
    assert (listed(workspace), refused(workspace)) == ([f"{path}/SKILL.md"], [])


def test_what_several_links_lead_to_is_loaded_once(workspace: Workspace, empty_home: Path) -> None:
    shared = Workspace(empty_home).skill("shared", folder=".agents/skills/shared").parent
    for path in ("skills/shared", ".claude/skills/shared"):
        link(workspace, path, shared)
    workspace.trust()
    assert listed(workspace) == [".claude/skills/shared/SKILL.md"]


def test_a_link_that_leads_elsewhere_now_takes_the_trust_away(
    workspace: Workspace, checkout: Workspace
) -> None:
    link(workspace, "skills/one", checkout.skill("one", folder="one").parent)
    workspace.trust()
    link(workspace, "skills/one", checkout.skill("two", folder="two").parent)
    assert boundary(workspace).trust.state == "changed"
    assert (listed(workspace), refused(workspace)) == ([], ["skills/one"])


def test_a_new_link_takes_the_trust_away(workspace: Workspace, checkout: Workspace) -> None:
    workspace.trust()
    link(workspace, "skills/one", checkout.skill("one", folder="one").parent)
    assert boundary(workspace).trust.state == "changed"


def test_only_the_place_that_was_trusted_is_entered(
    workspace: Workspace, checkout: Workspace
) -> None:
    """A link that is changed after the trust was decided, and before the walk."""
    link(workspace, "skills/one", checkout.skill("one", folder="one").parent)
    workspace.trust()
    decided = boundary(workspace)
    link(workspace, "skills/one", checkout.skill("two", folder="two").parent)
    with Catalog.within(decided) as catalog:
        catalog.refresh()
        assert catalog.skills() == []


def test_a_link_to_a_folder_of_somebody_else_is_refused_all_the_same(
    workspace: Workspace, checkout: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = checkout.skill("one", folder="one").parent
    link(workspace, "skills/one", target)
    workspace.trust()
    monkeypatch.setattr(os, "getuid", lambda: target.stat().st_uid + 1)
    assert refused(workspace) == ["skills/one"]


def test_a_link_deeper_down_or_beside_the_skill_folders_is_refused(
    workspace: Workspace, checkout: Workspace
) -> None:
    target = checkout.skill("one", folder="one").parent
    for path in ("skills/group/one", "packages/skills/one"):
        link(workspace, path, target)
    workspace.trust()
    assert (listed(workspace), len(refused(workspace))) == ([], 2)


def test_a_link_inside_what_is_linked_does_not_lead_on(
    workspace: Workspace, checkout: Workspace
) -> None:
    target = checkout.skill("one", folder="one").parent
    (target / "more").symlink_to(checkout.skill("two", folder="two").parent)
    link(workspace, "skills/one", target)
    workspace.trust()
    assert listed(workspace) == ["skills/one/SKILL.md"]


def test_hooks_look_at_the_links_too(workspace: Workspace, checkout: Workspace) -> None:
    link(workspace, "skills/one", checkout.skill("one", folder="one").parent)
    workspace.trust(speak=True)
    assert str(workspace.root.resolve() / "skills/one") in depended_on(boundary(workspace))


def test_people_see_where_a_link_leads_before_they_trust(
    workspace: Workspace, checkout: Workspace, capfd: pytest.CaptureFixture[str]
) -> None:
    target = checkout.skill("one", folder="one").parent.resolve()
    link(workspace, "skills/one", target)
    assert run(["trust", "--show", "--root", str(workspace.root)]) == 0
    shown = capfd.readouterr().out
    assert f"link       skills/one leads to {target}; the skills there are used\n" in shown


def test_a_workspace_without_such_links_has_the_digest_that_it_had() -> None:
    assert "links" not in Powers().to_json()
    assert Powers(links={"skills/one": "/one"}).digest != Powers().digest
