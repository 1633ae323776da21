"""Ordinary front matter is read without libyaml, and exactly as with it."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.parse.frontmatter import read_matter
from metier.parse.ordinary import line_of_key, ordinary_values
from metier.parse.yaml import Positions, load_yaml
from soak import examples

ORDINARY: dict[str, dict[str, Any]] = {
    "name: a\ndescription: Reads PDF files, fast.\n": {
        "name": "a",
        "description": "Reads PDF files, fast.",
    },
    "a: true\nb: null\nc: ~\nd: 12\ne: 1.5\nf: 007\ng: no\nh:\n": {
        "a": True, "b": None, "c": None, "d": 12, "e": 1.5, "f": "007", "g": "no", "h": None,
    },
    "a: 'true'\nb: \" x \"\nc: ''\n": {"a": "true", "b": " x ", "c": ""},
    "a: http://x.y/#top\nb: it's \"so\"  \n": {"a": "http://x.y/#top", "b": "it's \"so\""},
    "a: 文件处理：快\n": {"a": "文件处理：快"},
    "tags:\n- a\n- 'b'\nname: x\n": {"tags": ["a", "b"], "name": "x"},
    "tags:\n  - a\n  - 2\n": {"tags": ["a", 2]},
    "metadata:\n  author: x\n  version: \"1.0\"\n  note:\n": {
        "metadata": {"author": "x", "version": "1.0", "note": None},
    },
}  # fmt: skip
OTHERS = (
    "", "\n", "name: a", "name: a\r\n", "name: a\n\nb: c\n", "# comment\nname: a\n",
    "name: a # comment\n", "name: a: b\n", "name: a:\n", "name: a\n  b\n", "name: |\n  a\n",
    "name: >-\n  a\n", "name: [a, b]\n", "name: {a: b}\n", "name: &x a\n", "name: *x\n",
    "name: !x a\n", "name: - a\n", "name: @a\n", "name: `a`\n", "name: %a\n", "name: \"a\\n\"\n",
    "name: 'it''s'\n", "name: \"a\n", "name: 'a' b\n", "name: a\nname: b\n", "name:\ta\n",
    "name: a\t\n", "name: a\x07\n", "name: a\x85b\n", "name: a\u2028b\n", "name: \ufeffa\n",
    "- a\n", " name: a\n", "name: a\n- b\n", "name: a\n  b: c\n", "a:\n  - b\n  c: d\n",
    "a:\n  b: c\n  - d\n", "a:\n  b: c\n   d: e\n", "a:\n  b:\n    c: d\n", "a:\n  b: c\n  b: d\n",
    "a:\n  - b: c\n", "a:\n  -\n", "---\nname: a\n", "...\n", "1: a\n", "a b: c\n", "name:a\n",
)  # fmt: skip


@pytest.mark.parametrize("text", ORDINARY)
def test_keys_with_plain_and_quoted_values_lists_and_mappings_are_ordinary(text: str) -> None:
    assert ordinary_values(text) == ORDINARY[text]


@pytest.mark.parametrize("text", OTHERS)
def test_everything_else_is_left_to_libyaml(text: str) -> None:
    assert ordinary_values(text) is None


_KEYS = st.sampled_from(["a", "b", "name", "x-y", "true", "A_1", "é", "1"])
_VALUES = st.one_of(
    st.sampled_from(
        ["", " ", "x", "x y", "1", "-1", "1.0", "1e3", "0x1", "true", "~", "null", "yes", "'x'",
         '"x"', "''", '""', '"x\\ty"', "'it''s'", "x: y", "x:y", "x :y", "x #y", "x#y", "x:", "#",
         "- x", "-", "-x", "? x", "[x]", "{x: y}", "&x", "*x", "!x", "|", ">", "%x", "@x", "`x`",
         "=", "<<", "x  ", "'x' y", '"x" #', "2020-01-01", "文", "\ufeff", "\u2028", "\x85", "\x7f",
         "\t", "x\t", "a,b", "a]b", "---", "...", "(x)", "😀 x", "\ue000", "\ufffe", "\x00"]
    ),
    st.text(max_size=6),
)  # fmt: skip
_ODD_LINES = st.builds(
    "{}{}{}{}\n".format,
    st.sampled_from(["", " ", "  ", "\t"]),
    st.one_of(_KEYS.map("{}:".format), st.sampled_from(["-", "- -", "? a", "#", "---", ""])),
    st.sampled_from([" ", "  ", "", "\t"]),
    _VALUES,
)
_TOP_LINES = st.builds("{}: {}\n".format, _KEYS, _VALUES)
_LISTS = st.builds("{}:\n  - {}\n  - {}\n".format, _KEYS, _VALUES, _VALUES)
_MAPPINGS = st.builds("{}:\n  x: {}\n  y: {}\n".format, _KEYS, _VALUES, _VALUES)
_PIECES = st.one_of(_TOP_LINES, _LISTS, _MAPPINGS, _ODD_LINES)


@given(text=st.lists(_PIECES, min_size=1, max_size=3).map("".join))
@example(text="a:\n- b\n-  c \nd: e\n")
@example(text="a:\n  b: 1\nc: true\n")
@examples(500)
def test_an_ordinary_text_has_the_values_and_positions_that_libyaml_finds(text: str) -> None:
    values = ordinary_values(text)
    if values is None:
        return
    tree = load_yaml(text)
    assert repr(tree.value) == repr(values)
    assert tree.problems == []
    assert tree.root is not None
    positions = Positions(tree.root)
    for key in values:
        assert (line_of_key(text, key), 0) == positions.locate((key,))


@pytest.mark.parametrize("path", [(), ("b",), ("b", "c"), ("b", "d"), ("e", 1), ("B",), ("none",)])
def test_positions_in_ordinary_front_matter_are_those_of_libyaml(
    path: tuple[str | int, ...],
) -> None:
    yaml = "a: x\nb:\n  c: y\n  d: z\ne:\n  - 1\n  - 2\n"
    assert ordinary_values(yaml) is not None
    matter = read_matter(f"---\n{yaml}---\n".encode(), "SKILL.md").matter
    root = load_yaml(yaml).root
    assert matter is not None
    assert root is not None
    line, column = Positions(root).locate(path)
    assert matter.position(path) == (line + 2, column + 1)
