"""The one front-matter reader: fences, encodings, recovery, and the body that is never lost."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.parse.frontmatter import (
    LARGEST_FRONT_MATTER,
    SplitText,
    read_matter,
    read_yaml,
    trim_blank_lines,
)
from metier.values.files import Matter
from metier.values.outcomes import Issue
from soak import examples


def take(text: str, *, lenient: bool = False) -> SplitText:
    return read_matter(text.encode(), "a/SKILL.md", lenient=lenient)


def matter_of(text: str | bytes, *, lenient: bool = False) -> Matter:
    raw = text if isinstance(text, bytes) else text.encode()
    taken = read_matter(raw, "a/SKILL.md", lenient=lenient)
    assert taken.matter is not None, taken.issues
    return taken.matter


def codes(issues: list[Issue]) -> list[str]:
    return [issue.code for issue in issues]


def places(issues: list[Issue]) -> list[tuple[str, int, int]]:
    return [(issue.code, issue.line, issue.column) for issue in issues]


# Fences


@pytest.mark.parametrize(
    "text",
    [
        "---\nname: x\n---\nbody\n",
        "---\nname: x\n---\nbody",
        "---  \nname: x\n---\t \nbody\n",
        "---\nname: x\n---\n\n\nbody\n\n\n",
        "---\n\nname: x\n\n---\nbody",
        "---\n# a comment\nname: x\n---\nbody",
    ],
)
def test_front_matter_stands_between_two_fences(text: str) -> None:
    taken = take(text)
    assert taken.fenced
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x"}
    assert taken.matter.body == "body"
    assert taken.issues == []


def test_a_closing_fence_may_be_the_end_of_the_file() -> None:
    taken = take("---\nname: x\n---")
    assert taken.matter is not None
    assert (taken.matter.data, taken.matter.body) == ({"name": "x"}, "")
    assert taken.issues == []


def test_a_closing_fence_with_trailing_blanks_may_be_the_end_of_the_file() -> None:
    assert matter_of("---\nname: x\n--- \t").data == {"name": "x"}


def test_crlf_is_read_and_noted_once() -> None:
    taken = take("---\r\nname: x\r\n---\r\nfirst\r\nsecond\r\n")
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x"}
    assert taken.matter.body == "first\r\nsecond"
    assert places(taken.issues) == [("FM112", 1, 1)]


def test_a_byte_order_mark_is_read_and_noted() -> None:
    taken = take("\ufeff---\nname: x\n---\nbody")
    assert taken.matter is not None
    assert (taken.matter.data, taken.matter.body) == ({"name": "x"}, "body")
    assert places(taken.issues) == [("FM113", 1, 1)]


def test_byte_order_mark_and_crlf_together() -> None:
    taken = take("\ufeff---\r\nname: x\r\n---\r\n\r\nbody\r\n")
    assert taken.matter is not None
    assert (taken.matter.data, taken.matter.body) == ({"name": "x"}, "body")
    assert codes(taken.issues) == ["FM113", "FM112"]


def test_fences_in_a_code_block_of_the_body_belong_to_the_body() -> None:
    body = "Write it so:\n\n```yaml\n---\nname: other\n---\n```\n\n---\n\nend"
    matter = matter_of(f"---\nname: x\n---\n{body}\n")
    assert matter.data == {"name": "x"}
    assert matter.body == body


def test_an_indented_fence_in_a_block_scalar_does_not_close() -> None:
    matter = matter_of("---\nname: x\nnote: |\n  above\n  ---\n  below\nlast: 1\n---\nbody")
    assert matter.data == {"name": "x", "note": "above\n---\nbelow\n", "last": 1}
    assert matter.body == "body"


@pytest.mark.parametrize("fence", ["----", "--- x", " ---", "--", "- --", "***"])
def test_what_is_not_exactly_a_fence_does_not_close(fence: str) -> None:
    taken = take(f"---\nname: x\n{fence}\nbody\n")
    assert taken.matter is None
    assert places(taken.issues) == [("FM102", 1, 1)]


@pytest.mark.parametrize(
    "text",
    [
        "# Title\n\nbody",
        "\n---\nname: x\n---\nbody",
        " ---\nname: x\n---\nbody",
        "--- yaml\nname: x\n---\nbody",
        "----\nname: x\n----\nbody",
        "name: x\n---\nbody",
    ],
)
def test_a_text_that_does_not_open_with_a_fence_is_all_body(text: str) -> None:
    taken = take(text)
    assert not taken.fenced
    assert taken.issues == []
    assert taken.matter is not None
    assert taken.matter.data == {}
    assert taken.matter.body == text.lstrip("\n")


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("text", ["---", "---\n", "---\nname: x\n", "---\nname: x\nbody -- ---"])
def test_front_matter_that_is_never_closed_gives_nothing(text: str, lenient: bool) -> None:
    taken = take(text, lenient=lenient)
    assert taken.fenced
    assert taken.matter is None
    assert places(taken.issues) == [("FM102", 1, 1)]
    assert taken.issues[0].hint


@pytest.mark.parametrize(
    "text", ["---\n---", "---\n---\n", "---\n\n---\n", "---\n# nothing\n---\n"]
)
def test_empty_front_matter_is_an_empty_mapping(text: str) -> None:
    taken = take(text)
    assert taken.fenced
    assert taken.issues == []
    assert taken.matter is not None
    assert (taken.matter.data, taken.matter.body) == ({}, "")


@pytest.mark.parametrize("yaml", ["- a\n- b", "only a text", "[a, b]", "42", "'quoted'"])
@pytest.mark.parametrize("lenient", [False, True])
def test_front_matter_that_is_no_mapping_gives_nothing(yaml: str, lenient: bool) -> None:
    taken = take(f"---\n{yaml}\n---\nbody", lenient=lenient)
    assert taken.matter is None
    assert places(taken.issues) == [("FM109", 2, 1)]


# Size


def _front_matter_of(size: int, char: str = "x") -> str:
    wanted = size - len("a: \n")
    yaml = "a: " + char * (wanted // len(char.encode())) + "\n"
    return f"---\n{yaml}---\nbody"


@pytest.mark.parametrize("lenient", [False, True])
def test_front_matter_of_64_kib_is_read(lenient: bool) -> None:
    assert LARGEST_FRONT_MATTER == 65_536
    assert matter_of(_front_matter_of(LARGEST_FRONT_MATTER), lenient=lenient).body == "body"


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize(
    "text",
    [_front_matter_of(LARGEST_FRONT_MATTER + 1), _front_matter_of(LARGEST_FRONT_MATTER + 2, "é")],
    ids=["ascii", "counted-in-bytes"],
)
def test_front_matter_over_64_kib_is_refused(text: str, lenient: bool) -> None:
    taken = take(text, lenient=lenient)
    assert taken.matter is None
    assert codes(taken.issues) == ["FM108"]


def test_a_long_body_does_not_count_as_front_matter() -> None:
    body = "x" * (2 * LARGEST_FRONT_MATTER)
    assert matter_of(f"---\na: 1\n---\n{body}").body == body


# Bytes


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("raw", [b"", b"\n", b" \t\r\n\n"])
def test_an_empty_file_gives_nothing(raw: bytes, lenient: bool) -> None:
    taken = read_matter(raw, "a.md", lenient=lenient)
    assert taken.matter is None
    assert codes(taken.issues) == ["FM114"]


def test_a_file_that_holds_only_a_byte_order_mark_is_empty() -> None:
    assert "FM114" in codes(read_matter(b"\xef\xbb\xbf\n", "a.md").issues)


@pytest.mark.parametrize("lenient", [False, True])
def test_a_nul_byte_makes_a_file_binary(lenient: bool) -> None:
    taken = read_matter(b"---\nname: x\n---\nbo\0dy", "a.md", lenient=lenient)
    assert taken.matter is None
    assert places(taken.issues) == [("FM111", 4, 3)]


@pytest.mark.parametrize("lenient", [False, True])
def test_binary_data_gives_nothing(lenient: bool) -> None:
    taken = read_matter(b"\x89PNG\r\n\x1a\n" + bytes(range(128, 256)) * 3, "a.md", lenient=lenient)
    assert taken.matter is None
    assert "FM111" in codes(taken.issues)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_named_as_such(encoding: str, lenient: bool) -> None:
    raw = "\ufeff---\nname: x\n---\nbody".encode(encoding)
    taken = read_matter(raw, "a.md", lenient=lenient)
    assert taken.matter is None
    assert codes(taken.issues) == ["FM110"]
    assert "UTF-16" in taken.issues[0].message
    assert "iconv -f UTF-16 -t UTF-8 FILE" in taken.issues[0].hint


def test_a_stray_byte_is_kept_as_a_replacement_in_lenient_mode() -> None:
    raw = b"---\nname: x\ndescription: a caf\xe9 nearby\n---\nThe caf\xe9 is open.\n"
    taken = read_matter(raw, "a.md", lenient=True)
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x", "description": "a caf\ufffd nearby"}
    assert taken.matter.body == "The caf\ufffd is open."
    assert places(taken.issues) == [("FM110", 3, 19)]
    assert "0xe9" in taken.issues[0].message


def test_a_stray_byte_is_refused_in_strict_mode() -> None:
    taken = read_matter(b"---\nname: x\n---\nThe caf\xe9 is open.\n", "a.md")
    assert taken.matter is None
    assert places(taken.issues) == [("FM110", 4, 8)]


@pytest.mark.parametrize(
    ("body", "hint"),
    [
        (b"\x93caf\xe9\x94", "iconv -f WINDOWS-1252 -t UTF-8 FILE > NEW (probably Windows-1252)"),
        (b"caf\x81", "iconv -f ENCODING -t UTF-8 FILE > NEW"),
        ("é".encode() + b" caf\xe9", "write this letter again: others are UTF-8 already"),
    ],
)
def test_the_hint_names_the_command_that_makes_a_file_utf_8(body: bytes, hint: str) -> None:
    taken = read_matter(b"---\nname: x\n---\nText: " + body + b" is open.\n", "a.md")
    assert taken.issues[0].hint.endswith(hint)


def test_characters_beyond_ascii_are_kept_as_they_are() -> None:
    matter = matter_of("---\nname: \U0001f680\nnote: 日本語 e\u0301\n---\nÄ 👩‍💻\n")
    assert matter.data == {"name": "\U0001f680", "note": "日本語 e\u0301"}
    assert matter.body == "Ä 👩‍💻"


# Body


@pytest.mark.parametrize(
    ("text", "body", "line"),
    [
        ("---\na: 1\n---\nbody\n", "body", 4),
        ("---\na: 1\n---\n\n \t\n\r\n  indented\n\n", "  indented", 7),
        (
            "---\na: 1\n---\n\nbody with blanks at its end  \t\n",
            "body with blanks at its end  \t",
            5,
        ),
        ("---\na: 1\n---\none\n\n\ntwo\n", "one\n\n\ntwo", 4),
        ("\n\n  # Title\ntext\n\n", "  # Title\ntext", 3),
        ("---\na: 1\n---\n\u00a0\nx\n\f\n", "\u00a0\nx\n\f", 4),
    ],
)
def test_the_body_loses_only_the_blank_lines_around_it(text: str, body: str, line: int) -> None:
    matter = matter_of(text)
    assert matter.body == body
    assert matter.body_line == line


def test_a_body_of_blank_lines_is_empty() -> None:
    assert matter_of("---\na: 1\n---\n\n  \n\t\n").body == ""


def test_trimming_counts_the_lines_that_it_skips() -> None:
    assert trim_blank_lines(b"\n\n x \n\n") == (" x ", 2)
    assert trim_blank_lines(b"skip\n\nkeep", 5) == ("keep", 1)
    assert trim_blank_lines(b" \n ") == ("", 0)
    assert trim_blank_lines(b"") == ("", 0)


def _without_blank_lines_around(body: str) -> str:
    lines = body.split("\n")
    while lines and not lines[0].strip(" \t\r"):
        del lines[0]
    while lines and not lines[-1].strip(" \t\r"):
        del lines[-1]
    return "\n".join(lines).removesuffix("\r")


_texts = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
_signs = st.sampled_from(
    ["\n", "\r\n", "\r", "---", "\n---\n", "\n--- \n", "```\n", " ", "\t", "key: value\n", "\ufeff",
     "\u2028", "\x85", "\f", "\v", "\u00a0", "\ufffd", "---\nname: other\n---\n"]
)  # fmt: skip
_bodies = st.one_of(_texts, st.lists(st.one_of(_signs, _texts), max_size=12).map("".join))
_simple = st.dictionaries(
    st.from_regex(r"[a-z]{1,8}", fullmatch=True),
    st.from_regex(r"[A-Z][A-Za-z0-9 ]{0,20}[a-z]", fullmatch=True),
    max_size=4,
)


@given(data=_simple, body=_bodies, lenient=st.booleans(), end=st.sampled_from(["\n", "\r\n"]))
@example(data={}, body="", lenient=False, end="\n")
@example(data={"a": "Bc"}, body="---\n", lenient=True, end="\n")
@examples(100)
def test_the_body_is_never_lost(data: dict[str, str], body: str, lenient: bool, end: str) -> None:
    head = ["---", *(f"{key}: {value}" for key, value in data.items()), "---", ""]
    text = end.join(head) + body
    matter = matter_of(text, lenient=lenient)
    assert matter.data == data
    assert matter.body == _without_blank_lines_around(body)
    if matter.body:
        from_its_line = "\n".join(text.split("\n")[matter.body_line - 1 :])
        assert from_its_line.startswith(matter.body)


@given(body=_bodies, lenient=st.booleans())
@examples(50)
def test_the_body_behind_broken_front_matter_is_never_lost(body: str, lenient: bool) -> None:
    taken = take(f"---\nname: x\ndescription: a: b\n---\n{body}", lenient=lenient)
    if lenient:
        assert taken.matter is not None
        assert taken.matter.body == _without_blank_lines_around(body)
    else:
        assert taken.matter is None


# Never raises


@given(raw=st.binary(max_size=400), lenient=st.booleans())
@examples(75)
def test_any_bytes_are_taken_apart_without_raising(raw: bytes, lenient: bool) -> None:
    taken = read_matter(raw, "a.md", lenient=lenient)
    assert taken.matter is not None or taken.issues


@given(text=st.text(max_size=400), lenient=st.booleans())
@examples(75)
def test_any_text_is_taken_apart_without_raising(text: str, lenient: bool) -> None:
    taken = take(text, lenient=lenient)
    assert taken.matter is not None or taken.issues


@given(yaml=st.one_of(st.text(), st.binary()), lenient=st.booleans())
@examples(75)
def test_anything_between_fences_is_taken_apart_without_raising(
    yaml: str | bytes, lenient: bool
) -> None:
    inner = yaml if isinstance(yaml, bytes) else yaml.encode()
    taken = read_matter(b"---\n" + inner + b"\n---\nbody\n", "a.md", lenient=lenient)
    assert taken.matter is not None or taken.issues
    assert all(issue.line >= 1 and issue.column >= 1 for issue in taken.issues)


@given(st.one_of(st.binary(max_size=200), st.text(max_size=200).map(str.encode)))
@examples(50)
def test_any_bytes_are_read_as_yaml_without_raising(raw: bytes) -> None:
    taken = read_yaml(raw, "a.yaml")
    assert taken.matter is not None or taken.issues


# Recovery: a skill whose YAML does not parse


def test_an_unquoted_colon_keeps_the_value_as_it_stands() -> None:
    taken = take(
        "---\nname: x\ndescription: Use when: the build fails\nlicense: MIT\n---\nbody",
        lenient=True,
    )
    assert taken.matter is not None
    assert taken.matter.data == {
        "name": "x",
        "description": "Use when: the build fails",
        "license": "MIT",
    }
    assert taken.matter.body == "body"
    assert places(taken.issues) == [("FM104", 3, 22)]
    assert "'description'" in taken.issues[0].message


def test_recovery_keeps_description_and_metadata_of_a_broken_skill() -> None:
    taken = take(
        "---\n"
        "name: x\n"
        "description: Step 1: read. Step 2: write.\n"
        "metadata:\n"
        "  contract: 'DCI/1 P(web-search)'\n"
        "  capabilities:\n"
        "    - one\n"
        "    - two\n"
        "tags: [a, b]\n"
        "enabled: false\n"
        "priority: 7\n"
        "---\nbody",
        lenient=True,
    )
    assert taken.matter is not None
    assert taken.matter.data == {
        "name": "x",
        "description": "Step 1: read. Step 2: write.",
        "metadata": {"contract": "DCI/1 P(web-search)", "capabilities": ["one", "two"]},
        "tags": ["a", "b"],
        "enabled": False,
        "priority": 7,
    }


@pytest.mark.parametrize(
    ("yaml", "expected"),
    [
        ('description: "quoted" and more', '"quoted" and more'),
        ("description: 'it's here'", "it's here"),
        ('description: "say: "hi" now"', 'say: "hi" now'),
        ("description: @mention first", "@mention first"),
        ("description: `code` first", "`code` first"),
        ("description: a: b\n  and on the next line", "a: b and on the next line"),
        ("description: [open", "[open"),
        ("description: *.ts files", "*.ts files"),
        ("description: a: b\r", "a: b"),
        ("description: 100% sure: yes", "100% sure: yes"),
    ],
)
def test_recovery_keeps_the_text_of_what_is_not_yaml(yaml: str, expected: str) -> None:
    taken = take(f"---\nname: x\n{yaml}\nlast: 1\n---\nbody", lenient=True)
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x", "description": expected, "last": 1}
    assert taken.issues[0].code in {"FM103", "FM104"}
    assert taken.issues[0].line in {3, 4}


def test_recovery_keeps_a_folded_text_whose_indentation_is_broken() -> None:
    text = "---\nname: x\ndescription: >\n  one\n\ttwo\nlicense: MIT\n---\nbody"
    matter = matter_of(text, lenient=True)
    assert matter.data == {"name": "x", "description": "one two", "license": "MIT"}


def test_recovery_lets_the_first_of_two_keys_win() -> None:
    taken = take("---\nname: first\ndescription: a: b\nname: second\n---\n", lenient=True)
    assert taken.matter is not None
    assert taken.matter.data == {"name": "first", "description": "a: b"}
    assert places(taken.issues) == [("FM104", 3, 15), ("FM105", 4, 1)]


def test_recovery_knows_on_which_line_each_key_stands() -> None:
    matter = matter_of("---\nname: x\n\ndescription: a: b\nmetadata:\n  c: 1\n---\n", lenient=True)
    assert matter.position(("description",)) == (4, 1)
    assert matter.position(("metadata", "c")) == (5, 1)
    assert matter.position(("missing",)) == (1, 1)
    assert matter.position(()) == (1, 1)


def test_a_strict_kind_is_not_recovered() -> None:
    taken = take("---\nname: x\ndescription: a: b\n---\nbody")
    assert taken.matter is None
    assert places(taken.issues) == [("FM104", 3, 15)]


@pytest.mark.parametrize(
    ("yaml", "code"),
    [
        ("name: &a x\nb: *a", "FM106"),
        ("name: !!str x", "FM106"),
        ("name: " + "[" * 21 + "]" * 21, "FM107"),
    ],
)
def test_what_is_refused_is_not_recovered_either(yaml: str, code: str) -> None:
    taken = take(f"---\n{yaml}\n---\nbody", lenient=True)
    assert taken.matter is None
    assert codes(taken.issues) == [code]


def test_a_long_run_of_blanks_in_broken_front_matter_does_not_hang() -> None:
    blanks = " " * 60_000
    taken = take(f"---\nname: x\ndescription: a: b{blanks}c\n---\nbody", lenient=True)
    assert taken.matter is not None
    assert taken.matter.data["description"].endswith("c")


# Positions


def test_positions_are_lines_and_columns_of_the_file() -> None:
    matter = matter_of("---\nname: x\n\ntriggers:\n  keywords: [a, bb]\n---\nbody")
    assert matter.position(("name",)) == (2, 1)
    assert matter.position(("triggers", "keywords")) == (5, 3)
    assert matter.position(("triggers", "keywords", 1)) == (5, 17)
    assert matter.position(("triggers", "missing")) == (4, 1)
    assert matter.position(("missing",)) == (2, 1)


def test_positions_do_not_shift_with_crlf_and_byte_order_mark() -> None:
    matter = matter_of("\ufeff---\r\nname: x\r\nlast: y\r\n---\r\nbody")
    assert matter.position(("last",)) == (3, 1)
    assert matter.body_line == 5


@pytest.mark.parametrize("char", ["\u2028", "\u2029", "\x85"])
def test_positions_do_not_shift_behind_a_unicode_line_separator(char: str) -> None:
    matter = matter_of(f'---\nname: "a{char}b"\nlast: y\n---\nbody')
    assert matter.position(("last",)) == (3, 1)


def test_a_repeated_key_is_noted_at_its_second_place() -> None:
    taken = take("---\nname: x\nmetadata:\n  a: 1\n  a: 2\nname: y\n---\nbody")
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x", "metadata": {"a": 1}}
    assert places(taken.issues) == [("FM105", 5, 3), ("FM105", 6, 1)]


# Files that are YAML throughout


@pytest.mark.parametrize("text", ["a: 1\nb: [x]\n", "---\na: 1\nb: [x]\n", "\ufeffa: 1\nb: [x]\n"])
def test_a_yaml_file_is_all_data(text: str) -> None:
    taken = read_yaml(text.encode(), "a.yaml")
    assert taken.matter is not None
    assert taken.matter.data == {"a": 1, "b": ["x"]}
    assert taken.matter.body == ""


def test_positions_in_a_yaml_file_start_on_its_first_line() -> None:
    taken = read_yaml(b"a: 1\nb: 2\n", "a.yaml")
    assert taken.matter is not None
    assert taken.matter.position(("b",)) == (2, 1)


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b"", "FM114"),
        (b"a: b: c", "FM104"),
        (b"- a", "FM109"),
        (b"a: caf\xe9 caf caf caf", "FM110"),
        (b"a: \0", "FM111"),
        (b"a: &x 1", "FM106"),
        (b"a: 1\n---\nb: 2\n", "FM103"),
    ],
)
def test_a_yaml_file_is_read_strictly(raw: bytes, code: str) -> None:
    taken = read_yaml(raw, "a.yaml")
    assert taken.matter is None
    assert codes(taken.issues) == [code]


def test_every_finding_names_the_file_and_says_what_to_do() -> None:
    samples: list[Any] = [
        b"", b"\0", b"---\na: b: c\n---\n", b"---\n", b"---\n- a\n---\n", b"---\na: &b c\n---\n",
    ]  # fmt: skip
    found = [read_matter(raw, "folder/file.md").issues for raw in samples]
    assert [codes(issues) for issues in found] == [
        ["FM114"], ["FM111"], ["FM104"], ["FM102"], ["FM109"], ["FM106"],
    ]  # fmt: skip
    for issues in found:
        for issue in issues:
            assert issue.path == "folder/file.md"
            assert issue.message
            assert issue.hint


# Tabs


def test_front_matter_that_is_indented_with_tabs_is_named_and_read_leniently() -> None:
    text = "---\nname: x\nmetadata:\n\tauthor: me\n---\nbody\n"
    taken = take(text, lenient=True)
    (issue,) = taken.issues
    assert (issue.code, issue.line, issue.column) == ("FM116", 4, 1)
    assert issue.message == "YAML does not allow tabs for indentation"
    assert issue.hint == "use spaces"
    assert taken.matter is not None
    assert taken.matter.data == {"name": "x", "metadata": {"author": "me"}}
    assert take(text) == SplitText(None, [issue], True)


def test_a_tab_that_could_mean_two_things_is_told_without_the_promise_of_a_repair() -> None:
    taken = take("---\nname: x\nmetadata:\n  a:\n\tb: c\n---\nbody\n", lenient=True)
    (issue,) = taken.issues
    assert (issue.code, issue.line, issue.column) == ("FM103", 5, 1)
    assert issue.message == "not valid YAML: YAML does not allow tabs for indentation"
    assert issue.hint == "use spaces"
    assert taken.matter is not None
    assert taken.matter.data["name"] == "x"
    assert taken.matter.unread == {"metadata"}


def test_a_tab_within_a_line_is_not_called_indentation() -> None:
    (issue,) = take("---\ntags:\n  -\ta\n---\nbody\n").issues
    assert (issue.line, issue.column, issue.hint) == (3, 4, "use spaces")
    assert issue.message == "not valid YAML: a tab where a space is required"


def test_tabs_behind_another_fault_are_read_leniently_too() -> None:
    data = matter_of("---\nname: x: y\nmetadata:\n\ta: b\n---\nbody\n", lenient=True).data
    assert data == {"name": "x: y", "metadata": {"a": "b"}}


def test_what_else_is_wrong_behind_tabs_is_told_too() -> None:
    taken = take("---\nmetadata:\n\ta: b\nname: x: y\n---\nbody\n", lenient=True)
    assert places(taken.issues) == [("FM116", 3, 1), ("FM104", 4, 8)]
    assert taken.matter is not None
    assert taken.matter.data == {"metadata": {"a": "b"}, "name": "x: y"}
