"""Hosts read in the front matter of every entry what the entry says: YAML 1.2, by their library."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_node import install_clients, problems_by_hosts
from mcp_sep2640 import READ_OTHERWISE, SAME_TO_ALL
from metier.catalog import Catalog
from metier.config import Config
from metier.errors import MetierError
from metier.flow.boundary import open_boundary
from metier.mcp.skills import skill_entry
from metier.mcp.uris import MAIN_FILE, find_skill, skill_uri
from metier.parse.frontmatter import read_matter
from metier.parse.yaml12 import difference
from soak import SOAK

pytestmark = pytest.mark.slow

OTHERWISE = "hosts read its front matter differently"
PIECES = [
    *(
        '"',
        "'",
        "\n",
        "\n ",
        "\n  ",
        " ",
        "\t",
        "#",
        " #",
        ":",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ",",
    ),
    *(
        "|",
        ">",
        "|-",
        ">+",
        "|2",
        "\\",
        "\r\n",
        "? ",
        "?",
        "~",
        "null",
        "True",
        "0x1f",
        "1e3",
        ".5",
    ),
    *("+1", "...", "\ufeff", "\u2028", "a", "b", "b: c", '"a": b', "- x\n", "\n\n", "# c\n", "1"),
    *("\nk: ", "\nm: [", '\nq: "', "\nt: '", "\nx:\n  y: ", "\nl:\n- "),
]


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    install_clients()


def fenced(yaml: str) -> str:
    return f"---\n{yaml}\n---\n\nDo.\n"


def read(text: str) -> dict[str, Any] | None:
    """What metier reads; None when it finds an error."""
    taken = read_matter(text.encode(), "SKILL.md")
    flawed = any(one.is_error or one.code == "FM105" for one in taken.issues)
    return None if taken.matter is None or flawed else taken.matter.data


def test_the_samples_are_what_they_are_said_to_be(tmp_path: Path) -> None:
    given = [(fenced(yaml), read(fenced(yaml))) for yaml in [*SAME_TO_ALL, *READ_OTHERWISE]]
    found = problems_by_hosts(given, tmp_path)
    assert found[: len(SAME_TO_ALL)] == [""] * len(SAME_TO_ALL)
    assert [text for (text, _), problem in zip(given, found, strict=True) if problem] == [
        fenced(yaml) for yaml in READ_OTHERWISE
    ]


def test_what_is_said_to_be_alike_is_read_alike_by_hosts(tmp_path: Path) -> None:
    chance = random.Random(1)
    texts = [
        fenced("a: " + "".join(chance.choices(PIECES, k=chance.randint(1, 9))))
        for _ in range(20_000 if SOAK else 4_000)
    ]
    data = {text: read(text) for text in texts}
    alike = [(text, data[text]) for text in data if data[text] and not difference(text.encode())]
    assert len(alike) > len(texts) / 20
    found = problems_by_hosts(alike, tmp_path)
    assert [(text, one) for (text, _), one in zip(alike, found, strict=True) if one] == []


@pytest.fixture(scope="module")
def catalog(corpus: Path) -> Iterator[Catalog]:
    boundary = open_boundary(corpus, Config(host_folders=False), "none")
    with Catalog.in_memory(boundary) as catalog:
        catalog.refresh()
        yield catalog


@pytest.mark.corpus
def test_every_real_skill_has_an_entry_when_hosts_can_read_it(
    catalog: Catalog, tmp_path: Path
) -> None:
    entries: list[tuple[str, Any]] = []
    refused: list[tuple[str, Any]] = []
    for row in catalog.skills():
        text = Path(row.file).read_bytes().decode("utf-8-sig", errors="replace")
        try:
            entries.append((text, skill_entry(catalog, row)["frontmatter"]))
        except MetierError as error:
            if OTHERWISE in error.message:
                refused.append((text, read(text)))
    assert len(entries) > 1_000
    assert [one for one in problems_by_hosts(entries, tmp_path) if one] == []
    assert all(problems_by_hosts(refused, tmp_path))


@pytest.mark.corpus
def test_every_real_skill_is_found_by_its_address(catalog: Catalog) -> None:
    rows = catalog.skills()
    assert len({skill_uri(row) for row in rows}) == len(rows) > 1_000
    for row in rows:
        assert find_skill(catalog, skill_uri(row)) == (row, [MAIN_FILE])
