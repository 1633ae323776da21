"""Random and malformed messages, the same for the same seed."""

import json
import random
from typing import Any

from mcp.types import (
    CLIENT_CAPABILITIES_META_KEY,
    CLIENT_INFO_META_KEY,
    PROTOCOL_VERSION_META_KEY,
)
from mcp_types.version import LATEST_MODERN_VERSION

ENVELOPE = {
    PROTOCOL_VERSION_META_KEY: LATEST_MODERN_VERSION,
    CLIENT_INFO_META_KEY: {"name": "fuzz", "version": "1"},
    CLIENT_CAPABILITIES_META_KEY: {"elicitation": {}},
}
METHODS = [
    "initialize", "ping", "server/discover", "tools/list", "tools/call", "resources/list",
    "resources/read", "resources/templates/list", "resources/subscribe", "resources/directory/read",
    "prompts/list", "prompts/get", "skills/list", "skills/get", "completion/complete",
    "logging/setLevel", "subscriptions/listen", "notifications/initialized",
    "notifications/cancelled", "no/such/method", "", "\u0000", "tools/call ", "__class__",
]  # fmt: skip
TOOLS = [
    "skill_list",
    "capability_resolve",
    "capability_list",
    "context_find",
    "context_inject",
    "run_start",
    "x",
]
KEYS = [
    "name", "arguments", "uri", "cursor", "limit", "search", "capability", "requires", "query",
    "consumer", "mode", "policy", "messages", "budget", "task", "requestState", "inputResponses",
    "_meta", "agent", "decision", "protocolVersion", "capabilities", "clientInfo", "id", "",
]  # fmt: skip
TEXTS = [
    "", "a", "web-search", "../../../etc/passwd", "skill://skills/one/SKILL.md", "skill://",
    "skill://skills/one/%2e%2e/x", "\u0000", "\ud800", "\U0001f600", "'; DROP TABLE document; --",
    "%s%n{}", "x" * 5_000, "2026-07-28", "ü\u202e", "{{ 7 * 7 }}", "/w==", "b25l", "-1",
]  # fmt: skip
NUMBERS = [0, -1, 1, 1.0, 50, 201, 200.0, 2**31, 2**63, -(2**70), 10**400, 0.5, 1e308, float("nan")]


class Messages:
    """An endless source of messages, as bytes of one line each."""

    def __init__(self, seed: int, *, modern: bool) -> None:
        self._random = random.Random(seed)
        self._modern = modern
        self._count = 0

    def next(self) -> bytes:
        self._count += 1
        make = self._random.choice(
            [self._request] * 8 + [self._call] * 6 + [self._odd, self._broken, self._noise]
        )
        return make().replace(b"\n", b" ").replace(b"\r", b" ")

    def _text(self) -> str:
        return self._random.choice(TEXTS)

    def _value(self, depth: int = 0) -> Any:
        pick = self._random.random()
        if depth > 3 or pick < 0.55:
            return self._random.choice([self._text(), self._random.choice(NUMBERS), None, True])
        if pick < 0.75:
            return [self._value(depth + 1) for _ in range(self._random.randrange(4))]
        keys = self._random.sample(KEYS, self._random.randrange(4))
        return {key: self._value(depth + 1) for key in keys}

    def _params(self) -> Any:
        if self._random.random() < 0.15:
            return self._value()
        keys = self._random.sample(KEYS, self._random.randrange(5))
        params = {key: self._value() for key in keys}
        if self._modern and self._random.random() < 0.8:
            params["_meta"] = ENVELOPE
        return params

    def _id(self) -> Any:
        if self._random.random() < 0.9:
            return self._count
        return self._random.choice([None, -1, 1.5, "", "x", {}, [], True, 2**70, "\ud800"])

    def _request(self) -> bytes:
        message = {
            "jsonrpc": "2.0" if self._random.random() < 0.95 else self._value(),
            "id": self._id(),
            "method": self._random.choice(METHODS),
            "params": self._params(),
        }
        for key in list(message):
            if self._random.random() < 0.05:
                del message[key]
        return json.dumps(message).encode()

    def _call(self) -> bytes:
        params: dict[str, Any] = {
            "name": self._random.choice(TOOLS),
            "arguments": {
                key: self._value() for key in self._random.sample(KEYS, self._random.randrange(4))
            },
        }
        if self._modern:
            params["_meta"] = ENVELOPE
        message = {"jsonrpc": "2.0", "id": self._id(), "method": "tools/call", "params": params}
        return json.dumps(message).encode()

    def _odd(self) -> bytes:
        """JSON that is no message."""
        one = json.dumps(self._value()).encode()
        deep = self._random.randrange(2, 2_000)
        batch = b"[" + self._request() + b"," + self._call() + b"]"
        return self._random.choice(
            [one, batch, b"[" * deep, b'{"a":' * deep, b"[" * deep + b"]" * deep]
        )

    def _broken(self) -> bytes:
        """A message with some of its bytes missing, doubled or changed."""
        raw = bytearray(self._request())
        for _ in range(self._random.randrange(1, 6)):
            at = self._random.randrange(len(raw)) if raw else 0
            change = self._random.randrange(3)
            if change == 0:
                del raw[at : at + self._random.randrange(1, 9)]
            elif change == 1:
                raw[at:at] = bytes([self._random.randrange(256)])
            else:
                raw[at:at] = raw[at : at + 8]
        return bytes(raw)

    def _noise(self) -> bytes:
        return self._random.randbytes(self._random.randrange(200))
