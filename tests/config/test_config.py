"""Settings: which file counts, what is refused with a hint, and where the workspace starts."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import load_config
from metier.config import Config, find_workspace
from metier.errors import ConfigError
from metier.values.settings import Mount


class Place(NamedTuple):
    """A workspace and a home, with files of settings in both."""

    root: Path
    home: Path

    def own(self, text: str) -> None:
        (self.root / "metier.toml").write_text(text)

    def project(self, text: str) -> None:
        (self.root / "pyproject.toml").write_text(text)

    def user(self, text: str) -> None:
        folder = self.home / ".config" / "metier"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metier.toml").write_text(text)

    def load(self, file: str | None = None, **environ: str) -> Config:
        environ = {"HOME": str(self.home), **environ}
        return load_config(str(self.root), file=file, environ=environ, is_trusted=True)

    def refusal(self, file: str | None = None, **environ: str) -> ConfigError:
        with pytest.raises(ConfigError) as caught:
            self.load(file, **environ)
        assert caught.value.exit_code == 2
        assert caught.value.where
        return caught.value


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "workspace", tmp_path / "home")
    made.root.mkdir()
    made.home.mkdir()
    return made


# Precedence


def test_without_any_file_the_defaults_hold(place: Place) -> None:
    config = place.load()
    assert config == Config()
    assert config.disabled == ()
    assert config.host_folders is True
    assert config.mounts == ()
    assert config.abilities == ("abilities",)
    assert config.cards == ("docs/capabilities",)
    assert config.agents == ("agents", ".claude/agents")
    assert config.sources == ()


def test_each_source_beats_those_behind_it(place: Place) -> None:
    place.user('disabled = ["user"]')
    assert place.load().disabled == ("user",)
    place.project('[tool.metier]\ndisabled = ["project"]')
    assert place.load().disabled == ("project",)
    place.own('disabled = ["own"]')
    assert place.load().disabled == ("own",)
    assert place.load(METIER_DISABLED="environment").disabled == ("environment",)


def test_each_key_is_taken_from_the_strongest_source_that_has_it(place: Place) -> None:
    place.user('disabled = ["user"]\nhost-folders = false\n[folders]\nagents = ["user"]')
    place.project('[tool.metier]\ndisabled = ["project"]\n[tool.metier.folders]\ncards = ["cards"]')
    place.own('[lint]\nselect = ["FM"]\nignore = ["FM112"]')
    config = place.load(METIER_LINT_SELECT="SK, DC")
    assert config.lint_select == ("SK", "DC")
    assert config.lint_ignore == ("FM112",)
    assert config.disabled == ("project",)
    assert config.cards == ("cards",)
    assert config.agents == ("user",)
    assert config.host_folders is False


def test_the_files_that_count_are_named_strongest_first(place: Place) -> None:
    place.user("")
    place.project("[tool.metier]")
    place.own("")
    assert place.load().sources == (
        str(place.root / "metier.toml"),
        str(place.root / "pyproject.toml"),
        str(place.home / ".config/metier/metier.toml"),
    )


def test_a_project_file_without_our_table_does_not_count(place: Place) -> None:
    place.project('[project]\nname = "x"\n[tool.other]\ndisabled = 5')
    assert place.load() == Config()


def test_a_named_file_takes_the_place_of_all_others(place: Place, tmp_path: Path) -> None:
    place.own('disabled = ["own"]')
    place.user('[folders]\nagents = ["user"]')
    named = tmp_path / "named.toml"
    named.write_text('disabled = ["named"]')
    config = place.load(str(named))
    assert (config.disabled, config.agents) == (("named",), ("agents", ".claude/agents"))
    assert config.sources == (str(named),)
    assert place.load(str(named), METIER_DISABLED="x").disabled == ("x",)


def test_the_users_file_may_stand_in_the_xdg_folder(place: Place, tmp_path: Path) -> None:
    (tmp_path / "xdg/metier").mkdir(parents=True)
    (tmp_path / "xdg/metier/metier.toml").write_text('disabled = ["xdg"]')
    place.user('disabled = ["home"]')
    assert place.load(XDG_CONFIG_HOME=str(tmp_path / "xdg")).disabled == ("xdg",)


# The environment


@pytest.mark.parametrize(
    ("variable", "field"),
    [
        ("METIER_DISABLED", "disabled"),
        ("METIER_ABILITIES", "abilities"),
        ("METIER_CARDS", "cards"),
        ("METIER_AGENTS", "agents"),
        ("METIER_LINT_SELECT", "lint_select"),
        ("METIER_LINT_IGNORE", "lint_ignore"),
    ],
)
def test_a_variable_holds_a_list_with_commas(place: Place, variable: str, field: str) -> None:
    assert getattr(place.load(**{variable: " one,two , ,three"}), field) == ("one", "two", "three")
    assert getattr(place.load(**{variable: ""}), field) == ()


@pytest.mark.parametrize(
    ("text", "expected"), [("true", True), ("1", True), ("false", False), ("0", False)]
)
def test_a_variable_may_be_a_switch(place: Place, text: str, expected: bool) -> None:
    assert place.load(METIER_HOST_FOLDERS=text).host_folders is expected


@pytest.mark.parametrize("text", ["yes", "", "TRUE", "2"])
def test_a_switch_that_is_neither_is_refused(place: Place, text: str) -> None:
    refusal = place.refusal(METIER_HOST_FOLDERS=text)
    assert "true or false" in refusal.message
    assert refusal.where == "METIER_HOST_FOLDERS"


# What is refused


@pytest.mark.parametrize(
    ("text", "key", "hint"),
    [
        ("disabld = []", "disabld", "'disabled'"),
        ("host_folders = true", "host_folders", "'host-folders'"),
        ("[lint]\nselct = []", "lint.selct", "'lint.select'"),
        ("[folders]\nability = []", "folders.ability", "'folders.abilities'"),
        ("zzzzzz = 1", "zzzzzz", "known: disabled"),
        ("[other]\nx = 1", "other", "known: disabled"),
    ],
)
def test_an_unknown_key_is_refused_with_a_hint(
    place: Place, text: str, key: str, hint: str
) -> None:
    place.own(text)
    refusal = place.refusal()
    assert refusal.message == f"unknown setting '{key}'"
    assert hint in refusal.hint
    assert refusal.where == str(place.root / "metier.toml")
    assert refusal.code == "CONFIG_INVALID"


def test_an_unknown_key_is_refused_even_where_a_stronger_file_counts(place: Place) -> None:
    place.own('disabled = ["a"]')
    place.user("disabld = []")
    assert place.refusal().where == str(place.home / ".config/metier/metier.toml")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('disabled = "a"', "disabled"),
        ("disabled = [1]", "disabled"),
        ("disabled = {a = 1}", "disabled"),
        ("disabled = true", "disabled"),
        ('host-folders = "true"', "host-folders"),
        ("host-folders = 1", "host-folders"),
        ("[folders]\ncards = 5", "folders.cards"),
        ('[folders]\nagents = "agents"', "folders.agents"),
        ("[lint]\nselect = [true]", "lint.select"),
        ('[lint]\nper-file-ignores = ["a"]', "lint.per-file-ignores"),
        ('[lint.per-file-ignores]\n"a/*" = "FM101"', 'lint.per-file-ignores."a/*"'),
        ('mounts = "x"', "mounts"),
        ("[abilities]\nminSignal = -1", "abilities.minSignal"),
        ("[abilities]\nminSignal = nan", "abilities.minSignal"),
        ("[abilities]\nminSignal = inf", "abilities.minSignal"),
        ("[abilities]\nminSignal = true", "abilities.minSignal"),
        ('[abilities]\nminSignal = "10"', "abilities.minSignal"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(place: Place, text: str, key: str) -> None:
    place.own(text)
    refusal = place.refusal()
    assert refusal.message.startswith(f"'{key}' must be ")
    assert refusal.where == str(place.root / "metier.toml")


@pytest.mark.parametrize("text", ["lint = 5", "folders = []", 'lint = "all"'])
def test_a_value_in_place_of_a_table_is_refused(place: Place, text: str) -> None:
    place.own(text)
    assert text.split()[0] in place.refusal().message


@pytest.mark.parametrize("text", ["[tool]\nmetier = 5", '[tool]\nmetier = ["a"]', "tool = 5"])
def test_our_table_in_the_project_file_must_be_one(place: Place, text: str) -> None:
    place.project(text)
    refusal = place.refusal()
    assert "[tool.metier]" in refusal.message
    assert refusal.where == str(place.root / "pyproject.toml")


@pytest.mark.parametrize("text", ["disabled = [", "= 1", "a = 1\na = 2", "disabled = ['a'", "x"])
def test_broken_toml_is_refused_with_the_name_of_the_file(place: Place, text: str) -> None:
    place.own(text)
    refusal = place.refusal()
    assert refusal.message.startswith("not valid TOML: ")
    assert refusal.where == str(place.root / "metier.toml")


def test_a_broken_project_file_is_refused(place: Place) -> None:
    place.project("[tool.metier")
    assert place.refusal().where == str(place.root / "pyproject.toml")


def test_a_file_that_is_not_utf_8_is_refused(place: Place) -> None:
    (place.root / "metier.toml").write_bytes(b'disabled = ["caf\xe9"]')
    assert "UTF-8" in place.refusal().message


def test_a_folder_in_place_of_the_file_is_refused(place: Place) -> None:
    (place.root / "metier.toml").mkdir()
    assert place.refusal().where == str(place.root / "metier.toml")


def test_a_named_file_that_does_not_exist_is_refused(place: Place) -> None:
    refusal = place.refusal(str(place.root / "nowhere.toml"))
    assert "cannot read" in refusal.message
    assert "--config" in refusal.hint


# Single settings


def test_codes_can_be_ignored_for_some_files(place: Place) -> None:
    place.own('[lint.per-file-ignores]\n"vendor/*" = ["FM112", "SK3"]\n"x" = []')
    assert place.load().per_file_ignores == {"vendor/*": ("FM112", "SK3"), "x": ()}


def test_a_mount_has_a_path_and_a_label(place: Place) -> None:
    place.own(
        '[[mounts]]\npath = "/srv/skills/team/"\n[[mounts]]\npath = "../shared"\nlabel = "ours"\n'
    )
    assert place.load().mounts == (
        Mount(path="/srv/skills/team/", label="team", origin="workspace"),
        Mount(path="../shared", label="ours", origin="workspace"),
    )


def test_a_mount_may_start_at_the_home_folder(place: Place, empty_home: Path) -> None:
    place.own('mounts = [{path = "~/skills"}]')
    assert place.load(HOME=str(empty_home)).mounts == (
        Mount(path=str(empty_home / "skills"), label="skills", origin="workspace"),
    )


@pytest.mark.parametrize(
    "text",
    [
        'mounts = ["/srv/skills"]',
        "mounts = [{}]",
        "mounts = [{path = 5}]",
        'mounts = [{path = "/srv", lable = "x"}]',
        'mounts = {path = "/srv"}',
        'mounts = [{path = "/srv", label = ""}]',
        'mounts = [{path = "/srv", label = "a/b"}]',
        'mounts = [{path = "/srv", label = 5}]',
        'mounts = [{path = "/"}]',
        'mounts = [{path = ""}]',
    ],
)
def test_a_mount_that_cannot_be_used_is_refused(place: Place, text: str) -> None:
    place.own(text)
    assert place.refusal().message.startswith("'mounts' must be ")


@pytest.mark.parametrize(
    "text",
    [
        'mounts = [{path = "/a/skills"}, {path = "/b/skills"}]',
        'mounts = [{path = "/a", label = "x"}, {path = "/b", label = "x"}]',
        'mounts = [{path = "/x"}, {path = "/b", label = "x"}]',
    ],
)
def test_two_mounts_of_one_label_are_refused(place: Place, text: str) -> None:
    place.own(text)
    refusal = place.refusal()
    assert "label" in refusal.message
    assert refusal.hint


# The workspace


@pytest.mark.invariant(id="DCI-DSC-006")
def test_the_first_git_folder_upwards_is_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "outer/.git").mkdir(parents=True)
    (tmp_path / "outer/inner/.git").mkdir(parents=True)
    deep = tmp_path / "outer/inner/src/deep"
    deep.mkdir(parents=True)
    assert find_workspace(str(deep)) == os.path.realpath(tmp_path / "outer/inner")
    assert find_workspace(str(tmp_path / "outer/inner")) == os.path.realpath(
        tmp_path / "outer/inner"
    )
    assert find_workspace(str(tmp_path / "outer")) == os.path.realpath(tmp_path / "outer")


@pytest.mark.invariant(id="DCI-DSC-006")
def test_the_search_starts_at_the_explicit_root_not_at_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here/.git").mkdir(parents=True)
    (tmp_path / "there/.git").mkdir(parents=True)
    (tmp_path / "there/src").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert find_workspace(str(tmp_path / "there/src")) == os.path.realpath(tmp_path / "there")
    assert find_workspace() == os.path.realpath(tmp_path / "here")


@pytest.mark.invariant(id="DCI-DSC-006")
@pytest.mark.usefixtures("no_mark_above")
def test_without_git_the_explicit_root_is_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "plain/deep").mkdir(parents=True)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert find_workspace(str(tmp_path / "plain/deep")) == os.path.realpath(tmp_path / "plain/deep")


@pytest.mark.invariant(id="DCI-DSC-006")
@pytest.mark.usefixtures("no_mark_above")
def test_without_git_and_root_only_the_current_folder_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no workspace: see tests/cli/test_outside_workspace.py."""
    monkeypatch.chdir(tmp_path)
    assert find_workspace() == os.path.realpath(tmp_path)


@pytest.mark.invariant(id="DCI-DSC-006")
def test_a_git_file_marks_a_worktree_as_well(tmp_path: Path) -> None:
    (tmp_path / "tree/src").mkdir(parents=True)
    (tmp_path / "tree/.git").write_text("gitdir: /elsewhere\n")
    assert find_workspace(str(tmp_path / "tree/src")) == os.path.realpath(tmp_path / "tree")


def test_a_file_of_settings_marks_a_workspace_too(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    (tmp_path / "repo/part/src").mkdir(parents=True)
    (tmp_path / "repo/part/metier.toml").write_text("")
    assert find_workspace(str(tmp_path / "repo/part/src")) == os.path.realpath(
        tmp_path / "repo/part"
    )
    assert find_workspace(str(tmp_path / "repo")) == os.path.realpath(tmp_path / "repo")


def test_the_workspace_is_named_by_its_resolved_path(tmp_path: Path) -> None:
    (tmp_path / "real/.git").mkdir(parents=True)
    (tmp_path / "link").symlink_to("real")
    assert find_workspace(str(tmp_path / "link")) == os.path.realpath(tmp_path / "real")


def test_a_relative_root_is_taken_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a/.git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert find_workspace("a") == os.path.realpath(tmp_path / "a")
