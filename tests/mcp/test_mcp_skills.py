"""Skills over MCP (SEP-2640): entries, digests, bounds, pages, folders."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.types import INVALID_PARAMS, PaginatedRequestParams

from conftest import Workspace
from mcp_sep2640 import (
    BINARY,
    Anything,
    GetSkill,
    ListSkills,
    OfUri,
    ReadFolder,
    bytes_of,
    listed,
    refused,
    sent,
    write_paper,
)
from mcp_served import ERAS, asked, server_over
from metier.mcp.files import MOST_BYTES, MOST_FILES


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
    write_paper(workspace)
    with server_over(workspace.root) as made:
        yield made


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
