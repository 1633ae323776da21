"""Where a cursor is in a text that is being written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.config import Config
from metier.flow.cursor import Cursor, cursor_at
from metier.flow.key_help import Known, fields_at, hover, named_by, offers
from metier.values.files import KINDS
from metier.values.key_meanings import KEY_MEANINGS


def at(text: str, *, all_yaml: bool = False) -> Cursor | None:
    """The cursor at the mark."""
    offset = text.index("|")
    return cursor_at(text.replace("|", "", 1), offset, all_yaml=all_yaml)


def found(text: str, *, all_yaml: bool = False) -> Cursor:
    cursor = at(text, all_yaml=all_yaml)
    assert cursor is not None
    return cursor


@pytest.mark.parametrize(
    ("text", "keys", "is_key", "word", "written"),
    [
        ("---\nna|me: x\n---\n", (), True, "name", "na"),
        ("---\nname: a|bc\n---\n", ("name",), False, "abc", "a"),
        ("---\nname:|\n---\n", ("name",), False, "", ""),
        ("---\nmetadata:\n  ow|ner: x\n---\n", ("metadata",), True, "owner", "ow"),
        ("---\nmetadata:\n  tags:\n    - fa|st\n---\n", ("metadata", "tags"), False, "fast", "fa"),
        ("---\ntags:\n- fa|st\n---\n", ("tags",), False, "fast", "fa"),
        ("---\ntags: [one, tw|o]\n---\n", ("tags",), False, "two", "tw"),
        ("---\nde|", (), True, "de", "de"),
        ("---\nname: x\n  |\n---\n", ("name",), True, "", ""),
    ],
)
def test_the_keys_around_a_cursor(
    text: str, keys: tuple[str, ...], is_key: bool, word: str, written: str
) -> None:
    assert found(text)[:3] == (keys, is_key, word)
    assert found(text).written == written


def test_steps_of_a_workflow_are_found_in_a_profile_without_fences() -> None:
    text = "agentId: x\nworkflow:\n  - stepId: a\n    config:\n      targetAgent: cl|\n"
    assert found(text, all_yaml=True).keys == ("workflow", "config", "targetAgent")


@pytest.mark.parametrize("text", ["---\nname: x\n---\nbo|dy", "no front |matter", "-|--\n", "|"])
def test_there_is_nothing_in_the_body(text: str) -> None:
    assert at(text) is None


@pytest.mark.parametrize(
    ("value", "clause", "is_name", "pair"),
    [
        ("'DCI/1 P(a,b|)'", "P", False, ""),
        ("'DCI/1 P(a) R|(b)'", "R", True, ""),
        ("'DCI/1 |'", "", True, ""),
        ("'DCI/1 Pol(selection-mode=c|'", "Pol", False, "selection-mode"),
    ],
)
def test_the_clause_around_a_cursor(value: str, clause: str, is_name: bool, pair: str) -> None:
    cursor = found(f"---\nmetadata:\n  contract: {value}\n---\n")
    assert (cursor.clause, cursor.is_clause_name, cursor.pair) == (clause, is_name, pair)


@given(st.text(st.sampled_from("---\n: a[(')=,😀|\t")), st.integers(0, 60), st.booleans())
def test_no_text_is_too_odd(text: str, offset: int, all_yaml: bool) -> None:
    cursor = cursor_at(text, min(offset, len(text)), all_yaml=all_yaml)
    if cursor is not None:
        assert text[cursor.start :].startswith(cursor.written)
        for kind in KINDS:
            hover(kind, cursor)
            offers(kind, cursor, Known({}), Config())


# Help


@pytest.mark.parametrize("kind", KINDS)
def test_every_key_has_a_meaning(kind: str) -> None:
    fields = fields_at(kind, ())  # type: ignore[arg-type]
    inner = {f"{name}.{one}" for name, field in fields.items() for one in field.fields or ()}
    assert {*fields, *inner} - KEY_MEANINGS[kind].keys() == set()  # type: ignore[index]


def test_policies_are_completed_by_key_and_value() -> None:
    start = "---\nmetadata:\n  contract: 'DCI/1 Pol("
    keys = offers("skill", found(f"{start}|"), Known({}), Config())
    assert "on-missing-required" in [offer.label for offer in keys]
    values = offers("skill", found(f"{start}selection-mode=|"), Known({}), Config())
    assert [offer.label for offer in values] == ["single", "cover"]


def test_long_names_of_clauses_are_known() -> None:
    cursor = found("---\nmetadata:\n  contract: 'DCI/1 Required(data|)'\n")
    assert "**R(…)**" in hover("skill", cursor)
    assert named_by("skill", cursor) == "capability"
