"""The rules for abilities: in files, and in data given to `validate_ability`."""

from pathlib import Path
from typing import Any

import pytest

from metier.lint import lint_document
from metier.lint.abilities import validate_ability
from metier.load import load_abilities
from metier.parse.kinds import parse_document
from metier.values.outcomes import Issue, has_errors

SCHEMA = pytest.mark.invariant(id="INV-ABL-LDR-001")


def codes(**fields: Any) -> list[str]:
    data = {"abilityId": "clean-code", "content": "Name things well.", **fields}
    return [issue.code for issue in validate_ability(data)]


def lint(text: str, path: str = "abilities/clean-code.md") -> list[Issue]:
    parsed = parse_document("ability", text.encode(), path)
    return [*parsed.issues, *lint_document(parsed)]


FULL = {
    "abilityId": "rust-ownership",
    "displayName": "Ownership in Rust",
    "version": "2.10.0",
    "description": "When to borrow and when to clone.",
    "category": "languages",
    "tags": ["rust", "memory"],
    "author": "Ada",
    "source": "https://example.org/rust",
    "lastUpdated": "2026-01-31T08:30:00.000Z",
    "requires": ["rust-basics"],
    "conflicts": ["garbage-collection"],
    "applicableTo": ["reviewer", "*"],
    "excludeFrom": ["translator"],
    "priority": 85,
    "enabled": True,
    "content": "# Ownership",
}


@SCHEMA
def test_an_ability_with_every_field_is_valid() -> None:
    assert validate_ability(FULL) == []


@SCHEMA
@pytest.mark.parametrize("ability_id", ["a", "clean-code", "c3po", "a-", "a--b", "a" * 100])
def test_an_id_starts_with_a_letter_and_holds_small_letters_digits_hyphens(ability_id: str) -> None:
    assert codes(abilityId=ability_id) == []


@SCHEMA
@pytest.mark.parametrize(
    "ability_id",
    ["", "1-guide", "Clean-Code", "clean code", "clean_code", "-a", "é", "a\n", "a" * 101, 7, True],
)
def test_any_other_id_is_an_error(ability_id: object) -> None:
    assert codes(abilityId=ability_id) == ["AB501"]


@SCHEMA
def test_id_and_content_are_required() -> None:
    assert [issue.code for issue in validate_ability({})] == ["AB501", "AB502"]
    assert codes(abilityId=None) == ["AB501"]
    assert codes(content=None) == ["AB502"]


@SCHEMA
@pytest.mark.parametrize(("size", "found"), [(0, []), (50_000, []), (50_001, ["AB504"])])
def test_content_may_be_empty_and_has_at_most_50000_characters(size: int, found: list[str]) -> None:
    assert codes(content="c" * size) == found


@SCHEMA
@pytest.mark.parametrize("content", [7, ["text"], {"text": 1}, True])
def test_content_that_is_no_text_is_an_error(content: object) -> None:
    assert codes(content=content) == ["AB502"]


@SCHEMA
@pytest.mark.parametrize("priority", [1, 50, 100])
def test_a_priority_is_a_whole_number_from_1_to_100(priority: int) -> None:
    assert codes(priority=priority) == []


@SCHEMA
@pytest.mark.parametrize("priority", [0, 101, -1, 50.5, 50.0, "50", True, [50]])
def test_any_other_priority_is_an_error(priority: object) -> None:
    assert codes(priority=priority) == ["AB502"]


@SCHEMA
@pytest.mark.parametrize(
    ("field", "entries", "longest"),
    [
        ("applicableTo", 50, 100),
        ("excludeFrom", 50, 100),
        ("requires", 20, 100),
        ("conflicts", 20, 100),
        ("tags", 20, 50),
    ],
)
def test_lists_have_a_limit_for_entries_and_for_each_entry(
    field: str, entries: int, longest: int
) -> None:
    assert codes(**{field: []}) == []
    assert codes(**{field: ["a" * longest] * entries}) == []
    assert codes(**{field: ["a"] * (entries + 1)}) == ["AB502"]
    assert codes(**{field: ["a" * (longest + 1)]}) == ["AB502"]
    assert codes(**{field: ["", 7]}) == ["AB502", "AB502"]
    assert codes(**{field: "a"}) == ["AB502"]


@SCHEMA
@pytest.mark.parametrize(
    ("field", "longest"),
    [
        ("displayName", 200),
        ("description", 2000),
        ("category", 100),
        ("author", 100),
        ("source", 500),
    ],
)
def test_texts_have_a_limit(field: str, longest: int) -> None:
    assert codes(**{field: "a" * longest}) == []
    assert codes(**{field: "a" * (longest + 1)}) == ["AB502"]
    assert codes(**{field: 7}) == ["AB502"]


@pytest.mark.parametrize("version", ["0.0.0", "1.0.0", "10.20.30"])
def test_a_version_is_three_whole_numbers(version: str) -> None:
    assert codes(version=version) == []


@pytest.mark.parametrize("version", ["1", "1.0", "v1.0.0", "1.0.0-beta", "01.0.0", "", 1.0])
def test_any_other_version_is_an_error(version: object) -> None:
    assert codes(version=version) == ["AB502"]


@pytest.mark.parametrize(
    "when", ["2026-01-31", "2026-01-31T08:30:00Z", "2026-01-31T08:30:00+02:00"]
)
def test_a_date_is_an_iso_date_or_date_time(when: str) -> None:
    assert codes(lastUpdated=when) == []


@pytest.mark.parametrize("when", ["yesterday", "31.01.2026", "2026-02-30", "20260131", 2026, ""])
def test_any_other_date_is_an_error(when: object) -> None:
    assert codes(lastUpdated=when) == ["AB502"]


@pytest.mark.parametrize(("enabled", "valid"), [(True, True), (False, True), ("no", False)])
def test_enabled_is_true_or_false(enabled: object, valid: bool) -> None:
    assert codes(enabled=enabled) == ([] if valid else ["AB502"])


def test_an_unknown_key_is_only_a_note_and_the_nearest_one_is_named() -> None:
    issues = validate_ability({"abilityId": "a", "content": "", "catgory": "x"})
    assert [issue.code for issue in issues] == ["AB503"]
    assert not has_errors(issues)
    assert "'category'" in issues[0].hint


def test_keys_may_be_spelled_in_three_ways() -> None:
    for key in ("ability_id", "ability-id", "abilityId"):
        assert validate_ability({key: "a", "content": ""}) == []
        assert [i.code for i in validate_ability({key: "A", "content": ""})] == ["AB501"]


def test_every_problem_is_told_at_once_in_a_file_with_its_line() -> None:
    text = "---\nabilityId: A\npriority: 0\ntags: [a, 7]\ncolour: red\n---\nText.\n"
    found = [(issue.code, issue.line) for issue in lint(text)]
    assert found == [("AB501", 2), ("AB502", 3), ("AB502", 4), ("AB503", 5)]


def test_a_file_name_that_gives_no_legal_id_is_an_error_with_a_hint() -> None:
    (issue,) = lint("Text.", "abilities/2024-guide.md")
    assert issue.code == "AB501"
    assert "rename the file" in issue.hint


def test_too_long_content_is_found_where_the_body_starts() -> None:
    (issue,) = lint(f"---\nabilityId: a\n---\n\n{'c' * 50_001}")
    assert (issue.code, issue.line) == ("AB504", 5)


@SCHEMA
def test_a_folder_load_leaves_out_the_invalid_and_keeps_the_others(tmp_path: Path) -> None:
    (tmp_path / "bad.md").write_text("---\npriority: 500\n---\nText.\n")
    (tmp_path / "good.md").write_text("---\npriority: 5\n---\nText.\n")
    (tmp_path / "plain.md").write_text("Only text.\n")
    loaded = load_abilities(tmp_path)
    assert [ability.id for ability in loaded.items] == ["good", "plain"]
    assert [(left.path, left.reason) for left in loaded.excluded] == [("bad.md", "unparseable")]
    assert [issue.code for issue in loaded.issues] == ["AB502"]
    assert all(validate_ability({**a.data, "content": a.content}) == [] for a in loaded.items)


@SCHEMA
def test_a_folder_that_does_not_exist_has_no_abilities(tmp_path: Path) -> None:
    loaded = load_abilities(tmp_path / "none")
    assert (list(loaded.items), list(loaded.issues), list(loaded.excluded)) == ([], [], [])


@SCHEMA
def test_of_two_files_with_one_id_the_first_by_path_counts(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("---\nabilityId: same\n---\nsecond\n")
    (tmp_path / "a.md").write_text("---\nabilityId: same\n---\nfirst\n")
    loaded = load_abilities(tmp_path)
    assert [(ability.id, ability.content) for ability in loaded.items] == [("same", "first")]
    assert [(issue.code, issue.path) for issue in loaded.issues] == [("XF903", "b.md")]


@pytest.mark.parametrize("data", [None, [], "text", {1: 2}])
def test_what_is_no_ability_at_all_is_an_issue(data: Any) -> None:
    assert any(issue.is_error for issue in validate_ability(data))


def test_a_file_name_without_an_id_hides_no_other_finding(tmp_path: Path) -> None:
    (tmp_path / "日本.md").write_text("---\npriority: 0\n---\nKnowledge.")
    found = {issue.code: issue.message for issue in load_abilities(tmp_path).issues}
    assert found == {
        "AB501": "the file's name gives no id",
        "AB502": "'priority' must be from 1 to 100, not 0",
    }
