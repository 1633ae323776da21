"""Nothing outside a skill can be read: no way up, no link, no odd file, no race."""

import asyncio
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.types import INVALID_PARAMS, TextResourceContents

from conftest import Workspace
from mcp_sep2640 import (
    GetSkill,
    OfUri,
    ReadFolder,
    bytes_of,
    listed,
    refused,
    sent,
    write_paper,
)
from mcp_served import asked, refreshed, server_over
from metier.mcp import hard_links
from metier.mcp.serve import serving
from metier.values.settings import Mount


@pytest.fixture
def server(workspace: Workspace) -> Iterator[Server[Any]]:
    write_paper(workspace)
    with server_over(workspace.root) as made:
        yield made


OUTSIDE = [
    "skill://skills/paper/../../secret.txt",
    "skill://skills/paper/%2e%2e/%2e%2e/secret.txt",
    "skill://skills/paper/..%2f..%2fsecret.txt",
    "skill://skills/paper/scripts/..%2f..%2f..%2fsecret.txt",
    "skill://skills/../secret.txt",
    "skill://skills/paper//etc/passwd",
    "skill://skills/paper/%2fetc%2fpasswd",
    "skill://skills/paper/=/etc/passwd",
    "skill://skills/paper/=../=../secret.txt",
    "skill://skills/paper/=.",
    "skill://skills/paper/=/scripts/ink.py",
    "skill://skills/paper/scripts%2fink.py",
    "skill://skills/paper/scripts%2f..%2f.env",
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


def test_what_lies_beside_the_file_that_a_link_leads_to_is_not_the_skills_own(
    workspace: Workspace,
) -> None:
    workspace.write("docs/real.md", "---\nname: linked\ndescription: Does it.\n---\n\nDo.\n")
    workspace.write("docs/diary.md", "private")
    (workspace.root / "skills/linked").mkdir(parents=True)
    (workspace.root / "skills/linked/SKILL.md").symlink_to("../../docs/real.md")
    with server_over(workspace.root) as server:
        (entry,) = listed(server)
        (file,) = entry["resources"]
        assert bytes_of(server, file["uri"]).startswith(b"---\nname: linked")
        beside = file["uri"].replace("SKILL.md", "diary.md")
        assert refused(server, beside).data["code"] == "NOT_FOUND"


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


# Hard links


def link_outside(workspace: Workspace, name: str) -> None:
    """A file outside the workspace gets a second name in the skill."""
    outside = workspace.root.parent / "outside.txt"
    outside.write_text("the secret")
    place = workspace.root / "skills/paper" / name
    place.parent.mkdir(exist_ok=True)
    os.link(outside, place)


@pytest.mark.parametrize("name", ["out.txt", "scripts/out.txt"])
def test_a_hard_link_that_leads_out_of_the_workspace_is_neither_listed_nor_read(
    server: Server[Any], workspace: Workspace, name: str
) -> None:
    (before,) = listed(server)
    link_outside(workspace, name)
    assert listed(server) == [before]
    error = refused(server, f"skill://skills/paper/{name}")
    nothing = refused(server, f"skill://skills/paper/{name}x")
    assert (error.code, error.data["code"]) == (nothing.code, nothing.data["code"])
    assert error.data["message"] == nothing.data["message"].replace(f"{name}x", name)
    folder = "skill://skills/paper" + ("/scripts" if "/" in name else "")
    below = sent(server, ReadFolder(params=OfUri(uri=folder)))["resources"]
    assert "out.txt" not in [one["name"] for one in below]


def test_a_link_to_such_a_file_is_no_way_around(server: Server[Any], workspace: Workspace) -> None:
    link_outside(workspace, "out.txt")
    (workspace.root / "skills/paper/also.txt").symlink_to("out.txt")
    (entry,) = listed(server)
    assert not any(file["uri"].endswith("also.txt") for file in entry["resources"])
    assert refused(server, "skill://skills/paper/also.txt").data["code"] == "NOT_FOUND"


@pytest.mark.parametrize(
    "twin", ["skills/paper/twin.py", "skills/other/twin.py", "docs/twin.py", ".git/twin.py"]
)
def test_a_hard_link_within_the_workspace_is_served(
    server: Server[Any], workspace: Workspace, twin: str
) -> None:
    (workspace.root / twin).parent.mkdir(parents=True, exist_ok=True)
    os.link(workspace.root / "skills/paper/scripts/ink.py", workspace.root / twin)
    (entry,) = listed(server)
    assert "skill://skills/paper/scripts/ink.py" in [one["uri"] for one in entry["resources"]]
    assert bytes_of(server, "skill://skills/paper/scripts/ink.py") == b"print('ink')\n"


def test_one_name_too_many_outside_is_enough(server: Server[Any], workspace: Workspace) -> None:
    link_outside(workspace, "out.txt")
    os.link(workspace.root / "skills/paper/out.txt", workspace.root / "skills/paper/twin.txt")
    for name in ("out.txt", "twin.txt"):
        assert refused(server, f"skill://skills/paper/{name}").data["code"] == "NOT_FOUND"


def test_a_skill_file_that_is_a_hard_link_leading_out_is_not_served(
    server: Server[Any], workspace: Workspace
) -> None:
    os.link(workspace.root / "skills/paper/SKILL.md", workspace.root.parent / "outside.md")
    uri = "skill://skills/paper/SKILL.md"
    assert listed(server) == []
    with pytest.raises(MCPError) as caught:
        sent(server, GetSkill(params=OfUri(uri=uri)))
    for error in (refused(server, uri), caught.value):
        assert error.data["message"] == f"no resource '{uri}'"

    async def resources(client: Client) -> list[str]:
        return [str(one.uri) for one in (await client.list_resources()).resources]

    assert asked(server, resources) == []
    (workspace.root.parent / "outside.md").unlink()
    assert len(listed(server)) == 1
    assert asked(server, resources) == [uri]


def test_the_tree_of_a_mounted_skill_is_its_mount(workspace: Workspace, tmp_path: Path) -> None:
    mounted = Workspace(tmp_path / "team")
    mounted.skill("shared", folder="shared")
    twin = mounted.write("common/notes.md", "notes")
    own = workspace.write("notes.md", "of the workspace")
    os.link(twin, mounted.root / "shared/notes.md")
    os.link(own, mounted.root / "shared/out.md")
    mounts = (Mount(path=str(mounted.root), label="team"),)
    with serving(lambda: refreshed(workspace.root, mounts=mounts)) as server:
        (entry,) = listed(server)
        names = [one["uri"].rpartition("/")[2] for one in entry["resources"]]
        assert names == ["SKILL.md", "notes.md"]


def test_no_more_than_so_many_names_are_looked_at(
    server: Server[Any], workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(30):
        workspace.write(f"docs/{number}.md", "x")
    link_outside(workspace, "out.txt")
    looked: list[str] = []
    count = hard_links._Tree._count

    def counted(tree: Any, descriptor: int, folder: str, device: int) -> None:
        looked.append(folder)
        count(tree, descriptor, folder, device)

    monkeypatch.setattr(hard_links._Tree, "_count", counted)
    listed(server)
    assert len(looked) == len(set(looked))  # each folder once for a request
    everything = len(looked)
    monkeypatch.setattr(hard_links, "MOST_ENTRIES", 10)
    looked.clear()
    listed(server)
    assert 0 < len(looked) < everything
