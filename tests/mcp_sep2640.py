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
