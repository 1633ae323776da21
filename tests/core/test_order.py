"""What has to come before what."""

import pytest

from metier.core.order import dependencies_first


@pytest.mark.parametrize(
    ("requires", "expected"),
    [
        ({"a": ""}, "a"),
        ({"a": "bc", "b": "", "c": ""}, "bca"),
        ({"a": "bc", "b": "d", "c": "d", "d": ""}, "dbca"),
        ({"a": "a"}, "a"),
        ({"a": "b", "b": "a"}, "ba"),
        ({"a": "b", "b": "c", "c": "ab"}, "cba"),
    ],
)
def test_each_follows_what_it_requires_and_is_met_once(
    requires: dict[str, str], expected: str
) -> None:
    assert "".join(dependencies_first("a", requires.__getitem__)) == expected


def test_a_very_long_chain_is_no_problem() -> None:
    chain = {str(n): [str(n + 1)] if n < 20_000 else [] for n in range(20_001)}
    assert dependencies_first("0", chain.__getitem__) == [str(n) for n in range(20_000, -1, -1)]
