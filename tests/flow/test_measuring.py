"""`metier listing --measure` with a host that the tests write: it sends what a file says."""

import json
import os
import sys
from pathlib import Path

import jsonschema
import pytest

import metier
from conftest import Workspace
from metier.catalog import Catalog
from metier.cli import run
from metier.errors import UsageError
from metier.flow.measuring import Measured, program_of

pytestmark = pytest.mark.slow

HOST = """\
#!{python}
import json, os, pathlib, sys, urllib.request
home = pathlib.Path.home()
lines = ["- {name}: {text}"]
seen = {{
    "cwd": os.getcwd(), "home": str(home), "environ": dict(os.environ),
    "files": sorted(str(one.relative_to(home)) for one in home.rglob("*") if one.is_file()),
    "skills": sorted(str(one) for one in pathlib.Path(".").rglob("SKILL.md")),
}}
text = "The following skills are available for use with the Skill tool:\\n\\n" + "\\n".join(lines)
body = {{"messages": [{{"role": "user", "content": text + "\\n</system-reminder>"}}], "seen": seen}}
pathlib.Path({report!r}).write_text(json.dumps(seen))
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode()
)
urllib.request.build_opener(urllib.request.ProxyHandler({{}})).open(request).read()
"""


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the host says what it saw; it is on the PATH and lists one skill."""
    program = tmp_path / "bin/claude"
    program.parent.mkdir()
    file = tmp_path / "seen.json"
    program.write_text(
        HOST.format(python=sys.executable, name="bell", text="Rings.", report=str(file))
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("ANTHROPIC_AUTH_TOKEN", "a secret")
    return file


def measured(workspace: Workspace) -> Measured:
    with Catalog.open(workspace.root) as catalog:
        catalog.refresh()
        return catalog.measure_listing(catalog.listing("claude-code"))


def test_a_host_that_lists_what_was_computed_shows_no_difference(
    workspace: Workspace, report: Path
) -> None:
    workspace.skill("bell", "Rings.", folder=".claude/skills/bell")
    found = measured(workspace)
    assert (found.text, found.differences) == ("- bell: Rings.", [])
    assert report.exists()


def test_each_skill_that_is_listed_otherwise_is_named(workspace: Workspace, report: Path) -> None:
    workspace.skill("bell", "Rings loudly.", folder=".claude/skills/bell")
    workspace.skill("drum", "Drums.", folder=".claude/skills/drum")
    found = measured(workspace)
    assert [tuple(one) for one in found.differences] == [
        ("bell", "Rings loudly.", "Rings."),
        ("drum", "Drums.", None),
    ]
    assert report.exists()


def test_the_host_gets_copies_without_credentials(
    workspace: Workspace, report: Path, empty_home: Path
) -> None:
    workspace.skill("bell", "Rings.", folder=".claude/skills/bell")
    Workspace(empty_home).skill("mine", "Mine.", folder=".claude/skills/mine")
    (empty_home / ".claude/.credentials.json").write_text('{"token": "a secret"}')
    (empty_home / ".claude.json").write_text('{"oauthAccount": "a secret", "skillUsage": {}}')
    (empty_home / ".claude/settings.json").write_text(
        '{"env": {"TOKEN": "a secret"}, "apiKeyHelper": "x", "skillOverrides": {"bell": "on"}}'
    )
    before = {str(one): one.stat().st_mtime_ns for one in workspace.root.rglob("*")}
    measured(workspace)
    seen = json.loads(report.read_text())
    assert not seen["cwd"].startswith(str(workspace.root))
    assert seen["skills"] == [".claude/skills/bell/SKILL.md"]
    assert seen["files"] == [
        ".claude.json",
        ".claude/settings.json",
        ".claude/skills/mine/SKILL.md",
    ]
    assert "a secret" not in json.dumps(seen["environ"])
    assert not Path(seen["home"]).exists()
    assert before == {str(one): one.stat().st_mtime_ns for one in workspace.root.rglob("*")}


def test_a_program_of_the_workspace_is_never_started(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = workspace.write("bin/claude", "#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.chdir(workspace.root)
    monkeypatch.setenv("PATH", f"{workspace.root}/bin:bin:.")
    with pytest.raises(UsageError, match="no 'claude' on your PATH"):
        program_of("claude-code", str(workspace.root))


def test_the_json_follows_its_schema(
    workspace: Workspace, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("drum", "Drums.", folder=".claude/skills/drum")
    asked = ["listing", "--host", "claude-code", "--measure", "--yes", "--json"]
    assert run([*asked, "--root", str(workspace.root)]) == 1
    schemas = Path(metier.__file__).parent / "schemas"
    schema = json.loads((schemas / "listing-measured.v1.schema.json").read_text())
    jsonschema.validate(json.loads(capsys.readouterr().out), schema)
    assert report.exists()


def test_nothing_starts_without_consent(
    workspace: Workspace, report: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workspace.skill("bell", "Rings.", folder=".claude/skills/bell")
    asked = ["listing", "--host", "claude-code", "--measure", "--root", str(workspace.root)]
    assert run(asked) == 2
    assert "needs your consent" in capsys.readouterr().err
    assert not report.exists()
    assert run([*asked, "--yes"]) == 0
    assert "your skills are listed as computed" in capsys.readouterr().out
    assert report.exists()


def test_a_host_that_cannot_be_pointed_at_a_server_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="Cursor cannot be measured"):
        program_of("cursor", str(workspace.root))
