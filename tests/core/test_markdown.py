"""Which parts of a Markdown text are code, and which are comments."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt  # rich brings it

from metier.core.markdown import code_and_comments


def parts(text: str, kind: str) -> list[str]:
    return [text[span.start : span.end] for span in code_and_comments(text) if span.kind == kind]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("no code", []),
        ("a `b` c `d`", ["`b`", "`d`"]),
        ("``a`b`` c", ["``a`b``"]),
        ("a `b\nc` d", ["`b\nc`"]),
        ("a `b\n    c` d", ["`b\n    c`"]),
        ("- a `b\nc` d", ["`b\nc`"]),
        ("a `b\n\n    c` d", ["    c` d"]),
        ("a `b\n\nc` d", []),
        ("\\`a` b`", ["` b`"]),
        ("\\\\`a` b", ["`a`"]),
        ("`a\\` b`", ["`a\\`"]),
        ("``a`", []),
        ("```\nx\n```\ny", ["```\nx\n```"]),
        ("```py `\nx", []),
        ("~~~ py `\nx\n~~~", ["~~~ py `\nx\n~~~"]),
        ("````\n```\n````\n", ["````\n```\n````"]),
        ("```\nx\n````\ny", ["```\nx\n````"]),
        ("```\nx\n``` y\nz", ["```\nx\n``` y\nz"]),
        ("```\nx\n~~~\ny", ["```\nx\n~~~\ny"]),
        ("   ```\nx\n  ```\ny", ["   ```\nx\n  ```"]),
        ("    ```\nx\n", ["    ```"]),
        ("a\r\n```\r\nx\r\n```\r\nb", ["```\r\nx\r\n```\r"]),
        ("- ```\n  x\n  ```\ny", ["- ```\n  x\n  ```"]),
        ("- ```\n  x\ny", ["- ```\n  x"]),
        ("- a\n\n  ```\nx\n  ```\ny", ["  ```\nx\n  ```"]),
        ("1.  a\n\n    ```\n    x\n\n    y\n    ```\nz", ["    ```\n    x\n\n    y\n    ```"]),
        ("- a\n  - b\n\n      ```\n      x\n      ```", ["      ```\n      x\n      ```"]),
        ("- a\n\nb\n\n    ```\n    x", ["    ```\n    x"]),
        ("> ```\n> x\n> ```\ny", ["> ```\n> x\n> ```"]),
        ("> ```\n> x\ny", ["> ```\n> x"]),
        ("> > ```\n> > x\n> y", ["> > ```\n> > x"]),
        ("a ` b\n# c ` d", []),
        ("a ` b\n- c ` d", []),
        ("a ` b\n> c ` d", []),
        ("| a ` |\n| ` b |", []),
        ("> a `b\n> c` d", ["`b\n> c`"]),
    ],
)
def test_code_is_what_commonmark_calls_code(text: str, code: list[str]) -> None:
    assert parts(text, "code") == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("    a", ["    a"]),
        ("a\n\n    b\n     c\nd", ["    b\n     c"]),
        ("a\n\n\tb\n", ["\tb"]),
        ("a\n\n  \tb\n", ["  \tb"]),
        ("a\r\n\r\n    b\r\n    c\r\n", ["    b\r\n    c\r"]),
        ("a\n\n    b\n\n    c", ["    b", "    c"]),
        ("a\n\n    <!-- b\n\nc -->", ["    <!-- b"]),
        ("- a\n\n      b", ["      b"]),
        ("- a\n\nb\n\n    c", ["    c"]),
        ("-      a\n\n      b", ["      b"]),
        ("a\n    b", []),
        ("a\n\n   b", []),
        ("# a\n    b", []),
        ("- a\n\n    b", []),
        ("- a\nb\n\n    c", []),
        ("-      a\n\n    b", []),
        ("1.  a\n    - b\n\n        c", []),
        ("> a\n>\n>     b", []),
        (">\n    a", []),
        ("<pre>\n\n    a", []),
        ("- <!--\n\n      a", []),
        ("`a\n<!-- `\n\n    b", ["`a\n<!-- `"]),
    ],
)
def test_code_is_indented_where_every_reader_says_so(text: str, code: list[str]) -> None:
    assert parts(text, "code") == code


LINES = st.tuples(
    st.sampled_from(["", "", "", "    ", "      ", "        ", "  ", " ", "\t", " \t", "> ", ">"]),
    st.sampled_from(["", "", "", "- ", "* ", "1. ", "2. ", "10) ", "-\t", "-     ", "- - ", "-"]),
    st.sampled_from(["", "a", "b", "# c", "---", "===", "<div>", "<pre>", "<!-- d", "| e", "***"]),
    st.sampled_from(["\n", "\n", "\n\n", "\n \n"]),
).map("".join)


@given(st.lists(LINES, max_size=12).map("".join))
@example(">\n    a\n")
@example("<div>\n>\n     a\n     b\n")
@example("- a\n- b\nc\n\n    d\n")
def test_what_is_taken_for_indented_code_is_code_for_commonmark_too(text: str) -> None:
    blocks = [token.map for token in MarkdownIt().parse(text) if token.type == "code_block"]
    lines = {line for start, end in filter(None, blocks) for line in range(start, end)}
    for span in code_and_comments(text):
        if span.kind == "code":
            first = text.count("\n", 0, span.start)
            assert set(range(first, first + text[span.start : span.end].count("\n") + 1)) <= lines


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("a <!-- b --> c", ["<!-- b -->"]),
        ("<!-->a<!--->", ["<!-->", "<!--->"]),
        ("  <!-- a\n\nb -->c", ["<!-- a\n\nb -->"]),
        ("a <!-- b\n\nc -->", []),
        ("a <!-- b\nc -->", ["<!-- b\nc -->"]),
        ("a\n<!-- b\n\n", ["<!-- b\n\n"]),
        ("`<!--` -->", []),
        ("<!-- ` --> `a`", ["<!-- ` -->"]),
        ("```\n<!-- a -->\n```", []),
        ("<!--\n```\n--> a\n```\n<!-- b -->", ["<!--\n```\n-->"]),
        ("<!-- a --> <!-- b -->", ["<!-- a -->", "<!-- b -->"]),
        ("<! -- a -->", []),
    ],
)
def test_comments_are_found_outside_of_code(text: str, comments: list[str]) -> None:
    assert parts(text, "comment") == comments
    assert "`a`" not in text or parts(text, "code") == ["`a`"]


def test_spans_come_in_order_and_never_overlap() -> None:
    text = "`a` <!-- b -->\n\n```\nc\n```\n<!-- d\n\n`e` --> `f`\n\n- ~~~\n  g\n  ~~~\n`h`"
    spans = code_and_comments(text)
    assert [span.kind for span in spans] == [
        "code", "comment", "code", "comment", "code", "code", "code",
    ]  # fmt: skip
    assert all(left.end <= right.start for left, right in pairwise(spans))


STRUCTURES = [
    *("Text.", "more of it", "- item", "1. one", "> quote", "# Title", "    code", "\tcode", "```"),
    *("~~~", "  ```", "- ```", "> ```", "``` inline ```", "`a", "b`", "<!--", "-->", "a <!-- b"),
    *(
        "c -->",
        "    <!-- d -->",
        "<pre>",
        "| a |",
        "      deep",
        "``",
        "x `<!-- y` z",
        "> a `b",
        "\r",
        "",
    ),
]
PARAGRAPHS = st.lists(
    st.tuples(
        st.sampled_from(STRUCTURES), st.sampled_from(["\n", "\n\n", "\n\n", "\n \n", "\r\n\r\n"])
    )
).map(lambda lines: "".join(line + end for line, end in lines))


@given(PARAGRAPHS, st.data())
def test_the_spans_near_a_position_are_those_of_the_whole_text(
    text: str, data: st.DataObject
) -> None:
    comments = [match.start() for match in re.finditer("<!--", text)]
    asked = data.draw(st.lists(st.integers(0, len(text)), max_size=3))
    near = sorted({*comments, *asked})
    found, whole = code_and_comments(text, near), code_and_comments(text)
    assert set(found) <= set(whole)
    missing = set(whole) - set(found)
    assert not [span for span in missing if span.kind == "comment"]
    assert not [span for span in missing if any(span.start <= at < span.end for at in near)]


def test_paragraphs_far_from_a_position_are_not_read() -> None:
    text = "Text with `code`.\n\n" * 3
    assert code_and_comments(text, [len(text) - 5]) == code_and_comments(text)[-1:]


def test_a_paragraph_in_a_list_is_read_with_its_list() -> None:
    text = "Text.\n\n- item\n\n    <!-- comment -->\n"
    assert code_and_comments(text, [text.index("<!--")]) == code_and_comments(text)


@pytest.mark.parametrize("fence", ["```", "~~~", "```py"])
def test_fenced_blocks_before_a_position_are_skipped(fence: str) -> None:
    block = f"{fence}\n`a` b\n\nText `c`.\n{fence[:3]}\n\nText with `code`.\n\n"
    text = f"Text.\n\n{block * 3}"
    assert code_and_comments(text, [len(text) - 5]) == code_and_comments(text)[-1:]
    inside = text.rindex("c`")
    assert code_and_comments(text, [inside]) == code_and_comments(text)[-2:-1]
