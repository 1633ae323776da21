"""Messages in a stream of bytes, however it is cut."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from metier.lsp.messages import Messages

BODIES = st.lists(st.binary(max_size=30), max_size=6)
NOISE = st.sampled_from([b"", b"Garbage\r\n\r\n", b"Content-Length: x\r\n\r\n", b"X: 1\r\n"])


def read(stream: bytes, sizes: list[int]) -> list[bytes]:
    """The bodies in a stream that arrives in parts of these sizes, then all at once."""
    found: list[bytes] = []
    loop = asyncio.new_event_loop()
    messages = Messages(found.append, loop.create_future())
    for size in sizes:
        part, stream = stream[:size], stream[size:]
        messages.data_received(part)
    messages.data_received(stream)
    messages.connection_lost(None)
    assert messages.ended.done()
    loop.close()
    return found


@given(BODIES, st.lists(st.integers(1, 40), max_size=20), NOISE)
def test_every_body_comes_once_whatever_the_parts(
    bodies: list[bytes], sizes: list[int], noise: bytes
) -> None:
    stream = b"".join(
        b"%bContent-Length: %d\r\nContent-Type: x\r\n\r\n%b" % (noise, len(body), body)
        for body in bodies
    )
    assert read(stream, sizes) == bodies


def test_an_unfinished_message_is_not_delivered() -> None:
    assert read(b"Content-Length: 10\r\n\r\nabc", []) == []
