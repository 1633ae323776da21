"""The access log, and how many requests are served at once."""

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metier.mcp.traffic import AccessLog, Answered, Bounded, access_line

POST = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}


async def no_body() -> Any:
    return {"type": "http.request", "body": b""}


class Sent(list[Any]):
    async def __call__(self, message: Any) -> None:
        self.append(message)


def test_requests_beyond_the_bound_get_503_and_are_told_when_to_come_again() -> None:
    async def main() -> None:
        free, begun = asyncio.Event(), 0

        async def slow(_scope: Any, _receive: Any, send: Any) -> None:
            nonlocal begun
            begun += 1
            await free.wait()
            await send({"type": "http.response.start", "status": 200, "headers": []})

        bounded = Bounded(slow, 2)
        answers = [Sent() for _ in range(4)]
        tasks = [asyncio.ensure_future(bounded(POST, no_body, one)) for one in answers]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert (begun, bounded.under_way) == (2, 2)
        assert [one[0]["status"] for one in answers[2:]] == [503, 503]
        assert (b"retry-after", b"1") in answers[2][0]["headers"]
        free.set()
        await asyncio.gather(*tasks)
        assert bounded.under_way == 0
        later = Sent()
        await bounded(POST, no_body, later)
        assert later[0]["status"] == 200

    asyncio.run(main())


def test_a_request_that_fails_makes_room_again() -> None:
    async def failing(*_: Any) -> None:
        raise ValueError("it failed")

    bounded = Bounded(failing, 1)
    for _ in range(2):
        with pytest.raises(ValueError, match="it failed"):
            asyncio.run(bounded(POST, no_body, Sent()))
    assert bounded.under_way == 0


@pytest.mark.parametrize(("status", "level"), [(200, logging.INFO), (503, logging.WARNING)])
def test_each_request_is_a_line_of_the_log(
    status: int, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def answer(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": []})

    headers = [(b"mcp-method", b"tools/call"), (b"mcp-name", b"skill_list")]
    scope = {**POST, "client": ("127.0.0.1", 5), "headers": headers}
    with caplog.at_level(logging.INFO, "metier.mcp.access"):
        asyncio.run(AccessLog(answer)(scope, no_body, Sent()))
    (record,) = caplog.records
    assert record.levelno == level
    assert record.getMessage().startswith(f"127.0.0.1 POST /mcp {status} ")
    assert record.getMessage().endswith(" ms tools/call skill_list")


@given(st.text(max_size=300), st.binary(max_size=300))
def test_nothing_that_a_client_sends_breaks_a_line(path: str, name: bytes) -> None:
    scope = {**POST, "path": path, "headers": [(b"mcp-name", name)]}
    line = access_line(scope, Answered(200, 0.1))
    assert line.isascii()
    assert line.isprintable()
    assert len(line) < 3_000
