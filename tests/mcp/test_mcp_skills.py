"""Skills over MCP (SEP-2640): entries, digests, bounds, and nothing from outside a skill."""

import asyncio
import base64
import hashlib
import os
import threading
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from mcp.server.lowlevel import Server
from mcp.types import (
    INVALID_PARAMS,
    BlobResourceContents,
    PaginatedRequestParams,
    Request,
    RequestParams,
    Result,
    TextResourceContents,
)
from pydantic import ConfigDict

from conftest import Workspace
from mcp import Client, MCPError
from mcp_served import ERAS, asked, server_over
from metier.mcp.files import MOST_BYTES, MOST_FILES

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


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
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
    with server_over(workspace.root) as made:
        yield made


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


def test_the_extension_is_declared_to_new_clients_only(server: Server[Any]) -> None:
    async def talk(client: Client) -> Any:
        return client.server_capabilities.extensions

    name = "io.modelcontextprotocol/skills"
    assert asked(server, talk) == {name: {"directoryRead": True}}
    assert asked(server, talk, "legacy") is None


def test_an_entry_has_the_front_matter_and_every_file_with_digest_and_size(
    server: Server[Any], workspace: Workspace
) -> None:
    (entry,) = listed(server)
    assert entry["uri"] == "skill://skills/paper/SKILL.md"
    assert entry["frontmatter"] == {
        "name": "paper",
        "description": "Writes on paper.",
        "license": "MIT",
        "metadata": {"size": 2.5},
    }
    assert [file["uri"].removeprefix("skill://skills/paper/") for file in entry["resources"]] == [
        "SKILL.md",
        "assets/blot.bin",
        "empty.txt",
        "references/A%20B.md",
        "scripts/ink.py",
    ]
    for file in entry["resources"]:
        raw = bytes_of(server, file["uri"])
        assert file["size"] == len(raw)
        assert file["digest"] == f"sha256:{hashlib.sha256(raw).hexdigest()}"
    on_disk = (workspace.root / "skills/paper/assets/blot.bin").read_bytes()
    assert bytes_of(server, entry["resources"][1]["uri"]) == on_disk == BINARY


def test_one_entry_by_its_address_is_the_same_as_in_the_list(server: Server[Any]) -> None:
    (entry,) = listed(server)
    assert sent(server, GetSkill(params=OfUri(uri=entry["uri"])))["skill"] == entry


@pytest.mark.parametrize(
    "uri",
    [
        "skill://skills/nobody/SKILL.md",
        "skill://skills/paper",
        "skill://skills/paper/scripts/ink.py",
        "skill://paper/SKILL.md",
        "file:///etc/passwd",
        "",
        "skill://",
        "skill://skills/paper/SKILL.md/",
        "skill://skills/paper/%ff",
    ],
)
def test_an_address_that_is_no_skill_is_refused(server: Server[Any], uri: str) -> None:
    with pytest.raises(MCPError) as caught:
        sent(server, GetSkill(params=OfUri(uri=uri)))
    assert caught.value.code == INVALID_PARAMS
    assert caught.value.data["code"] == "NOT_FOUND"
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("era", ERAS)
def test_skills_are_plain_resources_for_every_client(server: Server[Any], era: str) -> None:
    async def talk(client: Client) -> Any:
        return await client.list_resources(), await client.list_resource_templates()

    listing, templates = asked(server, talk, era)
    (resource,) = listing.resources
    assert resource.uri == "skill://skills/paper/SKILL.md"
    assert resource.name == "paper"
    assert resource.mime_type == "text/markdown"
    assert [one.uri_template for one in templates.resource_templates] == ["skill://{+path}"]
    assert bytes_of(server, resource.uri, era).startswith(b"---\nname: paper")


OUTSIDE = [
    "skill://skills/paper/../../secret.txt",
    "skill://skills/paper/%2e%2e/%2e%2e/secret.txt",
    "skill://skills/paper/..%2f..%2fsecret.txt",
    "skill://skills/paper/scripts/..%2f..%2f..%2fsecret.txt",
    "skill://skills/../secret.txt",
    "skill://skills/paper//etc/passwd",
    "skill://skills/paper/%2fetc%2fpasswd",
    "skill://skills/paper/.env",
    "skill://skills/paper/%2eenv",
    "skill://skills/paper/.git/config",
    "skill://skills/paper/node_modules/x/index.js",
    "skill://skills/paper/scripts",
    "skill://skills/paper/nothing.md",
    "skill://skills/paper/SKILL.md%00",
    "skill://skills/paper/scripts/ink.py/more",
    "metier://reference/SYSTEM_ARCHITECTURE.md",
    "skill://" + "a" * 10_000,
]


@pytest.mark.parametrize("uri", OUTSIDE)
def test_nothing_outside_a_skill_can_be_read(server: Server[Any], uri: str) -> None:
    error = refused(server, uri)
    assert error.code == INVALID_PARAMS
    assert error.data["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("out.txt", "../../secret.txt"),
        ("abs.txt", "/etc/hostname"),
        ("env.txt", ".env"),
        ("folder", "../.."),
        ("inside", "scripts"),
        ("pipe", "!fifo"),
        ("loop", "loop"),
        ("gone", "nothing"),
    ],
)
def test_a_link_or_an_odd_file_is_neither_listed_nor_read(
    server: Server[Any], workspace: Workspace, link: str, target: str
) -> None:
    place = workspace.root / "skills" / "paper" / link
    if target == "!fifo":
        os.mkfifo(place)
    else:
        place.symlink_to(target)
    (entry,) = listed(server)
    assert not any(f"/{link}" in file["uri"] for file in entry["resources"])
    for inside in ("", "/secret.txt", "/ink.py"):
        assert refused(server, f"skill://skills/paper/{link}{inside}").code == INVALID_PARAMS


def test_a_link_to_a_file_of_the_same_skill_is_that_file(
    server: Server[Any], workspace: Workspace
) -> None:
    (workspace.root / "skills/paper/also.py").symlink_to("scripts/ink.py")
    (entry,) = listed(server)
    assert "skill://skills/paper/also.py" in [file["uri"] for file in entry["resources"]]
    assert bytes_of(server, "skill://skills/paper/also.py") == b"print('ink')\n"


def test_a_skill_file_that_became_a_link_is_not_followed(
    server: Server[Any], workspace: Workspace
) -> None:
    file = workspace.root / "skills/paper/SKILL.md"
    file.unlink()
    file.symlink_to("../../secret.txt")
    assert listed(server) == []
    assert "secret" not in str(refused(server, "skill://skills/paper/SKILL.md").data["message"])


def test_too_many_files_or_bytes_are_not_served_as_an_entry(workspace: Workspace) -> None:
    workspace.skill("large")
    workspace.write("skills/large/big.bin", b"x" * MOST_BYTES)
    workspace.skill("crowded")
    for index in range(MOST_FILES):
        workspace.write(f"skills/crowded/{index}.txt", "")
    workspace.skill("full")
    for index in range(MOST_FILES - 1):
        workspace.write(f"skills/full/{index}.txt", "")
    with server_over(workspace.root) as server:
        (entry,) = listed(server)
        assert entry["frontmatter"]["name"] == "full"
        assert len(entry["resources"]) == MOST_FILES
        for name in ("large", "crowded"):
            uri = f"skill://skills/{name}/SKILL.md"
            with pytest.raises(MCPError, match="more than"):
                sent(server, GetSkill(params=OfUri(uri=uri)))
            assert bytes_of(server, uri)
        workspace.write("skills/large/bigger.bin", b"x" * (MOST_BYTES + 1))
        assert refused(server, "skill://skills/large/bigger.bin").code == INVALID_PARAMS


UNFIT = {
    "Odd_Name": "---\nname: Odd_Name\ndescription: Does it.\n---\n\nDo.\n",
    "twice": "---\nname: twice\nname: again\ndescription: Does it.\n---\n\nDo.\n",
    "broken": "---\nname: broken\ndescription: a: b: c\n---\n\nDo.\n",
    "wordy": f"---\nname: wordy\ndescription: {'word ' * 300}\n---\n\nDo.\n",
    "nameless": "---\ndescription: Does it.\n---\n\nDo.\n",
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_skill_that_breaks_the_format_has_no_entry_but_its_text_can_be_read(
    workspace: Workspace, name: str
) -> None:
    workspace.write(f"skills/{name}/SKILL.md", UNFIT[name])
    with server_over(workspace.root) as server:
        assert listed(server) == []
        uri = f"skill://skills/{name}/SKILL.md"
        with pytest.raises(MCPError, match="has no entry"):
            sent(server, GetSkill(params=OfUri(uri=uri)))
        assert bytes_of(server, uri).decode() == UNFIT[name]


def test_a_skill_in_the_root_does_not_give_away_the_workspace(workspace: Workspace) -> None:
    workspace.write("SKILL.md", "---\nname: whole\ndescription: All of it.\n---\n\nDo.\n")
    workspace.write("references/a.md", "a")
    workspace.write("passwords.txt", "1234")
    with server_over(workspace.root) as server:
        (entry,) = listed(server)
        assert [file["uri"] for file in entry["resources"]] == [
            "skill://whole/SKILL.md",
            "skill://whole/references/a.md",
        ]
        assert refused(server, "skill://whole/passwords.txt").code == INVALID_PARAMS


def test_nested_skills_are_entries_of_their_own_and_files_of_the_outer_one(
    workspace: Workspace,
) -> None:
    workspace.skill("outer")
    workspace.skill("inner", folder="skills/outer/inner")
    workspace.write("skills/outer/inner/note.md", "n")
    with server_over(workspace.root) as server:
        inner, outer = listed(server)
        assert inner["uri"] == "skill://skills/outer/inner/SKILL.md"
        assert outer["uri"] == "skill://skills/outer/SKILL.md"
        files = {file["uri"]: file["digest"] for file in outer["resources"]}
        assert {file["uri"]: file["digest"] for file in inner["resources"]}.items() <= files.items()


def test_a_skill_whose_name_is_not_its_folder_is_addressed_by_its_name(
    workspace: Workspace,
) -> None:
    workspace.skill("new-name", folder="skills/old")
    workspace.write("skills/old/x.md", "x")
    with server_over(workspace.root) as server:
        (entry,) = listed(server)
        assert entry["uri"] == "skill://skills/new-name/SKILL.md"
        assert bytes_of(server, "skill://skills/new-name/x.md") == b"x"
        assert refused(server, "skill://skills/old/x.md").code == INVALID_PARAMS


def test_the_list_comes_in_pages_and_holds_every_skill_once(workspace: Workspace) -> None:
    for index in range(120):
        workspace.skill(f"s{index:03}")

    async def talk(client: Client) -> list[list[str]]:
        pages, cursor = [], None
        while True:
            request = ListSkills(params=PaginatedRequestParams(cursor=cursor))
            answer = (await client.session.send_request(request, Anything)).model_dump()
            pages.append([one["frontmatter"]["name"] for one in answer["skills"]])
            cursor = answer.get("nextCursor")
            if not cursor:
                return pages

    with server_over(workspace.root) as server:
        pages = asked(server, talk)
        assert [len(page) for page in pages] == [50, 50, 20]
        assert [name for page in pages for name in page] == [f"s{index:03}" for index in range(120)]
        with pytest.raises(MCPError) as caught:
            sent(server, ListSkills(params=PaginatedRequestParams(cursor="!")))
        assert caught.value.code == INVALID_PARAMS


def test_folders_list_their_children(server: Server[Any]) -> None:
    def children(uri: str) -> list[tuple[str, str]]:
        answer = sent(server, ReadFolder(params=OfUri(uri=uri)))
        return [(one["name"], one["mimeType"]) for one in answer["resources"]]

    assert children("skill://skills/paper") == [
        ("SKILL.md", "text/markdown"),
        ("assets", "inode/directory"),
        ("empty.txt", "text/plain"),
        ("references", "inode/directory"),
        ("scripts", "inode/directory"),
    ]
    assert children("skill://skills/paper/scripts") == [("ink.py", "text/x-python")]
    for uri in ("skill://skills/paper/SKILL.md", "skill://skills", "skill://skills/paper/nothing"):
        with pytest.raises(MCPError) as caught:
            children(uri)
        assert caught.value.code == INVALID_PARAMS


def test_what_changed_on_disk_since_is_described_as_it_is_now(
    server: Server[Any], workspace: Workspace
) -> None:
    workspace.skill("paper", "Writes on better paper.")
    (entry,) = listed(server)
    assert entry["frontmatter"]["description"] == "Writes on better paper."
    workspace.skill("renamed", folder="skills/paper")
    assert listed(server) == []


def test_a_file_that_is_swapped_for_a_link_while_it_is_read_is_never_followed(
    server: Server[Any], workspace: Workspace
) -> None:
    """The folder of a file becomes a link and back, again and again, while it is read."""
    skill = workspace.root / "skills" / "paper"
    (workspace.root / "elsewhere").mkdir()
    (workspace.root / "elsewhere" / "ink.py").write_text("the secret")
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (skill / "scripts").rename(skill / "kept")
            (skill / "scripts").symlink_to("../../elsewhere")
            (skill / "scripts").unlink()
            (skill / "kept").rename(skill / "scripts")

    async def talk(client: Client) -> set[str]:
        swapping = asyncio.create_task(asyncio.to_thread(swap))
        seen: set[str] = set()
        uri = "skill://skills/paper/scripts/ink.py"
        for _ in range(400):
            try:
                (content,) = (await client.read_resource(uri)).contents
            except MCPError as error:
                seen.add(str(error.data["code"]))
            else:
                assert isinstance(content, TextResourceContents)
                seen.add(content.text)
        stop.set()
        await swapping
        return seen

    assert asked(server, talk) <= {"print('ink')\n", "NOT_FOUND"}
