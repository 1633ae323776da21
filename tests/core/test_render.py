"""How a part looks when it is injected."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metier.core.render import SEPARATOR, with_heading

LINE_ENDS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"

titles = st.text(max_size=20) | st.text(alphabet=f"ab #{LINE_ENDS}", max_size=20)


def test_between_two_parts_is_a_rule_with_a_blank_line_on_either_side() -> None:
    assert SEPARATOR == "\n\n---\n\n"
    assert SEPARATOR.join(["one", "two"]).split("\n") == ["one", "", "---", "", "two"]


def test_the_content_is_below_a_heading_of_the_second_level() -> None:
    assert with_heading("Code review", "Look twice.") == "## Code review\n\nLook twice."


def test_without_content_the_heading_stands_alone() -> None:
    assert with_heading("Code review", "") == "## Code review"


def test_the_content_stays_as_it_is() -> None:
    content = "  first\r\n\n\n# second \t\n"
    assert with_heading("x", content) == f"## x\n\n{content}"


@pytest.mark.parametrize(
    "title", ["日本語", "Grüße", "e\u0301t", "👩\u200d💻", "<b>*x*</b>", " a  b"]
)
def test_a_title_stays_as_it_is(title: str) -> None:
    assert with_heading(title, "") == f"## {title}"


@given(titles, st.text(max_size=20))
@example(" two  spaces ", "x")
def test_title_and_content_are_there_byte_for_byte(title: str, content: str) -> None:
    whole = with_heading(title, content)
    assert whole == (f"## {title}\n\n{content}" if content else f"## {title}")
