"""Code fences: what is code, and which fence nothing closes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.fences import fences_in, is_inline_code

CODE = "```\nrun\n```"


def code_in(text: str) -> list[str]:
    return [text[start:end] for start, end in fences_in(text).code]


@pytest.mark.parametrize("fence", ["```", "````", "~~~"])
def test_the_text_between_two_fences_is_code(fence: str) -> None:
    text = f"Before\n{fence}bash\nrun\n{fence}\nafter"
    assert code_in(text) == [f"{fence}bash\nrun\n{fence}"]
    assert fences_in(text).unclosed == -1


@pytest.mark.parametrize("before", ["", "  ", "    ", "> ", "- ", "1. "])
def test_a_fence_may_be_indented_quoted_or_in_a_list(before: str) -> None:
    assert len(code_in(f"{before}```\n{before}run\n{before}```\n")) == 1


def test_a_shorter_fence_or_another_kind_closes_nothing() -> None:
    assert code_in("````\n```\nrun\n````\n") == ["````\n```\nrun\n````"]
    assert code_in("```\n~~~\nrun\n```\n") == ["```\n~~~\nrun\n```"]


@pytest.mark.parametrize("text", ["```bash\nrun\n\nThen stop.", f"{CODE}\n\n```\nrun\nstop"])
def test_a_fence_that_nothing_closes_is_found(text: str) -> None:
    assert text[fences_in(text).unclosed :].startswith("```")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "No code.",
        f"{CODE}\n{CODE}",
        "Write ```run``` in a line.",
        "```markdown\n```bash\nrun\n```\n```\n",  # a block in a block
        f"{CODE}\n```",  # nothing follows
        f"{CODE}\nIt ends with\n```, and more\n",
        "```\nrun\n```)\nafter\n",  # closed, with a stray bracket
        "It is ~~~not~~~ so.\n- ~~~\n",
    ],
)
def test_other_fences_are_no_finding(text: str) -> None:
    assert fences_in(text).unclosed == -1


def test_a_position_is_in_code_between_the_fences_only() -> None:
    text = f"a\n{CODE}\nb"
    fences = fences_in(text)
    assert [fences.holds(text.index(part)) for part in ("a", "run", "b")] == [False, True, False]


def test_inline_code_is_after_an_odd_number_of_backticks() -> None:
    text = "`a` b `c` d\ne `f"
    assert [is_inline_code(text, text.index(letter)) for letter in "abcdef"] == [
        True, False, True, False, False, True,
    ]  # fmt: skip


@given(st.lists(st.sampled_from(["```", "```py", "~~~", "a", "", "- ```", "````"])))
def test_blocks_are_in_order_and_an_even_number_of_fences_is_closed(lines: list[str]) -> None:
    text = "\n".join(lines)
    fences = fences_in(text)
    if len([line for line in lines if line not in ("a", "")]) % 2 == 0:
        assert fences.unclosed == -1
    ends = [position for block in fences.code for position in block]
    assert ends == sorted(ends)
    assert all(0 <= position <= len(text) for position in ends)
