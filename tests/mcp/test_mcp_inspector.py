"""The Inspector, the protocol's own client from npm, of both eras; it also checks the skills."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace
from mcp_node import NODE, install_clients
from mcp_served import METIER, environment, example, over_http
from metier.mcp.skill_files import MOST_SENT

SECONDS = 300
PATIENT = ("--connect-timeout", str(SECONDS * 1_000))
"""A server on a busy machine starts slowly."""
LAUNCHER = "clients/launcher/build/index.js"
OLD = ("inspector-1", "cli/build/cli.js", ())
NEW = ("inspector-2", LAUNCHER, (*PATIENT, "--protocol-era", "modern"))
NEW_AS_OLD = ("inspector-2", LAUNCHER, (*PATIENT, "--protocol-era", "legacy"))
ERAS = [
    pytest.param(OLD, id="1.0.3"),
    pytest.param(NEW, id="2 modern"),
    pytest.param(NEW_AS_OLD, id="2 legacy", marks=pytest.mark.soak),
]
NEWEST = [
    pytest.param(OLD, id="1.0.3", marks=pytest.mark.soak),
    pytest.param(NEW, id="2 modern"),
    pytest.param(NEW_AS_OLD, id="2 legacy", marks=pytest.mark.soak),
]
UNKNOWN_TOOL = 5


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def _installed() -> None:
    install_clients()


def inspected(
    which: tuple[str, str, tuple[str, ...]], target: list[str], home: Path, *options: str
) -> "subprocess.CompletedProcess[str]":
    name, script, era = which
    home.mkdir(exist_ok=True)
    return subprocess.run(
        ["node", str(NODE / "node_modules" / name / script), "--cli", *target, *era, *options],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        env=environment(HOME=str(home)),
        check=False,
    )


def answered(done: "subprocess.CompletedProcess[str]") -> dict[str, Any]:
    assert done.returncode == 0, done.stdout + done.stderr
    data: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return data


@pytest.fixture
def target(tmp_path: Path) -> list[str]:
    return [METIER, "mcp", "--root", str(example(tmp_path))]


@pytest.mark.parametrize("which", ERAS)
def test_it_lists_the_tools(which: Any, target: list[str], tmp_path: Path) -> None:
    data = answered(inspected(which, target, tmp_path / "home", "--method", "tools/list"))
    assert [tool["name"] for tool in data["tools"]] == [
        "skill_list",
        "capability_resolve",
        "capability_list",
        "context_find",
        "context_inject",
    ]


@pytest.mark.parametrize("which", NEWEST)
def test_it_calls_a_tool_and_reads_a_skill(which: Any, target: list[str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    call = ("--method", "tools/call", "--tool-name", "skill_list")
    data = answered(inspected(which, target, home, *call, "--tool-arg", "capability=web-search"))
    skills = data["structuredContent"]["skills"]
    assert [one["name"] for one in skills] == ["brave-search", "do-everything", "searx-search"]
    assert json.loads(data["content"][0]["text"]) == data["structuredContent"]
    read = ("--method", "resources/read", "--uri", skills[0]["uri"])
    contents = answered(inspected(which, target, home, *read))["contents"]
    assert contents[0]["text"].startswith("---\nname: brave-search")


@pytest.mark.soak
def test_the_old_one_gets_an_unknown_tool_as_an_error_result(
    target: list[str], tmp_path: Path
) -> None:
    call = ("--method", "tools/call", "--tool-name", "nothing")
    done = inspected(OLD, target, tmp_path / "home", *call)
    said = done.stdout + done.stderr
    assert "TOOL_NOT_FOUND" in said or "not found" in said
    assert "Traceback" not in said


@pytest.mark.soak
def test_the_new_one_knows_an_unknown_tool_by_itself(target: list[str], tmp_path: Path) -> None:
    call = ("--method", "tools/call", "--tool-name", "nothing")
    done = inspected(NEW, target, tmp_path / "home", *call)
    assert done.returncode == UNKNOWN_TOOL, done.stdout + done.stderr


@pytest.mark.soak
@pytest.mark.parametrize("which", ERAS)
def test_it_lists_and_gets_prompts(which: Any, target: list[str], tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = answered(inspected(which, target, home, "--method", "prompts/list"))
    assert "reviewer" in [one["name"] for one in data["prompts"]]
    get = ("--method", "prompts/get", "--prompt-name", "reviewer", "--prompt-args", "task=look")
    assert (
        answered(inspected(which, target, home, *get))["messages"][-1]["content"]["text"] == "look"
    )


@pytest.mark.soak
def test_it_finds_no_schema_that_other_clients_could_not_use(
    target: list[str], tmp_path: Path
) -> None:
    done = inspected(NEW, target, tmp_path / "home", "--method", "tools/list", "--strict")
    assert done.returncode == 0, done.stderr


ODD = """\
version: 1.0
date: 2026-01-02
yes: no
empty:
list: [1, a, true]
map: {a: {b: 1}}
"""
VERIFY = ("--method", "skills/list", "--verify", "--require-digests")


def reports(done: "subprocess.CompletedProcess[str]") -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_every_skill_of_the_example_is_verified(target: list[str], tmp_path: Path) -> None:
    done = inspected(NEW, target, tmp_path / "home", *VERIFY)
    assert done.returncode == 0, done.stdout + done.stderr
    found = reports(done)
    assert len(found) >= 10
    assert {one["outcome"] for one in found} == {"verified"}


def test_odd_skills_and_files_are_verified_too(workspace: Workspace, tmp_path: Path) -> None:
    workspace.skill(
        "odd",
        "Quotes 'and' — dashes.",
        extra=ODD,
        body="\r\nText with ümlauts\r\n",
    )
    workspace.write("skills/odd/a b/ü.md", "text")
    workspace.write("skills/odd/blob.bin", bytes(range(256)))
    workspace.write("skills/odd/empty", "")
    workspace.write("skills/odd/bom.txt", "\ufefftext")
    workspace.write(
        "skills/Bad_Name/SKILL.md", "---\nname: Bad_Name\ndescription: Bad.\n---\n\nx\n"
    )
    workspace.write("skills/broken/SKILL.md", "---\nname: broken\ndescription: a: b\n---\n\nx\n")
    workspace.write(
        "skills/bare/SKILL.md", '---\nname: bare\ndescription: "Not\nindented."\n---\n\nx\n'
    )
    workspace.skill("long", "word " * 300)
    workspace.skill("inner", folder="skills/odd/inner")
    done = inspected(
        NEW, [METIER, "mcp", "--root", str(workspace.root)], tmp_path / "home", *VERIFY
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = {one["name"]: one for one in reports(done)}
    assert set(found) == {"inner", "odd"}
    assert len(found["odd"]["files"]) == 6
    assert {one["outcome"] for one in found.values()} == {"verified"}


@pytest.mark.soak
def test_the_largest_file_arrives_and_a_larger_one_does_not_end_the_connection(
    workspace: Workspace, tmp_path: Path
) -> None:
    workspace.skill("heavy")
    largest = b"\xff" * (MOST_SENT // 4 * 3)
    workspace.write("skills/heavy/blob.bin", largest)
    workspace.skill("heavier")
    workspace.write("skills/heavier/blob.bin", largest + b"\xff")
    target = [METIER, "mcp", "--root", str(workspace.root)]
    done = inspected(NEW, target, tmp_path / "home", *VERIFY)
    assert done.returncode == 0, done.stdout[:2_000] + done.stderr
    (found,) = reports(done)
    assert (found["name"], found["outcome"]) == ("heavy", "verified")
    read = ("--method", "resources/read", "--uri", "skill://skills/heavier/blob.bin")
    done = inspected(NEW, target, tmp_path / "home", *read)
    assert done.returncode != 0
    assert f"{len(largest) + 1} bytes" in done.stdout + done.stderr


@pytest.mark.soak
def test_it_verifies_over_http_with_a_token(tmp_path: Path) -> None:
    with over_http(example(tmp_path), token="the-token") as server:
        target = ["--server-url", server.url, "--transport", "http"]
        header = ("--header", "Authorization: Bearer the-token")
        done = inspected(NEW, target, tmp_path / "home", *VERIFY, *header)
        assert done.returncode == 0, done.stdout + done.stderr
        refused = inspected(NEW, target, tmp_path / "home", *VERIFY)
        assert refused.returncode != 0
    assert os.path.exists(tmp_path / "home")
