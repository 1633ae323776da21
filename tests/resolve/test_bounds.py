"""What strangers write cannot make a run endless: everything that multiplies has a bound."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.errors import UsageError
from metier.parse.contract import parse_contract
from metier.resolve import AliasTable, resolve
from metier.resolve.engine import MOST_REQUIRED
from metier.resolve.report import MOST_MATCHES
from metier.storage.room import LARGEST, Room
from metier.values.candidates import Candidate

pytestmark = pytest.mark.slow


def skill(name: str, contract: str) -> Candidate:
    read = parse_contract(contract, "best-effort")
    about = name.replace("-", " ")
    return Candidate(name, f"Does {about}.", f"skills/{name}", contract=read)


def names(count: int) -> list[str]:
    return [f"cap-{number}" for number in range(count)]


def test_a_run_that_asks_for_too_much_is_refused() -> None:
    resolve([skill("a", "DCI/1 P(one)")], names(MOST_REQUIRED))
    with pytest.raises(UsageError, match=f"{MOST_REQUIRED + 1} capabilities are required"):
        resolve([skill("a", "DCI/1 P(one)")], names(MOST_REQUIRED + 1))


def test_a_consumer_that_asks_for_too_much_is_refused() -> None:
    greedy = skill("greedy", f"DCI/1 R(one) O({','.join(names(MOST_REQUIRED))})")
    with pytest.raises(UsageError, match="capabilities are required"):
        resolve([greedy], consumer=greedy)


def test_a_report_on_very_many_requirements_has_fewer_rows() -> None:
    wanted = names(500)
    able = [skill(f"s{number}", f"DCI/1 P(cap-{number})") for number in range(300)]
    rows = resolve(able, wanted).report.data["candidates"]
    assert 5 <= len(rows) <= MOST_MATCHES // len(wanted)


def test_a_required_token_that_is_no_name_is_told() -> None:
    made = resolve([skill("a", "DCI/1 P(one)")], ["Not A Name"])
    assert made.warnings == ("'Not A Name' is not a capability name, so nothing can match it",)


GRAPHS = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(st.sampled_from("abcdef"), max_size=4), max_size=6
)


@given(aliases=GRAPHS)
def test_names_in_a_circle_get_its_smallest_key(aliases: dict[str, list[str]]) -> None:
    def reachable(start: str) -> set[str]:
        found: set[str] = set()
        left = [one for one in aliases[start] if one in aliases]
        while left:
            key = left.pop()
            if key not in found:
                found.add(key)
                left += [one for one in aliases[key] if one in aliases]
        return found

    table = AliasTable.of("runtime", "1", aliases)
    for key in aliases:
        circle = {one for one in reachable(key) if key in reachable(one)}
        assert table.canonical[key] == (min(circle) if len(circle) > 1 else key)


@pytest.mark.parametrize("last", [[], ["k0"]], ids=["chain", "circle"])
def test_a_long_chain_of_aliases_is_flattened_without_recursion(last: list[str]) -> None:
    count = 20_000
    aliases = {f"k{number}": [f"k{number + 1}"] for number in range(count)}
    aliases[f"k{count}"] = last
    table = AliasTable.of("workspace", "1", aliases)
    assert table.canonical["k7"] == ("k0" if last else "k7")


def test_a_state_file_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "hook.state")
    with pytest.raises(OSError, match="not a regular file"):
        Room(str(tmp_path)).read("hook.state")


def test_a_state_file_of_absurd_size_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "hook.state").open("wb") as file:
        file.truncate(LARGEST + 1)
    with pytest.raises(OSError, match="more than"):
        Room(str(tmp_path)).read("hook.state")
