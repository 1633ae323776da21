"""The strict subset of YAML: what is read as what, what is refused, and where."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.parse.yaml import DEEPEST, Positions, Problem, YamlRejectedError, load_yaml
from soak import examples

SOURCE = Path(__file__).parents[2] / "src"


def value_of(text: str) -> Any:
    return load_yaml(f"key: {text}\n").value["key"]


def refusal(text: str) -> Problem:
    with pytest.raises(YamlRejectedError) as caught:
        load_yaml(text)
    return caught.value.problem


def refusal_if_any(text: str) -> Problem | None:
    try:
        load_yaml(text)
    except YamlRejectedError as rejected:
        return rejected.problem
    return None


def position_of(text: str, *path: str | int) -> tuple[int, int]:
    root = load_yaml(text).root
    assert root is not None
    return Positions(root).locate(path)


# What a scalar is


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("false", False)])
def test_true_and_false_are_booleans(text: str, expected: bool) -> None:
    assert value_of(text) is expected


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "no",
        "on",
        "off",
        "y",
        "n",
        "Yes",
        "NO",
        "On",
        "OFF",
        "True",
        "TRUE",
        "False",
        "FALSE",
    ],
)
def test_every_other_word_for_yes_and_no_stays_text(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize(
    "text", ["2024-01-31", "2024-01-31T10:00:00Z", "2024-01-31 10:00:00", "12:30", "12:30:45"]
)
def test_dates_and_times_stay_text(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "007",
        "1_000",
        "0x1f",
        "0o17",
        "0b101",
        "1e5",
        "1.5e3",
        "+1",
        ".5",
        "1.",
        "1,000",
        "01.5",
        ".inf",
        "-.inf",
        ".nan",
        "1.2.3",
        "--1",
        "１",
        "1" * 41,
    ],
)
def test_what_is_no_plain_decimal_stays_text(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize(
    ("text", "expected"), [("1", 1), ("0", 0), ("-7", -7), ("42", 42), ("1" + "0" * 21, 10**21)]
)
def test_plain_whole_numbers_are_integers(text: str, expected: int) -> None:
    value = value_of(text)
    assert type(value) is int
    assert value == expected


@pytest.mark.parametrize(("text", "expected"), [("-2.5", -2.5), ("1.0", 1.0), ("0.45", 0.45)])
def test_plain_decimal_fractions_are_floats(text: str, expected: float) -> None:
    value = value_of(text)
    assert type(value) is float
    assert value == expected


@pytest.mark.parametrize("text", ["", "~", "null"])
def test_nothing_and_null_are_none(text: str) -> None:
    assert value_of(text) is None


@pytest.mark.parametrize("text", ["Null", "NULL", "None", "nil"])
def test_other_words_for_nothing_stay_text(text: str) -> None:
    assert value_of(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'true'", "true"),
        ('"1"', "1"),
        ("'~'", "~"),
        ("''", ""),
        ("|-\n  1", "1"),
        (">-\n  no", "no"),
    ],
)
def test_quoted_values_and_blocks_are_always_text(text: str, expected: str) -> None:
    assert value_of(text) == expected


def test_keys_are_always_text() -> None:
    assert load_yaml("1: a\ntrue: b\n~: c\n2024-01-31: d").value == {
        "1": "a",
        "true": "b",
        "~": "c",
        "2024-01-31": "d",
    }


def test_the_merge_key_is_a_key_like_any_other() -> None:
    assert load_yaml("<<: {a: 1}\nb: 2").value == {"<<": {"a": 1}, "b": 2}


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_a_text_without_content_has_no_value(text: str) -> None:
    tree = load_yaml(text)
    assert tree.value is None
    assert tree.root is None
    assert tree.problems == []


_plain = st.one_of(
    st.booleans(),
    st.none(),
    st.integers(min_value=-(10**12), max_value=10**12),
    st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=126), max_size=20),
)


def _write(value: Any) -> str:
    """`value` as flow YAML with every text in single quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_write, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_write(key)}: {_write(one)}" for key, one in value.items()) + "}"
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"


@given(
    st.recursive(
        _plain,
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.dictionaries(
                st.text(alphabet="abcXYZ -", min_size=1, max_size=6), inner, max_size=4
            ),
        ),
        max_leaves=12,
    )
)
def test_what_is_written_plainly_comes_back_as_it_was(value: Any) -> None:
    tree = load_yaml(_write(value))
    assert tree.value == value
    assert tree.problems == []


# Keys that appear twice


def test_of_two_equal_keys_the_first_wins_with_its_place() -> None:
    tree = load_yaml("name: first\nother: x\nname: second\n")
    assert tree.value == {"name": "first", "other": "x"}
    assert [(one.code, one.line, one.column) for one in tree.problems] == [("FM105", 2, 0)]
    assert "'name'" in tree.problems[0].message


def test_the_first_wins_in_nested_mappings_too() -> None:
    tree = load_yaml("a: {x: 1, x: 2}\nb:\n  - c: 1\n    c: 2\n    c: 3\n")
    assert tree.value == {"a": {"x": 1}, "b": [{"c": 1}]}
    assert [(one.code, one.line, one.column) for one in tree.problems] == [
        ("FM105", 0, 10),
        ("FM105", 3, 4),
        ("FM105", 4, 4),
    ]


def test_a_quoted_key_equals_the_plain_one() -> None:
    assert load_yaml("name: a\n'name': b\n").value == {"name": "a"}


def test_equal_keys_of_different_mappings_do_not_meet() -> None:
    assert load_yaml("a: {x: 1}\nb: {x: 2}").problems == []


# Anchors, aliases, tags


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("key: &here value", 0, 5),
        ("&top\nkey: value", 0, 0),
        ("a: 1\nb:\n  - x\n  - &y z\n", 3, 4),
        ("a: [1, &x 2]", 0, 7),
        ("a: {b: &x 2}", 0, 7),
        ('{"a":&x 2}', 0, 5),
        ("a: 1\n&x b: 2", 1, 0),
        ("? &x a\n: b", 0, 2),
    ],
)
def test_an_anchor_is_refused_where_it_stands(text: str, line: int, column: int) -> None:
    problem = refusal(text)
    assert (problem.code, problem.line, problem.column) == ("FM106", line, column)


@pytest.mark.parametrize("text", ["a: *b", "a: 1\nb: [*c]", "*a : b"])
def test_an_alias_of_nothing_is_refused(text: str) -> None:
    problem = refusal(text)
    assert problem.line == text.count("\n", 0, text.index("*"))


def test_an_alias_behind_its_anchor_is_refused() -> None:
    assert refusal("a: &x 1\nb: *x\n").code == "FM106"


def test_a_bomb_of_aliases_is_refused_before_it_is_unfolded() -> None:
    rows = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    rows += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    problem = refusal("\n".join(rows))
    assert (problem.code, problem.line) == ("FM106", 0)


def test_a_bomb_of_merges_is_refused_before_it_is_unfolded() -> None:
    rows = ["a0: &a0 {k: v}"]
    rows += [f"a{n}: &a{n}\n  <<: [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    problem = refusal("\n".join(rows))
    assert (problem.code, problem.line, problem.column) == ("FM106", 0, 4)


def test_an_anchor_behind_a_byte_order_mark_is_refused() -> None:
    assert refusal("a:\n\ufeff&x [1, 2]\nb:\n\ufeff&y [*x, *x]\n").code == "FM106"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("key: !!str 1", 0, 5),
        ("key: !mine 1", 0, 5),
        ("a: 1\nb: !!python/object/apply:os.system ['true']", 1, 3),
        ("a: [1, !!int 2]", 0, 7),
        ("a: !!set {b, c}", 0, 3),
        ("!!map {a: 1}", 0, 0),
        ("a: !<tag:yaml.org,2002:str> b", 0, 3),
        pytest.param(
            "!!str a: 1",
            0,
            0,
        ),
        pytest.param(
            "a: 1\na: !!str 2",
            1,
            3,
        ),
        pytest.param(
            "a: ! 2",
            0,
            3,
        ),
    ],
)
def test_a_tag_is_refused_where_it_stands(text: str, line: int, column: int) -> None:
    problem = refusal(text)
    assert (problem.code, problem.line, problem.column) == ("FM106", line, column)


@pytest.mark.parametrize(
    "text",
    [
        "R&D department",
        "salt & pepper",
        "'&quoted'",
        '"*quoted*"',
        "wow!",
        "a*b",
        "x &y",
        "https://example.org/?a=1&b=2",
    ],
)
def test_the_same_signs_inside_a_text_are_only_text(text: str) -> None:
    assert value_of(text) == text.strip("'\"")


# Depth


def _flow_list(depth: int) -> str:
    return "[" * depth + "]" * depth


def _flow_mapping(depth: int) -> str:
    return "{a: " * (depth - 1) + "{}" + "}" * (depth - 1)


def _block_list(depth: int) -> str:
    return "- " * depth + "x"


def _block_mapping(depth: int) -> str:
    return "\n".join(" " * level + "a:" for level in range(depth)) + " x"


def _mixed(depth: int) -> str:
    return "- " * (depth // 2) + "[" * (depth - depth // 2) + "]" * (depth - depth // 2)


_SHAPES = [_flow_list, _flow_mapping, _block_list, _block_mapping, _mixed]


def _depth(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(_depth, value.values()), default=0)
    return 1 + max(map(_depth, value), default=0) if isinstance(value, list) else 0


@pytest.mark.parametrize("shape", _SHAPES)
def test_twenty_levels_are_read(shape: Any) -> None:
    assert DEEPEST == 20
    assert _depth(load_yaml(shape(20)).value) == 20


@pytest.mark.parametrize("shape", _SHAPES)
def test_the_twenty_first_level_is_refused(shape: Any) -> None:
    problem = refusal(shape(21))
    assert problem.code == "FM107"
    assert (problem.line, problem.column) != (0, 0)


def test_depth_is_counted_along_a_branch_not_over_the_text() -> None:
    text = "\n".join(f"k{number}: [[[[[[[[[[x]]]]]]]]]]" for number in range(50))
    assert len(load_yaml(text).value) == 50


@pytest.mark.parametrize(
    "text",
    ["[" * 20_000, "{a: " * 20_000, "- " * 20_000, "? " * 20_000, "[" * 20_000 + "]" * 20_000],
    ids=["lists", "mappings", "dashes", "questions", "closed-lists"],
)
def test_twenty_thousand_levels_are_refused(text: str) -> None:
    assert refusal(text).code == "FM107"


@pytest.mark.parametrize("line_break", ["\r", "\x85", "\u2028", "\ufeff"])
def test_deep_nesting_behind_any_line_break_does_not_kill_the_process(line_break: str) -> None:
    program = (
        "import sys\n"
        "from metier.parse.yaml import YamlRejectedError, load_yaml\n"
        "text = ('' if sys.argv[1] == '\\ufeff' else 'a:') + sys.argv[1] + '- ' * 400_000 + 'x'\n"
        "try:\n"
        "    load_yaml(text)\n"
        "except YamlRejectedError as rejected:\n"
        "    print(rejected.problem.code)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, line_break],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "PYTHONUTF8": "1"},
    )
    assert done.returncode == 0
    assert done.stdout in ("FM107\n", "FM103\n")


# What is not YAML


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: b: c", "FM104", 0, 4),
        ("name: x\ndescription: Use this: always", "FM104", 1, 21),
        ("a: [1, 2\nb: 3", "FM103", 1, 1),
        ("a: 'open", "FM103", 0, 8),
        ("a:\n\tb: 1", "FM103", 1, 0),
        ("a: 1\n---\nb: 2", "FM103", 1, 0),
        ("? [a]\n: b", "FM103", 0, 2),
        ("a: @b", "FM103", 0, 3),
        ("a: b\nc: d\x07e", "FM103", 1, 4),
    ],
)
def test_a_text_that_is_not_yaml_is_refused_at_its_place(
    text: str, code: str, line: int, column: int
) -> None:
    problem = refusal(text)
    assert (problem.code, problem.line, problem.column) == (code, line, column)


def test_the_place_of_a_forbidden_character_is_counted_in_characters() -> None:
    problem = refusal("ä: ö\nc: ü\x07e")
    assert (problem.line, problem.column) == (1, 4)


@given(st.text())
@examples(75)
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    problem = refusal_if_any(text)
    assert problem is None or (problem.line >= 0 and problem.column >= 0)


@given(
    st.lists(
        st.sampled_from(
            ["a", ": ", "- ", "\n", "  ", "[", "]", "{", "}", "&x ", "*x", "!t ", "|", ">", "'",
             '"', "#", "? ", ",", "%", "@", "`", "\t", "---", "...", "\r", "\ufeff", "<<", "~"]
        ),
        max_size=30,
    ).map("".join)
)  # fmt: skip
@examples(75)
def test_any_heap_of_yaml_signs_is_read_or_refused_and_nothing_else(text: str) -> None:
    problem = refusal_if_any(text)
    assert problem is None or problem.code in {"FM103", "FM104", "FM106", "FM107"}


# Where things stand

_PROFILE = """\
name: x
triggers:
  keywords:
    - one
    -   two
  sessionTypes: [main, isolated]
steps:
  - id: first
    config: {tool: t}
"""


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ((), (0, 0)),
        (("name",), (0, 0)),
        (("triggers",), (1, 0)),
        (("triggers", "keywords"), (2, 2)),
        (("triggers", "keywords", 0), (3, 6)),
        (("triggers", "keywords", 1), (4, 8)),
        (("triggers", "sessionTypes", 1), (5, 23)),
        (("steps", 0), (7, 4)),
        (("steps", 0, "config", "tool"), (8, 13)),
    ],
)
def test_a_value_is_found_at_its_key_and_an_entry_where_it_starts(
    path: tuple[str | int, ...], expected: tuple[int, int]
) -> None:
    assert position_of(_PROFILE, *path) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("missing",), (0, 0)),
        (("triggers", "missing"), (1, 0)),
        (("triggers", "keywords", 9), (2, 2)),
        (("name", "deeper"), (0, 0)),
        (("name", 0), (0, 0)),
        (("steps", 0, "config", "missing", 3), (8, 4)),
    ],
)
def test_what_does_not_exist_is_placed_at_the_nearest_thing_around_it(
    path: tuple[str | int, ...], expected: tuple[int, int]
) -> None:
    assert position_of(_PROFILE, *path) == expected


def test_a_key_is_found_in_another_spelling() -> None:
    assert position_of("a: 1\nsession_types: x", "sessionTypes") == (1, 0)


def test_the_exact_spelling_is_found_before_another_one() -> None:
    assert position_of("session_types: x\nsessionTypes: y", "sessionTypes") == (1, 0)
