"""`metier lint --files-from`: what concerns exactly the listed paths is found, and nothing else."""

import os
from pathlib import Path

import pytest

from cli.printed import Lint, Printed, lint
from conftest import Workspace

__all__ = ["lint"]

DOCUMENT = "---\nname: {}\ndescription: Does one thing well. Use it when needed.\n---\n\nDo it.\n"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder outside the workspace, with a file."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.md").write_text("secret")
    return tmp_path / "outside"


def found(result: Printed) -> list[tuple[str, str]]:
    return sorted((one["path"], one["code"]) for one in result.data)


def listed(lint: Lint, tmp_path: Path, *paths: str) -> list[tuple[str, str]]:
    """Paths and codes of what a list of paths finds."""
    file = tmp_path / "list"
    file.write_text("\0".join(paths))
    return found(lint("--files-from", str(file), "--json"))


def test_a_linked_folder_that_leads_out_is_found_as_it_is_without_a_list(
    workspace: Workspace, lint: Lint, tmp_path: Path, outside: Path
) -> None:
    workspace.skill("own")
    link = workspace.root / "teams/nine/skills/etc"
    link.parent.mkdir(parents=True)
    link.symlink_to(outside)
    wanted = [("teams/nine/skills/etc", "IO202")]
    assert found(lint("--json")) == wanted
    assert listed(lint, tmp_path, "teams/nine/skills/etc", "README.md") == wanted
    assert listed(lint, tmp_path, "skills/own/SKILL.md") == []


@pytest.mark.parametrize("name", ["ref.md", "docs/ref.md", "gone.md"])
def test_a_linked_file_in_a_skill_that_leads_out_is_found(
    workspace: Workspace, lint: Lint, tmp_path: Path, outside: Path, name: str
) -> None:
    workspace.skill("own")
    link = workspace.root / "skills/own" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(outside / ("secret.md" if name != "gone.md" else "gone.md"))
    wanted = [(f"skills/own/{name}", "IO202")]
    assert found(lint("--json")) == wanted
    assert found(lint("--json", "skills/own")) == wanted
    assert listed(lint, tmp_path, f"skills/own/{name}") == wanted


def test_a_link_that_stays_inside_is_no_finding_and_no_document(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    workspace.skill("own")
    workspace.write("shared/ref.md", "text")
    os.symlink("../../shared/ref.md", workspace.root / "skills/own/ref.md")
    os.symlink("../shared", workspace.root / "skills/shared")
    assert listed(lint, tmp_path, "skills/own/ref.md", "skills/shared") == []


def test_a_link_elsewhere_in_a_repository_is_nobodys_business(
    workspace: Workspace, lint: Lint, tmp_path: Path, outside: Path
) -> None:
    workspace.skill("repository", folder=".")
    for name in ("data.md", "docs.md", "node_modules"):
        (workspace.root / name).symlink_to(outside)
    (workspace.root / "file.md").symlink_to(outside / "secret.md")
    names = ("data.md", "docs.md", "file.md", "node_modules")
    assert "IO202" not in dict(listed(lint, tmp_path, *names)).values()
    assert "IO202" not in dict(found(lint("--json"))).values()


def test_a_linked_document_is_checked_once_as_a_document(
    workspace: Workspace, lint: Lint, tmp_path: Path, outside: Path
) -> None:
    (outside / "SKILL.md").write_text(DOCUMENT.format("evil"))
    (workspace.root / "skills/evil").mkdir(parents=True)
    (workspace.root / "skills/evil/SKILL.md").symlink_to(outside / "SKILL.md")
    assert listed(lint, tmp_path, "skills/evil/SKILL.md") == [("skills/evil/SKILL.md", "IO202")]


SETTINGS = """
disabled = ["own", "nobody"]
[folders]
cards = ["nosuch"]
[teams."gone"]
name = "nine"
"""


def test_listed_settings_are_checked_against_all_documents(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    workspace.skill("own")
    workspace.write("metier.toml", SETTINGS)
    wanted = [("metier.toml", code) for code in ("IO207", "IO207", "IO208")]
    assert listed(lint, tmp_path, "metier.toml") == wanted
    assert found(lint("--json", "metier.toml")) == wanted
    assert found(lint("--json")) == wanted
    assert listed(lint, tmp_path, "skills/own/SKILL.md") == []
