"""What is removed from a text before it is exported."""

import pytest

from metier.safety.redact import redacted, without_tokens

KEY = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijkl0123456789",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "github_pat_11ABCDEFG0abcdefghijkl",
        "glpat-abcdefghij0123456789",
        "xoxb-123456789012-abcdef",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA-0123456789abcdefghijklmnop",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl",
        "3f9a0c1d2e4b5a69788796a5b4c3d2e1f0",
        KEY,
        KEY[:45],
    ],
)
def test_a_secret_of_a_known_form_is_removed(secret: str) -> None:
    assert redacted(f"use {secret} please") in ("use [secret] please", "use [secret]")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("password: hunter2, then", "password: [secret], then"),
        ("my password is hunter2", "my password is [secret]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[secret]"),
        ('{"api_key": "abc-123"}', '{"api_key": "[secret]"}'),
        ("Authorization: Bearer abcdefgh12", "Authorization: Bearer [secret]"),
        ("postgres://joe:hunter2@db/shop", "postgres://[secret]@db/shop"),
        ("https://joe@example.org/x", "https://[secret]@example.org/x"),
        ("mail joe.doe+x@mail.example.org now", "mail [e-mail] now"),
        ("in /home/joe/work/a.py", "in ~/work/a.py"),
        ("in /Users/joe/a.py:3", "in ~/a.py:3"),
        (r"in C:\Users\joe\a.py", r"in ~\a.py"),
        ("in /srv/people/joe/a.py", "in ~/a.py"),
    ],
)
def test_what_says_who_you_are_is_removed(text: str, expected: str) -> None:
    assert redacted(text, home="/srv/people/joe") == expected


@pytest.mark.parametrize(
    "text",
    [
        "Count the tokens of this text, and say which password rules apply.",
        "Fix the function called_when_the_user_presses_the_button_twice",
        "skills/pdf/scripts/fill.py fails since 2026-11-10",
        "@decorator and user@ are no addresses",
    ],
)
def test_other_text_stays(text: str) -> None:
    assert redacted(text, home="/") == text


def test_a_message_loses_tokens_and_keeps_its_words() -> None:
    told = (
        f"no skill is called 'ghp_0123456789abcdefghij' or {KEY}; a@example.org, sk-learn-helpers"
    )
    kept = "no skill is called '[secret]' or [secret]; a@example.org, sk-learn-helpers"
    assert without_tokens(told) == kept
