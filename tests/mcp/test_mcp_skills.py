"""Skills over MCP (SEP-2640): entries, digests, bounds, pages, folders."""

import hashlib
import os
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.types import INVALID_PARAMS, PaginatedRequestParams

from conftest import Workspace
from mcp_sep2640 import (
    BINARY,
    GetSkill,
    ListSkills,
    OfUri,
    ReadFolder,
    all_listed,
    bytes_of,
    listed,
    refused,
    sent,
    write_paper,
)
from mcp_served import ERAS, asked, server_over
from metier.mcp import skills
from metier.mcp.skill_files import MOST_BYTES, MOST_FILES, MOST_SENT

pytestmark = pytest.mark.slow


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
    for index in range(3):
        workspace.write(f"skills/large/{index}.txt", b"x" * (MOST_BYTES // 3))
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
        assert len(bytes_of(server, "skill://skills/large/0.txt")) == MOST_BYTES // 3


QUOTES = 2


@pytest.mark.parametrize(
    ("fits", "more"),
    [
        (b"x" * (MOST_SENT - QUOTES), b"x"),
        (b"\n" * (MOST_SENT // 2 - 1), b"\n"),
        (b"\x01" * (MOST_SENT // 6), b"\x01"),
        ("ü".encode() * (MOST_SENT // 2 - 1), b"x"),
        (b"\xff" * (MOST_SENT // 4 * 3), b"\xff"),
    ],
)
def test_a_file_is_served_as_long_as_it_fits_into_one_message(
    workspace: Workspace, fits: bytes, more: bytes
) -> None:
    workspace.skill("heavy")
    workspace.write("skills/heavy/file", fits)
    with server_over(workspace.root) as server:
        assert len(listed(server)) == 1
        uri = "skill://skills/heavy/file"
        assert bytes_of(server, uri) == fits
        workspace.write("skills/heavy/file", fits + more)
        error = refused(server, uri)
        assert error.data["code"] == "DOCUMENT_INVALID"
        assert f"{len(fits) + 1} bytes" in error.data["message"]
        assert f"the {MOST_SENT} bytes of one answer" in error.data["message"]
        assert error.data["where"] == "skills/heavy/file"
        assert error.data["hint"]
        assert listed(server) == []


def test_how_large_a_file_is_that_cannot_be_served_is_told(workspace: Workspace) -> None:
    workspace.skill("heavy")
    os.truncate(workspace.write("skills/heavy/file", ""), 3 * MOST_SENT)
    with server_over(workspace.root) as server:
        error = refused(server, "skill://skills/heavy/file")
        assert f"the file has {3 * MOST_SENT} bytes" in error.data["message"]


TOO_LONG = "word " * 300
UNFIT = {
    "Odd_Name": "---\nname: Odd_Name\ndescription: Does it.\n---\n\nDo.\n",
    "twice": "---\nname: twice\nname: again\ndescription: Does it.\n---\n\nDo.\n",
    "broken": "---\nname: broken\ndescription: a: b: c\n---\n\nDo.\n",
    "wordy": f"---\nname: wordy\ndescription: {TOO_LONG}\n---\n\nDo.\n",
    "padded": f"---\nname: padded\ndescription: |\n  {'x' * 1024}\n---\n\nDo.\n",
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


def names(pages: list[list[dict[str, Any]]]) -> list[list[str]]:
    return [[one["frontmatter"]["name"] for one in page] for page in pages]


def test_the_list_comes_in_pages_and_holds_every_skill_once(workspace: Workspace) -> None:
    for index in range(120):
        workspace.skill(f"s{index:03}")
    with server_over(workspace.root) as server:
        pages = names(all_listed(server))
        assert [len(page) for page in pages] == [50, 50, 20]
        assert [name for page in pages for name in page] == [f"s{index:03}" for index in range(120)]
        with pytest.raises(MCPError) as caught:
            sent(server, ListSkills(params=PaginatedRequestParams(cursor="!")))
        assert caught.value.code == INVALID_PARAMS


def test_pages_are_full_however_many_skills_have_no_entry(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "_ROWS_AT_ONCE", 40)
    for index in range(100):
        workspace.skill(f"s{index:03}")
        workspace.skill(f"Odd{index:03}")
        if index % 3 == 0:
            workspace.skill(f"s{index:03}b", TOO_LONG)
    with server_over(workspace.root) as server:
        assert [len(page) for page in all_listed(server)] == [50, 50]


def test_skills_without_an_entry_at_the_end_make_no_page(workspace: Workspace) -> None:
    for index in range(50):
        workspace.skill(f"s{index:03}")
        workspace.skill(f"z{index:03}", TOO_LONG)
    with server_over(workspace.root) as server:
        assert [len(page) for page in all_listed(server)] == [50]


def test_one_page_opens_a_bounded_number_of_skills(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "MOST_TRIED", 10)
    for index in range(25):
        workspace.skill(f"a{index:02}", TOO_LONG)
        workspace.skill(f"Odd{index:02}")
    workspace.skill("last")
    with server_over(workspace.root) as server:
        assert names(all_listed(server)) == [[], [], ["last"]]


def test_a_page_ends_before_it_is_too_large(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skills, "LARGEST_PAGE", 3_000)
    for name in "abcde":
        workspace.skill(name, "word " * 200)
    workspace.skill("c", extra=f"more: {'x' * 4_000}")
    with server_over(workspace.root) as server:
        assert names(all_listed(server)) == [["a", "b"], ["c"], ["d", "e"]]


def test_resources_come_in_pages_and_each_is_listed_once(workspace: Workspace) -> None:
    workspace.write("SYSTEM_ARCHITECTURE.md", "# All of it\n")
    for index in range(120):
        workspace.skill(f"s{index:03}")

    async def talk(client: Client) -> list[list[str]]:
        first = await client.list_resources()
        second = await client.list_resources(cursor=first.next_cursor)
        assert second.next_cursor is None
        return [[one.uri for one in page.resources] for page in (first, second)]

    with server_over(workspace.root) as server:
        first, second = asked(server, talk)
        assert (len(first), len(second)) == (101, 20)
        assert len({*first, *second}) == 121


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
    workspace.skill("paper", '"  "')
    assert listed(server) == []
