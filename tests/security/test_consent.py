"""Who may call which tool: the user's own settings, the record, or a flag."""

import pytest

from metier.config import Config
from metier.config.consent import consented
from metier.values.run_settings import CommandSetting, ServerSetting
from metier.values.settings_tables import ToolSettings
from metier.values.trust import Consent, Trust

TRUSTED = Trust("trusted", consents=frozenset([Consent("deploy", "d", "worker")]))


def config(*allow: str, is_users: bool = False) -> Config:
    commands = (CommandSetting("deploy", ("true",), is_users=is_users),)
    servers = (ServerSetting("files", "x"), ServerSetting("files2", "x"))
    return Config(tools=ToolSettings(allow, commands), servers=servers)


@pytest.mark.parametrize(
    ("tool", "agent", "allow", "wanted"),
    [
        ("deploy", "worker", (), True),
        ("deploy", "other", (), False),
        ("deploy", "other", ("deploy",), False),
        ("files__read", "worker", (), False),
        ("files__read", "worker", ("files/*",), True),
        ("files__read", "worker", ("files__read",), True),
        ("files__write", "worker", ("files__read",), False),
        ("files2__read", "worker", ("files/*",), False),
        ("unknown", "worker", ("files/*",), False),
        ("files__read", "worker", ("*", "files*", "files__*"), False),
    ],
)
def test_consent_is_by_name_and_a_star_covers_one_server_only(
    tool: str, agent: str, allow: tuple[str, ...], wanted: bool
) -> None:
    assert consented(tool, agent, config(*allow), TRUSTED) is wanted


def test_the_users_own_command_is_allowed_in_their_own_settings() -> None:
    assert consented("deploy", "any", config("deploy", is_users=True), Trust())
    assert not consented("deploy", "any", config(is_users=True), Trust())
