"""How far a source is trusted: the user says so, a workspace can only tighten."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import load_config
from metier.config import Config
from metier.config.source_trust import is_all_trusted, level_of
from metier.errors import ConfigError
from metier.values.files import Found, Origin, Root, SourceGroup
from metier.values.trust import LEVELS


def found(
    group: SourceGroup = "workspace", source: str = "x", plugin: str = "", origin: Origin = "user"
) -> Found:
    return Found(
        "skill", "x/SKILL.md", 0, 1, 1, "", "/x/SKILL.md", source, 1,
        origin=origin, plugin=plugin, group=group,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("group", "level"),
    [
        ("workspace", "always"),
        ("user", "always"),
        ("plugins", "on-first-use"),
        ("mounts", "on-first-use"),
    ],
)
def test_the_defaults(group: SourceGroup, level: str) -> None:
    assert level_of(Config(), found(group)) == level


def test_a_source_that_is_named_has_its_own_level() -> None:
    config = Config(trust_sources={"team": "always", "acme": "never"})
    assert level_of(config, found("mounts", "team")) == "always"
    assert level_of(config, found("plugins", "claude-plugins", "acme")) == "never"
    assert level_of(config, found("mounts", "other")) == "on-first-use"


def settings(tmp_path: Path, users: str, own: str) -> tuple[Path, dict[str, str]]:
    home, root = tmp_path / "home", tmp_path / "work"
    (home / ".config/metier").mkdir(parents=True)
    root.mkdir()
    (home / ".config/metier/metier.toml").write_text(users)
    (root / "metier.toml").write_text(own)
    return root, {"HOME": str(home)}


@pytest.mark.parametrize("is_trusted", [True, False])
def test_a_workspace_tightens_and_never_loosens(is_trusted: bool, tmp_path: Path) -> None:
    root, environ = settings(
        tmp_path,
        '[trust]\nmounts = "ask"\n[trust.sources]\nteam = "ask"\n',
        '[trust]\nworkspace = "ask"\nmounts = "always"\nplugins = "always"\n'
        '[trust.sources]\nteam = "always"\nacme = "always"\n',
    )
    config = load_config(str(root), environ=environ, is_trusted=is_trusted)
    assert level_of(config, found("workspace", origin="workspace")) == "ask"
    assert level_of(config, found("mounts")) == "ask"
    assert level_of(config, found("mounts", "team")) == "ask"
    assert level_of(config, found("plugins", "claude-plugins", "acme")) == "on-first-use"


def test_an_untrusted_workspace_does_not_touch_the_users_skills(tmp_path: Path) -> None:
    own = '[trust]\nuser = "never"\n[trust.sources]\nclaude-user = "never"\n'
    root, environ = settings(tmp_path, "", own)
    mine = found("user", "claude-user")
    assert level_of(load_config(str(root), environ=environ), mine) == "always"
    trusted = load_config(str(root), environ=environ, is_trusted=True)
    assert level_of(trusted, mine) == "never"


def test_another_word_is_an_error(tmp_path: Path) -> None:
    root, environ = settings(tmp_path, '[trust]\nmounts = "sometimes"\n', "")
    with pytest.raises(ConfigError, match="mounts"):
        load_config(str(root), environ=environ)


def test_nothing_is_reviewed_where_every_source_is_trusted() -> None:
    own = Root("skill", "/w", "/w", "workspace", 0)
    assert is_all_trusted(Config(), [own])
    assert not is_all_trusted(Config(), [own, own._replace(group="mounts")])
    assert not is_all_trusted(Config(own_trust={"workspace": "ask"}), [own])


@given(
    st.sampled_from(LEVELS),
    st.dictionaries(st.sampled_from(["workspace", "user", "plugins", "mounts"]),
                    st.sampled_from(LEVELS)),
    st.dictionaries(st.sampled_from(["x", "p"]), st.sampled_from(LEVELS)),
    st.sampled_from(["workspace", "user", "plugins", "mounts"]),
    st.sampled_from(["user", "workspace", "untrusted"]),
    st.booleans(),
)  # fmt: skip
def test_no_setting_of_a_workspace_ever_loosens(
    users: str,
    own: dict[str, str],
    named: dict[str, str],
    group: SourceGroup,
    origin: Origin,
    is_trusted: bool,
) -> None:
    one = found(group, "x", "p", origin)
    config = Config(is_trusted=is_trusted, **{f"trust_{group}": users})  # type: ignore[arg-type]  # one of the four
    with_own = config._replace(own_trust={**own, "sources": named})
    before, after = level_of(config, one), level_of(with_own, one)
    assert LEVELS.index(after) >= LEVELS.index(before)
