"""SKILL.md → Skill: lenient, and nothing that can be kept is lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.parse.skills import parse_skill
from metier.values.documents import Skill
from metier.values.files import Parsed
from metier.values.outcomes import Issue
from soak import examples

PATH = "skills/charts/SKILL.md"


def parse(front: str, body: str = "Do it.", *, path: str = PATH, strict: bool = False) -> Parsed:
    return parse_skill(f"---\n{front}\n---\n{body}\n".encode(), path, strict=strict)


def skill_in(parsed: Parsed) -> Skill:
    assert isinstance(parsed.document, Skill), parsed.issues
    return parsed.document


def skill(front: str, body: str = "Do it.", *, path: str = PATH) -> Skill:
    return skill_in(parse(front, body, path=path))


def codes(issues: Sequence[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def places(issues: Sequence[Issue]) -> list[tuple[str, int, int]]:
    return [(issue.code, issue.line, issue.column) for issue in issues]


def test_a_plain_skill_has_name_description_body_and_no_issue() -> None:
    parsed = parse("name: charts\ndescription: Draws charts.", "\n# Charts\n\nRead.\n")
    assert parsed.issues == []
    made = skill_in(parsed)
    assert made.name == "charts"
    assert made.description == "Draws charts."
    assert made.body == "# Charts\n\nRead."
    assert made.capabilities == ()
    assert made.path == PATH
    assert made.folder == "skills/charts"
    assert made.id == "charts::skills/charts"


def test_a_skill_at_the_root_has_the_folder_dot() -> None:
    assert skill("name: top\ndescription: d", path="SKILL.md").id == "top::."


def test_unknown_keys_are_kept() -> None:
    made = skill("name: a\ndescription: d\nmodel: opus\nhooks:\n  - on: start")
    assert made.data == {
        "name": "a",
        "description": "d",
        "model": "opus",
        "hooks": [{"on": "start"}],
    }


def test_a_number_as_name_or_description_is_taken_as_it_reads() -> None:
    made = skill("name: 2024\ndescription: 1.5")
    assert (made.name, made.description) == ("2024", "1.5")


def test_a_name_that_breaks_the_rule_is_kept_as_written() -> None:
    assert skill("name: My Skill!\ndescription: d").name == "My Skill!"


@pytest.mark.parametrize("name", ["", "name:\n", "name: ''\n", "name: '  '\n", "name: [a]\n"])
def test_without_a_name_the_folder_gives_it_with_an_issue(name: str) -> None:
    parsed = parse(f"{name}description: d")
    assert skill_in(parsed).name == "charts"
    assert codes(parsed.issues) == ["SK301"]
    assert "'charts'" in parsed.issues[0].message


@pytest.mark.parametrize(
    ("front", "line"),
    [
        ("name: a", 2),
        ("name: a\ndescription:", 3),
        ("name: a\ndescription: ''", 3),
        ("name: a\ndescription: '  '", 3),
        ("name: a\ndescription: [x]", 3),
        ("name: a\ndescription: true", 3),
        ("name: a\ndescription: {x: y}", 3),
    ],
)
def test_without_a_description_the_first_paragraph_is_one(front: str, line: int) -> None:
    parsed = parse(front, "# Charts\n\nDraws\ncharts.\n\nMore.")
    assert skill_in(parsed).description == "Draws charts."
    assert places(parsed.issues) == [("SK304", line, 1)]
    assert parse(front, strict=True).document is None
    without = parse(front, "# Charts")
    assert without.document is None
    assert places(without.issues) == [("SK304", line, 1)]


def test_a_description_of_blanks_is_called_empty() -> None:
    parsed = parse("name: a\ndescription: '  '", "")
    assert parsed.issues[0].message == "the description is empty"


def test_a_file_without_front_matter_is_no_skill() -> None:
    parsed = parse_skill(b"# Title\n\nText.\n", PATH)
    assert parsed.document is None
    assert places(parsed.issues) == [("FM101", 1, 1)]


def test_front_matter_that_starts_later_is_named_with_its_line() -> None:
    parsed = parse_skill(b"\n# Title\n\n---\nname: a\ndescription: d\n---\nbody\n", PATH)
    assert parsed.document is None
    assert places(parsed.issues) == [("FM101", 4, 1)]
    assert "line 4" in parsed.issues[0].message


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0",
        b"---\n",
        b"---\n- a\n---\n",
        b"---\nname: a\ndescription: d\nx: &y z\n---\n",
        b"---\nname: a\ndescription: !!str d\n---\n",
    ],
)
def test_what_cannot_be_taken_apart_is_no_skill(raw: bytes) -> None:
    parsed = parse_skill(raw, PATH)
    assert parsed.document is None
    assert len(parsed.issues) == 1
    assert parsed.issues[0].is_error


def test_a_skill_whose_yaml_does_not_parse_is_kept_with_an_issue() -> None:
    front = (
        "name: charts\n"
        "description: Draws charts: bars, lines. Use when: numbers should be seen.\n"
        "metadata:\n"
        "  contract: DCI/1 P(charts)\n"
        "  capabilities: [plots]"
    )
    parsed = parse(front)
    made = skill_in(parsed)
    assert made.name == "charts"
    assert made.description == "Draws charts: bars, lines. Use when: numbers should be seen."
    assert made.capabilities == ("plots", "charts")
    assert made.body == "Do it."
    assert places(parsed.issues) == [("FM104", 3, 26)]


def test_a_skill_with_a_stray_byte_is_kept_with_an_issue() -> None:
    parsed = parse_skill(b"---\nname: a\ndescription: In the caf\xe9 nearby\n---\nbody", PATH)
    assert skill_in(parsed).description == "In the caf\ufffd nearby"
    assert codes(parsed.issues) == ["FM110"]


@pytest.mark.parametrize("front", ["name: a\ndescription: x: y", "name: a\ndescription: '"])
def test_strict_refuses_a_skill_whose_yaml_does_not_parse(front: str) -> None:
    parsed = parse(front, strict=True)
    assert parsed.document is None
    assert any(issue.is_error for issue in parsed.issues)


def test_strict_refuses_a_stray_byte() -> None:
    raw = b"---\nname: a\ndescription: In the caf\xe9 nearby\n---\nbody"
    assert parse_skill(raw, PATH, strict=True).document is None


def test_strict_keeps_a_skill_that_has_only_warnings() -> None:
    parsed = parse("description: d\ndescription: e", strict=True)
    assert skill_in(parsed).description == "d"
    assert codes(parsed.issues) == ["FM105", "SK301"]


# Spellings


@pytest.mark.parametrize("key", ["allowed-tools", "allowed_tools", "allowedTools"])
def test_a_key_may_be_spelt_in_three_ways(key: str) -> None:
    made = skill(f"name: a\ndescription: d\n{key}: Read")
    assert made.data["allowed-tools"] == "Read"


def test_of_two_spellings_the_first_counts_with_an_issue() -> None:
    parsed = parse("name: a\ndescription: d\nallowed_tools: Read\nallowed-tools: Write")
    assert skill_in(parsed).data == {"name": "a", "description": "d", "allowed-tools": "Read"}
    assert places(parsed.issues) == [("FM105", 5, 1)]


def test_of_two_equal_keys_the_first_counts_with_an_issue() -> None:
    parsed = parse("name: a\ndescription: d\nname: b")
    assert skill_in(parsed).name == "a"
    assert places(parsed.issues) == [("FM105", 4, 1)]


# Capabilities


@pytest.mark.parametrize(
    ("front", "expected"),
    [
        ("capabilities: [web-search, summarize]", ("web-search", "summarize")),
        ("capabilities: web-search", ("web-search",)),
        ("metadata:\n  capabilities: [a, b]", ("a", "b")),
        ("capabilities: [b]\nmetadata: {capabilities: [a, b]}", ("b", "a")),
        ("capabilities: [a, a, b, a]", ("a", "b")),
        ("capabilities: [{id: a}, {name: b}, {id: c, name: d}]", ("a", "b", "c")),
        ("capabilities: [Web Search, A_B]", ("Web Search", "A_B")),
        ("capabilities: ['007', 'true']", ("007", "true")),
        ("capabilities: []", ()),
        ("capabilities:", ()),
    ],
)
def test_capabilities_are_kept_as_written_each_once(front: str, expected: tuple[str, ...]) -> None:
    parsed = parse(f"name: a\ndescription: d\n{front}")
    assert skill_in(parsed).capabilities == expected
    assert parsed.issues == []


def test_the_providers_of_a_contract_follow_the_list() -> None:
    front = "capabilities: [b, x]\nmetadata:\n  contract: DCI/1 P(a,b,a) R(c)"
    assert skill(f"name: a\ndescription: d\n{front}").capabilities == ("b", "x", "a")


def test_a_contract_alone_gives_the_capabilities() -> None:
    front = "metadata:\n  contract: 'DCI/1^strict P(one) Provides(two)'"
    assert skill(f"name: a\ndescription: d\n{front}").capabilities == ("one", "two")


@pytest.mark.parametrize(
    ("entries", "kept", "line", "column"),
    [
        ("[a, '', b]", ("a", "b"), 4, 19),
        ("[a, 5, b]", ("a", "b"), 4, 19),
        ("[a, '  ', b]", ("a", "b"), 4, 19),
        ("[a, [b]]", ("a",), 4, 19),
        ("[a, {title: b}]", ("a",), 4, 19),
        ("[a, null]", ("a",), 4, 19),
        ("[a, true]", ("a",), 4, 19),
        ("5", (), 4, 1),
    ],
)
def test_an_entry_that_is_no_name_is_left_out_with_an_issue(
    entries: str, kept: tuple[str, ...], line: int, column: int
) -> None:
    parsed = parse(f"name: a\ndescription: d\ncapabilities: {entries}")
    assert skill_in(parsed).capabilities == kept
    assert places(parsed.issues) == [("SK310", line, column)]


@pytest.mark.parametrize(
    "contract", ["DCI/2 P(a)", "DCI/1", "DCI/1 P()", "not a contract", "DCI/1 X(a)"]
)
def test_a_contract_that_cannot_be_used_leaves_the_list(contract: str) -> None:
    front = f"name: a\ndescription: d\ncapabilities: [x]\nmetadata:\n  contract: {contract}"
    parsed = parse(front)
    assert skill_in(parsed).capabilities == ("x",)
    assert places(parsed.issues) == [("DC401", 6, 3)]


@pytest.mark.parametrize("contract", ["5", "[DCI/1 P(a)]", "{P: a}", "true"])
def test_a_contract_that_is_no_text_is_an_issue(contract: str) -> None:
    parsed = parse(f"name: a\ndescription: d\nmetadata:\n  contract: {contract}")
    assert skill_in(parsed).capabilities == ()
    assert places(parsed.issues) == [("DC401", 5, 3)]


def test_every_doubt_about_a_contract_is_an_issue() -> None:
    front = "name: a\ndescription: d\nmetadata:\n  contract: DCI/1 P(a) X(b) A(k=v w)"
    parsed = parse(front)
    assert skill_in(parsed).capabilities == ("a",)
    assert codes(parsed.issues) == ["DC402", "DC402"]


@pytest.mark.parametrize("metadata", ["text", "[a]", "5", "true", ""])
def test_metadata_that_is_no_mapping_is_passed_over(metadata: str) -> None:
    parsed = parse(f"name: a\ndescription: d\ncapabilities: [x]\nmetadata: {metadata}")
    assert skill_in(parsed).capabilities == ("x",)


# Whatever comes in


@given(st.one_of(st.binary(max_size=300), st.text(max_size=300).map(str.encode)))
@examples(50)
def test_any_bytes_give_a_skill_or_an_error(raw: bytes) -> None:
    parsed = parse_skill(raw, PATH)
    assert parsed.document is not None or any(issue.is_error for issue in parsed.issues)


_values = st.one_of(
    st.sampled_from(["[", "]", "{a: b}", "- a", "'", '"', "a: b", "|", ">", "", "~", "[1, [2]]"]),
    st.text(max_size=20),
)
_keys = st.sampled_from(
    ["name", "description", "metadata", "capabilities", "  contract", "  capabilities", "x-y"]
)


@given(st.lists(st.tuples(_keys, _values), max_size=8), st.booleans())
@examples(75)
def test_any_front_matter_gives_a_skill_or_an_error(
    rows: list[tuple[str, str]], strict: bool
) -> None:
    front = "\n".join(f"{key}: {value}" for key, value in rows)
    parsed = parse(front, strict=strict)
    assert parsed.document is not None or any(issue.is_error for issue in parsed.issues)
    if isinstance(parsed.document, Skill):
        assert parsed.document.name
        assert parsed.document.description


def test_front_matter_in_an_example_is_not_taken_for_the_file_s_own() -> None:
    text = b"# How to write YAML\n\n```yaml\n---\nname: foo\n---\n```\n"
    (issue,) = parse_skill(text, "skills/a/SKILL.md").issues
    assert (issue.code, issue.message) == ("FM101", "the file has no front matter")


def test_late_front_matter_is_pointed_at() -> None:
    text = b"A line too many.\n\n---\nname: foo\ndescription: x\n---\n"
    (issue,) = parse_skill(text, "skills/a/SKILL.md").issues
    assert (issue.code, issue.line) == ("FM101", 3)


KEYS = "name: a\ndescription: d\n"


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        (f"---# Title\n{KEYS}---\nDo it.\n", f"---\n{KEYS}---\n# Title\nDo it.\n"),
        (f"--- # Title\n{KEYS}---\nDo it.\n", f"---\n{KEYS}---\n# Title\nDo it.\n"),
        (f"---{KEYS}---\nDo it.\n", f"---\n{KEYS}---\nDo it.\n"),
        ("---# Title\n\nDo it.\n", f"---\n{KEYS}---\n# Title\nDo it.\n"),
        ("---# Title\n\nDo it.\n\n---\n\nMore.\n", f"---\n{KEYS}---\n# Title\nDo it.\n"),
    ],
)
def test_a_first_line_that_goes_on_is_a_finding_with_a_hint_that_works(
    text: str, moved: str
) -> None:
    parsed = parse_skill(text.encode(), PATH)
    assert parsed.document is None
    assert places(parsed.issues) == [("FM117", 1, 4)]
    hint = parsed.issues[0].hint
    assert hint.startswith("make the first line '---' alone")
    has_keys = KEYS in text
    assert ("below the second" in hint) is (has_keys and "# Title" in text)
    assert ("on the next line" in hint) is (has_keys and "# Title" not in text)
    assert parse_skill(moved.encode(), PATH).issues == []


@pytest.mark.parametrize("text", ["----\nname: a\n----\n", "\n---# Title\n", "-- x\n"])
def test_other_first_lines_are_no_front_matter(text: str) -> None:
    assert codes(parse_skill(text.encode(), PATH).issues) == ["FM101"]
