"""A new host is one file: with it, and the table made from it, every part of metier knows it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import metier

PACKAGE = Path(metier.__file__).parent
SCRIPT = Path(__file__).parents[2] / "tools" / "make_host_table.py"
HOST = '''
"""Kiln, which does not exist."""

from collections.abc import Iterator, Sequence
from typing import Any

from metier.hosts.events import Event, Fired, Reader, Session, Wanted
from metier.hosts.model import (
    Hook, Host, Key, Listing, Loading, Mark, SentListing, SkillFolder, Switch, Transcripts,
)
from metier.hosts.settings_forms import Entry, ServerList, SettingsFile
from metier.hosts.listing_types import Listing as Shown, Rule, Shown as Line, Skill
from metier.hosts.skill_settings import HostSettings, SkillSettings, merged_at
from metier.hosts.starting import Start, Started, Surroundings
from metier.hosts.tools import HostTools, skill_tool
from metier.hosts.transcript_files import Transcript, UserFolders, found
from metier.hosts.transcript_lines import Lines


def _shows(skills: list[Skill], limit: int) -> Shown:
    lines = [Line(one, one.name, one.description or "", "whole", 9) for one in skills]
    return Shown(
        entries=tuple(lines), used=len(lines), budget=limit, unit="characters",
        lines=tuple(f"* {one.name}" for one in lines), needed=len(lines),
    )


def _settings(settings: Sequence[dict[str, Any]], _home: str) -> HostSettings:
    off = merged_at(settings, "off")
    return HostSettings(lambda skill, _: {"off": "true"} if skill.name in off else {})


def _transcripts(folders: UserFolders) -> Iterator[Transcript]:
    yield from found(folders.moved("KILN_HOME", ".kiln"), "logs", "*.jsonl")


def _read(path: str, wanted: Wanted) -> Iterator[Event]:
    lines = Lines(path)
    for line in lines:
        entry = lines.parsed(line)
        if "folder" in entry:
            yield (session := Session(entry["id"], entry["folder"], 1_794_000_000.0))
            if not wanted(session):
                return
        else:
            yield Fired(entry["used"], "", 1_794_000_001.0, "model", entry["id"])


def _started(given: Surroundings) -> Started:
    return Started({}, {"KILN_URL": given.url})


HOST = Host(
    name="kiln",
    title="Kiln",
    loading=Loading(
        project=(".kiln/skills",), user=("~/.kiln/skills",), borrowed=(), admin=(), depth=1,
        bare=False, walks_up=False, nested=False, links=True, name="front matter",
        unnamed="folder", undescribed="dropped", headless="dropped", invalid="dropped",
        precedence=("project", "user"), duplicates="one loads", needs_trust=(),
    ),
    plugins=None,
    keys={"kiln-glaze": Key(choices=("matt", "clear"))},
    switches=(Switch("settings", "off", {"true": "off"}, ".kiln/kiln.json"),),
    listing=Listing(
        rule="all", fraction=None, characters=100, unit="characters", longest=None,
        context=8_000, order="as found", form="lines", computed_by=Rule(_shows, lambda _: 100),
        sent=SentListing("SKILLS\\n", "\\nEND", r"(?m)^\\* (.*)$"),
    ),
    hook_settings=SettingsFile(
        ".kiln/hooks.json", ".kiln/hooks.json", "light Kiln again", entry=Entry("OnPrompt")
    ),
    mcp_settings=SettingsFile(
        ".kiln/mcp.json", ".kiln/mcp.json", "light Kiln again", servers=ServerList(("servers",))
    ),
    hook=Hook(
        event="OnPrompt", others=("OnResume",), sees_prompt=True, answer="additionalContext",
        longest="all",
    ),
    transcripts=Transcripts(
        files=("~/.kiln/logs/*.jsonl",), form="JSON lines", fired=("`used`",),
        marks=(Mark('"fired"', '"used": "', '"'),),
        read_by=Reader(_transcripts, _read, "KILN_HOME"),
    ),
    sources={},
    folders=(
        SkillFolder("kiln", ".kiln/skills"), SkillFolder("kiln-user", "~/.kiln/skills"),
    ),
    skill_settings=SkillSettings(".kiln/kiln.json", (".kiln/kiln.json",), _settings),
    start=Start("kiln", ("ask",), _started),
    tools=HostTools((skill_tool("fire", "skill"),), "fire", "skill"),
)
'''
SKILL = "---\nname: {name}\ndescription: Glazes {name} in the kiln.\n{more}---\n\nDo it.\n"


TABLES = ("table.py", "key_table.py")


class Kiln:
    """A copy of metier that has one more file, a workspace and a home."""

    def __init__(self, folder: Path) -> None:
        self.root, self.home = folder / "work", folder / "home"
        self._package = folder / "python"
        _link(PACKAGE, self._package / "metier", {"hosts"})
        _link(PACKAGE / "hosts", self._package / "metier" / "hosts", {"known", *TABLES})
        known = self._package / "metier" / "hosts" / "known"
        _link(PACKAGE / "hosts" / "known", known, set())
        for table in TABLES:  # which the script writes
            (known.parent / table).write_bytes((PACKAGE / "hosts" / table).read_bytes())
        (known / "kiln.py").write_text(HOST)
        self.home.mkdir()
        (self.root / ".git").mkdir(parents=True)
        self.python(str(SCRIPT))

    def write(self, path: str, text: str) -> None:
        file = self.home / path.removeprefix("~/") if path[0] == "~" else self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def skill(self, folder: str, name: str, more: str = "") -> None:
        self.write(f"{folder}/{name}/SKILL.md", SKILL.format(name=name, more=more))

    def python(self, *arguments: str, given: str = "", status: int = 0) -> str:
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.root,
            input=given,
            capture_output=True,
            text=True,
            env={**kept, "HOME": str(self.home), "PYTHONPATH": str(self._package)},
            check=False,
        )
        assert done.returncode == status, done.stderr
        return done.stdout

    def metier(self, *arguments: str, given: str = "", status: int = 0) -> str:
        return self.python("-P", "-m", "metier", *arguments, given=given, status=status)

    def json(self, *arguments: str, status: int = 0) -> Any:
        return json.loads(self.metier(*arguments, "--json", status=status))


def _link(source: Path, target: Path, without: set[str]) -> None:
    target.mkdir(parents=True)
    for one in source.iterdir():
        if one.name not in {*without, "__pycache__"}:
            (target / one.name).symlink_to(one)


@pytest.fixture(scope="module")
def kiln(tmp_path_factory: pytest.TempPathFactory) -> Kiln:
    kiln = Kiln(tmp_path_factory.mktemp("kiln"))
    kiln.skill(".kiln/skills", "pots", "kiln-glaze: matt\n")
    kiln.skill(".kiln/skills/deep", "vases")
    kiln.skill("~/.kiln/skills", "tiles")
    kiln.skill("~/.kiln/skills", "bowls")
    kiln.write("~/.kiln/kiln.json", '{"off": {"bowls": 1}}')
    return kiln


def by_name(rows: list[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in rows}


def test_its_folders_are_searched(kiln: Kiln) -> None:
    found = by_name(kiln.json("list"))
    sources = {name: found[name]["source"] for name in ("pots", "vases", "tiles", "bowls")}
    assert sources == {
        "pots": "kiln", "vases": "kiln", "tiles": "kiln-user", "bowls": "kiln-user",
    }  # fmt: skip


def test_doctor_says_what_it_loads(kiln: Kiln) -> None:
    found = by_name(kiln.json("doctor", "--host", "kiln", status=1))
    assert {name: row["state"] for name, row in found.items() if row["state"] != "elsewhere"} == {
        "vases": "does-not-load", "bowls": "off", "pots": "loads", "tiles": "loads",
    }  # fmt: skip
    assert found["vases"]["message"] == "does not load: 1 level too deep for Kiln"


def test_its_listing_is_computed_by_its_own_rule(kiln: Kiln) -> None:
    shown = kiln.metier("listing", "--host", "kiln", "--show")
    assert shown == "* tiles\n* pots\n"


def test_its_listing_can_be_measured(kiln: Kiln) -> None:
    code = (
        "from metier.listing.recorder import Request; from metier.listing.sent import sent_skills;"
        "text = 'x SKILLS\\n* pots\\n* tiles\\nEND';"
        "print([one.name for one in sent_skills('kiln', [Request('/', {'a': text})])])"
    )
    assert kiln.python("-c", code) == "['pots', 'tiles']\n"


def test_its_tools_are_offered_in_evaluations(kiln: Kiln) -> None:
    code = "from metier.evals.host_tools import HOST_TOOLS; print(HOST_TOOLS['kiln'].specs[0].name)"
    assert kiln.python("-c", code) == "fire\n"


def test_its_keys_are_known_to_lint(kiln: Kiln) -> None:
    kiln.write("odd/SKILL.md", SKILL.format(name="odd", more="kiln-glaze: pink\nkiln-heat: 9\n"))
    found = kiln.json("lint", "odd", "--notes")
    assert [one["message"] for one in found] == [
        "no host is known to accept 'kiln-glaze: pink'",
        "unknown key 'kiln-heat'",
    ]
    assert kiln.json("lint", ".kiln/skills/pots", "--notes") == []


def test_the_hook_is_installed_found_and_answers(kiln: Kiln) -> None:
    kiln.metier("hook", "install", "kiln", "--user")
    settings = json.loads((kiln.home / ".kiln/hooks.json").read_text())
    [group] = settings["hooks"]["OnPrompt"]
    assert group["hooks"][0]["command"].endswith("hook kiln")
    states = {row["scope"]: row["state"] for row in kiln.json("hook", "status", "kiln")}
    assert states == {"project": "not installed", "user": "installed"}
    asked = {"prompt": "glaze tiles in the kiln", "cwd": str(kiln.root), "event": "OnPrompt"}
    kiln.metier("refresh")
    answer = json.loads(kiln.metier("hook", "kiln", given=json.dumps(asked)))
    assert "'tiles'" in answer["additionalContext"]


def test_its_skills_that_a_session_used_are_found(kiln: Kiln) -> None:
    log = kiln.home / "session.jsonl"
    log.write_text('{"fired": 1, "used": "tiles"}\n')
    code = f"from metier.hook.used import used_skills; print(used_skills({str(log)!r}))"
    assert kiln.python("-c", code) == "['tiles']\n"


def test_an_mcp_server_is_installed(kiln: Kiln) -> None:
    kiln.metier("mcp", "install", "kiln", "--user")
    assert "metier" in json.loads((kiln.home / ".kiln/mcp.json").read_text())["servers"]


def test_which_names_only_skills_that_it_loads(kiln: Kiln) -> None:
    found = kiln.json("which", "glaze pots in the kiln", "--host", "kiln")
    names = [one["name"] for one in found["skills"]]
    assert "pots" in names
    assert "vases" not in names


def test_its_transcripts_are_read(kiln: Kiln) -> None:
    lines = [{"id": "s", "folder": str(kiln.root)}, {"id": "1", "used": "pots"}]
    kiln.write("~/.kiln/logs/s.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    found = by_name(kiln.json("usage", "--host", "kiln", "--since", "2026-01-01")["skills"])
    assert found["pots"]["fired"] == 1
