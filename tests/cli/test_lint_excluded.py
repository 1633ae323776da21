"""`metier lint` lists every file that the catalog excludes, with its reason."""

import os

import pytest

from cli.printed import Lint, lint
from conftest import Workspace
from metier.catalog import Catalog
from metier.cli.shown_paths import which_and_why

__all__ = ["lint"]


def write_excluded_files(workspace: Workspace) -> None:
    """A file for each reason to exclude one, a shadowed one, and one that is used."""
    workspace.skill("used", extra="license: a: b")
    workspace.skill("used", folder="vendor/used", body="Do it otherwise.")
    workspace.skill("copy")
    workspace.skill("copy", folder="vendor/copy")
    workspace.skill("own", extra="enabled: false")
    workspace.skill("off")
    workspace.write("metier.toml", "disabled = ['off']\n")
    workspace.write("skills/unclosed/SKILL.md", "---\nname: unclosed\n")
    workspace.write("skills/crowded/SKILL.md", "---\ndescription:\nlicense: [a]\n---\n")
    os.truncate(workspace.write("skills/huge/SKILL.md", ""), 100_000_000)
    (workspace.root / "skills/folder/SKILL.md").mkdir(parents=True)
    (workspace.root / "skills/away").symlink_to("/")
    workspace.write(".dci/aliases.v1.json", "{}")
    workspace.write("AGENTS.md", "Look around.\n")
    workspace.write("abilities/bad.md", "---\npriority: many\n---\nDo it.\n")


@pytest.mark.parametrize("options", [(), ("--ignore", "FM,IO"), ("--notes",)], ids=" ".join)
def test_every_file_that_the_catalog_excludes_is_listed_as_such_and_no_other(
    workspace: Workspace, lint: Lint, options: tuple[str, ...]
) -> None:
    write_excluded_files(workspace)
    with Catalog.open(workspace.root) as catalog:
        excluded = {one.path: one for one in catalog.refresh().excluded}
    reasons = {"disabled", "unreadable", "unparseable", "outside-root", "too-large"}
    assert {one.reason for one in excluded.values()} == {*reasons, "duplicate-content"}
    told = lint(*options)
    marked = [line for line in told.out.splitlines() if "excluded" in line]
    *named, summary = told.err.splitlines()
    assert f"; {len(excluded)} excluded" in summary
    paths = [line.split(":")[0] for line in marked]
    paths += [line.removeprefix("excluded: ").split(" (")[0] for line in named]
    assert sorted(paths) == sorted(excluded)


def test_a_skill_that_is_switched_off_is_named_and_no_finding(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.skill("off", extra="enabled: false")
    told = lint("--strict")
    assert (told.code, told.out) == (0, "")
    assert told.err.splitlines() == [
        "excluded: skills/off/SKILL.md (disabled: by its own 'enabled: false')",
        "1 file checked, no problems found; 1 excluded",
    ]


def test_settings_that_select_codes_do_not_keep_it_quiet(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/empty/SKILL.md", "")
    workspace.write("metier.toml", "[lint]\nselect = ['SK']\n")
    assert "excluded: skills/empty/SKILL.md (unparseable: the file is empty)\n" in lint().err


def test_excluded_files_are_not_listed_beside_selected_codes(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/empty/SKILL.md", "")
    assert lint("--select", "SK").err == "1 file checked, no problems found\n"


def test_copies_that_different_hosts_need_are_a_hidden_note(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.skill("a", folder=".claude/skills/a")
    workspace.skill("a", folder=".agents/skills/a")
    told = lint()
    assert (told.code, told.out) == (0, "")
    assert told.err == "2 files checked, no problems found; 1 note hidden (--notes)\n"
    assert "XF907 exact copy of .claude/skills/a/SKILL.md, which other" in lint("--notes").out
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        assert which_and_why(catalog) == "metier lint --notes says which and why"
        [row] = catalog.excluded_rows("skill")
        assert "keep both" in row.why_excluded(catalog.issues_of(row))


def test_a_copy_is_excluded_from_the_catalog_and_not_from_its_host(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.skill("a", folder=".agents/skills/a")
    workspace.skill("a", folder=".codex/skills/a")
    assert "SKILL.md (excluded from metier's catalog)" in lint("--host", "codex").out
