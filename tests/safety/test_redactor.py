"""Values of secrets never pass a redactor: in texts, JSON, records and streams."""

import html
import itertools
import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.config import Config
from metier.config.secret_values import secret_values
from metier.flow.redacted_events import redacted_events
from metier.safety.redactor import NOTHING, Redactor
from metier.values.run_settings import CommandSetting, ProviderSettings, ServerSetting
from metier.values.runs import Event, Failure, RunRecord
from metier.values.settings import EncoderSettings
from metier.values.settings_tables import ModelSettings, ToolSettings

SECRETS = st.text(st.characters(codec="utf-8"), min_size=8).filter(
    lambda text: text not in "[secret]"
)
ANYTHING = st.text(max_size=30)


@given(SECRETS, ANYTHING, ANYTHING)
def test_no_text_keeps_a_value_however_it_is_written(secret: str, before: str, after: str) -> None:
    redactor = Redactor([secret])
    for form in (secret, json.dumps(secret), html.escape(secret)):
        redacted = redactor.text(f"{before}{form}{after}")
        assert secret not in redacted.replace("[secret]", "\0")


@pytest.mark.parametrize(
    "listed",
    ['tok&lt;&"9/part-24', 'tok&lt;&amp;"9/part-24', "tok&lt;&amp;&quot;9/part-24"],
)
def test_a_value_is_hidden_as_a_listing_shows_it_in_json_and_on_a_page(listed: str) -> None:
    redactor = Redactor(['tok<&"9/part-24'])
    for form in (listed, json.dumps(listed), html.escape(listed)):
        assert redactor.text(f"- alpha: {form}.").replace('"', "") == "- alpha: [secret]."


def test_a_value_is_hidden_among_the_words_of_a_task_and_ordinary_words_are_not() -> None:
    redactor = Redactor(["AbCdEfGh", "lab-Key12345", "postgres://production"])
    assert redactor.value(["abcdefgh", "key12345", "lab", "postgres", "production"]) == [
        "[secret]", "[secret]", "lab", "postgres", "production",
    ]  # fmt: skip


class Row(NamedTuple):
    name: str
    rest: Any = None


@dataclass(frozen=True, slots=True)
class Box:
    what: Any


@given(SECRETS)
def test_every_text_in_a_value_is_redacted_and_records_keep_their_type(secret: str) -> None:
    held = {"a": [secret, 1, None], f"<{secret}>": (Row(secret, {secret}), Box({"b": secret}))}
    redacted = Redactor([secret]).value(held)
    assert redacted == {
        "a": ["[secret]", 1, None],
        "<[secret]>": (Row("[secret]", {"[secret]"}), Box({"b": "[secret]"})),
    }
    assert held["a"] == [secret, 1, None]


def test_a_number_that_is_a_secret_is_hidden() -> None:
    redactor = Redactor(["1234567890"])
    assert redactor.value([1234567890, 1234567891, True]) == ["[secret]", 1234567891, True]


@pytest.mark.parametrize("value", ["", "short", "1234567"])
def test_values_of_fewer_than_eight_characters_stay(value: str) -> None:
    redactor = Redactor([value])
    assert not redactor
    assert redactor.text(f"it is {value}") == f"it is {value}"


def test_the_longest_value_is_replaced_first() -> None:
    assert Redactor(["abcdefgh", "abcdefgh-ijkl"]).text("abcdefgh-ijkl") == "[secret]"


# Streams


@given(SECRETS, ANYTHING, ANYTHING, st.lists(st.integers(0, 60), max_size=12))
def test_a_value_in_pieces_is_hidden_and_the_rest_arrives(
    secret: str, before: str, after: str, cuts: list[int]
) -> None:
    whole = f"{before}{secret}{after}"
    heard: list[Event] = []
    listener = redacted_events(Redactor([secret]), heard.append)
    edges = sorted({0, len(whole), *(cut for cut in cuts if cut < len(whole))})
    for start, end in itertools.pairwise(edges):
        listener(Event("model.text", "r", 0.0, "s", {"text": whole[start:end]}))
    listener(Event("model.answered", "r", 1.0, "s", {"model": "m"}))
    streamed = "".join(event.data["text"] for event in heard if event.kind == "model.text")
    assert secret not in streamed.replace("[secret]", "\0")
    assert heard[-1].kind == "model.answered"
    if secret not in f"{before}|{after}" and "[" not in secret:
        assert Redactor([secret]).text(streamed) == Redactor([secret]).text(whole)


def test_texts_of_different_steps_are_not_mixed() -> None:
    heard: list[Event] = []
    listener = redacted_events(Redactor(["abcdefgh"]), heard.append)
    for step, text in (("a", "x abcd"), ("b", "y abcd"), ("a", "efgh!"), ("b", "zz")):
        listener(Event("model.text", "r", 0.0, step, {"text": text}))
    said = {step: "".join(e.data["text"] for e in heard if e.step_id == step) for step in "ab"}
    assert said == {"a": "x [secret]!", "b": "y abcdzz"}


def test_without_values_a_listener_is_used_as_it_is() -> None:
    heard: list[Event] = []
    keep = heard.append
    assert redacted_events(NOTHING, keep) is keep


# Which values


def test_variables_of_tools_bound_keys_and_what_servers_get_are_secret() -> None:
    environ = {
        "TOKEN": "of-a-tool", "KEY": "of-a-model", "ENC": "of-encoder", "OTHER": "of-nothing",
        "HOME": "/home/someone",
    }  # fmt: skip
    config = Config(
        tools=ToolSettings(commands=(CommandSetting("a", environment=("TOKEN", "HOME", "NONE")),)),
        models=ModelSettings(providers={"p": ProviderSettings(api_key_env="KEY")}),
        encoder=EncoderSettings("http", api_key_env="ENC"),
        servers=(
            ServerSetting("s", env={"A": "env-of-server"}),
            ServerSetting("t", headers={"Authorization": "Bearer header-key"}),
        ),
    )
    assert set(secret_values(config, environ)) == {
        "of-a-tool", "of-a-model", "of-encoder", "env-of-server", "Bearer header-key", "header-key",
    }  # fmt: skip


def test_a_record_of_a_run_is_redacted_and_stays_a_record() -> None:
    failure = Failure("X", "cannot use abcdefgh")
    run = RunRecord("r", "a", "with abcdefgh", "failed", 0.0, {}, {}, failure=failure)
    shown = Redactor(["abcdefgh"]).value(run)
    assert shown == run._replace(
        task="with [secret]", failure=failure._replace(message="cannot use [secret]")
    )
