"""The word table in the package: the one that its page describes, and light to open."""

import re
import subprocess
import sys
import tomllib
from hashlib import sha256
from importlib import resources
from pathlib import Path

import pytest

from metier.core.stems import stems
from metier.core.word_table import SHIPPED, WordTable, shipped_table
from nearness import cosine

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = (REPOSITORY / "docs" / "words.md").read_text()


@pytest.fixture(scope="module")
def table() -> WordTable:
    found = shipped_table()
    assert found is not None
    return found


def test_the_page_states_its_digest_and_size(table: WordTable) -> None:
    data = Path(SHIPPED).read_bytes()
    assert re.findall(r"\b[0-9a-f]{64}\b", PAGE) == [sha256(data).hexdigest()]
    assert f"{len(data):,} bytes" in PAGE
    assert f"{len(table):,} English words" in PAGE
    assert f"{table.dimensions} numbers" in PAGE


def test_it_is_a_file_of_the_package_and_so_of_the_wheel() -> None:
    inside = resources.files("metier") / "schemas" / "words.v1.bin"
    assert Path(str(inside)) == Path(SHIPPED)
    wheel = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["hatch"]["build"]
    (package,) = wheel["targets"]["wheel"]["packages"]
    assert Path(SHIPPED).is_relative_to(REPOSITORY / package)
    assert "exclude" not in wheel | wheel["targets"]["wheel"]


def test_it_is_used_without_numpy() -> None:
    code = (
        "import sys; from metier.core.word_table import shipped_table; table = shipped_table();"
        "assert table.vector(['git', 'commit']) and table.related('git');"
        "assert not {'numpy', 're', 'json', 'Stemmer'} & set(sys.modules), sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_its_words_are_lower_case_letters_and_digits_and_all_are_found(table: WordTable) -> None:
    starts, words = table._starts, bytes(table._words).decode("ascii")
    listed = [words[starts[place] : starts[place + 1]] for place in range(len(table))]
    assert listed == sorted(set(listed))
    assert [word for word in listed if not re.fullmatch("[a-z0-9]{1,24}", word)] == []
    assert [word for place, word in enumerate(listed[::7]) if table.find(word) != 7 * place] == []
    for word in listed[::53]:
        related = table.related(word)
        assert [share for _, share in related] == sorted((s for _, s in related), reverse=True)
        assert "".join(stems(word)) not in [stem for stem, _ in related]


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("extract text from pdf files", "read documents", "book a flight"),
        ("the tests fail", "debug broken unit test", "plan a holiday"),
        ("send an email", "write a message to a colleague", "compile rust code"),
    ],
)
def test_texts_about_the_same_are_nearer(table: WordTable, text: str, near: str, far: str) -> None:
    one, same, other = (table.vector(words.split()) for words in (text, near, far))
    assert one is not None
    assert same is not None
    assert other is not None
    assert cosine(one, same) > cosine(one, other) + 0.1
