"""From disk to documents: what becomes a candidate, what is left out and why, and no loss."""

import hashlib
import os
from collections import Counter
from pathlib import Path

import pytest

from conftest import Workspace
from metier.config import Config
from metier.discover.roots import roots_for
from metier.errors import InvalidDocumentError
from metier.load import (
    load_abilities,
    load_folder,
    read_documents,
    read_skills,
    require_valid,
)
from metier.values.documents import Skill
from metier.values.files import Entry, Reading

AS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0


def reading_of(
    workspace: Workspace, *, strict: bool = False, disabled: tuple[str, ...] = ()
) -> Reading:
    roots = roots_for(str(workspace.root), Config(host_folders=False), str(workspace.root / "none"))
    return read_documents(roots, disabled=disabled, strict=strict)


def read_all(reading: Reading) -> dict[str, Entry]:
    """Every file that was met, by path."""
    entries = [reading.read(found) for found in reading.found]
    assert len({entry.found.path for entry in entries}) == len(entries)
    return {entry.found.path: entry for entry in entries}


def load(workspace: Workspace, *disabled: str, strict: bool = False) -> dict[str, Entry]:
    return read_all(reading_of(workspace, strict=strict, disabled=disabled))


def candidates(entries: dict[str, Entry]) -> list[str]:
    return [path for path, entry in entries.items() if not entry.reason]


def reasons(entries: dict[str, Entry]) -> dict[str, str]:
    return {path: entry.reason for path, entry in entries.items() if entry.reason}


def skill_of(entry: Entry) -> Skill:
    assert isinstance(entry.document, Skill)
    return entry.document


# Candidates


@pytest.mark.invariant(id="DCI-DSC-002")
def test_a_readable_skill_with_valid_front_matter_is_a_candidate(workspace: Workspace) -> None:
    file = workspace.skill("charts", "Draws a chart.", body="Read the table.")
    (entry,) = load(workspace).values()
    assert entry.reason == ""
    skill = skill_of(entry)
    assert skill.id == "charts::skills/charts"
    assert (skill.description, skill.body) == ("Draws a chart.", "Read the table.")
    assert entry.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()


@pytest.mark.invariant(id="DCI-DSC-002")
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "FM114"),
        (b"# No front matter\n", "FM101"),
        (b"---\nname: a\ndescription: d\n", "FM102"),
        (b"---\n- a\n---\nbody", "FM109"),
        (b"---\nname: a\n---\n# Title", "SK304"),
        (b"---\nname: a\ndescription: ''\n---\n", "SK304"),
        (b"---\nname: a\ndescription: &x d\n---\nbody", "FM106"),
        (b"---\nname: a\ndescription: d\nx: " + b"[" * 21 + b"]" * 21 + b"\n---\nbody", "FM107"),
        (b"---\nname: a\ndescription: " + b"d" * 65_536 + b"\n---\nbody", "FM108"),
        (b"\x00\x01\x02", "FM111"),
        ("---\nname: a\ndescription: d\n---\n".encode("utf-16"), "FM110"),
    ],
)
def test_a_file_that_yields_no_skill_is_no_candidate(
    workspace: Workspace, content: bytes, code: str
) -> None:
    workspace.write("skills/bad/SKILL.md", content)
    workspace.skill("good")
    entries = load(workspace)
    assert candidates(entries) == ["skills/good/SKILL.md"]
    bad = entries["skills/bad/SKILL.md"]
    assert (bad.document, bad.reason) == (None, "unparseable")
    assert [issue.code for issue in bad.issues] == [code]
    assert bad.issues[0].path == "skills/bad/SKILL.md"


@pytest.mark.invariant(id="DCI-DSC-002")
@pytest.mark.parametrize(
    "content",
    [
        b"---\nname: a\ndescription: Use when: always\n---\nbody",
        b"---\ndescription: no name\n---\nbody",
        b"---\nname: a\n---\nno description",
        b"---\nname: Not A Legal Name\ndescription: d\n---\n",
        b"---\nname: a\ndescription: in the caf\xe9 nearby, as ever\n---\nbody",
        b"\xef\xbb\xbf---\r\nname: a\r\ndescription: d\r\n---\r\nbody",
        b"---\nname: a\ndescription: " + b"d" * 2_000 + b"\n---\nbody",
        b"---\nname: a\ndescription: d\nmetadata: {contract: nonsense}\n---\nbody",
    ],
)
def test_a_messy_skill_stays_a_candidate_with_its_issues(
    workspace: Workspace, content: bytes
) -> None:
    workspace.write("skills/a/SKILL.md", content)
    (entry,) = load(workspace).values()
    assert entry.reason == ""
    assert entry.document is not None
    assert entry.issues


def test_without_a_name_the_folder_gives_it_also_at_the_root(workspace: Workspace) -> None:
    workspace.write("SKILL.md", "---\ndescription: d\n---\nbody")
    workspace.write("skills/deep/SKILL.md", "---\ndescription: e\n---\nbody")
    entries = load(workspace)
    assert skill_of(entries["SKILL.md"]).id == "workspace::."
    assert skill_of(entries["skills/deep/SKILL.md"]).id == "deep::skills/deep"


def test_strict_leaves_out_every_skill_that_has_an_error(workspace: Workspace) -> None:
    workspace.write("skills/a/SKILL.md", "---\nname: a\ndescription: b: c\n---\nbody")
    workspace.write("skills/b/SKILL.md", "---\nname: other\ndescription: d\n---\nbody")
    assert reasons(load(workspace)) == {}
    assert reasons(load(workspace, strict=True)) == {"skills/a/SKILL.md": "unparseable"}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("abilities/a.md", "---\npriority: 500\n---\ntext"),
        ("abilities/b.md", "---\na: b: c\n---\ntext"),
        ("docs/capabilities/a.md", "---\nid: a\n---\ntext"),
        ("docs/capabilities/b.md", "no front matter"),
        ("agents/a.yaml", "agentId: a\ndescription: d\nunknown: 1\n"),
        ("agents/b.json", "{"),
        ("agents/c.md", "no front matter"),
    ],
)
def test_of_the_other_kinds_every_error_leaves_a_document_out(
    workspace: Workspace, path: str, content: str
) -> None:
    workspace.write(path, content)
    (entry,) = load(workspace).values()
    assert entry.reason == "unparseable"
    assert any(issue.is_error for issue in entry.issues)


# Disabled


@pytest.mark.invariant(id="DCI-DSC-003")
def test_a_skill_is_disabled_by_name_wherever_it_stands(workspace: Workspace) -> None:
    workspace.skill("a", folder="skills/a")
    workspace.skill("a", folder="more/a")
    workspace.skill("b")
    assert reasons(load(workspace, "a")) == {
        "more/a/SKILL.md": "disabled",
        "skills/a/SKILL.md": "disabled",
    }


@pytest.mark.invariant(id="DCI-DSC-003")
def test_a_skill_is_disabled_by_id_alone_in_its_place(workspace: Workspace) -> None:
    workspace.skill("a", folder="skills/a")
    workspace.skill("a", folder="more/a")
    entries = load(workspace, "a::skills/a")
    assert reasons(entries) == {"skills/a/SKILL.md": "disabled"}
    assert candidates(entries) == ["more/a/SKILL.md"]


@pytest.mark.invariant(id="DCI-DSC-003")
def test_a_skill_may_disable_itself(workspace: Workspace) -> None:
    workspace.skill("a", extra="enabled: false")
    workspace.skill("b", extra="enabled: true")
    workspace.skill("c", extra="enabled: 'false'")
    assert reasons(load(workspace)) == {"skills/a/SKILL.md": "disabled"}


@pytest.mark.invariant(id="DCI-DSC-003")
@pytest.mark.parametrize("name", ["A", "a*", "skills/a", "a::skills", "", "aa"])
def test_what_is_no_exact_name_or_id_disables_nothing(workspace: Workspace, name: str) -> None:
    workspace.skill("a")
    assert reasons(load(workspace, name)) == {}


@pytest.mark.invariant(id="DCI-DSC-003")
def test_a_disabled_skill_is_on_record_with_its_content(workspace: Workspace) -> None:
    workspace.skill("a")
    (entry,) = load(workspace, "a").values()
    assert skill_of(entry).name == "a"
    assert entry.sha256


def test_a_name_in_the_settings_disables_only_skills(workspace: Workspace) -> None:
    workspace.write("abilities/a.md", "text")
    workspace.skill("a")
    assert reasons(load(workspace, "a")) == {"skills/a/SKILL.md": "disabled"}


def test_a_disabled_skill_that_cannot_be_parsed_is_unparseable(workspace: Workspace) -> None:
    workspace.write("skills/a/SKILL.md", "---\nname: a\nenabled: false\n---\n")
    assert reasons(load(workspace, "a")) == {"skills/a/SKILL.md": "unparseable"}


# Between the walk and the read


@pytest.mark.invariant(id="DCI-DSC-004")
def test_a_file_that_vanishes_before_it_is_read_is_unreadable(workspace: Workspace) -> None:
    gone = workspace.skill("a")
    workspace.skill("b")
    reading = reading_of(workspace)
    gone.unlink()
    entries = read_all(reading)
    assert reasons(entries) == {"skills/a/SKILL.md": "unreadable"}
    assert [issue.code for issue in entries["skills/a/SKILL.md"].issues] == ["IO201"]
    assert candidates(entries) == ["skills/b/SKILL.md"]


@pytest.mark.invariant(id="DCI-DSC-004")
def test_a_folder_that_vanishes_before_it_is_read_is_unreadable(workspace: Workspace) -> None:
    workspace.skill("a")
    reading = reading_of(workspace)
    (workspace.root / "skills").rename(workspace.root / "renamed")
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_another_file_in_its_place_is_not_read(workspace: Workspace) -> None:
    file = workspace.skill("a")
    other = workspace.write("other.md", "---\nname: evil\ndescription: d\n---\nbody")
    reading = reading_of(workspace)
    os.replace(other, file)
    (entry,) = read_all(reading).values()
    assert (entry.document, entry.reason, entry.sha256) == (None, "unreadable", "")


def test_a_link_in_its_place_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    secret = Workspace(tmp_path / "outside").skill("secret")
    file = workspace.skill("a")
    reading = reading_of(workspace)
    file.unlink()
    file.symlink_to(secret)
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_a_linked_folder_in_its_place_is_not_followed(workspace: Workspace, tmp_path: Path) -> None:
    Workspace(tmp_path / "outside").skill("a", folder="a")
    file = workspace.skill("a")
    reading = reading_of(workspace)
    file.parent.rename(workspace.root / "moved")
    file.parent.symlink_to(tmp_path / "outside/a")
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_a_named_pipe_in_its_place_does_not_block(workspace: Workspace) -> None:
    file = workspace.skill("a")
    reading = reading_of(workspace)
    file.unlink()
    os.mkfifo(file)
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_a_folder_in_its_place_is_not_read(workspace: Workspace) -> None:
    file = workspace.skill("a")
    reading = reading_of(workspace)
    file.unlink()
    file.mkdir()
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_a_file_that_grew_beyond_the_limit_is_not_read(workspace: Workspace) -> None:
    file = workspace.skill("a")
    reading = reading_of(workspace)
    with file.open("ab") as stream:
        stream.write(b"x" * 1_048_576)
    assert reasons(read_all(reading)) == {"skills/a/SKILL.md": "unreadable"}


def test_a_file_that_was_written_anew_in_place_is_read_as_it_is_now(workspace: Workspace) -> None:
    file = workspace.skill("a", "Before.")
    reading = reading_of(workspace)
    content = b"---\nname: a\ndescription: After the walk.\n---\nbody, and a longer one at that\n"
    with file.open("r+b") as stream:
        stream.truncate()
        stream.write(content)
    (entry,) = read_all(reading).values()
    assert skill_of(entry).description == "After the walk."
    assert entry.sha256 == hashlib.sha256(content).hexdigest()


@pytest.mark.invariant(id="DCI-DSC-004")
@pytest.mark.skipif(AS_ROOT, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_unreadable(workspace: Workspace) -> None:
    closed = workspace.skill("a")
    workspace.skill("b")
    closed.chmod(0)
    try:
        entries = load(workspace)
    finally:
        closed.chmod(0o644)
    assert reasons(entries) == {"skills/a/SKILL.md": "unreadable"}
    assert candidates(entries) == ["skills/b/SKILL.md"]


def test_a_file_of_exactly_the_limit_is_read_whole(workspace: Workspace) -> None:
    head = b"---\nname: a\ndescription: d\n---\n"
    workspace.write("skills/a/SKILL.md", head + b"x" * (1_048_576 - len(head)))
    (entry,) = load(workspace).values()
    assert len(skill_of(entry).body) == 1_048_576 - len(head)


# Nothing is lost


@pytest.mark.invariant(id="DCI-DSC-004")
def test_every_file_is_either_a_candidate_or_left_out_with_its_reason(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = Workspace(tmp_path / "outside").skill("out")
    for name in ("one", "two", "three"):
        workspace.skill(name)
    workspace.skill("off")
    workspace.skill("self-off", extra="enabled: false")
    workspace.write("skills/broken/SKILL.md", "---\nnever closed")
    workspace.write("skills/empty/SKILL.md", "")
    workspace.write("skills/large/SKILL.md", b"x" * 1_048_577)
    workspace.write("skills/folder/SKILL.md/file.txt", "text")
    (workspace.root / "skills/linked").mkdir()
    (workspace.root / "skills/linked/SKILL.md").symlink_to(outside)
    (workspace.root / "skills/gone").mkdir()
    (workspace.root / "skills/gone/SKILL.md").symlink_to("nowhere.md")
    workspace.write("abilities/good.md", "text")
    workspace.write("abilities/2024-guide.md", "text")
    workspace.write("agents/bad.json", "{")
    reading = reading_of(workspace, disabled=("off",))
    entries = read_all(reading)
    assert set(entries) == {found.path for found in reading.found}
    assert candidates(entries) == [
        "abilities/good.md",
        "skills/one/SKILL.md",
        "skills/three/SKILL.md",
        "skills/two/SKILL.md",
    ]
    assert reasons(entries) == {
        "abilities/2024-guide.md": "unparseable",
        "agents/bad.json": "unparseable",
        "skills/broken/SKILL.md": "unparseable",
        "skills/empty/SKILL.md": "unparseable",
        "skills/folder/SKILL.md": "unreadable",
        "skills/gone/SKILL.md": "unreadable",
        "skills/large/SKILL.md": "too-large",
        "skills/linked/SKILL.md": "outside-root",
        "skills/off/SKILL.md": "disabled",
        "skills/self-off/SKILL.md": "disabled",
    }
    for path, reason in reasons(entries).items():
        assert reason == "disabled" or any(issue.path == path for issue in entries[path].issues)


def test_a_refused_file_has_one_issue_that_says_what_to_do(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = Workspace(tmp_path / "outside").skill("out")
    (workspace.root / "skills/a").mkdir(parents=True)
    (workspace.root / "skills/a/SKILL.md").symlink_to(outside)
    (entry,) = load(workspace).values()
    (issue,) = entry.issues
    assert issue.code == "IO202"
    assert str(outside) in issue.message
    assert "mounts" in issue.hint


def test_skills_of_one_name_are_all_read(workspace: Workspace) -> None:
    workspace.skill("same", "The first.", folder="a/same")
    workspace.skill("same", "The second.", folder="b/same")
    entries = load(workspace)
    assert [skill_of(entry).id for entry in entries.values()] == ["same::a/same", "same::b/same"]


def test_reading_twice_gives_equal_entries(workspace: Workspace) -> None:
    workspace.skill("a")
    workspace.write("skills/b/SKILL.md", "---\nname: b\ndescription: c: d\n---\nbody")
    workspace.write("abilities/c.md", "text")
    assert load(workspace) == load(workspace)


# Plain folders


def test_the_first_plain_folder_has_no_label_and_the_others_have(tmp_path: Path) -> None:
    Workspace(tmp_path / "one").skill("a", folder="a")
    Workspace(tmp_path / "two").skill("a", folder="a")
    reading = read_skills([tmp_path / "one", str(tmp_path / "two")])
    assert [found.path for found in reading.found] == ["a/SKILL.md", "two/a/SKILL.md"]


def test_the_fingerprint_tells_other_folders_and_settings_apart(workspace: Workspace) -> None:
    first = reading_of(workspace)
    assert first.fingerprint == reading_of(workspace).fingerprint
    assert first.fingerprint != reading_of(workspace, disabled=("a",)).fingerprint
    assert first.fingerprint != read_skills([workspace.root]).fingerprint


def test_of_two_agents_with_one_id_the_first_by_path_counts(tmp_path: Path) -> None:
    agents = Workspace(tmp_path / "agents")
    agents.write("b.yaml", "agentId: same\ndescription: second\n")
    agents.write("a.json", '{"agentId": "same", "description": "first"}')
    agents.write("c.md", "---\nagentId: other\ndescription: third\n---\nbody")
    loaded = load_folder("agent", agents.root)
    assert [(item.id, item.description) for item in loaded.items] == [
        ("same", "first"),
        ("other", "third"),
    ]
    (issue,) = loaded.issues
    assert (issue.code, issue.path) == ("XF903", "b.yaml")
    assert "a.json" in issue.message


def test_a_load_counts_every_reason(workspace: Workspace) -> None:
    workspace.skill("a", folder="a")
    workspace.skill("b", folder="b", extra="enabled: false")
    workspace.write("c/SKILL.md", "")
    loaded = load_folder("skill", workspace.root)
    assert [item.id for item in loaded.items] == ["a::a"]
    assert Counter(one.reason for one in loaded.excluded) == {"disabled": 1, "unparseable": 1}
    assert all(one.detail for one in loaded.excluded if one.reason != "disabled")


def test_a_caller_can_ask_that_errors_are_fatal(tmp_path: Path) -> None:
    (tmp_path / "good.md").write_text("Knowledge.")
    loaded = load_abilities(tmp_path)
    assert require_valid(loaded) is loaded
    (tmp_path / "bad.md").write_text("---\npriority: 0\n---\nKnowledge.")
    (tmp_path / "worse.md").write_text("---\npriority: [\n---\nKnowledge.")
    with pytest.raises(InvalidDocumentError, match=r"AB502 .*\(and 1 more\)") as raised:
        require_valid(load_abilities(tmp_path))
    assert raised.value.where == "bad.md:2:1"
