"""Settings of shared state: where the address comes from, and what is rejected."""

import os
from pathlib import Path

import pytest

from conftest import Workspace, load_config
from metier.config import Config
from metier.config.described import described
from metier.config.layers import user_settings
from metier.errors import ConfigError
from metier.flow.boundary import power_set, read_boundary
from metier.flow.state_settings import (
    StateSettings,
    ignored_state,
    settings_for,
    state_settings,
    suggested_namespace,
)

SECRET = "hunter2"
PLAIN = "postgresql://db.example.org/metier"
FULL = f"postgresql://ann:{SECRET}@db.example.org/metier"


def write_settings(workspace: Workspace, *lines: str) -> None:
    workspace.write("metier.toml", "\n".join(["[state]", *lines]))


def trusted(workspace: Workspace, **environ: str) -> Config:
    return load_config(str(workspace.root), environ=environ, is_trusted=True)


def settings_of(workspace: Workspace, **environ: str) -> StateSettings | None:
    return state_settings(trusted(workspace, **environ), str(workspace.root))


def test_without_an_address_state_is_local(workspace: Workspace) -> None:
    assert settings_of(workspace) is None
    write_settings(workspace, 'namespace = "team"')
    assert settings_of(workspace) is None


def test_the_address_of_the_settings_is_used(workspace: Workspace) -> None:
    write_settings(workspace, f'url = "{PLAIN}"', 'namespace = "team"')
    assert settings_of(workspace) == StateSettings(PLAIN, "team")


def test_the_variable_wins_over_the_file_and_the_file_over_the_url(
    workspace: Workspace, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    file.write_text(f"{FULL}\n")
    write_settings(workspace, f'url = "{PLAIN}"', f'url-file = "{file}"', 'namespace = "team"')
    assert settings_of(workspace) == StateSettings(FULL, "team")
    other = "postgresql://other/x"
    assert settings_of(workspace, METIER_STATE_URL=other) == StateSettings(other, "team")
    assert settings_of(workspace, METIER_STATE_URL="") == StateSettings(FULL, "team")


def test_only_the_variable_and_the_file_may_have_a_password(workspace: Workspace) -> None:
    write_settings(workspace, f'url = "{FULL}"', 'namespace = "team"')
    with pytest.raises(ConfigError) as raised:
        trusted(workspace)
    assert raised.value.code == "STATE_URL_PASSWORD"
    assert raised.value.where == str(workspace.root / "metier.toml")
    write_settings(workspace, 'namespace = "team"')
    assert settings_of(workspace, METIER_STATE_URL=FULL) == StateSettings(FULL, "team")


def test_the_users_own_file_may_not_have_a_password_either(workspace: Workspace) -> None:
    own = Path(user_settings())
    own.parent.mkdir(parents=True)
    own.write_text(f'[state]\nurl = "{FULL}"\nnamespace = "team"\n')
    with pytest.raises(ConfigError) as raised:
        load_config(str(workspace.root))
    assert raised.value.code == "STATE_URL_PASSWORD"


@pytest.mark.parametrize("value", ["Team", "a b", "-a", "a" * 41, "ä", ""])
def test_a_namespace_has_a_form(workspace: Workspace, value: str) -> None:
    write_settings(workspace, f'url = "{PLAIN}"', f'namespace = "{value}"')
    with pytest.raises(ConfigError, match=r"'state\.namespace' must be 1 to 40 characters"):
        trusted(workspace)


def test_an_address_needs_a_namespace(workspace: Workspace) -> None:
    write_settings(workspace, f'url = "{PLAIN}"')
    with pytest.raises(ConfigError) as raised:
        settings_of(workspace)
    assert raised.value.code == "STATE_NAMESPACE_MISSING"
    assert "namespace" in raised.value.hint


@pytest.mark.parametrize("where", ["inside", "link", "no-user", "missing", "binary", "no-url"])
def test_an_unusable_file_of_an_address_is_one_clear_error(
    workspace: Workspace, tmp_path: Path, where: str
) -> None:
    inside = workspace.write("address", FULL)
    (tmp_path / "link").symlink_to(inside)
    (tmp_path / "binary").write_bytes(b"\xff")
    (tmp_path / "no-url").write_text(f"password={SECRET}")
    named = {"inside": str(inside), "no-user": "~no-such-user/address"}.get(
        where, str(tmp_path / where)
    )
    write_settings(workspace, f'url-file = "{named}"', 'namespace = "team"')
    with pytest.raises(ConfigError) as raised:
        settings_of(workspace)
    assert raised.value.where == named
    assert SECRET not in raised.value.message + raised.value.hint


# Trust


def test_the_address_of_a_workspace_counts_only_when_it_is_trusted(workspace: Workspace) -> None:
    write_settings(workspace, f'url = "{PLAIN}"', 'namespace = "team"')
    before = read_boundary(str(workspace.root)).config
    assert state_settings(before) is None
    assert before.ignored == ("state.url", "state.namespace")
    workspace.trust()
    assert state_settings(read_boundary(str(workspace.root)).config) is not None
    write_settings(workspace, 'url = "postgresql://evil.example.org/x"', 'namespace = "team"')
    assert state_settings(read_boundary(str(workspace.root)).config) is None


def test_the_ignored_settings_of_state_are_named_first(workspace: Workspace) -> None:
    state = f'[state]\nurl = "{PLAIN}"\nnamespace = "team"'
    workspace.write("metier.toml", f'tools.allow = ["a"]\ntokenizer = "o200k_base"\n{state}')
    ignored = read_boundary(str(workspace.root)).config.ignored
    assert ignored == ("state.url", "state.namespace", "tools.allow", "tokenizer")


@pytest.mark.parametrize(
    ("lines", "environ", "where"),
    [
        ([f'url = "{PLAIN}"', 'namespace = "team"'], {}, "on this machine"),
        (['namespace = "team"'], {}, ""),
        (['namespace = "team"'], {"METIER_STATE_URL": FULL}, "in your own database"),
    ],
)
def test_what_ignored_state_means_for_runs_is_said(
    workspace: Workspace, lines: list[str], environ: dict[str, str], where: str
) -> None:
    write_settings(workspace, *lines)
    environ = {**os.environ, **environ}
    said = ignored_state(read_boundary(str(workspace.root), environ=environ).config)
    assert said.endswith(where)
    assert bool(said) == bool(where)
    workspace.trust()
    assert ignored_state(read_boundary(str(workspace.root), environ=environ).config) == ""


def test_the_review_shows_where_state_would_go(workspace: Workspace) -> None:
    from metier.config import read_settings

    write_settings(workspace, f'url = "{PLAIN}"', 'namespace = "team"')
    rows = described(power_set(read_settings(str(workspace.root))))
    assert ("state", f"runs, prompts and reports are stored in {PLAIN}") in rows
    assert ("setting", 'state.namespace = "team"') in rows


def test_what_a_host_starts_does_not_take_the_address_from_its_environment(
    workspace: Workspace,
) -> None:
    workspace.write("metier.toml", "")
    workspace.trust()
    environ = {"METIER_STATE_URL": FULL, "METIER_STATE_NAMESPACE": "team"}
    root = str(workspace.root)
    assert read_boundary(root, environ=environ).config.state_url is not None
    assert read_boundary(root, environ=environ, for_host=True).config.state_url is None


# Secrets


def test_neither_settings_nor_config_print_the_password(workspace: Workspace) -> None:
    config = trusted(workspace, METIER_STATE_URL=FULL, METIER_STATE_NAMESPACE="team")
    settings = state_settings(config)
    assert settings is not None
    assert settings.conninfo == FULL
    assert SECRET not in f"{config} {config!r} {settings} {settings!r} {settings.address}"


# An address that was typed


def test_a_typed_address_takes_the_password_of_the_settings_for_the_same_database() -> None:
    known = StateSettings(FULL, "team")
    same = "postgresql://ann@db.example.org/metier"
    assert settings_for(same, "team", known) == known
    assert settings_for(PLAIN, "team", known) == StateSettings(PLAIN, "team")
    assert settings_for(PLAIN, "team", None) == StateSettings(PLAIN, "team")


def test_a_typed_address_with_a_password_is_an_error() -> None:
    with pytest.raises(ConfigError) as raised:
        settings_for(FULL, "team", None)
    assert (raised.value.code, raised.value.where) == ("STATE_URL_PASSWORD", "--to")


def test_a_typed_namespace_has_a_form() -> None:
    with pytest.raises(ConfigError, match="the namespace must be 1 to 40 characters"):
        settings_for(PLAIN, "Team One", None)


@pytest.mark.parametrize(
    ("folder", "name"),
    [("/a/My Project_2", "my-project-2"), ("/", "my-team"), ("/" + "x" * 60, "x" * 40)],
)
def test_a_namespace_is_suggested_after_the_folder(folder: str, name: str) -> None:
    assert suggested_namespace(folder) == name


# Workers


def test_the_limits_of_workers_are_read_and_checked(workspace: Workspace) -> None:
    workspace.write(
        "metier.toml",
        '[workers]\ndocuments = "same"\nconcurrency = 8\n'
        "[workers.queues.slow]\nconcurrency = 2\nstarts = 10\nseconds = 60\n",
    )
    config = trusted(workspace)
    assert (config.worker_documents, config.worker_concurrency) == ("same", 8)
    assert config.queues["slow"]._asdict() == {"concurrency": 2, "starts": 10, "seconds": 60.0}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[workers]\ndocuments = "some"', "must be one of any, same"),
        ("[workers]\nconcurrency = 0", "must be from 1 to 1,000"),
        ("[workers.queues.q]\nstarts = 3", "must be given both 'starts' and 'seconds'"),
        ('[workers.queues."a b"]\nstarts = 3\nseconds = 1', "must be named with up to 128"),
        ("[workers.queues.q]\nlimit = 3", "unknown setting 'workers.queues.q.limit'"),
    ],
)
def test_a_wrong_limit_is_an_error(workspace: Workspace, text: str, message: str) -> None:
    workspace.write("metier.toml", text)
    with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
        trusted(workspace)


def test_an_unknown_sslmode_and_a_relative_file_are_refused_when_they_are_read(
    workspace: Workspace,
) -> None:
    for line, message in (
        (f'url = "{PLAIN}?sslmode=bogus"', "unknown 'sslmode'"),
        ('url-file = "address"', "must be an absolute path"),
    ):
        write_settings(workspace, line, 'namespace = "team"')
        with pytest.raises(ConfigError, match=message) as raised:
            trusted(workspace)
        assert raised.value.hint
