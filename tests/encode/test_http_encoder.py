"""An encoder behind an address: what it sends, and what it makes of bad answers."""

from collections.abc import Iterator

import pytest

from encode.embedding_server import EmbeddingServer, embedding_server
from metier.core.encoders import EncoderError
from metier.core.word_table import UNIT, dot
from metier.encode.http import HttpEncoder
from metier.values.settings import EncoderSettings


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with embedding_server() as served:
        yield served


def encoder(server: EmbeddingServer, api_key_env: str = "", key_host: str = "") -> HttpEncoder:
    settings = EncoderSettings("http", url=server.url, model="concepts")
    return HttpEncoder(settings._replace(api_key_env=api_key_env, key_host=key_host))


def test_vectors_come_in_the_order_of_the_texts_with_the_length_of_a_unit(
    server: EmbeddingServer,
) -> None:
    first, second = encoder(server).encode(["pdf", "database"])
    assert first is not None
    assert second is not None
    assert all(isinstance(number, int) for number in first)
    assert dot(first, first) ** 0.5 == pytest.approx(UNIT, rel=1e-3)
    assert (first[0] > first[1], second[1] > second[0]) == (True, True)


def test_an_address_may_name_the_path_of_embeddings(server: EmbeddingServer) -> None:
    server.url += "/embeddings/"
    assert len(encoder(server).encode(["pdf"])) == 1


def test_the_key_is_sent_and_nothing_is_sent_without_one(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENCODER_KEY", "k-123")
    encoder(server, api_key_env="ENCODER_KEY").encode(["pdf"])
    encoder(server).encode(["pdf"])
    assert [one.get("authorization") for one in server.headers] == ["Bearer k-123", None]


@pytest.mark.parametrize("bound", ["api.example.com", "no host"])
def test_a_key_for_another_host_is_not_sent(
    server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setenv("ENCODER_KEY", "k-123")
    with pytest.raises(EncoderError, match="so it is not sent to"):
        encoder(server, api_key_env="ENCODER_KEY", key_host=bound)
    assert server.headers == []


def test_a_missing_key_is_said(server: EmbeddingServer) -> None:
    with pytest.raises(EncoderError, match="NO_SUCH_KEY is not set"):
        encoder(server, api_key_env="NO_SUCH_KEY")


@pytest.mark.parametrize(
    "answer",
    [
        [], {}, {"data": None}, {"data": []}, {"data": ["x"]}, {"data": [{"embedding": None}]},
        {"data": [{"embedding": []}]}, {"data": [{"embedding": ["x"]}]},
        {"data": [{"embedding": [1e400]}]}, {"data": [{"embedding": "abc"}]},
        {"data": [{"index": "x", "embedding": [1]}]}, {"data": [{"index": 7, "embedding": [1]}]},
    ],
    ids=repr,
)  # fmt: skip
def test_an_answer_without_vectors_is_an_error_in_one_line(
    server: EmbeddingServer, answer: object
) -> None:
    server.answer = answer
    with pytest.raises(EncoderError) as raised:
        encoder(server).encode(["pdf"])
    assert "\n" not in str(raised.value)


def test_an_error_of_the_server_and_a_redirect_are_said(server: EmbeddingServer) -> None:
    server.status = 429
    with pytest.raises(EncoderError, match="answered HTTP 429"):
        encoder(server).encode(["pdf"])
    server.status, server.location = 307, "https://elsewhere.example/v1"
    with pytest.raises(EncoderError, match="redirected to elsewhere"):
        encoder(server).encode(["pdf"])


def test_plain_http_beyond_this_machine_needs_the_users_own_settings() -> None:
    settings = EncoderSettings("http", url="http://encoder.example/v1", model="m")
    with pytest.raises(EncoderError, match="plain http"):
        HttpEncoder(settings)
    HttpEncoder(settings._replace(plain_http=True))


def test_a_server_that_is_not_there_is_an_error() -> None:
    settings = EncoderSettings("http", url="http://127.0.0.1:9/v1", model="m")
    with pytest.raises(EncoderError, match=r"127\.0\.0\.1:9 did not answer"):
        HttpEncoder(settings).encode(["pdf"])
