"""Which parts of a Markdown text are code, and which are comments."""

from itertools import pairwise

import pytest

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
        ("a `b\n\n    c` d", []),
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
        ("    ```\nx\n", []),
        ("a\r\n```\r\nx\r\n```\r\nb", ["```\r\nx\r\n```\r"]),
        ("- ```\n  x\n  ```\ny", ["- ```\n  x\n  ```"]),
        ("- ```\n  x\ny", ["- ```\n  x"]),
        ("- a\n\n  ```\nx\n  ```\ny", ["  ```\nx\n  ```"]),
        ("1.  a\n\n    ```\n    x\n\n    y\n    ```\nz", ["    ```\n    x\n\n    y\n    ```"]),
        ("- a\n  - b\n\n      ```\n      x\n      ```", ["      ```\n      x\n      ```"]),
        ("- a\n\nb\n\n    ```\n    x", []),
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
