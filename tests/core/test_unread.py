"""Why a text is no JSON, in words for people."""

import json

import pytest

from metier.core.unread import why_not_json

DIGITS = "9" * 5_000


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (DIGITS, "a number with more digits than metier reads: line 1 column 1"),
        (
            f'{{"a": "{DIGITS} \\"",\n "b": -{DIGITS}}}',
            "a number with more digits than metier reads: line 2 column 8",
        ),
        ("[" * 100_000, "it is nested too deeply"),
        ("[1,", "Expecting value: line 1 column 4 (char 3)"),
        (b"\xff", "it is not UTF-8"),
    ],
    ids=["digits", "digits after a text", "deep", "broken", "binary"],
)
def test_the_reason_is_in_our_words(text: str | bytes, why: str) -> None:
    with pytest.raises((ValueError, RecursionError)) as caught:
        json.loads(text)
    assert why_not_json(caught.value, text) == why


def test_without_the_text_there_is_no_place() -> None:
    with pytest.raises(ValueError, match="digits") as caught:
        json.loads(DIGITS)
    assert why_not_json(caught.value) == "a number with more digits than metier reads"
