"""The first paragraph of a text."""

import pytest

from metier.core.paragraph import first_paragraph


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Draws charts.\n\nMore.", "Draws charts."),
        ("# Charts\n\nDraws charts\nfrom  tables.\n\nMore.", "Draws charts from tables."),
        ("## Charts\nDraws charts.\n- one\n", "Draws charts."),
        ("Charts\n======\n\nDraws charts.", "Draws charts."),
        ("Charts\n---\nDraws charts.", "Draws charts."),
        ("***\n\nDraws charts.\n***\n", "Draws charts."),
        ("```sh\nmake\n```\nUse `make`.", "Use `make`."),
        ("````\n```\ninside\n````\nDraws charts.", "Draws charts."),
        ("~~~\nnever closed", ""),
        ("<!-- a\n\nnote -->\nDraws charts.", "Draws charts."),
        ("<div>\n\n**Draws** charts.", "**Draws** charts."),
        ("> quoted\n\n1. first\n2. second\n\n| a | b |\n\nDraws charts.", "Draws charts."),
        ("    code\n\nDraws charts.", "Draws charts."),
        ("Draws\r\ncharts.\r\n\r\nMore.", "Draws charts."),
        ("# Only a heading\n", ""),
        ("- only\n- a list\n", ""),
        ("", ""),
    ],
)
def test_the_first_lines_of_prose_are_taken(text: str, expected: str) -> None:
    assert first_paragraph(text) == expected


def test_a_long_paragraph_is_cut() -> None:
    assert first_paragraph("a" * 1024) == "a" * 1024
    assert first_paragraph("a" * 1025) == "a" * 1023 + "…"
