"""`[capabilities]` in the settings: every key, its default, what it takes and what it refuses."""

from pathlib import Path
from typing import Any, NamedTuple, get_args

import pytest

from conftest import load_config
from metier.config.capabilities import (
    PROFILES,
    for_agent,
    read_capabilities,
    to_json,
    with_profile,
)
from metier.errors import ConfigError
from metier.values.capabilities import SourceSetting
from metier.values.settings_tables import CapabilitiesConfig, LogLevel, RolloutMode

PIN = "0123456789abcdef" * 4


class Place(NamedTuple):
    """A workspace with a file of settings, and a home."""

    root: Path
    home: Path

    def load(self, text: str) -> CapabilitiesConfig:
        (self.root / "metier.toml").write_text(text)
        environ = {"HOME": str(self.home)}
        return load_config(str(self.root), environ=environ, is_trusted=True).capabilities

    def refusal(self, text: str) -> ConfigError:
        """The one error that `text` gives; its message is one line."""
        with pytest.raises(ConfigError) as caught:
            self.load(text)
        error = caught.value
        assert (error.code, error.exit_code) == ("CONFIG_INVALID", 2)
        assert "\n" not in error.message
        return error

    @property
    def file(self) -> str:
        return str(self.root / "metier.toml")


@pytest.fixture
def place(tmp_path: Path) -> Place:
    made = Place(tmp_path / "workspace", tmp_path / "home")
    made.root.mkdir()
    made.home.mkdir()
    return made


class Key(NamedTuple):
    """One key: how it is spelt, its default, values that it takes, values that it refuses."""

    name: str
    field: str
    default: Any
    good: dict[str, Any]
    """As written in the file → as read."""
    bad: list[str]


def counts(least: int, most: int) -> tuple[dict[str, Any], list[str]]:
    good = {str(one): one for one in (least, most)}
    return good, [str(least - 1), str(most + 1), "1.0", "true", "'1'", "[1]"]


def numbers(most: int) -> tuple[dict[str, Any], list[str]]:
    good: dict[str, Any] = {"0": 0.0, str(most): float(most), "0.25": 0.25}
    return good, ["-0.1", str(most + 1), "nan", "inf", "true", "'0.5'", "[]"]


FLAGS: tuple[dict[str, Any], list[str]] = (
    {"true": True, "false": False},
    ["'true'", "0", "1", "'off'"],
)
TEXTS: tuple[dict[str, Any], list[str]] = (
    {"[]": (), "['a']": ("a",), "['b', 'a']": ("b", "a")},
    ["'a'", "[1]", "['']", "['a', '']", "{}", "true"],
)
ONE_TEXT: tuple[dict[str, Any], list[str]] = ({"'pro'": "pro", "''": ""}, ["1", "true", "['a']"])


def choices(*names: str) -> tuple[dict[str, Any], list[str]]:
    return {f"'{one}'": one for one in names}, ["'other'", "''", "1", "true", f"['{names[0]}']"]


KEYS = [
    Key("enabled", "enabled", True, *FLAGS),
    Key("maxTokens", "max_tokens", 1_500, *counts(0, 1_000_000)),
    Key("confidenceThreshold", "confidence_threshold", None, *numbers(1)),
    Key("forceInclude", "force_include", (), *TEXTS),
    Key("exclude", "exclude", (), *TEXTS),
    Key("logLevel", "log_level", "summary", *choices("none", "summary", "detailed")),
    Key("mode", "mode", "on", *choices("off", "monitor", "soft", "on")),
    Key("scorer", "scorer", "spec", {"'saturating'": "saturating", "'own'": "own"}, ["1", "[]"]),
    Key("overflow", "overflow", "skip", *choices("skip", "stop")),
    Key("recentMessages", "recent_messages", 5, *counts(1, 100)),
    Key(
        "softSessionTypes",
        "soft_session_types",
        ("main",),
        {"[]": (), "['isolated']": ("isolated",), "['main', 'isolated']": ("main", "isolated")},
        ["'main'", "['other']", "['Main']", "[1]"],
    ),
    Key(
        "budgets",
        "budgets",
        {},
        {"{}": {}, "{'0' = 100, '50000' = 2500}": {0: 100, 50_000: 2_500}},
        [
            "5",
            "[]",
            "{'a' = 1}",
            "{'-1' = 1}",
            "{'1.5' = 1}",
            "{'٣' = 1}",
            "{'0' = -1}",
            "{'0' = ''}",
        ],
    ),
    Key("skillSuggestions", "skill_suggestions", 3, *counts(0, 20)),
    Key(
        "skillThreshold",
        "skill_threshold",
        CapabilitiesConfig().skill_threshold,
        *numbers(1_000),
    ),
    Key("maxInjectionShare", "max_injection_share", None, *numbers(1)),
    Key("refreshAfter", "refresh_after", 600, *counts(1, 31_536_000)),
    Key(
        "compare",
        "compare",
        (),
        {"[]": (), "['spec', 'saturating']": ("spec", "saturating")},
        ["'spec'", "['spec']", "['a', 'b', 'c']", "['a', 1]"],
    ),
    Key("userTier", "user_tier", "", *ONE_TEXT),
    Key("environmentType", "environment_type", "", *ONE_TEXT),
    Key(
        "sources",
        "sources",
        (),
        {
            "[]": (),
            "[{type = 'local', location = 'more'}]": (SourceSetting("local", "more"),),
            "[{type = 'database', location = 'cards.db'}]": (
                SourceSetting("database", "cards.db"),
            ),
            f"[{{type = 'remote', location = 'https://a/b.md', sha256 = '{PIN}'}}]": (
                SourceSetting("remote", "https://a/b.md", PIN),
            ),
        },
        [
            "{}",
            "['more']",
            "[{type = 'local'}]",
            "[{location = 'more'}]",
            "[{type = 'local', location = ''}]",
            "[{type = 'local', location = 1}]",
            "[{type = 'ftp', location = 'more'}]",
            "[{type = 'local', location = 'more', colour = 'red'}]",
            "[{type = 'remote', location = 'https://a/b.md'}]",
            "[{type = 'remote', location = 'https://a/b.md', sha256 = 'beef'}]",
            f"[{{type = 'remote', location = 'https://a/b.md', sha256 = '{PIN[:-1]}x'}}]",
        ],
    ),
    Key(
        "profiles",
        "profiles",
        {},
        {"{}": {}, "{small = {maxTokens = 9}}": {"small": {"maxTokens": 9}}},
        ["[]", "'minimal'"],
    ),
    Key(
        "agents",
        "agents",
        {},
        {"{}": {}, "{coder = 'full', writer = 'minimal'}": {"coder": "full", "writer": "minimal"}},
        ["[]", "'full'", "{coder = 1}"],
    ),
]
BY_NAME = {key.name: key for key in KEYS}
GOOD = [(key, text) for key in KEYS for text in key.good]
BAD = [(key, text) for key in KEYS for text in key.bad]
SPEC_KEYS = [
    pytest.param("enabled", True, marks=pytest.mark.invariant(id="CARD-CFG-001")),
    pytest.param("maxTokens", 1500, marks=pytest.mark.invariant(id="CARD-CFG-002")),
    pytest.param("confidenceThreshold", None, marks=pytest.mark.invariant(id="CARD-CFG-003")),
    pytest.param("forceInclude", (), marks=pytest.mark.invariant(id="CARD-CFG-004")),
    pytest.param("exclude", (), marks=pytest.mark.invariant(id="CARD-CFG-005")),
    pytest.param("logLevel", "summary", marks=pytest.mark.invariant(id="CARD-CFG-006")),
]


@pytest.mark.parametrize(("name", "default"), SPEC_KEYS)
def test_the_six_keys_of_the_spec_have_its_names_and_defaults(
    place: Place, name: str, default: Any
) -> None:
    key = BY_NAME[name]
    assert getattr(place.load("[capabilities]"), key.field) == default == key.default
    assert to_json(CapabilitiesConfig())[name] == default


@pytest.mark.invariant(id="CARD-CFG-006")
def test_the_levels_of_the_log_are_those_of_the_spec() -> None:
    assert get_args(LogLevel) == ("none", "summary", "detailed")
    assert get_args(RolloutMode) == ("off", "monitor", "soft", "on")


def test_the_example_of_the_spec_is_read_as_it_stands(place: Place) -> None:
    made = place.load(
        "[capabilities]\n"
        "enabled = true\n"
        "maxTokens = 1500\n"
        'forceInclude = ["token-economy"]\n'
        'exclude = ["experimental-feature"]\n'
        'logLevel = "detailed"\n'
    )
    assert made == CapabilitiesConfig(
        force_include=("token-economy",), exclude=("experimental-feature",), log_level="detailed"
    )


def test_every_key_is_known_here_and_has_its_default(place: Place) -> None:
    made = place.load("")
    assert made == CapabilitiesConfig() == place.load("[capabilities]")
    assert {key.field: key.default for key in KEYS} == made._asdict()
    assert [key.name for key in KEYS] == list(to_json(made))


@pytest.mark.parametrize(("key", "text"), GOOD, ids=lambda one: getattr(one, "name", one))
def test_a_good_value_is_taken(place: Place, key: Key, text: str) -> None:
    made = place.load(f"[capabilities]\n{key.name} = {text}\n")
    assert getattr(made, key.field) == key.good[text]
    assert made._replace(**{key.field: key.default}) == CapabilitiesConfig()


@pytest.mark.parametrize(("key", "text"), BAD, ids=lambda one: getattr(one, "name", one))
def test_a_wrong_value_is_refused_in_one_line_that_names_key_and_file(
    place: Place, key: Key, text: str
) -> None:
    error = place.refusal(f"[capabilities]\n{key.name} = {text}\n")
    assert error.message.startswith(f"'capabilities.{key.name}")
    assert "must be" in error.message
    assert error.where == place.file


def snake(name: str) -> str:
    return "".join(f"_{one.lower()}" if one.isupper() else one for one in name)


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_a_key_may_be_spelt_in_three_ways(place: Place, key: Key) -> None:
    text, value = list(key.good.items())[-1]
    for name in (key.name, snake(key.name), snake(key.name).replace("_", "-")):
        assert getattr(place.load(f"[capabilities]\n{name} = {text}\n"), key.field) == value


def test_a_wrong_value_is_told_in_the_spelling_of_the_spec(place: Place) -> None:
    error = place.refusal("[capabilities]\nmax-tokens = -1\n")
    assert error.message.startswith("'capabilities.maxTokens' must be")


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("maxToken", "did you mean 'maxTokens'?"),
        ("forceInclud", "did you mean 'forceInclude'?"),
        ("exlude", "did you mean 'exclude'?"),
        ("loglevels", "did you mean 'logLevel'?"),
    ],
)
def test_an_unknown_key_is_refused_with_a_suggestion(place: Place, key: str, hint: str) -> None:
    error = place.refusal(f"[capabilities]\n{key} = 1\n")
    assert error.message == f"unknown setting 'capabilities.{key}'"
    assert (error.hint, error.where) == (hint, place.file)


def test_a_key_like_no_other_is_refused_with_all_that_are_known(place: Place) -> None:
    error = place.refusal("[capabilities]\nzebra = 1\n")
    assert error.hint.removeprefix("known: ").split(", ") == [key.name for key in KEYS]


@pytest.mark.parametrize("value", ["1", "'on'", "[]", "false"])
def test_the_settings_of_cards_are_a_table(place: Place, value: str) -> None:
    error = place.refusal(f"capabilities = {value}\n")
    assert (error.message, error.where) == ("'capabilities' must be a table", place.file)


def test_one_key_in_two_spellings_is_refused(place: Place) -> None:
    place.refusal("[capabilities]\nmaxTokens = 1\nmax-tokens = 2\n")


def test_each_key_is_taken_from_the_strongest_file_that_has_it(place: Place) -> None:
    folder = place.home / ".config" / "metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text("[capabilities]\nexclude = ['noisy']\nmaxTokens = 9\n")
    made = place.load("[capabilities]\nmaxTokens = 700\n")
    assert (made.max_tokens, made.exclude) == (700, ("noisy",))


@pytest.mark.parametrize("own", ["profiles.other]\nmaxTokens = 5", "agents]\ncoder = 'mine'"])
def test_files_that_are_right_each_are_right_together(place: Place, own: str) -> None:
    folder = place.home / ".config" / "metier"
    folder.mkdir(parents=True)
    (folder / "metier.toml").write_text(
        "[capabilities.profiles.mine]\nmaxTokens = 7\n[capabilities.agents]\ncoder = 'mine'\n"
    )
    assert for_agent(place.load(f"[capabilities.{own}\n"), "coder").max_tokens == 7


def test_the_settings_may_stand_in_pyproject(place: Place) -> None:
    (place.root / "pyproject.toml").write_text("[tool.metier.capabilities]\nmaxTokens = 7\n")
    assert place.load("").max_tokens == 7
    assert place.load("[capabilities]\nmaxTokens = 8\n").max_tokens == 8


# Budgets


def test_a_table_of_budgets_may_stand_in_any_order(place: Place) -> None:
    made = place.load("[capabilities.budgets]\n50000 = 2500\n0 = 1500\n9000 = 2000\n")
    assert made.budgets == {0: 1_500, 9_000: 2_000, 50_000: 2_500}


# Profiles


@pytest.mark.invariant(id="CARD-EXT-007")
def test_a_profile_is_laid_over_the_general_settings(place: Place) -> None:
    made = place.load(
        "[capabilities]\nmaxTokens = 900\nexclude = ['a']\n"
        "[capabilities.profiles.deep]\nmax-tokens = 3000\nmode = 'monitor'\n"
        "[capabilities.agents]\ncoder = 'deep'\n"
    )
    own = for_agent(made, "coder")
    assert (own.max_tokens, own.mode, own.exclude) == (3_000, "monitor", ("a",))
    assert for_agent(made, "other") == for_agent(made, None) == for_agent(made, "") == made
    assert with_profile(made, "deep") == own


@pytest.mark.invariant(id="CARD-EXT-007")
@pytest.mark.parametrize(
    ("profile", "tokens", "suggestions"), [("minimal", 500, 1), ("full", 4_000, 5)]
)
def test_minimal_and_full_are_there_for_everybody(
    place: Place, profile: str, tokens: int, suggestions: int
) -> None:
    made = place.load(f"[capabilities]\nexclude = ['a']\nagents = {{coder = '{profile}'}}\n")
    own = for_agent(made, "coder")
    assert (own.max_tokens, own.skill_suggestions, own.exclude) == (tokens, suggestions, ("a",))
    assert set(PROFILES) == {"minimal", "full"}


def test_a_profile_of_ones_own_takes_the_place_of_a_bundled_one(place: Place) -> None:
    made = place.load("[capabilities.profiles.minimal]\nskillSuggestions = 0\n")
    own = with_profile(made, "minimal")
    assert (own.max_tokens, own.skill_suggestions) == (1_500, 0)


def test_an_agent_with_an_unknown_profile_is_refused_with_a_suggestion(place: Place) -> None:
    error = place.refusal("[capabilities.agents]\ncoder = 'minimum'\n")
    assert "'capabilities.agents.coder'" in error.message
    assert "'minimum'" in error.message
    assert (error.hint, error.where) == ("did you mean 'minimal'?", place.file)
    error = place.refusal("[capabilities.agents]\ncoder = 'zebra'\n")
    assert error.hint == "[capabilities.profiles.NAME]"
    own = "[capabilities.profiles.dive]\n[capabilities.agents]\ncoder = 'dove'\n"
    assert place.refusal(own).hint == "did you mean 'dive'?"


def test_an_unknown_profile_that_is_asked_for_is_refused_with_those_that_are_there() -> None:
    config = CapabilitiesConfig(profiles={"own": {}})
    with pytest.raises(ConfigError) as caught:
        with_profile(config, "other")
    assert caught.value.hint == "known: full, minimal, own"


WRONG_PROFILES = ["maxTokens = -1", "zebra = 1", "profiles = {}", "agents = {}", "sources = []"]


@pytest.mark.parametrize("line", WRONG_PROFILES)
def test_a_wrong_key_or_value_in_a_profile_is_refused_when_the_file_is_read(
    place: Place, line: str
) -> None:
    error = place.refusal(f"[capabilities.profiles.own]\n{line}\n")
    assert f"'capabilities.profiles.own.{line.split(' ')[0]}'" in error.message


def test_a_profile_that_is_no_table_is_refused(place: Place) -> None:
    error = place.refusal("[capabilities.profiles]\nown = 5\n")
    assert error.message == "'capabilities.profiles.own' must be a table"


@pytest.mark.parametrize("line", WRONG_PROFILES)
def test_a_wrong_profile_is_told_with_its_file(place: Place, line: str) -> None:
    assert place.refusal(f"[capabilities.profiles.own]\n{line}\n").where == place.file


def test_a_profile_name_that_is_no_text_is_told_with_its_agent(place: Place) -> None:
    error = place.refusal("[capabilities.agents]\ncoder = 1\n")
    assert "'capabilities.agents.coder'" in error.message


# What hooks read


def test_what_is_written_for_hooks_is_read_back_as_it_was(place: Place) -> None:
    made = place.load(
        "[capabilities]\nmaxTokens = 7\nbudgets = {'5' = 6}\nuserTier = 'pro'\n"
        "[capabilities.profiles.own]\nmax_tokens = 8\n"
        "[capabilities.agents]\ncoder = 'own'\n"
    )
    written = to_json(made)
    assert written["profiles"]["own"] == {"budgets": {}, "maxTokens": 8}
    assert set(written["profiles"]) == {"own", "minimal", "full"}
    again = read_capabilities(
        {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in written.items()
            if value is not None
        },
        "hooks",
    )
    assert again._replace(profiles={}) == made._replace(profiles={})
    assert for_agent(again, "coder").max_tokens == for_agent(made, "coder").max_tokens == 8
