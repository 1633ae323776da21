"""The object that users hold: a workspace's skills, abilities, cards and agents."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import Workspace, boundary_of
from metier import Agent, Catalog, Config, NotFoundError, Skill, StoreError, UsageError
from metier.errors import REFRESH_HINT
from metier.run.models import ScriptedModel
from metier.values.settings import Mount

ABILITY = "---\nabilityId: {id}\ndisplayName: {name}\n---\nKnow.\n"


@pytest.fixture
def catalog(workspace: Workspace) -> Iterator[Catalog]:
    with Catalog.open(workspace.root) as opened:
        yield opened


def files_below(*folders: Path) -> set[str]:
    return {str(path) for folder in folders for path in folder.rglob("*")}


def test_state_lives_in_one_folder_and_nowhere_else(workspace: Workspace, empty_home: Path) -> None:
    workspace.skill("a")
    before = files_below(workspace.root, empty_home)
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        catalog.skills(search="a")
    made = files_below(workspace.root, empty_home) - before
    files = {path for path in made if Path(path).is_file()}
    assert files == {str(workspace.state / "restricted.db")}
    assert all(path.startswith(str(empty_home / ".local")) for path in made)
    assert workspace.state.stat().st_mode & 0o777 == 0o700
    assert (workspace.state / "restricted.db").stat().st_mode & 0o777 == 0o600


def test_a_catalog_in_memory_is_kept_nowhere(workspace: Workspace, empty_home: Path) -> None:
    workspace.skill("a", extra="capabilities: [read]")
    before = files_below(workspace.root, empty_home)
    with Catalog.in_memory(boundary_of(workspace.root)) as catalog:
        assert catalog.refresh().changes.added == 1
        assert catalog.providers("read") == ["a"]
    assert files_below(workspace.root, empty_home) == before


def test_the_catalog_is_there_when_it_is_opened_again(workspace: Workspace) -> None:
    file = workspace.skill("a")
    with Catalog.open(str(workspace.root)) as catalog:
        catalog.refresh()
    file.unlink()
    with Catalog.open(workspace.root) as catalog:
        assert [row.name for row in catalog.skills()] == ["a"]


def test_the_workspace_is_the_repository_around_the_folder(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = workspace.skill("a").parent
    monkeypatch.chdir(inner)
    for root in (None, inner, "."):
        with Catalog.open(root) as catalog:
            assert catalog.workspace == str(workspace.root)
    assert not (inner / ".metier").exists()


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(UsageError) as caught:
        Catalog.open(tmp_path / name)
    assert caught.value.where == str(tmp_path / name)
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_closed_catalog_answers_no_more(workspace: Workspace) -> None:
    catalog = Catalog.open(workspace.root)
    catalog.close()
    catalog.close()
    with pytest.raises(StoreError):
        catalog.skills()


def test_a_refresh_says_what_it_met(workspace: Workspace, catalog: Catalog) -> None:
    workspace.skill("a")
    workspace.write("skills/b/SKILL.md", "no front matter")
    workspace.write("abilities/x.md", ABILITY.format(id="x", name="X"))
    refreshed = catalog.refresh()
    assert refreshed.changes.discovered == 3
    assert [issue.code for issue in refreshed.issues if issue.is_error] == ["FM101"]
    assert [one.path for one in refreshed.excluded] == ["skills/b/SKILL.md"]
    as_json = refreshed.to_json()
    assert as_json["included"] == {"skill": 1, "ability": 1, "card": 0, "agent": 0}
    assert [one["reason"] for one in as_json["exclusions"]] == ["unparseable"]
    assert [one["path"] for one in as_json["issues"]] == ["skills/b/SKILL.md"]


def test_skills_come_by_name_and_can_be_searched(workspace: Workspace, catalog: Catalog) -> None:
    workspace.skill("charts", "Draws a Straße from a table, 100% of it.")
    workspace.skill("b_c", "Reads mail.", extra="capabilities: [read]")
    workspace.skill("Zebra", "Reads stripes.", extra="capabilities: [read, Read]")
    catalog.refresh()

    def names(search: str | None = None, capability: str | None = None) -> list[str]:
        return [row.name for row in catalog.skills(search=search, capability=capability)]

    assert names() == names("") == ["Zebra", "b_c", "charts"]
    assert names("CHART") == names("strasse") == names("%") == ["charts"]
    assert names("_") == ["b_c"]
    assert names("reads") == names(capability="read") == ["Zebra", "b_c"]
    assert names(capability="Read") == ["Zebra"]
    assert names("mail", "read") == ["b_c"]
    assert names(capability="reads") == names("nothing like it") == []


def test_providers_are_the_active_skills_that_declare_a_capability(
    workspace: Workspace, catalog: Catalog
) -> None:
    for name in ("b", "a", "C"):
        workspace.skill(name, extra="capabilities: [read]")
    workspace.skill("a", "Another.", folder="z", extra="capabilities: [write]")
    catalog.refresh()
    assert catalog.providers("read") == ["C", "a", "b"]
    assert catalog.providers("write") == catalog.providers("READ") == []


def test_documents_of_every_kind_are_found_by_id_and_by_name(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("a", extra="license: MIT")
    workspace.write("abilities/x.md", ABILITY.format(id="x", name="The X"))
    catalog.refresh()
    assert catalog.row("skill", "a") == catalog.row("skill", "a::skills/a")
    assert catalog.row("ability", "x") == catalog.row("ability", "The X")
    assert catalog.row("skill", "a").data == {"license": "MIT"}
    assert [row.handle for row in catalog.documents("ability", search="the x")] == ["x"]
    assert (catalog.names("skill"), catalog.names("ability")) == (["a"], ["x"])
    assert list(catalog.find("ability", "a")) == list(catalog.find("skill", "a::elsewhere")) == []


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        ("chart", "did you mean 'charts'?"),
        ("qqq", "metier list skills (Python: catalog.names('skill'))"),
    ],
)
def test_an_unknown_name_raises_with_a_hint(
    workspace: Workspace, catalog: Catalog, wanted: str, hint: str
) -> None:
    workspace.skill("charts")
    catalog.refresh()
    with pytest.raises(NotFoundError) as caught:
        catalog.row("skill", wanted)
    assert f"'{wanted}'" in caught.value.message
    assert caught.value.hint == hint


def test_an_unknown_name_before_the_first_refresh_says_to_refresh(catalog: Catalog) -> None:
    with pytest.raises(NotFoundError) as caught:
        catalog.row("skill", "charts")
    assert caught.value.hint == f"nothing was read yet: {REFRESH_HINT}"


def test_every_answer_before_the_first_refresh_says_that_nothing_was_read(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("charts")
    note = f"nothing was read yet: {REFRESH_HINT}"

    def said() -> list[list[str]]:
        return [
            list(catalog.which("draw charts").notes),
            list(catalog.resolve(["charts"]).facts.warnings),
            [f"{one.message}: {one.hint}" for one in catalog.inject("draw charts").issues],
            [line for one in catalog.select_agents("draw") for line in one.reasons if line == note],
        ]

    assert said() == [[note]] * 4
    catalog.refresh()
    assert said() == [[]] * 4


def test_a_run_before_the_first_refresh_warns_that_nothing_was_read(workspace: Workspace) -> None:
    workspace.trust()
    clerk = Agent("clerk", "Writes letters.", model=ScriptedModel(["Done.", "Done."]))
    with Catalog.open(workspace.root) as catalog:
        (warning,) = catalog.run_sync(clerk, "a letter").warnings
        assert (warning.code, warning.severity) == ("CATALOG_NOT_READ", "warning")
        catalog.refresh()
        assert catalog.run_sync(clerk, "a letter").warnings == []


def test_a_shadowed_skill_is_reached_by_its_full_id(workspace: Workspace, catalog: Catalog) -> None:
    workspace.skill("a", "The first.", folder="one")
    workspace.skill("a", "The second.", folder="two")
    catalog.refresh()
    assert [row.id for row in catalog.skills()] == ["a::one"]
    assert [row.id for row in catalog.skills(shadowed=True)] == ["a::one", "a::two"]
    assert [row.id for row in catalog.find("skill", "a")] == ["a::one", "a::two"]
    assert catalog.row("skill", "a").description == "The first."
    hidden = catalog.row("skill", "a::two")
    assert (hidden.description, hidden.state, hidden.shadowed_by) == (
        *("The second.", "shadowed", "one/SKILL.md"),
    )
    (issue,) = [one for one in catalog.issues_of(hidden) if one.code == "XF901"]
    assert issue.path == "two/SKILL.md"
    assert "one/SKILL.md" in issue.message


def test_ids_tell_the_folder_the_host_or_the_mount(
    workspace: Workspace, empty_home: Path, tmp_path: Path
) -> None:
    workspace.skill("root", folder=".")
    workspace.skill("own", folder=".claude/skills/own")
    Workspace(empty_home).skill("user", folder=".claude/skills/deep/user")
    Workspace(tmp_path / "shared").skill("mounted", folder="x/y")
    Workspace(tmp_path / "shared").skill("top", folder=".")
    config = Config(mounts=(Mount(path="../shared", label="team"),))
    with Catalog.open(workspace.root, config=config) as catalog:
        catalog.refresh()
        assert {row.id: row.source for row in catalog.skills()} == {
            "root::.": "workspace",
            "own::.claude/skills/own": "claude",
            "user::claude-user/deep/user": "claude-user",
            "mounted::team/x/y": "team",
            "top::team": "team",
        }
    with Catalog.open(workspace.root, config=Config(host_folders=False)) as catalog:
        catalog.refresh()
        assert catalog.names("skill") == ["own", "root"]


def test_settings_of_the_workspace_are_read(workspace: Workspace) -> None:
    workspace.skill("a")
    workspace.skill("b")
    workspace.write("metier.toml", 'disabled = ["b"]\n')
    with Catalog.open(workspace.root) as catalog:
        excluded = catalog.refresh().excluded
        assert catalog.names("skill") == ["a"]
    assert [(one.path, one.detail) for one in excluded] == [
        ("skills/b/SKILL.md", "by 'disabled' in the settings")
    ]


def test_a_document_is_read_from_its_file(workspace: Workspace, catalog: Catalog) -> None:
    file = workspace.skill("a", body="Do it.")
    catalog.refresh()
    row = catalog.row("skill", "a")
    document = catalog.document(row)
    assert isinstance(document, Skill)
    assert (document.id, document.body) == (row.id, "Do it.")
    file.write_text(file.read_text().replace("Do it.", "Do it twice, then."))
    assert catalog.document(row).body == "Do it twice, then."
    for spoil in (lambda: file.write_text("nothing"), file.unlink):
        spoil()
        with pytest.raises(NotFoundError) as caught:
            catalog.document(row)
        assert (caught.value.where, caught.value.hint) == (row.file, REFRESH_HINT)


def test_a_document_is_never_read_from_outside_its_root(
    workspace: Workspace, catalog: Catalog, tmp_path: Path
) -> None:
    inside = workspace.skill("a").parent
    catalog.refresh()
    row = catalog.row("skill", "a")
    inside.rename(tmp_path / "outside")
    inside.symlink_to(tmp_path / "outside")
    with pytest.raises(NotFoundError):
        catalog.document(row)


def test_everything_left_out_is_listed_with_its_reason(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.skill("a", folder="a")
    workspace.skill("a", folder="b")
    workspace.skill("off", folder="c")
    workspace.write("d/SKILL.md", "---\nname: d\n---\n")
    workspace.write("e/SKILL.md", "x" * (1 << 20) + "x")
    outside = Workspace(tmp_path / "outside").skill("f")
    (workspace.root / "f").mkdir()
    (workspace.root / "f" / "SKILL.md").symlink_to(outside)
    with Catalog.open(workspace.root, config=Config(disabled=("off",))) as catalog:
        changes = catalog.refresh().changes
        assert {one.path[0]: one.reason for one in catalog.excluded()} == {
            "b": "duplicate-content",
            "c": "disabled",
            "d": "unparseable",
            "e": "too-large",
            "f": "outside-root",
        }
        assert (changes.discovered, changes.excluded) == (6, 5)
        details = {one.path[0]: one.detail for one in catalog.excluded()}
        assert details["b"] == "copy of a/SKILL.md"
        assert all(details[letter] for letter in "bdef")


def test_findings_come_by_path_and_name_the_files_that_collide(
    workspace: Workspace, catalog: Catalog
) -> None:
    for number in (1, 2):
        workspace.write(f"abilities/{number}.md", ABILITY.format(id="x", name=f"No. {number}"))
    workspace.skill("a", "The first of the two skills that are called a.", folder="1/a")
    workspace.skill("a", "Another skill that is called a, and comes second.", folder="2/a")
    workspace.skill("a", "The first of the two skills that are called a.", folder="3/a")
    catalog.refresh()
    found = [(one.path, one.code) for one in catalog.issues() if one.code.startswith("XF")]
    assert found == [
        ("2/a/SKILL.md", "XF901"),
        ("3/a/SKILL.md", "XF902"),
        ("abilities/2.md", "XF903"),
    ]
    assert catalog.issues() == catalog.refresh().issues


def test_a_finding_points_at_a_line_that_exists(workspace: Workspace, catalog: Catalog) -> None:
    text = "---\nname: a\ndescription: Does one thing, when it is needed.\n---"
    workspace.write("skills/a/SKILL.md", text)
    catalog.refresh()
    (issue,) = catalog.issues()
    assert (issue.code, issue.line) == ("SK312", 4)


def test_a_name_with_two_colons_is_found_by_name_and_by_id(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill('"std::sort"', folder="sort")
    catalog.refresh()
    (row,) = catalog.skills()
    assert catalog.row("skill", row.id) == catalog.row("skill", "std::sort") == row


def test_an_empty_name_finds_nothing(workspace: Workspace, catalog: Catalog) -> None:
    workspace.write("skills/b/SKILL.md", "no front matter")
    catalog.refresh()
    assert list(catalog.find("skill", "")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="file names differ by case only")
def test_no_two_skills_have_one_id(workspace: Workspace, catalog: Catalog) -> None:
    workspace.skill("a", "The first.")
    workspace.write("skills/a/skill.md", "---\nname: a\ndescription: The second.\n---\n")
    catalog.refresh()
    ids = [row.id for row in catalog.skills(shadowed=True)]
    assert len(ids) == len(set(ids))


def test_a_text_that_is_no_unicode_does_not_stop_the_rest(
    workspace: Workspace, catalog: Catalog
) -> None:
    workspace.skill("a")
    workspace.write("agents/b.json", r'{"agentId": "b", "description": "\ud800"}')
    assert catalog.refresh().changes.discovered == 2
    assert [row.name for row in catalog.skills()] == ["a"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
def test_a_workspace_whose_path_is_no_unicode_is_refused_in_one_line(tmp_path: Path) -> None:
    root = tmp_path / os.fsdecode(b"caf\xe9")
    Workspace(root).skill("a")
    with pytest.raises(UsageError, match="not UTF-8"):
        Catalog.open(root)


def test_every_exclusion_says_why(workspace: Workspace) -> None:
    workspace.skill("off", extra="enabled: false")
    workspace.write("skills/empty/SKILL.md", "")
    workspace.skill("a")
    workspace.skill("a", folder="copy")
    os.mkfifo(workspace.root / "SKILL.md")
    with Catalog.open(workspace.root) as catalog:
        details = {one.reason: one.detail for one in catalog.refresh().excluded}
    assert details == {
        "disabled": "by its own 'enabled: false'",
        "unparseable": "the file is empty",
        "duplicate-content": "copy of copy/SKILL.md",
        "unreadable": "a named pipe where a file should be",
    }
