"""Every path that a command shows can be opened from the folder in which it was typed."""

import json
import os
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Workspace, trust
from metier.cli import run

pytestmark = pytest.mark.slow

BAD = "disable-model-invocation: maybe"
"""A finding, and a usable skill."""
SETTINGS = """
mounts = [{ path = "../team", label = "team" }]

[capabilities]
exclude = ["nobody"]
sources = [
    { type = "local", location = "more/cards" },
    { type = "database", location = "cards.db" },
]
"""
CARD = "---\nid: {id}\nname: {id}\ndescription: About it.\ntriggers: {{keywords: []}}\n---\nText.\n"
CACHE = ".claude/plugins/cache/official/discord/1.0.0"


class Setup:
    """A workspace, the home of its user, and a folder of a team, each with something wrong."""

    def __init__(self, workspace: Workspace, home: Path) -> None:
        self.root = workspace.root
        self.home = home
        self.folders = {
            "the workspace": self.root,
            "a folder below": self.root / "packages/deep",
            "a folder of a skill": self.root / "skills/own",
            "the home folder": home,
            "elsewhere": self.root.parent,
        }
        (self.root / "packages/deep").mkdir(parents=True)
        workspace.write("metier.toml", SETTINGS)
        workspace.write(".dci/aliases.v1.json", "{}")
        workspace.skill("own", extra=BAD)
        workspace.skill("project", folder=".claude/skills/project", extra=BAD)
        workspace.skill("twice", "Draws one chart from a table.", folder="skills/twice")
        workspace.write("skills/broken/SKILL.md", "no front matter")
        workspace.write("agents/worker.yaml", "agentId: worker\ndescription: Works.\nsurprise: 1\n")
        workspace.write("abilities/go.md", "---\nabilityId: Go!\n---\nWrite Go.\n")
        workspace.write("docs/capabilities/web.md", CARD.format(id="web"))
        workspace.write("more/cards/far.md", CARD.format(id="far"))
        with sqlite3.connect(self.root / "cards.db") as database:
            database.execute("CREATE TABLE card (id TEXT, text TEXT)")
            database.execute("INSERT INTO card VALUES ('db', ?)", (CARD.format(id="db"),))
        database.close()
        users = Workspace(home)
        users.skill("hosted", folder=".claude/skills/hosted", extra=BAD)
        users.skill("twice", "Paints two fences in green.", folder=".agents/skills/twice")
        users.skill("access", folder=f"{CACHE}/skills/access", extra=BAD)
        users.write(f"{CACHE}/.claude-plugin/plugin.json", '{"name": "discord"}')
        users.write(".codex/skills/empty/SKILL.md", "")
        team = Workspace(self.root.parent / "team")
        team.skill("mounted", folder="skills/mounted", extra=BAD)
        copy = (self.root / "skills/own/SKILL.md").read_bytes()
        team.write("skills/own/SKILL.md", copy)
        trust(self.root)


@pytest.fixture
def setup(workspace: Workspace, empty_home: Path) -> Setup:
    return Setup(workspace, empty_home)


Run = Callable[..., str]


@pytest.fixture(params=["the workspace", "a folder below", "a folder of a skill", "the home folder",
                        "elsewhere"])  # fmt: skip
def call(
    request: pytest.FixtureRequest,
    setup: Setup,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Run:
    """Run a command on the workspace in one of several folders; what it prints."""
    monkeypatch.chdir(setup.folders[request.param])
    is_inside = Path.cwd().is_relative_to(setup.root)

    def called(*arguments: str) -> str:
        run([*arguments, *([] if is_inside else ["--root", str(setup.root)])])
        return capsys.readouterr().out

    return called


def opened(paths: list[str]) -> set[str]:
    """Open each of these; the last two parts of their names."""
    for path in paths:
        assert os.path.exists(path), path
    return {"/".join(Path(os.path.abspath(path)).parts[-2:]) for path in paths}


WITH_FINDINGS = {
    *("own/SKILL.md", "project/SKILL.md", "broken/SKILL.md", "hosted/SKILL.md"),
    *("access/SKILL.md", "mounted/SKILL.md", "empty/SKILL.md", "twice/SKILL.md"),
    *("agents/worker.yaml", "abilities/go.md", "capabilities/web.md", "workspace/metier.toml"),
    ".dci/aliases.v1.json",
}


def without_sources(names: set[str]) -> set[str]:
    return {name for name in names if not re.search(r"(far|db)\.md$", name)}


def test_findings(call: Run) -> None:
    found = json.loads(call("lint", "--user", "--json", "--notes"))
    names = opened([one["path"] for one in found])
    assert without_sources(names) == WITH_FINDINGS
    assert len(names) == len(WITH_FINDINGS) + 2


def test_findings_for_people(call: Run) -> None:
    lines = call("lint", "--user", "--notes").splitlines()
    places = [re.match(r"(.+):\d+:\d+: [A-Z]+\d+ ", line) for line in lines]
    assert without_sources(opened([one[1] for one in places if one])) == WITH_FINDINGS


def test_findings_for_github_and_other_programs(call: Run) -> None:
    lines = call("lint", "--user", "--notes", "--format", "github").splitlines()
    assert opened([re.findall(r"file=(.*?),line", line)[0] for line in lines])
    sarif = json.loads(call("lint", "--user", "--notes", "--format", "sarif"))
    places = [one["locations"][0]["physicalLocation"] for one in sarif["runs"][0]["results"]]
    assert opened([one["artifactLocation"]["uri"].removeprefix("file://") for one in places])


def test_other_files_that_findings_speak_of(call: Run) -> None:
    found = json.loads(call("lint", "--user", "--json", "--notes"))
    others = [re.findall(r"(?:also used by|exact copy of|that of) (\S*?SKILL\.md)", one["message"])
              for one in found]  # fmt: skip
    assert opened([path for some in others for path in some]) == {"own/SKILL.md", "twice/SKILL.md"}


def test_findings_of_a_refresh(call: Run) -> None:
    answer = json.loads(call("refresh", "--json"))
    assert opened([one["path"] for one in answer["issues"]])
    left_out = opened([one["path"] for one in answer["exclusions"]])
    assert {"broken/SKILL.md", "empty/SKILL.md"} <= left_out


@pytest.mark.parametrize("kind", ["skills", "agents", "abilities", "cards"])
def test_lists(call: Run, kind: str, setup: Setup) -> None:
    listed = json.loads(call("list", kind, "--json", "--shadowed"))
    assert all(os.path.isabs(one["file"]) for one in listed)
    opened([one["file"] for one in listed])
    column = 3 if kind == "abilities" else 1
    rows = [line.split("\t") for line in call("list", kind, "--shadowed").splitlines()]
    opened([row[column] for row in rows])
    assert len(rows) == len(listed)


@pytest.mark.parametrize("name", ["own", "hosted", "discord:access", "mounted", "twice"])
def test_one_document(call: Run, name: str) -> None:
    assert opened([json.loads(call("show", "skill", name, "--json"))["file"]])
    facts = re.findall(r"^file: (.*)$", call("show", "skill", name), re.MULTILINE)
    assert opened(facts)


def test_a_shadowed_document_names_the_one_that_shadows_it(call: Run) -> None:
    shadowed = "twice::agents-user/twice"
    text = call("show", "skill", shadowed)
    twin = re.findall(r"^shadowed by: (.*)$", text, re.MULTILINE)
    assert opened(twin) == {"twice/SKILL.md"}
    (told,) = re.findall(r"also used by (\S+), which", text)
    assert opened([told]) == {"twice/SKILL.md"}
    answer: Any = json.loads(call("show", "skill", shadowed, "--json"))
    assert opened([one["path"] for one in answer["findings"]])


def test_what_doctor_says_is_left_out(call: Run) -> None:
    told = re.findall(r"^\S* *(\S+SKILL\.md) \(", call("doctor"), re.MULTILINE)
    assert {"broken/SKILL.md", "empty/SKILL.md"} <= opened(told)


def test_a_document_that_was_left_out_is_named_by_its_file(
    setup: Setup, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["show", "skill", "empty", "--root", str(setup.root)]) != 0
    where = capsys.readouterr().err.splitlines()[-2].strip()
    assert opened([where]) == {"empty/SKILL.md"}


def test_paths_below_the_current_folder_are_relative(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(setup.root)
    run(["list"])
    paths = [line.split("\t")[1] for line in capsys.readouterr().out.splitlines()]
    assert [path for path in paths if not os.path.isabs(path)] == [
        "skills/own/SKILL.md",
        ".claude/skills/project/SKILL.md",
        "skills/twice/SKILL.md",
    ]
