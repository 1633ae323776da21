"""Requests of SEP-2640, which the SDK has no words for, and a skill to ask about."""

import base64
from typing import Any, Literal

import pytest
from mcp import Client, MCPError
from mcp.types import (
    BlobResourceContents,
    PaginatedRequestParams,
    Request,
    RequestParams,
    Result,
    TextResourceContents,
)
from pydantic import ConfigDict

from conftest import Workspace
from mcp_served import asked

BINARY = bytes(range(256))


class OfUri(RequestParams):
    uri: str


class ListSkills(Request[PaginatedRequestParams, Literal["skills/list"]]):
    method: Literal["skills/list"] = "skills/list"
    params: PaginatedRequestParams


class GetSkill(Request[OfUri, Literal["skills/get"]]):
    method: Literal["skills/get"] = "skills/get"
    params: OfUri


class ReadFolder(Request[OfUri, Literal["resources/directory/read"]]):
    method: Literal["resources/directory/read"] = "resources/directory/read"
    params: OfUri


class Anything(Result):
    model_config = ConfigDict(extra="allow")


def write_paper(workspace: Workspace) -> None:
    """A skill with files of all sorts, and a secret beside it."""
    workspace.skill("paper", "Writes on paper.", extra="license: MIT\nmetadata:\n  size: 2.5")
    workspace.write("skills/paper/scripts/ink.py", "print('ink')\n")
    workspace.write("skills/paper/references/A B.md", "# Über Papier\r\n")
    workspace.write("skills/paper/assets/blot.bin", BINARY)
    workspace.write("skills/paper/empty.txt", "")
    workspace.write("skills/paper/.env", "PASSWORD=1")
    workspace.write("skills/paper/.git/config", "[core]")
    workspace.write("skills/paper/node_modules/x/index.js", "x")
    workspace.write("secret.txt", "the secret")


def sent(server: Any, request: Any, era: str = "auto") -> dict[str, Any]:
    async def talk(client: Client) -> dict[str, Any]:
        answer = await client.session.send_request(request, Anything)
        return answer.model_dump(by_alias=True)

    return asked(server, talk, era)


def listed(server: Any) -> list[dict[str, Any]]:
    answer = sent(server, ListSkills(params=PaginatedRequestParams()))
    assert answer["ttlMs"] == 0
    assert answer["cacheScope"] == "private"
    found: list[dict[str, Any]] = answer["skills"]
    return found


def all_listed(server: Any) -> list[list[dict[str, Any]]]:
    """Every page of `skills/list`."""
    pages, cursor = [], None
    while True:
        answer = sent(server, ListSkills(params=PaginatedRequestParams(cursor=cursor)))
        pages.append(answer["skills"])
        cursor = answer.get("nextCursor")
        if not cursor:
            return pages


def bytes_of(server: Any, uri: str, era: str = "auto") -> bytes:
    async def talk(client: Client) -> bytes:
        (content,) = (await client.read_resource(uri)).contents
        if isinstance(content, TextResourceContents):
            return content.text.encode()
        assert isinstance(content, BlobResourceContents)
        return base64.b64decode(content.blob)

    return asked(server, talk, era)


def refused(server: Any, uri: str) -> MCPError:
    with pytest.raises(MCPError) as caught:
        bytes_of(server, uri)
    return caught.value


SAME_TO_ALL = [
    "a: b",
    "a: 'b\n  c'",
    'a: "b\n c"',
    'a: "b\n\n  \n c"',
    'a:\n  "b\n c"',
    'a: "b"  # comment',
    "a: >-\n  b\n  c",
    "a: |2\n   b",
    "a: [b,\n  c\n]",
    "a: {b: [c,\n  d],\n  e: f}",
    "a:\n- b\n- 'c\n d'",
    "a:\n  b: 'c\n    d'",
    "a:\r\n  b: 'c\r\n    d'\r\ne: f",
    "a: 12.50\nb: -1\nc: true\nd: null\ne: ~\nf:",
    "a: yes\nb: 2026-01-02\nc: 1.2.3\nd: '0x1f'",
    "'1': a\n\"null\": b",
    "a: 'b # c'\nd: [e#f]",
    "a: [b]\nc: d,#e",
    'a: "b\r\n\r\n c"',
]
"""Front matter that metier and YAML 1.2 read alike."""
READ_OTHERWISE = [
    'a: "b\nc"',
    "a: 'b\nc'",
    'a: "b\n- c\n- d"',
    'a: "b\n\tc"',
    "a:\n  b: 'c\n  d'",
    "a:\n- 'b\nc'",
    "a:\n|\n  b",
    "a: [b,\nc]",
    "a: [b,\nc\n]",
    "a: [[b\n],\n c]",
    "a:\n  b: {c: d,\n  e: f}",
    'a: "b"#c',
    "a: [b]#c",
    "a: [b,#c\n d]",
    'a: {"b":#c\n d}',
    "a: |#b\n  c",
    "a: >+\n  b\n\n",
    "a: [?b, c]",
    "a: [-]",
    "? 'a'#b\n: c",
    "? 'a\nb'\n: c",
    "a: 0x1F",
    "a: 0o17",
    "a: 007",
    "a: +1",
    "a: 1.",
    "a: .5",
    "a: 1e3",
    "a: True",
    "a: [NULL]",
    f"a: {'1' * 41}",
    "1.0: a",
    "0x1f: a",
    "~: a",
    "a: b\x85c",
    "a: 'b\rc'",
    "a: 'b\u2028c'",
    "a: b\n\ufeff",
    "a: b\n...\n...",
]
"""Front matter that metier reads too, but as something else, or that is no YAML 1.2 at all."""
