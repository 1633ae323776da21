"""`[teams."FOLDER"]`: whose a folder is, and what is wrong with such a table."""

from pathlib import Path

import pytest

from conftest import load_config
from metier.config import read_settings
from metier.config.powers import power_settings
from metier.errors import ConfigError
from metier.values.files import NO_TEAM, Team, team_of


def teams(folder: Path, text: str, *, is_trusted: bool = True) -> tuple[Team, ...]:
    (folder / "metier.toml").write_text(text)
    return load_config(str(folder), environ={"HOME": str(folder)}, is_trusted=is_trusted).teams


def test_a_team_is_called_like_its_folder_unless_it_has_a_name(tmp_path: Path) -> None:
    found = teams(
        tmp_path,
        '[teams."teams/a/"]\nowner = "a@example.org"\ndisabled = ["deploy"]\n'
        '[teams."services/pay"]\nname = "payments"\n',
    )
    assert found == (
        Team("a", "teams/a", "a@example.org", ("deploy",)),
        Team("payments", "services/pay"),
    )


def test_without_the_table_there_is_no_team(tmp_path: Path) -> None:
    assert teams(tmp_path, "") == ()


def test_teams_count_in_an_untrusted_workspace_and_are_no_power(tmp_path: Path) -> None:
    text = '[teams."teams/a"]\n'
    assert teams(tmp_path, text, is_trusted=False) == (Team("a", "teams/a"),)
    settings = read_settings(str(tmp_path), environ={"HOME": str(tmp_path)})
    assert power_settings(settings.own, str(tmp_path)) == {}


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        *((folder, "is outside of the workspace") for folder in ("/srv/a", "../a", "~/a")),
        ("a/../../b", "is outside of the workspace"),
        (".", "must be named after a folder inside the workspace"),
        ("", "must be named after a folder inside the workspace"),
    ],
)
def test_a_folder_outside_the_workspace_is_rejected(
    tmp_path: Path, folder: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        teams(tmp_path, f'[teams."{folder}"]\n')
    assert caught.value.where == str(tmp_path / "metier.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[teams."teams/a"]\n[teams."other/a"]\n', "two teams are called 'a': teams/a and other/a"),
        ('[teams."teams/a"]\n[teams."teams/./a"]\nname = "b"\n', "'teams/a' has two teams"),
        ('[teams."teams/a"]\nname = "a/b"\n', "without '/' and ':'"),
        ('[teams."teams/a"]\nname = ""\n', "must not be empty"),
        ('[teams."teams/a"]\ndisabled = "deploy"\n', "must be a list of strings"),
        ('teams = ["teams/a"]\n', "'teams' must be a table of folders"),
        ('[teams]\n"teams/a" = "A"\n', "'teams.\"teams/a\"' must be a table"),
    ],
)
def test_a_table_that_cannot_be_used_is_rejected(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        teams(tmp_path, text)
    assert message in caught.value.message


def test_an_unknown_key_is_rejected_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        teams(tmp_path, '[teams."teams/a"]\nowners = "x"\n')
    assert caught.value.message == "unknown setting 'teams.\"teams/a\".owners'"
    assert caught.value.hint == "did you mean 'owner'?"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("teams/a/SKILL.md", "a"),
        ("teams/a/tools/x/SKILL.md", "tools"),
        ("teams/ab/SKILL.md", ""),
        ("teams/SKILL.md", ""),
        ("SKILL.md", ""),
    ],
)
def test_the_innermost_folder_decides_on_the_team(path: str, name: str) -> None:
    by_folder = {"teams/a": Team("a", "teams/a"), "teams/a/tools": Team("tools", "teams/a/tools")}
    assert team_of(path, by_folder).name == name
    assert team_of(path, {}) == NO_TEAM
