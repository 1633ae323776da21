"""Counters by name: which there are, what is said when one cannot be had, and no network."""

import base64
import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import REPOSITORY, Workspace, load_config
from metier.config import Config
from metier.config.tokens import DEFAULT_TOKENIZER, token_counter
from metier.core.budget import count_tokens
from metier.errors import ConfigError

pytestmark = pytest.mark.slow

METIER = str(Path(sys.executable).with_name("metier"))
FOLDERS = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")
NETWORK_TOUCHED = 97
GUARD = f"""
import os, sys

def refuse(event, arguments):
    if event.startswith("socket."):
        os.write(2, f"network: {{event}}".encode())
        os._exit({NETWORK_TOUCHED})

sys.addaudithook(refuse)
"""
"""Ends the process at the first socket or lookup; no `except` can hide it."""
ASK = """
import json
from metier.errors import ConfigError
from metier.config.tokens import token_counter

def answer(name, *texts):
    try:
        count = token_counter(name)
    except ConfigError as error:
        return [error.code, error.message, error.where, error.hint]
    return [count(text) for text in texts]
"""

RANKS_OF = {
    "o200k_base": "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "o200k_harmony": "https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken",
    "cl100k_base": "https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken",
}
"""Where tiktoken would fetch them from; it keeps each under the SHA-1 of its address."""
DIGESTS = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "o200k_harmony": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
OTHERS_OF_TIKTOKEN = ("gpt2", "r50k_base", "p50k_base", "p50k_edit")

PLUGIN = """
import base64
from pathlib import Path

def tiny():
    lines = Path(__file__).with_name("tiny.ranks").read_text().splitlines()
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(str.split, lines)}
    return {
        "name": "tiny",
        "pat_str": r"\\s|\\S+",
        "mergeable_ranks": ranks,
        "special_tokens": {"<|end|>": 1000},
    }

ENCODING_CONSTRUCTORS = {"tiny": tiny}
"""
TINY_RANKS = "".join(
    f"{base64.b64encode(token).decode()} {rank}\n"
    for rank, token in enumerate([*(bytes([one]) for one in range(256)), b"th", b"the"])
)

Finished = subprocess.CompletedProcess[str]


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    token_counter.cache_clear()
    yield
    token_counter.cache_clear()


@pytest.fixture(autouse=True)
def ranks_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which ranks are looked for: empty."""
    folder = tmp_path / "ranks"
    folder.mkdir()
    monkeypatch.setenv(FOLDERS[0], str(folder))
    monkeypatch.delenv(FOLDERS[1], raising=False)
    return folder


@pytest.fixture
def plugin(tmp_path: Path) -> str:
    """A folder for PYTHONPATH that adds the encoding `tiny` to tiktoken."""
    package = tmp_path / "plugin" / "tiktoken_ext"
    package.mkdir(parents=True)
    (package / "tiny.py").write_text(PLUGIN)
    (package / "tiny.ranks").write_text(TINY_RANKS)
    return os.pathsep.join(filter(None, [str(package.parent), os.environ.get("PYTHONPATH")]))


def run(folder: Path, *command: str, **env: str) -> Finished:
    return subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def guarded(code: str, **env: str) -> Any:
    """What `code` prints as JSON, in a process that may not touch the network."""
    finished = run(REPOSITORY, sys.executable, "-c", GUARD + ASK + code, **env)
    assert (finished.returncode, finished.stderr) == (0, "")
    return json.loads(finished.stdout)


def refusal(name: str) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        token_counter(name)
    error = caught.value
    assert (error.code, error.exit_code, bool(error.hint)) == ("TOKENIZER_UNAVAILABLE", 2, True)
    return error


def file_of(folder: Path, name: str) -> Path:
    return folder / hashlib.sha1(RANKS_OF[name].encode()).hexdigest()


def test_the_default_is_four_characters_a_token() -> None:
    assert Config().tokenizer == DEFAULT_TOKENIZER == "chars/4"
    assert token_counter(DEFAULT_TOKENIZER) is count_tokens


def test_the_default_needs_no_tiktoken() -> None:
    code = """
answered = answer("chars/4", "", "abcde")
print(json.dumps([answered, "tiktoken" in sys.modules]))
"""
    assert guarded(code) == [[0, 2], False]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("chars/3", "chars/4"),
        ("o200k-base", "o200k_base"),
        ("cl100kbase", "cl100k_base"),
        ("o200k_harmon", "o200k_harmony"),
        ("O200K_base", "o200k_base"),
    ],
)
def test_an_unknown_name_is_told_what_was_meant(name: str, meant: str) -> None:
    error = refusal(name)
    assert error.message == f"no tokenizer is called '{name}'"
    assert error.hint == f"did you mean '{meant}'?"


@pytest.mark.parametrize("name", ["", "wordpiece", "日本"])
def test_a_name_like_no_other_is_told_all_there_are(name: str) -> None:
    error = refusal(name)
    assert error.message == f"no tokenizer is called '{name}'"
    assert error.hint == "known: chars/4, o200k_base, o200k_harmony, cl100k_base"


@pytest.mark.parametrize("name", OTHERS_OF_TIKTOKEN)
def test_what_tiktoken_would_fetch_and_metier_cannot_check_is_refused(name: str) -> None:
    assert refusal(name).message == f"no tokenizer is called '{name}'"


@pytest.mark.parametrize("name", RANKS_OF)
def test_ranks_that_are_not_on_disk_are_named_with_their_file(
    name: str, ranks_folder: Path
) -> None:
    error = refusal(name)
    assert error.message.startswith(f"the ranks of '{name}' are not on disk")
    assert error.where == str(file_of(ranks_folder, name))
    assert "TIKTOKEN_CACHE_DIR" in error.hint
    assert DEFAULT_TOKENIZER in error.hint


@pytest.mark.parametrize("content", [b"", b"not ranks", TINY_RANKS.encode()])
def test_a_damaged_file_of_ranks_is_refused_and_left_alone(
    content: bytes, ranks_folder: Path
) -> None:
    file = file_of(ranks_folder, "o200k_base")
    file.write_bytes(content)
    error = refusal("o200k_base")
    assert error.message == "the ranks of 'o200k_base' are damaged"
    assert error.where == str(file)
    assert file.read_bytes() == content


def test_a_folder_in_the_place_of_the_ranks_is_no_traceback(ranks_folder: Path) -> None:
    file_of(ranks_folder, "o200k_base").mkdir()
    assert "not on disk" in refusal("o200k_base").message


def test_a_folder_of_ranks_that_is_set_to_nothing_is_no_folder_not_even_the_current_one(
    ranks_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Set so, tiktoken keeps nothing and would fetch the ranks each time."""
    file_of(ranks_folder, "o200k_base").write_bytes(b"damaged")
    monkeypatch.chdir(ranks_folder)
    monkeypatch.setenv(FOLDERS[0], "")
    monkeypatch.setenv(FOLDERS[1], str(ranks_folder))
    error = refusal("o200k_base")
    assert "not on disk" in error.message
    assert "TIKTOKEN_CACHE_DIR" in error.hint


def test_the_older_variable_is_asked_when_the_newer_is_not_set(
    ranks_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FOLDERS[1], str(tmp_path / "older"))
    assert refusal("cl100k_base").where == str(file_of(ranks_folder, "cl100k_base"))
    monkeypatch.delenv(FOLDERS[0])
    assert refusal("cl100k_base").where == str(file_of(tmp_path / "older", "cl100k_base"))


def test_without_a_variable_the_ranks_are_looked_for_where_tiktoken_keeps_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(FOLDERS[0])
    where = guarded('print(json.dumps(answer("o200k_base")[2]))', TMPDIR=str(tmp_path))
    assert where == str(file_of(tmp_path / "data-gym-cache", "o200k_base"))


def test_a_refusal_is_not_remembered(ranks_folder: Path) -> None:
    assert "not on disk" in refusal("o200k_base").message
    file_of(ranks_folder, "o200k_base").write_bytes(b"new")
    assert "damaged" in refusal("o200k_base").message


def test_without_tiktoken_the_default_counts_and_all_else_is_told_to_install_it() -> None:
    code = """
sys.modules["tiktoken"] = None
print(json.dumps([answer("chars/4", "abcde"), answer("o200k_base")]))
"""
    counted, (error_code, message, where, hint) = guarded(code)
    assert (counted, error_code, where) == ([2], "TOKENIZER_UNAVAILABLE", "")
    assert message == "tokenizer 'o200k_base' needs tiktoken, which is not installed"
    assert "install metier with its extra 'tokens'" in hint


def test_the_guard_against_the_network_holds() -> None:
    code = "import socket\ntry:\n    socket.socket()\nexcept BaseException:\n    pass\nprint(1)"
    finished = run(REPOSITORY, sys.executable, "-c", GUARD + code)
    assert (finished.returncode, finished.stdout) == (NETWORK_TOUCHED, "")


@pytest.mark.parametrize("state", ["missing", "damaged", "no folder", "no cache"])
def test_no_name_ever_touches_the_network(state: str, ranks_folder: Path, tmp_path: Path) -> None:
    if state == "damaged":
        for name in RANKS_OF:
            file_of(ranks_folder, name).write_bytes(b"damaged")
    folder = {"no folder": str(tmp_path / "nowhere"), "no cache": ""}.get(state, str(ranks_folder))
    names = [*RANKS_OF, *OTHERS_OF_TIKTOKEN, "nonsense"]
    code = f"print(json.dumps([answer(name)[0] for name in {names!r}]))"
    answers = guarded(code, TIKTOKEN_CACHE_DIR=folder)
    assert answers == ["TOKENIZER_UNAVAILABLE"] * len(names)


@pytest.mark.parametrize("name", RANKS_OF)
def test_ranks_on_disk_with_the_digest_that_tiktoken_expects_are_used(
    name: str, ranks_folder: Path
) -> None:
    """The real ranks are megabytes; small ones stand in, under a digest that is made up.

    Had metier another digest than tiktoken, one of the two would refuse them, and tiktoken
    would go to the network.
    """
    file_of(ranks_folder, name).write_text(TINY_RANKS)
    code = f"""
import hashlib, types
hashlib.sha256 = lambda data: types.SimpleNamespace(hexdigest=lambda: {DIGESTS[name]!r})
print(json.dumps(answer({name!r}, "", "the", "the the", "<|endoftext|>")))
"""
    nothing, one, three, special = guarded(code)
    assert (nothing, one, three) == (0, 1, 3)
    assert special > 1, "a special token in a text is text"


def test_an_encoding_of_a_plugin_counts(plugin: str) -> None:
    texts = ["", "the", "the the", "th", "xyz", "日", "<|end|>"]
    code = f'print(json.dumps(answer("tiny", *{texts!r})))'
    assert guarded(code, PYTHONPATH=plugin) == [0, 1, 3, 1, 3, 3, 7]


def test_an_encoding_of_a_plugin_is_among_the_known_ones(plugin: str) -> None:
    code = 'print(json.dumps([answer("tinny")[3], answer("wordpiece")[3]]))'
    near, known = guarded(code, PYTHONPATH=plugin)
    assert near == "did you mean 'tiny'?"
    assert known == "known: chars/4, o200k_base, o200k_harmony, cl100k_base, tiny"


def test_the_setting_is_a_text_and_the_environment_is_stronger(tmp_path: Path) -> None:
    (tmp_path / "metier.toml").write_text('tokenizer = "cl100k_base"\n')
    assert load_config(str(tmp_path), environ={}, is_trusted=True).tokenizer == "cl100k_base"
    environ = {"METIER_TOKENIZER": "o200k_base"}
    assert load_config(str(tmp_path), environ=environ, is_trusted=True).tokenizer == "o200k_base"
    (tmp_path / "metier.toml").write_text("tokenizer = 4\n")
    with pytest.raises(ConfigError, match="'tokenizer' must be a text"):
        load_config(str(tmp_path), environ={}, is_trusted=True)


def test_a_command_that_counts_ends_with_one_error_and_a_hint(
    workspace: Workspace, ranks_folder: Path
) -> None:
    workspace.write("metier.toml", 'tokenizer = "o200k_base"\n')
    workspace.trust()
    finished = run(workspace.root, METIER, "inject", "--task", "x", "--quiet")
    assert finished.stderr.splitlines() == [
        "error: the ranks of 'o200k_base' are not on disk: No such file or directory "
        "(TOKENIZER_UNAVAILABLE)",
        f"  {file_of(ranks_folder, 'o200k_base')}",
        'hint: put its ranks there and set TIKTOKEN_CACHE_DIR, or set tokenizer = "chars/4"',
    ]
    assert (finished.returncode, finished.stdout) == (2, "")


def test_a_command_counts_with_the_tokenizer_of_the_settings(
    workspace: Workspace, plugin: str
) -> None:
    workspace.write("metier.toml", 'tokenizer = "tiny"\n')
    workspace.write(
        "abilities/one.md",
        "---\ndisplayName: One\ncategory: coding\nversion: 1.0.0\n"
        "description: One thing.\n---\nthe the the the\n",
    )
    workspace.trust()
    command = (METIER, "inject", "--task", "x", "--json", "--max-tokens")
    fits, too_small = (
        json.loads(run(workspace.root, *command, limit, PYTHONPATH=plugin).stdout)
        for limit in ("7", "6")
    )
    assert [fits["tokenCount"], fits["combinedContent"]] == [7, "the the the the"]
    assert [too_small["tokenCount"], too_small["combinedContent"]] == [0, ""]
