"""Addresses of PostgreSQL: which are valid, which hold a secret, and how they are shown."""

import pytest

from metier.config.database_url import DatabaseUrl, check_no_secret, check_url, without_secrets
from metier.errors import ConfigError

SECRET = "hunter2"


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://db.example.org/metier",
        "postgres://ann@db.example.org:5432/metier",
        "postgresql://ann:@db.example.org/metier",
        "postgresql://a:1,b:2/metier?target_session_attrs=read-write",
        "postgresql://[::1]:5432/metier?sslmode=disable",
        "postgresql:///metier?host=/run/postgresql",
        "postgresql://ann@%2Frun%2Fpostgresql/metier",
        "postgresql://",
    ],
)
def test_a_url_without_a_password_is_valid(address: str) -> None:
    check_url(address, "there")
    check_no_secret(address, "there")


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ann:{SECRET}@db/metier",
        f"postgresql://:{SECRET}@db/metier",
        f"postgresql://db/metier?password={SECRET}",
        f"postgresql://db/metier?sslmode=require&password={SECRET}",
        f"postgresql://db/metier?pass%77ord={SECRET}",
        f"postgresql://db/metier?sslpassword={SECRET}",
        f"postgresql://db/metier?oauth_client_secret={SECRET}",
    ],
)
def test_a_password_is_found_wherever_it_is(address: str) -> None:
    check_url(address, "there")
    with pytest.raises(ConfigError) as raised:
        check_no_secret(address, "there")
    assert raised.value.code == "STATE_URL_PASSWORD"
    assert raised.value.where == "there"
    assert "pgpass" in raised.value.hint


@pytest.mark.parametrize(
    "address",
    [
        f"host=db password={SECRET}",
        f"mysql://ann:{SECRET}@db/x",
        f"postgresql://ann:{SECRET}@{SECRET}@db/x",
        f"postgresql://ann:a/{SECRET}@db/x",
        f"postgresql://ann:1/{SECRET}@db/x",
        f"postgresql://ann:a?{SECRET}@db/x",
        f"postgresql://ann:a#{SECRET}@db/x",
        f"postgresql://ann:{SECRET} x@db/x",
        f"postgresql://db:{SECRET}/x",
        "",
    ],
)
def test_an_address_that_is_no_url_is_rejected_without_being_quoted(address: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_url(address, "there")
    assert SECRET not in raised.value.message + raised.value.hint
    assert without_secrets(address) == "postgresql://…"


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        (f"postgresql://ann:{SECRET}@db:1/x", "postgresql://ann@db:1/x"),
        (f"postgres://:{SECRET}@db", "postgresql://db"),
        (
            f"postgresql:///x?host=/run&password={SECRET}&sslmode=require",
            "postgresql:///x?host=/run&sslmode=require",
        ),
        (f"postgresql://db?sslpassword={SECRET}&options={SECRET}", "postgresql://db"),
        ("postgresql://?host=/run", "postgresql:///?host=/run"),
    ],
)
def test_an_address_is_shown_without_secrets(address: str, shown: str) -> None:
    assert without_secrets(address) == shown
    assert SECRET not in f"{DatabaseUrl(address)} {DatabaseUrl(address)!r}"
