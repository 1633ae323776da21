"""Where the user's folders are, and which variables are believed."""

import os
from pathlib import Path

import pytest

from metier.storage.places import (
    config_folder,
    ignored_folders,
    room_name,
    state_home,
    state_room,
    user_home,
    user_room,
)


def test_without_variables_the_usual_folders_are_used(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path)}
    assert config_folder(environ) == str(tmp_path / ".config/metier")
    assert state_home(environ) == str(tmp_path / ".local/state/metier")
    room = state_room(str(tmp_path / "My Shop!"), environ)
    assert room.path.startswith(str(tmp_path / ".local/state/metier/workspaces/My-Shop-"))


def test_every_path_has_a_folder_of_its_own() -> None:
    paths = ["/a/shop", "/b/shop", "/a/shop/", "/", "/ä/ö", "/a/sh op"]
    assert len({room_name(path) for path in paths}) == len(paths)
    assert all(
        set(name) <= set("abcdefghijklmnopqrstuvwxyz0123456789-S") for name in map(room_name, paths)
    )


def test_the_state_follows_the_environment_then_the_settings(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "xdg")}
    assert state_home(environ) == str(tmp_path / "xdg/metier")
    folder = tmp_path / ".config/metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text('[state]\nfolder = "~/elsewhere"\n')
    assert state_home(environ) == str(tmp_path / "elsewhere")
    assert state_home({**environ, "METIER_STATE_DIR": str(tmp_path / "ci")}) == str(tmp_path / "ci")


@pytest.mark.parametrize("name", ["METIER_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME"])
@pytest.mark.parametrize("mark", [".git", "metier.toml"])
def test_a_folder_inside_any_workspace_is_ignored(name: str, mark: str, tmp_path: Path) -> None:
    home, clone = tmp_path / "home", tmp_path / "clone"
    home.mkdir()
    (clone / "deep/er").mkdir(parents=True)
    (clone / mark).touch()
    environ = {"HOME": str(home), name: str(clone / "deep/er")}
    assert state_home(environ).startswith(str(home))
    assert config_folder(environ).startswith(str(home))
    assert ignored_folders(environ) == [f"{name} is ignored: {clone}/deep/er is inside a workspace"]


@pytest.mark.parametrize("name", ["METIER_STATE_DIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME"])
def test_a_relative_folder_is_ignored(name: str, tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), name: "state"}
    assert os.path.isabs(state_home(environ))
    assert os.path.isabs(config_folder(environ))
    assert ignored_folders(environ) == [f"{name} is ignored: state is relative"]


def test_a_folder_inside_this_workspace_is_ignored_though_nothing_marks_it(tmp_path: Path) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()
    environ = {"HOME": str(home), "METIER_STATE_DIR": str(workspace / "state")}
    assert state_home(environ) == str(workspace / "state")
    assert state_home(environ, str(workspace)).startswith(str(home))


def test_a_link_into_a_workspace_is_ignored(tmp_path: Path) -> None:
    home, clone = tmp_path / "home", tmp_path / "clone"
    home.mkdir()
    (clone / ".git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(clone)
    environ = {"HOME": str(home), "XDG_CONFIG_HOME": str(tmp_path / "link")}
    assert config_folder(environ).startswith(str(home))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders away")
def test_a_folder_of_another_user_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 12345, 12345)
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "theirs")}
    assert config_folder(environ) == str(tmp_path / ".config/metier")
    assert "belongs to another user" in ignored_folders(environ)[0]


def test_a_home_that_is_a_repository_of_the_users_own_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.setattr("metier.storage.places._recorded_home", lambda: str(tmp_path))
    environ = {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / ".local/state")}
    assert user_home(environ) == str(tmp_path)
    assert state_home(environ) == str(tmp_path / ".local/state/metier")
    assert ignored_folders(environ) == []


def test_a_home_inside_a_clone_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "home").mkdir()
    environ = {"HOME": str(tmp_path / "home")}
    assert not user_home(environ).startswith(str(tmp_path))
    assert len(ignored_folders(environ)) == 1


def test_settings_in_a_folder_that_does_not_exist_are_not_believed_to_be_none(
    tmp_path: Path,
) -> None:
    environ = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "nowhere")}
    assert config_folder(environ) == str(tmp_path / ".config/metier")
    assert ignored_folders(environ) == [
        f"XDG_CONFIG_HOME is ignored: {tmp_path}/nowhere does not exist"
    ]


def test_other_settings_have_another_catalog_of_the_users_documents(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first = user_room({"HOME": str(tmp_path)})
    second = user_room({"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "other")})
    assert first.path != second.path


def test_a_home_inside_a_workspace_that_nothing_marks_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / "zip/h").mkdir(parents=True)
    environ = {"HOME": str(tmp_path / "zip/h")}
    assert user_home(environ) == str(tmp_path / "zip/h")
    assert user_home(environ, str(tmp_path / "zip")) != str(tmp_path / "zip/h")
