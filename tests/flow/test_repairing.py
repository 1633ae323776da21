"""Repairs of random texts: nothing is lost, nothing gets worse, and once is enough."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.core.text import words
from metier.flow.entries import lint_text
from metier.flow.repairing import Naming, is_repairable, quick_fix, repair_text, why_left
from metier.values.files import Found
from metier.values.outcomes import Issue
from soak import examples

RANK = {"info": 0, "warning": 1, "error": 2}
FOUND = Found("skill", "skills/charts/SKILL.md", 0, 0, 0, "", "/w/SKILL.md", "workspace", 0)
PIECES = [
    "draws", "a chart", "it's", ": ", "**", "*", "&x", "\"", "'", "#", " # ", "- ", "[", "]", "{",
    "}", "|", ">", "---", "`", "@", ". ", "。", "\t", "  ", "é", "表", "\\", "%", "!", "true", "1",
]  # fmt: skip
KEYS = ["name", "description", "license", "Description", "user-invokable", "metadata", "x", "- y"]
values = st.lists(st.sampled_from(PIECES), max_size=8).map("".join)
front_lines = st.one_of(
    st.tuples(st.sampled_from(KEYS), values).map(": ".join),
    values.map(lambda value: f"  {value}"),
    values,
    st.tuples(st.sampled_from(KEYS), st.just("Draws one. " * 120)).map(": ".join),
)
body_lines = st.one_of(values, st.sampled_from(["# Charts", "## Use", "```sh", "---", "", "text"]))
fences = st.sampled_from(["---", "---", "---", "--- ", "---# Charts", "----", "", "x"])


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Texts that look like skills, more or less."""
    lines = [draw(fences), *draw(st.lists(front_lines, max_size=6)), draw(fences)]
    lines += draw(st.lists(body_lines, max_size=6))
    mark = draw(st.sampled_from(["", "", "\ufeff"]))
    text = mark + draw(st.sampled_from(["\n", "\n", "\r\n"])).join(lines)
    return text.encode()


def bad(raw: bytes, severity: str) -> int:
    return sum(RANK[one.severity] >= RANK[severity] for one in lint_text(FOUND, raw)[1])


@given(texts(), st.booleans())
@examples(400)
def test_a_repair_loses_no_word_adds_nothing_as_bad_and_is_done_at_once(
    raw: bytes, unsafe: bool
) -> None:
    def wanted(issue: Issue) -> bool:
        return is_repairable(issue, unsafe=unsafe) and issue.code != "SK309"

    repair = repair_text(FOUND, raw, wanted, Naming("charts"))
    if repair is None:
        return
    old, new = (Counter(words(one.decode())) for one in (raw, repair.after))
    assert old <= new
    worst = max((one.severity for one in repair.issues), key=RANK.__getitem__)
    assert bad(repair.after, worst) < bad(raw, worst)
    assert repair_text(FOUND, repair.after, wanted, Naming("charts")) is None


def test_a_quick_fix_repairs_one_finding_only() -> None:
    raw = b"---\nname: Chart Tools\ndescription: Draws: charts of numbers.\n---\n\nDo it.\n"
    issues = {one.code: one for one in lint_text(FOUND, raw)[1]}
    colon = quick_fix(FOUND, raw, issues["FM104"])
    assert colon is not None
    assert colon.after == raw.replace(b"Draws: charts of numbers.", b"'Draws: charts of numbers.'")
    name = quick_fix(FOUND, colon.after, issues["SK302"])
    assert name is not None
    assert b"\nname: charts\n# formerly: Chart Tools\n" in name.after
    assert quick_fix(FOUND, name.after, issues["SK302"]) is None


@given(texts())
@examples(200)
def test_a_safe_repair_keeps_the_body_and_what_a_lenient_reader_read(raw: bytes) -> None:
    def wanted(issue: Issue) -> bool:
        return is_repairable(issue, unsafe=False) and issue.severity != "info"

    repair = repair_text(FOUND, raw, wanted)
    if repair is None:
        return
    before, after = (lint_text(FOUND, one)[0] for one in (raw, repair.after))
    assert before.matter is not None
    assert after.matter is not None
    assert after.matter.body == before.matter.body
    unread = before.matter.unread
    for key, value in before.matter.data.items():
        now = after.matter.data[key]
        texts_now = " ".join(str(now).split())
        nested = key in unread and isinstance(now, (dict, list))
        assert nested or texts_now == " ".join(str(value).split()) or (key, value) == ("name", None)


@pytest.mark.parametrize(
    ("text", "code", "reason"),
    [
        ("# Charts\n\n## Empty\n", "FM101", "it does not begin with a paragraph that introduces"),
        ("---\nname: charts\n---\n- a list\n", "SK304", "it does not begin with a paragraph"),
        (
            "name: charts\ndescription: [\n\nDraw one chart.\n",
            "FM101",
            "its repair would cause FM103, not valid YAML: ",
        ),
        (
            "---\nname: charts\ndescription: Draw.\n<<<<<<< one\nmetadata:\n  a: b\n=======\n---\n",
            "FM103",
            "its repair would not remove it",
        ),
    ],
)
def test_a_finding_that_stays_says_what_its_repair_would_do(
    text: str, code: str, reason: str
) -> None:
    raw = text.encode()
    issue = next(one for one in lint_text(FOUND, raw)[1] if one.code == code)
    assert repair_text(FOUND, raw, lambda one: one.code == code, Naming("charts")) is None
    assert why_left(FOUND, raw, issue).startswith(reason)
