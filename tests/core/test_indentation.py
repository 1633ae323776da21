"""Tabs at the beginning of lines become spaces where it is clear what they mean."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.indentation import with_spaces
from metier.parse.yaml import YamlRejectedError, load_yaml

CLEAR = [
    ("a:\n\tb: c\n", {"a": {"b": "c"}}),
    ("a:\n\tb:\n\t\tc: d\n\te: f\n", {"a": {"b": {"c": "d"}, "e": "f"}}),
    ("a:\n\t- b\n\t- c\n", {"a": ["b", "c"]}),
    ("a:\n\t- b: 1\n\t  c: 2\n", {"a": [{"b": 1, "c": 2}]}),
    ("a: b\n\tc\n", {"a": "b c"}),
    ("a: |\n\tb\n\tc\n", {"a": "b\nc\n"}),
    ("\ta: b\n\tc: d\n", {"a": "b", "c": "d"}),
    ("a:\n\tb: c\nd:\n  e: f\n", {"a": {"b": "c"}, "d": {"e": "f"}}),
    ("a:\n\n\t\n\tb: c\n", {"a": {"b": "c"}}),
    ("a:\r\n\tb: c\r\n\t\r\nd: e\r\n", {"a": {"b": "c"}, "d": "e"}),
    ("a:\n\tb:\tc\n", {"a": {"b": "c"}}),
    ("a: |\n  b\n  \tc\nd:\n\te: f\n", {"a": "b\n\tc\n", "d": {"e": "f"}}),
]


@pytest.mark.parametrize(("yaml", "value"), CLEAR)
def test_a_text_that_is_indented_with_tabs_can_be_read(yaml: str, value: object) -> None:
    with pytest.raises(YamlRejectedError):
        load_yaml(yaml)
    spaced = with_spaces(yaml)
    assert spaced is not None
    assert load_yaml(spaced).value == value
    assert with_spaces(spaced) is None


@pytest.mark.parametrize(
    "yaml",
    [
        "a:\n  b:\n\tc: d\n",
        "a:\n  b: c\n\td: e\n",
        "a:\n\tb:\n\t  c: d\n\t\te: f\n",
        "a:\n\t- b: 1\n\t\tc: 2\n",
        "- a: 1\n\tb: 2\n",
        "a: |\n    b\n\tc\n",
    ],
)
def test_nothing_is_done_where_it_depends_on_the_width_of_a_tab(yaml: str) -> None:
    assert with_spaces(yaml) is None


@pytest.mark.parametrize("yaml", ["", "a: b\n", "a:\tb\n", "a:\n  b: c\t\n", "a: |\n  b\n  \tc\n"])
def test_nothing_is_done_where_no_line_begins_with_a_tab(yaml: str) -> None:
    assert with_spaces(yaml) is None


@given(st.text(alphabet="\t -:ab\r\n#|", max_size=60))
def test_only_blanks_change_and_only_once(yaml: str) -> None:
    spaced = with_spaces(yaml)
    if spaced is not None:
        assert with_spaces(spaced) is None
        before, after = yaml.split("\n"), spaced.split("\n")
        assert [line.lstrip(" \t") for line in after] == [line.lstrip(" \t") for line in before]
        kept = [old == new for old, new in zip(before, after, strict=True) if old[:1] != "\t"]
        assert all(kept)
