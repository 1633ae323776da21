"""`metier lint`: what it prints in each format, what it is asked for, what it repairs."""

import json
import os
import stat
from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from cli.printed import Printed
from conftest import Workspace
from metier.cli import run
from metier.findings import CODES


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": [*properties], "properties": properties}


def array(items: dict[str, Any], least: int = 0) -> dict[str, Any]:
    return {"type": "array", "items": items, "minItems": least}


STRING, COUNT = {"type": "string"}, {"type": "integer", "minimum": 1}
LEVEL = {"enum": ["error", "warning", "note"]}
CODE = {"type": "string", "pattern": "^[A-Z]{2}[0-9]{3}$"}
URI = {"type": "string", "pattern": "^([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-F]{2})+$"}
PLACE = record(artifactLocation=record(uri=URI), region=record(startLine=COUNT, startColumn=COUNT))
RULE = record(
    id=CODE,
    shortDescription=record(text=STRING),
    help=record(text=STRING),
    defaultConfiguration=record(level=LEVEL),
)
FOUND = record(
    ruleId=CODE,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=record(text=STRING),
    locations=array(record(physicalLocation=PLACE), least=1),
)
DRIVER = record(name={"const": "metier"}, version=STRING, rules=array(RULE))
RUN = record(tool=record(driver=DRIVER), results=array(FOUND))
SARIF = record(version={"const": "2.1.0"}, runs=array(RUN, least=1))
"""The parts of SARIF 2.1.0 that are written."""

NAMELESS = "---\ndescription: Does one thing well. Use it when that is needed.\n---\n\nDo it.\n"
COLON = "---\nname: colon\ndescription: Do this: that. Use it when needed.\n---\n\nKeep: it's.\n"
THRICE = "---\ndescription: Do this: that. Use it when needed.\n---\n"
CRLF = "---\r\nname: crlf\r\ndescription: Does a lot. Use it now.\r\n---\r\n\r\nOne\r\ntwo\r\n"


class Result(Printed):
    __slots__ = ()

    @property
    def codes(self) -> list[str]:
        return [issue["code"] for issue in self.data]


Lint = Callable[..., Result]


@pytest.fixture
def lint(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Lint:
    """Run `metier lint` in the workspace, or in a folder of it."""

    def call(*arguments: str, folder: str = ".") -> Result:
        monkeypatch.chdir(workspace.root / folder)
        return Result(run(["lint", *arguments]), *capsys.readouterr())

    return call


def as_json(lint: Lint, *arguments: str, folder: str = ".") -> Result:
    return lint("--format", "json", *arguments, folder=folder)


def test_a_sound_workspace_gives_no_data_one_line_and_exit_0(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.skill("one")
    assert lint() == Result(0, "", "1 file checked, no problems found\n")


def test_text_is_a_place_a_code_a_message_and_a_hint(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/colon/SKILL.md", COLON)
    assert lint() == Result(
        1,
        "skills/colon/SKILL.md:3:21: FM104 [*]"
        " the value of 'description' holds ': ' and is not quoted [copilot]\n"
        "    hint: put the value in quotes\n",
        "1 file checked: 1 error in 1 file; 1 can be repaired with --fix\n",
    )


def test_json_holds_every_field_of_a_finding(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    (issue,) = json.loads(as_json(lint).out)
    assert issue == {
        "code": "SK301",
        "severity": "warning",
        "path": "skills/nameless/SKILL.md",
        "line": 2,
        "column": 1,
        "message": "the skill has no name; its folder's name 'nameless' is used",
        "hint": "add 'name: nameless'",
        "fixable": True,
        "hosts": CODES["SK301"].hosts,
    }


def test_lint_takes_json_like_every_other_command(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    assert lint("--json") == as_json(lint)


def sarif(result: Result) -> Any:
    log = json.loads(result.out)
    jsonschema.validate(log, SARIF)
    return log["runs"][0]


def test_sarif_has_the_shape_that_readers_expect(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/colon/SKILL.md", COLON)
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    only = sarif(lint("--format", "sarif", "--notes"))
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    assert rules == sorted(set(rules))
    assert [rules[result["ruleIndex"]] for result in only["results"]] == [
        result["ruleId"] for result in only["results"]
    ]
    assert sarif(lint("--format", "sarif", "--select", "IO"))["results"] == []


def test_sarif_writes_paths_as_uris(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/50% more/SKILL.md", NAMELESS)
    result = sarif(lint("--format", "sarif"))["results"][0]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place["uri"] == "skills/50%25%20more/SKILL.md"


def test_github_annotations_are_escaped(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/a,b: 5%\nc/SKILL.md", NAMELESS)
    first, *rest = lint("--format", "github").out.splitlines()
    assert first.startswith(
        "::warning title=metier SK301,file=skills/a%2Cb%3A 5%25%0Ac/SKILL.md,line=2,col=1::"
    )
    assert "its folder's name 'a,b: 5%25%0Ac' is used" in first
    assert [line.partition(" ")[0] for line in rest] == ["::warning"]


def test_select_and_ignore_take_codes_families_and_lists(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/thrice/SKILL.md", THRICE)
    assert as_json(lint).codes == ["SK301", "FM104", "SK312"]
    assert as_json(lint, "--select", "fm").codes == ["FM104"]
    assert as_json(lint, "--select", "FM,SK312").codes == ["FM104", "SK312"]
    assert as_json(lint, "--select", "FM", "--select", "SK301").codes == ["SK301", "FM104"]
    assert as_json(lint, "--ignore", "SK").codes == ["FM104"]
    assert as_json(lint, "--select", "SK", "--ignore", "SK312").codes == ["SK301"]
    assert lint("--ignore", "FM,SK").code == 0


@pytest.mark.parametrize("option", ["--select", "--ignore"])
def test_an_unknown_code_is_wrong_usage(workspace: Workspace, lint: Lint, option: str) -> None:
    refused = lint(option, "FM,QQ")
    assert refused.err.startswith("error: unknown code 'QQ' (USAGE)\nhint: families: ")
    assert (refused.code, refused.out) == (2, "")


def test_settings_select_and_ignore_until_the_command_line_does(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("skills/thrice/SKILL.md", THRICE)
    workspace.write("metier.toml", '[lint]\nselect = ["SK"]\nignore = ["SK312"]\n')
    assert as_json(lint).codes == ["SK301"]
    assert as_json(lint, "--select", "FM").codes == ["FM104"]
    assert as_json(lint, "--ignore", "SK301").codes == ["SK312"]


IGNORED = '[lint.per-file-ignores]\n"skills/vendor/*" = ["SK", "FM"]\n'


def test_findings_can_be_ignored_in_some_files(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/vendor/nameless/SKILL.md", NAMELESS)
    workspace.write("skills/own/SKILL.md", NAMELESS.replace("one thing", "another"))
    workspace.write("metier.toml", IGNORED)
    assert lint().out.startswith("skills/own/SKILL.md:2:1: SK301")
    assert as_json(lint).codes == ["SK301"]


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("skills", "."),
        pytest.param("./skills", "."),
        pytest.param("SKILL.md", "skills/vendor/nameless"),
    ],
)
def test_ignored_files_are_ignored_however_they_are_named(
    workspace: Workspace, lint: Lint, path: str, folder: str
) -> None:
    workspace.write("skills/vendor/nameless/SKILL.md", NAMELESS)
    workspace.write("metier.toml", IGNORED)
    assert lint(path, folder=folder).code == 0


def test_notes_are_hidden_counted_and_never_fail(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/crlf/SKILL.md", CRLF)
    hidden, shown = lint(), lint("--notes")
    assert (hidden.code, hidden.out) == (0, "")
    assert "hidden (--notes)" in hidden.err
    assert shown.out.startswith("skills/crlf/SKILL.md:1:1: FM112 [*] ")
    assert shown.code == 0
    assert lint("--select", "FM112").out == shown.out
    assert lint("--strict").code == 1


@pytest.mark.parametrize(
    ("path", "folder", "shown"),
    [
        ("skills/nameless/SKILL.md", ".", "skills/nameless/SKILL.md"),
        ("skills/nameless", ".", "skills/nameless/SKILL.md"),
        ("skills/nameless/", ".", "skills/nameless/SKILL.md"),
        ("skills", ".", "skills/nameless/SKILL.md"),
        (".", ".", "skills/nameless/SKILL.md"),
        ("nameless", "skills", "nameless/SKILL.md"),
        ("../skills", "skills", "../skills/nameless/SKILL.md"),
    ],
)
def test_paths_are_shown_as_they_were_written(
    workspace: Workspace, lint: Lint, path: str, folder: str, shown: str
) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    result = lint(path, folder=folder)
    assert result.out.startswith(f"{shown}:2:1: SK301 ")
    assert "its folder's name 'nameless' is used" in result.out
    assert result.code == 1


@pytest.mark.parametrize("path", ["SKILL.md", ".", "./SKILL.md"])
def test_a_skill_knows_its_folder_from_inside(workspace: Workspace, lint: Lint, path: str) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    result = lint(path, folder="skills/nameless")
    assert "its folder's name 'nameless' is used" in result.out


@pytest.mark.parametrize("path", ["agents/x.yaml", "abilities/x.md", "docs/capabilities/x.md"])
def test_files_of_every_kind_are_known_by_their_folder(
    workspace: Workspace, lint: Lint, path: str
) -> None:
    workspace.write(path, "---\nid: [\n---\n")
    family = as_json(lint, path).codes
    assert family != []
    assert as_json(lint).codes == as_json(lint, path.rpartition("/")[0]).codes == family


@pytest.mark.parametrize("folder", [".", "other"])
@pytest.mark.parametrize("above", ["docs", "docs/", "."])
def test_a_folder_above_cards_is_looked_through(
    workspace: Workspace, lint: Lint, folder: str, above: str
) -> None:
    workspace.write(f"{folder}/docs/capabilities/x.md", "---\nid: [\n---\n")
    (found,) = as_json(lint, os.path.join(folder, above)).data
    assert found["path"].endswith("docs/capabilities/x.md")
    assert (workspace.root / found["path"]).is_file()


def test_a_folder_above_those_of_the_settings_is_looked_through(
    workspace: Workspace, lint: Lint
) -> None:
    workspace.write("metier.toml", 'folders.agents = ["teams/*/agents", "teams/red/more"]\n')
    workspace.write("teams/red/agents/x.yaml", "id: [\n")
    workspace.write("teams/red/more/y.yaml", "id: [\n")
    for named, shown in [("teams", "red/"), ("teams/red", ""), ("../workspace", "teams/red/")]:
        paths = [issue["path"] for issue in as_json(lint, named).data]
        assert paths == [f"{named}/{shown}agents/x.yaml", f"{named}/{shown}more/y.yaml"]


def test_a_file_of_no_known_kind_needs_to_be_told(workspace: Workspace, lint: Lint) -> None:
    workspace.write("notes/x.md", "text without front matter\n")
    refused = lint("notes/x.md")
    assert refused.code == 2
    assert refused.err.splitlines() == [
        "error: cannot tell what kind of document this is (USAGE)",
        "  notes/x.md",
        "hint: add --kind skill|ability|card|agent",
    ]
    assert lint("notes/x.md", "--kind", "card").out.startswith("notes/x.md:1:1: FM101 ")


def test_a_path_that_does_not_exist_is_wrong_usage(workspace: Workspace, lint: Lint) -> None:
    refused = lint("nope.md")
    assert refused.err.splitlines()[:2] == ["error: no such file or folder (USAGE)", "  nope.md"]
    assert (refused.code, refused.out) == (2, "")


def hostile_to_hosts(workspace: Workspace) -> None:
    """A file for each repair, and one that needs them all."""
    workspace.write("skills/colon/SKILL.md", COLON)
    workspace.write("skills/crlf/SKILL.md", CRLF)
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write("skills/bom/SKILL.md", b"\xef\xbb\xbf" + COLON.replace("colon", "bom").encode())
    whole = NAMELESS.replace("Does one", "Does: one").replace("\n", "\r\n")
    workspace.write("skills/all/SKILL.md", b"\xef\xbb\xbf" + whole.encode())


def test_fix_repairs_everything_mechanical_at_once(workspace: Workspace, lint: Lint) -> None:
    hostile_to_hosts(workspace)
    mechanical = ("--select", "FM104,FM112,FM113,SK301")
    assert len(as_json(lint, *mechanical).codes) == 9
    fixed = lint("--fix", *mechanical)
    assert fixed.err.startswith(
        "repaired 9 findings in 5 files\n5 files checked, no problems found"
    )
    assert (fixed.code, fixed.out) == (0, "")
    assert lint("--fix", *mechanical).err.startswith("nothing to repair\n")
    assert (workspace.root / "skills/all/SKILL.md").read_bytes() == (
        b"---\nname: all\ndescription: 'Does: one thing well. Use it when that is needed.'\n"
        b"---\n\nDo it.\n"
    )


def test_fix_keeps_the_words_of_the_body_and_the_mode_of_the_file(
    workspace: Workspace, lint: Lint
) -> None:
    hostile_to_hosts(workspace)
    folder = workspace.root / "skills"
    bodies = {}
    for name, mode in (("colon", 0o600), ("crlf", 0o755), ("all", 0o444)):
        file = folder / name / "SKILL.md"
        file.chmod(mode)
        bodies[name] = file.read_text("utf-8-sig").split("---\n")[2], mode
    lint("--fix", "--notes")
    for name, (body, mode) in bodies.items():
        file = folder / name / "SKILL.md"
        assert file.read_text().split("---\n")[2] == body
        assert stat.S_IMODE(file.stat().st_mode) == mode
        assert [one.name for one in file.parent.iterdir()] == ["SKILL.md"]


@pytest.mark.parametrize(
    "front",
    [
        "name: sure\ndescription: Do it well, always.\nmetadata: {a: b: c}",
        "name: sure\ndescription: Do it well, always.\nmetadata:\n  - {a: b: c}",
        "- sure\nname: sure\ndescription: Do it well, always.",
    ],
)
def test_fix_leaves_alone_what_it_cannot_be_sure_of(
    workspace: Workspace, lint: Lint, front: str
) -> None:
    file = workspace.write("skills/sure/SKILL.md", f"---\n{front}\n---\n\nDo it.\n")
    before = file.read_bytes()
    told = lint()
    assert "--fix" not in told.out + told.err
    assert lint("--fix").err.startswith("nothing to repair\n")
    assert file.read_bytes() == before


def test_fix_quotes_a_value_of_several_lines(workspace: Workspace, lint: Lint) -> None:
    text = "---\nname: folded\ndescription: Do this: that\n  and it's more: lines\n---\n\nDo it.\n"
    file = workspace.write("skills/folded/SKILL.md", text)
    assert lint("--fix", "--select", "FM").code == 0
    quoted = text.replace("Do this", "'Do this").replace("it's", "it''s").replace("lines", "lines'")
    assert file.read_text() == quoted


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "skills/two/SKILL.md",
            "---\nname: two\ndescription: a: b\nlicense: c: d\n---\n\nDo it.\n",
        ),
        ("skills/blank/SKILL.md", NAMELESS.replace("---\nd", "---\nname:\nd")),
        ("skills/Bad_Name/SKILL.md", NAMELESS),
        ("abilities/x.md", "---\ndescription: Do this: that\n---\n\nDo it.\n"),
    ],
    ids=["two values with a colon", "empty name", "illegal name", "ability"],
)
def test_nothing_that_fix_leaves_is_called_fixable(
    workspace: Workspace, lint: Lint, path: str, text: str
) -> None:
    workspace.write(path, text)
    fixed = lint("--fix")
    assert "[*]" not in fixed.out
    assert "can be repaired" not in fixed.err


@pytest.mark.parametrize("options", [("--select", "XF"), ("--ignore", "SK"), ()])
def test_fix_repairs_only_the_findings_that_are_asked_for(
    workspace: Workspace, lint: Lint, options: tuple[str, ...]
) -> None:
    file = workspace.write("skills/vendor/nameless/SKILL.md", NAMELESS)
    if not options:
        workspace.write("metier.toml", IGNORED)
    lint("--fix", *options)
    assert file.read_text() == NAMELESS
