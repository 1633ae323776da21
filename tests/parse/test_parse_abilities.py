"""`abilities/*.md` → Ability, one file and a folder of them."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.load import load_abilities
from metier.parse.abilities import parse_ability
from metier.values.documents import Ability
from metier.values.files import Parsed
from metier.values.outcomes import Issue
from soak import examples


def parse(text: str, path: str = "abilities/clean-code.md") -> Parsed:
    return parse_ability(text.encode(), path)


def ability_in(parsed: Parsed) -> Ability:
    assert isinstance(parsed.document, Ability), parsed.issues
    return parsed.document


def codes(issues: Sequence[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def write(folder: Path, **files: str) -> Path:
    """Files called by their keyword, with `.md` behind it."""
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


# Front matter


@pytest.mark.invariant(id="INV-ABL-LDR-003")
def test_front_matter_gives_typed_values_and_the_body_apart() -> None:
    parsed = parse(
        "---\n"
        "abilityId: testing\n"
        "displayName: Testing, done well\n"
        "version: 1.2.3\n"
        "description: 'How to test: briefly'\n"
        "category: quality\n"
        "tags: [pytest, unit tests]\n"
        "author: Ada\n"
        "source: https://example.org/a?b=1&c=2\n"
        "lastUpdated: 2026-01-31\n"
        "requires: [clean-code]\n"
        "conflicts:\n"
        "  - yolo\n"
        "applicableTo: ['*']\n"
        "excludeFrom: [drafts]\n"
        "priority: 80\n"
        "enabled: false\n"
        "---\n"
        "\n"
        "# Testing\n"
        "\n"
        "---\n"
        "Test first.\n"
    )
    assert parsed.issues == []
    assert parsed.document == Ability(
        ability_id="testing",
        content="# Testing\n\n---\nTest first.",
        display_name="Testing, done well",
        version="1.2.3",
        description="How to test: briefly",
        category="quality",
        tags=("pytest", "unit tests"),
        author="Ada",
        source="https://example.org/a?b=1&c=2",
        last_updated="2026-01-31",
        requires=("clean-code",),
        conflicts=("yolo",),
        applicable_to=("*",),
        exclude_from=("drafts",),
        priority=80,
        enabled=False,
        path="abilities/clean-code.md",
        data=ability_in(parsed).data,
    )


@pytest.mark.invariant(id="INV-ABL-LDR-003")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("true", True),
        ("false", False),
        ("42", 42),
        ("-2.5", -2.5),
        ("[one, 2, true]", ["one", 2, True]),
        ("yes", "yes"),
        ("007", "007"),
        ("2026-01-31", "2026-01-31"),
        ("plain words", "plain words"),
    ],
)
def test_a_value_has_the_type_in_which_it_is_written(written: str, expected: object) -> None:
    parsed = parse(f"---\ncustom: {written}\n---\nbody")
    assert ability_in(parsed).data["custom"] == expected
    assert type(ability_in(parsed).data["custom"]) is type(expected)


def test_defaults_hold_where_nothing_is_written() -> None:
    made = ability_in(parse("---\ndescription: d\n---\n"))
    assert made.priority == 50
    assert made.enabled is True
    assert made.content == ""
    assert made.tags == made.requires == made.conflicts == made.applicable_to == ()
    assert made.name == made.ability_id == "clean-code"


@pytest.mark.parametrize(
    "keys",
    [
        ("abilityId", "displayName", "applicableTo", "lastUpdated"),
        ("ability_id", "display_name", "applicable_to", "last_updated"),
        ("ability-id", "display-name", "applicable-to", "last-updated"),
    ],
)
def test_keys_may_be_spelt_in_three_ways(keys: tuple[str, str, str, str]) -> None:
    own, display, applicable, updated = keys
    parsed = parse(f"---\n{own}: x\n{display}: X\n{applicable}: [a]\n{updated}: 2026-01-31\n---\n")
    made = ability_in(parsed)
    assert parsed.issues == []
    assert (made.ability_id, made.display_name) == ("x", "X")
    assert (made.applicable_to, made.last_updated) == (("a",), "2026-01-31")
    assert list(made.data) == ["abilityId", "displayName", "applicableTo", "lastUpdated"]


def test_of_two_spellings_the_first_counts_with_an_issue() -> None:
    parsed = parse("---\ndisplay_name: first\ndisplayName: second\n---\n")
    assert ability_in(parsed).display_name == "first"
    assert [(issue.code, issue.line) for issue in parsed.issues] == [("FM105", 3)]


def test_positions_are_asked_for_in_our_spelling() -> None:
    parsed = parse("---\ncategory: x\napplicable_to: [a, b]\n---\n")
    assert parsed.matter is not None
    assert parsed.matter.position(("applicableTo",)) == (3, 1)
    assert parsed.matter.position(("applicableTo", 1)) == (3, 20)


def test_a_file_without_front_matter_is_all_content() -> None:
    parsed = parse("\n# Clean code\n\nName things.\n\n---\n\nShort functions.\n")
    made = ability_in(parsed)
    assert parsed.issues == []
    assert made.content == "# Clean code\n\nName things.\n\n---\n\nShort functions."
    assert made.ability_id == "clean-code"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "FM114"),
        ("---\nname: x", "FM102"),
        ("---\na: b: c\n---\n", "FM104"),
        ("---\n- a\n---\n", "FM109"),
        ("---\na: &b c\n---\n", "FM106"),
    ],
)
def test_an_ability_is_read_strictly(text: str, code: str) -> None:
    parsed = parse(text)
    assert parsed.document is None
    assert codes(parsed.issues) == [code]


@pytest.mark.parametrize(
    "front",
    [
        "tags: text",
        "tags: {a: b}",
        "priority: high",
        "priority: true",
        "priority: 1.5",
        "version: 2",
    ],
)
def test_a_value_of_another_type_becomes_the_default(front: str) -> None:
    made = ability_in(parse(f"---\n{front}\n---\nbody"))
    assert (made.tags, made.priority, made.version) == ((), 50, "")


# Ids from file names


@pytest.mark.invariant(id="INV-ABL-LDR-002")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("TypeScript-Best-Practices.md", "typescript-best-practices"),
        ("clean code & tests.md", "clean-code-tests"),
        ("_private.md", "private"),
        ("a__b--c.md", "a-b-c"),
        ("v1.2-notes.md", "v1-2-notes"),
        ("-edge-.md", "edge"),
        ("2024-guide.md", "2024-guide"),
    ],
)
def test_without_an_id_the_file_name_gives_it(name: str, expected: str) -> None:
    assert ability_in(parse("text", f"abilities/deep/{name}")).ability_id == expected
    assert ability_in(parse("---\ntags: [a]\n---\n", f"abilities/{name}")).ability_id == expected


@pytest.mark.invariant(id="INV-ABL-LDR-002")
def test_a_written_id_counts_before_the_file_name() -> None:
    assert ability_in(parse("---\nabilityId: other\n---\n")).ability_id == "other"


# A folder of them


def test_a_missing_folder_gives_nothing(tmp_path: Path) -> None:
    loaded = load_abilities(tmp_path / "nowhere")
    assert list(loaded.items) == []
    assert list(loaded.issues) == []
    assert list(loaded.excluded) == []


def test_a_file_in_place_of_the_folder_gives_nothing(tmp_path: Path) -> None:
    file = tmp_path / "abilities"
    file.write_text("text")
    assert list(load_abilities(file).items) == []


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert list(load_abilities(tmp_path).items) == []


def test_abilities_come_in_the_order_of_their_paths(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", beta="b", alpha="a", Zeta="z")
    loaded = load_abilities(folder)
    assert [ability.id for ability in loaded.items] == ["zeta", "alpha", "beta"]
    assert [ability.path for ability in loaded.items] == ["Zeta.md", "alpha.md", "beta.md"]
    assert list(loaded.issues) == []


def test_the_folder_may_be_given_as_text(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", one="text")
    assert [ability.id for ability in load_abilities(str(folder)).items] == ["one"]


def test_only_visible_markdown_directly_in_the_folder_counts(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", one="text")
    (folder / "notes.txt").write_text("text")
    (folder / ".hidden.md").write_text("text")
    (folder / "deeper").mkdir()
    (folder / "deeper" / "two.md").write_text("text")
    assert [ability.id for ability in load_abilities(folder).items] == ["one"]


def test_of_two_files_with_one_id_the_first_by_path_wins_with_one_issue(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "abilities",
        a="---\nabilityId: same\n---\nfirst",
        b="---\nabilityId: same\n---\nsecond",
        c="third",
    )
    loaded = load_abilities(folder)
    assert [(ability.id, ability.content) for ability in loaded.items] == [
        ("same", "first"),
        ("c", "third"),
    ]
    assert [(issue.code, issue.path) for issue in loaded.issues] == [("XF903", "b.md")]
    assert "a.md" in loaded.issues[0].message


def test_a_file_name_may_give_the_id_that_another_file_has(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", Same="first", same="second")
    if len(list(folder.iterdir())) == 1:
        pytest.skip("the file system does not tell upper from lower case")
    loaded = load_abilities(folder)
    assert [ability.content for ability in loaded.items] == ["first"]
    assert codes(loaded.issues) == ["XF903"]


def test_a_file_name_that_gives_no_legal_id_is_left_out_with_an_issue(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", **{"2024-guide": "text", "_private": "kept"})
    loaded = load_abilities(folder)
    assert [ability.id for ability in loaded.items] == ["private"]
    assert [(issue.code, issue.path) for issue in loaded.issues] == [("AB501", "2024-guide.md")]
    assert [(one.path, one.reason) for one in loaded.excluded] == [("2024-guide.md", "unparseable")]


@pytest.mark.parametrize("name", ["---", "日本語", "1", "_"])
def test_a_file_name_without_letters_is_left_out_with_an_issue(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "abilities", **{name: "text"})
    loaded = load_abilities(folder)
    assert list(loaded.items) == []
    assert codes(loaded.issues) == ["AB501"]


@pytest.mark.invariant(id="INV-ABL-LDR-001")
def test_an_invalid_file_is_left_out_and_the_others_still_load(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "abilities",
        a="---\npriority: 500\n---\ntext",
        b="---\nabilityId: Not Legal\n---\ntext",
        c="---\nbroken: a: b\n---\ntext",
        d="x" * 50_001,
        e="---\ntags: text\n---\ntext",
        f="",
        good="---\npriority: 100\n---\ntext",
        limit="x" * 50_000,
    )
    loaded = load_abilities(folder)
    assert [ability.id for ability in loaded.items] == ["good", "limit"]
    assert {one.path: one.reason for one in loaded.excluded} == {
        f"{name}.md": "unparseable" for name in "abcdef"
    }
    assert {(issue.path, issue.code) for issue in loaded.issues} == {
        ("a.md", "AB502"),
        ("b.md", "AB501"),
        ("c.md", "FM104"),
        ("d.md", "AB504"),
        ("e.md", "AB502"),
        ("f.md", "FM114"),
    }


def test_a_disabled_ability_is_loaded(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", off="---\nenabled: false\n---\ntext")
    (made,) = load_abilities(folder).items
    assert made.enabled is False


def test_an_unknown_key_is_a_note_and_no_more(tmp_path: Path) -> None:
    folder = write(tmp_path / "abilities", a="---\nmine: 1\n---\ntext")
    loaded = load_abilities(folder)
    assert len(loaded.items) == 1
    assert [(issue.code, issue.severity) for issue in loaded.issues] == [("AB503", "info")]


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@examples(50)
def test_any_bytes_give_an_ability_or_an_error(raw: bytes) -> None:
    parsed = parse_ability(raw, "abilities/a.md")
    assert parsed.document is not None or any(issue.is_error for issue in parsed.issues)
