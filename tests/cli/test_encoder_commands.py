"""What commands say about the user's encoder."""

import json
from collections.abc import Iterator

import pytest

from conftest import Workspace
from encode.embedding_server import EmbeddingServer, embedding_server
from metier.cli import run

TASK = "please gribble the tables"


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as served:
        yield served


@pytest.fixture
def encoded(
    workspace: Workspace, server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> Workspace:
    workspace.skill("pdf", "Extracts tables from PDF files.")
    workspace.skill("sql", "Writes database queries.")
    workspace.write("metier.toml", f"host-folders = false\n{server.settings()}")
    workspace.trust()
    monkeypatch.chdir(workspace.root)
    return workspace


def test_which_says_what_gave_the_vectors(
    encoded: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["which", TASK])
    assert "meaning: concepts" in capsys.readouterr().err
    run(["which", TASK, "--json"])
    assert json.loads(capsys.readouterr().out)["meaning"] == "concepts"


def test_a_failing_encoder_is_one_line_in_refresh_which_and_doctor(
    encoded: Workspace, server: EmbeddingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = 503
    line = "meaning comes from built-in words (the encoder concepts failed: "
    assert run(["refresh"]) == 0
    assert f"warning: {line}" in capsys.readouterr().out
    run(["which", TASK])
    shown = capsys.readouterr().err
    assert shown.count("encoder") == shown.count(f"warning: {line}") == 1
    run(["doctor", "--json"])
    checks = {one["name"]: one for one in json.loads(capsys.readouterr().out)}
    assert checks["encoder"]["verdict"] == "warning"
    assert checks["encoder"]["hint"] == "metier refresh tries again"


def test_refresh_tries_an_encoder_that_failed_again(
    encoded: Workspace, server: EmbeddingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.status = 503
    run(["refresh"])
    server.status = 200
    capsys.readouterr()
    run(["refresh", "--json"])
    assert json.loads(capsys.readouterr().out)["meaning"] == "concepts"


def test_trust_says_where_texts_and_the_key_go(
    encoded: Workspace, server: EmbeddingServer, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = server.settings(**{"api-key-env": "ENCODER_KEY"})
    encoded.write("metier.toml", f"host-folders = false\n{settings}")
    run(["trust", "--show"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"texts of skills and tasks are sent to {server.url}" in shown
    assert f"ENCODER_KEY is sent to {server.url[7:-3]}" in shown
