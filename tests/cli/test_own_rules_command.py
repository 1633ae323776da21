"""Rules of one's own on the command line: findings, formats, choice and pages."""

import json

import pytest

from conftest import Workspace
from metier.cli import run

RULES = """
[lint.rules.U001]
title = "names an internal host"
severity = "error"
regex = 'http://intranet\\S*'
hint = "use the public name"
why = "Customers read these texts."
bad = "see http://intranet/x"
good = "see https://example.org/x"

[lint.rules.UTEAM2]
title = "has no owner"
field = "metadata.owner"
required = true
severity = "info"
"""


@pytest.fixture
def printed(workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    workspace.skill("charts", body="See http://intranet/a.")
    workspace.write("metier.toml", RULES)
    workspace.trust()
    monkeypatch.chdir(workspace.root)
    return workspace


def ran(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def test_findings_look_like_those_of_metier(
    printed: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = ran(capsys, "lint")
    assert code == 1
    assert out == (
        "skills/charts/SKILL.md:6:5: U001 names an internal host\n    hint: use the public name\n"
    )


@pytest.mark.parametrize(
    ("options", "codes"),
    [
        (["--notes"], ["UTEAM2", "U001"]),
        (["--select", "UTEAM"], ["UTEAM2"]),
        (["--notes", "--ignore", "U0"], ["UTEAM2"]),
        (["--select", "SK"], []),
    ],
)
def test_they_are_chosen_by_their_codes(
    printed: Workspace, capsys: pytest.CaptureFixture[str], options: list[str], codes: list[str]
) -> None:
    _, out, _ = ran(capsys, "lint", "--json", *options)
    assert [issue["code"] for issue in json.loads(out)] == codes


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab", "html"])
def test_every_format_shows_them(
    printed: Workspace, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    _, out, _ = ran(capsys, "lint", "--format", form)
    assert "U001" in out
    assert "names an internal host" in out


def test_sarif_describes_their_rules(
    printed: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    _, out, _ = ran(capsys, "lint", "--format", "sarif")
    [rule] = json.loads(out)["runs"][0]["tool"]["driver"]["rules"]
    assert rule["shortDescription"]["text"] == "names an internal host"
    assert rule["defaultConfiguration"]["level"] == "error"


def test_explain_prints_their_pages(printed: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = ran(capsys, "explain", "u001")
    assert code == 0
    for part in ("U001 names an internal host (error)", "Customers read", "https://example.org/x"):
        assert part in out
    assert "Bad" not in ran(capsys, "explain", "UTEAM2")[1]


def test_explain_lists_their_family(printed: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = ran(capsys, "explain", "U")
    assert out.splitlines() == [
        "U001\terror\tnames an internal host",
        "UTEAM2\tinfo\thas no owner",
    ]


def test_in_an_untrusted_workspace_they_are_named_and_do_not_run(
    printed: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    printed.write("metier.toml", RULES.replace("Customers", "All"))
    code, out, err = ran(capsys, "lint")
    assert (code, out) == (0, "")
    assert "ignored: lint.rules.U001, lint.rules.UTEAM2" in err
    assert ran(capsys, "explain", "U001")[0] != 0


def test_a_wrong_regex_is_one_clear_line(
    printed: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    printed.write("metier.toml", RULES.replace("http://intranet", "("))
    printed.trust()
    code, _, err = ran(capsys, "lint")
    assert code == 2
    assert "'lint.rules.U001' has no valid regular expression" in err
    assert str(printed.root / "metier.toml") in err
    assert "Traceback" not in err
