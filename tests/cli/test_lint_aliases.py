"""`metier lint` and the alias table of a workspace."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.printed import Printed
from conftest import Workspace
from metier.cli import run

TABLE = ".dci/aliases.v1.json"
GOOD = json.dumps(
    {"schema_version": "1", "alias_table_version": "7", "aliases": {"web-search": ["www-find"]}}
)
BROKEN = '{\n  "schema_version": "1",\n  oops\n}'
MISNAMED = GOOD.replace("www-find", "Bad One").replace(', "aliases"', ',\n "aliases"')
NAMELESS = "---\ndescription: Does one thing well. Use it when that is needed.\n---\n\nDo it.\n"
CLEAN = "1 file checked, no problems found\n"


class Result(Printed):
    __slots__ = ()

    @property
    def places(self) -> list[tuple[str, str, int, int]]:
        return [(one["code"], one["path"], one["line"], one["column"]) for one in self.data]


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


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (BROKEN, 3, 3, "not valid JSON: "),
        (MISNAMED, 2, 29, "'Bad One' below 'web-search' is not a capability name"),
        ("[" * 100_000, 1, 1, "not valid JSON: it is nested too deeply"),
        (f"[\n{'9' * 5_000}]", 2, 1, "not valid JSON: a number with more digits than metier"),
        ("[]", 1, 1, "an alias table is a JSON object"),
        (b"\xff", 1, 1, "cannot be read: "),
    ],
    ids=["broken", "misnamed", "deep", "digits", "no object", "no text"],
)
def test_a_broken_table_of_the_workspace_is_reported_where_it_breaks(
    workspace: Workspace, lint: Lint, text: str | bytes, line: int, column: int, message: str
) -> None:
    workspace.write(TABLE, text)
    found = lint()
    assert found.out.startswith(f"{TABLE}:{line}:{column}: DC403 {message}")
    assert (found.code, found.err) == (1, "1 file checked: 1 error in 1 file\n")


def test_every_fault_of_a_table_is_a_finding(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, '{"schema_version": "2",\n "aliases": {}}')
    assert lint("--json").places == [("DC403", TABLE, 1, 1), ("DC403", TABLE, 1, 2)]


def test_a_sound_table_counts_as_a_checked_file(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, GOOD)
    assert lint() == Result(0, "", CLEAN)
    workspace.skill("one")
    assert lint().err.startswith("2 files checked, no problems found")


def test_without_a_table_nothing_is_counted(workspace: Workspace, lint: Lint) -> None:
    workspace.skill("one")
    assert lint() == Result(0, "", CLEAN)


# Which tables are checked


@pytest.mark.parametrize(
    ("path", "folder"), [(TABLE, "."), (f"./{TABLE}", "."), ("aliases.v1.json", ".dci")]
)
def test_a_table_that_is_named_is_checked_alone(
    workspace: Workspace, lint: Lint, path: str, folder: str
) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write(TABLE, BROKEN)
    found = lint(path, "--json", folder=folder)
    assert found.places == [("DC403", path, 3, 3)]
    assert (found.code, found.err) == (1, "1 file checked: 1 error in 1 file\n")
    workspace.write(TABLE, GOOD)
    assert lint(path, folder=folder) == Result(0, "", CLEAN)


def test_a_named_table_is_checked_wherever_it_is_and_the_workspace_s_is_not(
    workspace: Workspace, lint: Lint, tmp_path: Path
) -> None:
    elsewhere = Workspace(tmp_path / "elsewhere").write("aliases.v1.json", GOOD)
    workspace.write(TABLE, BROKEN)
    assert lint(str(elsewhere)) == Result(0, "", CLEAN)


def test_a_named_document_is_checked_without_the_table(workspace: Workspace, lint: Lint) -> None:
    file = workspace.skill("one")
    workspace.write(TABLE, BROKEN)
    assert lint(str(file)) == Result(0, "", CLEAN)


def test_a_table_and_a_document_can_be_named_together(workspace: Workspace, lint: Lint) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write(TABLE, BROKEN)
    found = lint(TABLE, "skills", "--json")
    assert [code for code, *_ in found.places] == ["DC403", "SK301"]
    assert found.err.startswith("2 files checked: 1 error, 1 warning in 2 files")


def test_from_another_folder_the_path_leads_to_the_table(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, BROKEN)
    workspace.skill("one")
    found = lint("--root", str(workspace.root), folder="skills/one")
    assert found.out.startswith(f"../../{TABLE}:3:3: DC403 ")


def test_a_folder_with_the_name_of_a_table_is_a_folder(workspace: Workspace, lint: Lint) -> None:
    (workspace.root / TABLE).mkdir(parents=True)
    workspace.skill("one")
    assert lint() == Result(0, "", CLEAN)
    assert (lint(TABLE).code, lint(TABLE).out) == (0, "")
    workspace.write(f"{TABLE}/nameless/SKILL.md", NAMELESS)
    assert lint(TABLE, "--json").places == [("SK301", f"{TABLE}/nameless/SKILL.md", 2, 1)]


# What is asked for


@pytest.mark.parametrize("named", [(), (TABLE,)], ids=["the workspace", "the table"])
def test_the_finding_can_be_selected_and_ignored(
    workspace: Workspace, lint: Lint, named: tuple[str, ...]
) -> None:
    workspace.write("skills/nameless/SKILL.md", NAMELESS)
    workspace.write(TABLE, BROKEN)
    for code in ("DC403", "DC"):
        assert lint(*named, "--json", "--select", code).places == [("DC403", TABLE, 3, 3)]
        ignored = lint(*named, "--json", "--ignore", code)
        assert "DC403" not in [one["code"] for one in ignored.data]
        assert ignored.code == (0 if named else 1)
    assert lint(*named, "--select", "FM").code == 0


@pytest.mark.parametrize("named", [(), (TABLE,)], ids=["the workspace", "the table"])
def test_the_finding_can_be_ignored_for_the_file(
    workspace: Workspace, lint: Lint, named: tuple[str, ...]
) -> None:
    workspace.write(TABLE, BROKEN)
    workspace.write("metier.toml", f'[lint.per-file-ignores]\n"{TABLE}" = ["DC403"]\n')
    assert lint(*named) == Result(0, "", CLEAN)


# Formats


def test_json_holds_every_field_of_the_finding(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, MISNAMED)
    found = lint("--format", "json")
    assert found.code == 1
    assert found.data == [
        {
            "code": "DC403",
            "severity": "error",
            "path": TABLE,
            "line": 2,
            "column": 29,
            "message": "'Bad One' below 'web-search' is not a capability name",
            "hint": "correct it: until then it is not used",
            "fixable": False,
            "hosts": {"metier": "finds the skill for fewer or other capabilities"},
        }
    ]


def test_sarif_holds_the_finding_and_its_rule(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, BROKEN)
    found = lint("--format", "sarif")
    (only,) = found.data["runs"]
    (result,) = only["results"]
    assert [rule["id"] for rule in only["tool"]["driver"]["rules"]] == ["DC403"]
    assert (found.code, result["ruleId"], result["level"]) == (1, "DC403", "error")
    assert result["locations"] == [
        {
            "physicalLocation": {
                "artifactLocation": {"uri": TABLE},
                "region": {"startLine": 3, "startColumn": 3},
            }
        }
    ]


def test_github_annotates_the_line_that_breaks(workspace: Workspace, lint: Lint) -> None:
    workspace.write(TABLE, BROKEN)
    found = lint("--format", "github")
    assert found.code == 1
    assert found.out.startswith(f"::error title=metier DC403,file={TABLE},line=3,col=3::not valid")
