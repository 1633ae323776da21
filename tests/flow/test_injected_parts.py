"""Which document each piece of an injected text comes from."""

from hypothesis import example, given
from hypothesis import strategies as st

from metier.flow.injected_parts import pieces_of
from metier.values.documents import Ability
from metier.values.selection import AbilitySelection, Injection, Scored

ALIKE = "The same beginning. " * 5


def injection(contents: list[str], text: str) -> Injection:
    ranked = [
        Scored(item=Ability(ability_id=f"a{number}", content=content), score=1.0, parts={})
        for number, content in enumerate(contents)
    ]
    selection = AbilitySelection(ranked, [])
    return Injection(text, 0, False, [], [], 0, [one.item.id for one in ranked], selection)


@given(st.lists(st.sampled_from(["a", "b", ALIKE, f"{ALIKE}a", f"{ALIKE}b"]), min_size=1))
@example([f"{ALIKE}a", f"{ALIKE}b"])
def test_every_ability_is_a_piece_however_alike_they_begin(contents: list[str]) -> None:
    text = "\n\n".join([f"{ALIKE}, first.", *contents])
    pieces = pieces_of(injection(contents, text))
    assert "".join(piece.text for piece in pieces) == text
    found = [piece for piece in pieces if piece.kind == "ability"]
    assert [(piece.id, piece.text) for piece in found] == [
        (f"a{number}", content) for number, content in enumerate(contents)
    ]
