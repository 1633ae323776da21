"""The model for tests: what it answers, what it remembers, and its end."""

import asyncio
import threading

import pytest

from metier.errors import ModelError
from metier.run.models import ScriptedModel
from metier.run.models.offline import Scripted
from metier.values.models import Message, ModelReply, ModelRequest, ToolCall
from metier.values.runs import Usage

ASKED = ModelRequest("", [Message("user", "Hello")])


def answers(*replies: Scripted, request: ModelRequest = ASKED) -> list[ModelReply]:
    model = ScriptedModel(replies)

    async def ask() -> list[ModelReply]:
        return [await model.respond(request) for _ in replies]

    return asyncio.run(ask())


def test_replies_come_in_the_order_of_the_script() -> None:
    called = ModelReply("", [ToolCall("1", "look", {"at": "it"})], Usage(1, 2, requests=1))
    first, second = answers(called, "done")
    assert first == called
    assert second.text == "done"


def test_a_text_is_counted_as_one_request() -> None:
    (reply,) = answers("four tokens here")
    assert reply.usage == Usage(2, 4, requests=1)


def test_a_function_answers_by_the_request() -> None:
    model = ScriptedModel([lambda request: request.messages[-1].text.upper()])
    assert asyncio.run(model.respond(ASKED)).text == "HELLO"


def test_an_error_is_raised_as_it_is_and_the_next_reply_follows() -> None:
    failure = ModelError("too fast", kind="rateLimit")
    model = ScriptedModel([failure, "then this"])

    async def ask() -> str:
        with pytest.raises(ModelError) as caught:
            await model.respond(ASKED)
        assert caught.value is failure
        return (await model.respond(ASKED)).text

    assert asyncio.run(ask()) == "then this"


def test_a_json_text_is_a_value_only_when_a_schema_was_given() -> None:
    (plain,) = answers('{"a": 1}')
    (value,) = answers('{"a": 1}', request=ASKED._replace(output_schema={"type": "object"}))
    (broken,) = answers("no JSON", request=ASKED._replace(output_schema={"type": "object"}))
    assert (plain.data, value.data, broken.data) == (None, {"a": 1}, None)


def test_the_text_is_told_to_who_wants_it_in_pieces() -> None:
    pieces: list[str] = []
    answers("a text", ModelReply(""), request=ASKED._replace(on_text=pieces.append))
    assert pieces == ["a text"]


def test_every_request_is_remembered() -> None:
    model = ScriptedModel(["one", "two"], name="scripted:mine")
    other = ASKED._replace(system="Other")
    asyncio.run(model.respond(ASKED))
    asyncio.run(model.respond(other))
    assert model.requests == [ASKED, other]
    assert model.name == "scripted:mine"


def test_after_the_last_reply_the_script_has_ended() -> None:
    model = ScriptedModel(["only one"])
    asyncio.run(model.respond(ASKED))
    with pytest.raises(ModelError, match="no reply to request 2") as caught:
        asyncio.run(model.respond(ASKED))
    assert caught.value.code == "MODEL_SCRIPT_ENDED"
    assert caught.value.kind == ""
    assert len(model.requests) == 2


def test_calls_at_the_same_time_get_each_reply_once() -> None:
    numbers = [str(number) for number in range(400)]
    model = ScriptedModel(numbers)
    got: list[str] = []

    async def ask() -> None:
        replies = await asyncio.gather(*(model.respond(ASKED) for _ in range(100)))
        got.extend(reply.text for reply in replies)

    threads = [threading.Thread(target=asyncio.run, args=(ask(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == sorted(numbers)
    assert len(model.requests) == 400
