"""Nothing outside a skill can be read: no way up, no link, no odd file, no race."""

import asyncio
import os
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.server.lowlevel import Server
from mcp.types import INVALID_PARAMS, TextResourceContents

from conftest import Workspace
from mcp_sep2640 import bytes_of, listed, refused, write_paper
from mcp_served import asked, server_over


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
