"""The user's encoder: its vectors are made at refresh, and used by everything but hooks."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Workspace, boundary_of, load_config
from encode.embedding_server import EmbeddingServer, embedding_server
from metier import Catalog
from metier.config import Config
from metier.core.word_table import SHIPPED
from metier.errors import ConfigError
from metier.flow.boundary import read_boundary
from metier.values.settings import EncoderSettings
from metier.values.which import BUILT_IN

TASK = "please gribble the stuff"
"""The encoder knows that this is about tables in PDF files; no other does."""


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as served:
        yield served


@pytest.fixture
def filled(workspace: Workspace) -> Workspace:
    workspace.skill("pdf", "Extracts tables from PDF files.")
    workspace.skill("sql", "Writes database queries.")
    workspace.skill("draw", "Draws charts of numbers.")
    workspace.skill("ship", "Deploys to the cloud.")
    return workspace


def encoded(workspace: Workspace, server: EmbeddingServer, **more: object) -> Workspace:
    workspace.write("metier.toml", f"host-folders = false\n{server.settings(**more)}")
    workspace.trust()
    return workspace


def opened(workspace: Workspace) -> Catalog:
    return Catalog.open(workspace.root)


def first(catalog: Catalog, task: str) -> str:
    found = catalog.which(task, everything=False).skills
    return found[0].name if found and found[0].parts["meaning"] else ""


def test_skills_are_found_by_what_the_encoder_says(
    filled: Workspace, server: EmbeddingServer
) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        assert first(catalog, TASK) == "pdf"
        assert first(catalog, "flonk it") == "sql"
        found = catalog.which(TASK, everything=False)
        assert (found.meaning, found.to_json()["meaning"]) == ("concepts", "concepts")
        assert catalog.encoding.warning == ""


def test_without_an_encoder_the_built_in_words_count(filled: Workspace) -> None:
    filled.write("metier.toml", "host-folders = false\n")
    filled.trust()
    with opened(filled) as catalog:
        catalog.refresh()
        assert catalog.which(TASK).meaning == BUILT_IN
        assert not catalog.encoding.is_set


def test_a_text_is_encoded_once(filled: Workspace, server: EmbeddingServer) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        assert len(server.taken()) == 4
        catalog.refresh()
        assert server.taken() == []
    filled.skill("sql", "Writes database queries and flonk.")
    filled.skill("new", "Plays music.")
    with opened(filled) as catalog:
        catalog.refresh()
        assert server.taken() == ["new Plays music.", "sql Writes database queries and flonk."]
        assert first(catalog, "flonk it") == "sql"
        server.taken()
    filled.skill("sql", "Writes database queries.")
    with opened(filled) as catalog:
        catalog.refresh()
        assert server.taken() == []


def test_a_catalog_that_is_built_again_encodes_nothing_and_answers_alike(
    filled: Workspace, server: EmbeddingServer
) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        before, path = catalog.which(TASK).to_json(), Path(catalog.store.path)
    server.taken()
    path.unlink()
    with opened(filled) as catalog:
        catalog.refresh()
        assert server.taken() == []
        assert json.dumps(catalog.which(TASK).to_json()) == json.dumps(before)


def test_another_model_has_vectors_of_its_own(filled: Workspace, server: EmbeddingServer) -> None:
    for model, texts in (("one", 4), ("other", 4), ("one", 0)):
        with opened(encoded(filled, server, model=model)) as catalog:
            catalog.refresh()
            assert len(server.taken()) == texts
            assert catalog.which(TASK).meaning == model
            server.taken()


# Failures


def table_answer(workspace: Workspace) -> object:
    """What the built-in words say."""
    config = Config(host_folders=False)
    with Catalog.in_memory(boundary_of(workspace.root, config)) as catalog:
        catalog.refresh()
        return [one.to_json() for one in catalog.which("tables of a PDF").skills]


def test_a_failing_encoder_means_the_built_in_words_and_a_line_that_says_so(
    filled: Workspace, server: EmbeddingServer
) -> None:
    server.status = 500
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        found = catalog.which("tables of a PDF")
        assert found.meaning == (
            f"{BUILT_IN} (the encoder concepts failed: {server.url[7:-3]} answered HTTP 500)"
        )
        assert catalog.encoding.warning.startswith("warning: meaning comes from built-in words")
        assert [one.to_json() for one in found.skills] == table_answer(filled)


def test_an_encoder_that_failed_is_not_asked_again_until_someone_wants_it(
    filled: Workspace, server: EmbeddingServer
) -> None:
    server.status = 500
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        asked = len(server.headers)
        catalog.refresh()
        catalog.which(TASK)
        assert len(server.headers) == asked
    server.status = 200
    with opened(filled) as catalog:
        catalog.refresh()
        assert len(server.headers) == asked
        catalog.encoding.retry()
        catalog.refresh()
        assert catalog.which(TASK).meaning == "concepts"


def test_a_slow_encoder_means_the_built_in_words(
    filled: Workspace, server: EmbeddingServer
) -> None:
    encoded(filled, server, timeout=0.05)
    with opened(filled) as catalog:
        catalog.refresh()
        server.may_answer.clear()
        found = catalog.which("tables of a PDF")
        assert "it took more than 0.05 s" in found.meaning
        assert [one.to_json() for one in found.skills] == table_answer(filled)


def test_a_refresh_that_takes_too_long_goes_on_the_next_time(
    workspace: Workspace, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(72):
        workspace.skill(f"skill-{number}", f"Does thing number {number}.")
    passed = 0.0
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + passed)
    monkeypatch.setattr("metier.flow.encoding.time", clock)

    def block(*_: int) -> None:
        nonlocal passed
        if passed:
            server.may_answer.clear()
        passed += 1799.95

    with opened(encoded(workspace, server, **{"refresh-timeout": 3600})) as catalog:
        catalog.refresh(on_encoded=block)
        assert "64 of 72 texts are encoded" in catalog.encoding.problem
        assert catalog.which("thing").meaning.startswith(BUILT_IN)
        server.may_answer.set()
        catalog.encoding.retry()
        server.taken()
        catalog.refresh()
        assert catalog.encoding.problem == ""
        assert len(set(server.taken())) == 8


def test_vectors_of_another_size_mean_the_built_in_words(
    filled: Workspace, server: EmbeddingServer
) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        server.size = 9
        assert "a vector has 9 numbers, those of skills 6" in catalog.which(TASK).meaning


# Examples, searches, explanations


def test_examples_teach_by_the_vectors_of_the_encoder(
    filled: Workspace, server: EmbeddingServer
) -> None:
    filled.skill("sql", "Writes database queries.", extra="examples: [ask what is stored]")
    filled.skill("draw", "Draws charts.", extra="examples: [show it as a picture]")
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        assert "ask what is stored" in server.taken()
        rows = catalog.store.rows("SELECT kind FROM learned ORDER BY kind")
        assert rows == [("skill",), ("skill encoded",)]
        found = {one.name: one.parts for one in catalog.which("flonk it").skills}
        assert found["sql"]["examples"] > found["draw"]["examples"]
        catalog.refresh()
        assert server.taken() == ["flonk it"]


def test_a_search_for_skills_uses_the_encoder(filled: Workspace, server: EmbeddingServer) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        server.taken()
        catalog.search("skill", "gribble files cloud")
        assert server.taken() == ["gribble files cloud"]
        catalog.search("card", "gribble files")
        assert server.taken() == []


def test_an_expected_skill_is_explained_by_the_encoder(
    filled: Workspace, server: EmbeddingServer
) -> None:
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        found = catalog.which("flonk the wibble of records", expect="ship").expectation
        assert found is not None
        assert found.own is not None
        assert any("flonk" in text for text in server.taken())


def test_for_texts_that_a_host_cuts_the_built_in_words_count(
    filled: Workspace, server: EmbeddingServer
) -> None:
    long = " ".join(["It also handles many other things."] * 200)
    filled.skill("pdf", f"Extracts tables from PDF files. {long}", folder=".claude/skills/pdf")
    with opened(encoded(filled, server)) as catalog:
        catalog.refresh()
        found = catalog.which(TASK, host="claude-code")
        assert found.meaning == f"{BUILT_IN} (claude-code shows parts of some skills only)"
        assert catalog.which(TASK).meaning == "concepts"


# Trust


def test_the_encoder_of_an_untrusted_workspace_is_ignored(
    filled: Workspace, server: EmbeddingServer
) -> None:
    filled.write("metier.toml", f"host-folders = false\n{server.settings()}")
    with opened(filled) as catalog:
        catalog.refresh()
        assert catalog.which(TASK).meaning == BUILT_IN
        assert "encoder" in catalog.config.ignored
    assert server.headers == []


def test_hooks_do_not_use_the_encoder(filled: Workspace, server: EmbeddingServer) -> None:
    encoded(filled, server)
    filled.trust(speak=True)
    with Catalog.for_hooks(read_boundary(str(filled.root))) as catalog:
        assert len(catalog.skills()) == 4
    assert server.headers == []


def test_a_file_of_the_workspace_is_part_of_what_is_trusted(filled: Workspace) -> None:
    model = filled.write("words.bin", Path(SHIPPED).read_bytes())
    filled.write("metier.toml", '[encoder]\nkind = "static"\nfile = "words.bin"\n')
    filled.trust()
    with opened(filled) as catalog:
        catalog.refresh()
        assert catalog.which("tables of a PDF").meaning == "words.bin"
    boundary = read_boundary(str(filled.root))
    model.write_bytes(model.read_bytes() + b"more")
    with Catalog.within(boundary) as catalog:
        catalog.refresh()
        assert "words.bin has changed since you trusted" in catalog.encoding.problem
    with opened(filled) as catalog:
        assert (catalog.trust.state, catalog.config.encoder) == ("changed", None)


def test_the_key_of_a_workspaces_encoder_goes_to_the_host_that_was_agreed_to(
    filled: Workspace, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENCODER_KEY", "k-123")
    encoded(filled, server, **{"api-key-env": "ENCODER_KEY"})
    with opened(filled) as catalog:
        catalog.refresh()
        assert catalog.trust.keys == {"ENCODER_KEY": [server.url[7:-3]]}
        assert catalog.which(TASK).meaning == "concepts"
    assert {one["authorization"] for one in server.headers} == {"Bearer k-123"}


def test_a_workspaces_encoder_replaces_the_users_as_a_whole(
    filled: Workspace, server: EmbeddingServer, empty_home: Path
) -> None:
    own = empty_home / ".config" / "metier"
    own.mkdir(parents=True)
    users = '[encoder]\nkind = "http"\nurl = "https://mine.example"\nmodel = "m"\n'
    (own / "metier.toml").write_text(f'{users}api-key-env = "MY_KEY"\n')
    encoded(filled, server)
    found = load_config(str(filled.root), is_trusted=True).encoder
    assert found is not None
    assert (found.url, found.api_key_env, found.is_users) == (server.url, "", False)
    found = load_config(str(filled.root)).encoder
    assert found is not None
    assert (found.api_key_env, found.is_users) == ("MY_KEY", True)


def test_a_relative_file_in_the_users_own_settings_names_no_file_of_a_workspace(
    filled: Workspace,
) -> None:
    filled.write("words.bin", Path(SHIPPED).read_bytes())
    config = Config(host_folders=False, encoder=EncoderSettings("static", file="words.bin"))
    with Catalog.in_memory(boundary_of(filled.root, config)) as catalog:
        catalog.refresh()
        assert "'file' is an absolute path" in catalog.encoding.problem


def test_a_word_table_of_the_users_own_answers_as_the_built_in_one(filled: Workspace) -> None:
    config = Config(host_folders=False, encoder=EncoderSettings("static", file=SHIPPED))
    with Catalog.in_memory(boundary_of(filled.root, config)) as catalog:
        catalog.refresh()
        found = catalog.which("tables of a PDF")
        assert found.meaning == Path(SHIPPED).name
        assert [one.to_json() for one in found.skills] == table_answer(filled)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('kind = "onnx"', "'encoder.file' must be set for the kind 'onnx'"),
        ('kind = "http"\nurl = "https://x.example"', "'encoder.model' must be set"),
        ('kind = "torch"\nfile = "x"', "encoder.kind"),
        ('file = "x"', "encoder"),
        ('kind = "onnx"\nfile = "x"\ntimeout = 0', "encoder.timeout"),
    ],
)
def test_settings_that_are_incomplete_or_unknown_are_errors(
    filled: Workspace, lines: str, message: str
) -> None:
    filled.write("metier.toml", f"[encoder]\n{lines}\n")
    with pytest.raises(ConfigError, match=message):
        load_config(str(filled.root), is_trusted=True)
