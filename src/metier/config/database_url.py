"""The address of a PostgreSQL database: its form, its secrets, and how it is shown."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from metier.errors import ConfigError

EXAMPLE = "postgresql://USER@HOST:PORT/DATABASE"
_HOST = r"(?:\[[0-9A-Fa-f:.%]*\]|[\w.%-]*)(?::[0-9]*)?"
_FORM = (
    r"postgres(?:ql)?://"
    r"(?:(?P<user>[^:@/?#\s]*)(?::(?P<password>[^@/?#\s]*))?@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?:/(?P<database>[^@/?#\s]*))?"
    r"(?:\?(?P<parameters>[^?#\s]*))?"
)
SSL_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
_SHOWN = ("host", "hostaddr", "port", "dbname", "user", "service", "sslmode")
_SECRETS = ("password", "secret", "scram_client_key", "scram_server_key")
"""Parts of the names of parameters that hold a secret."""


class DatabaseUrl(NamedTuple):
    """An address that may hold a password; it is printed without."""

    text: str

    def __repr__(self) -> str:
        return f"DatabaseUrl({without_secrets(self.text)!r})"


def check_url(text: str, where: str) -> None:
    """Raise `ConfigError`, which does not quote it, unless `text` is the URL of a database."""
    found = re.fullmatch(_FORM, text)
    if found is None:
        raise ConfigError(
            "the address of PostgreSQL is not valid",
            where=where,
            hint=f"{EXAMPLE}; write other characters as %XX",
        )
    for name, value in _values(found):
        if name == "sslmode" and value not in SSL_MODES:
            raise ConfigError(
                "the address of PostgreSQL has an unknown 'sslmode'",
                where=where,
                hint=f"one of {', '.join(SSL_MODES)}",
            )


def check_no_secret(text: str, where: str) -> None:
    """Raise `ConfigError` if a valid URL holds a password."""
    found = re.fullmatch(_FORM, text)
    if found is not None and (found["password"] or any(map(_is_secret, _parameters(found)))):
        raise ConfigError(
            "the address of PostgreSQL has a password in it",
            code="STATE_URL_PASSWORD",
            where=where,
            hint="put it into ~/.pgpass, METIER_STATE_URL or the file that state.url-file names",
        )


def without_secrets(text: str) -> str:
    """A URL with only those of its parts that may be shown."""
    found = re.fullmatch(_FORM, text)
    if found is None:
        return "postgresql://…"
    user = f"{found['user']}@" if found["user"] else ""
    database = f"/{found['database']}" if found["database"] else ""
    kept = [pair for name, pair in _pairs(found) if name in _SHOWN]
    more = f"{'' if database else '/'}?{'&'.join(kept)}" if kept else ""
    return f"postgresql://{user}{found['hosts']}{database}{more}"


def _is_secret(name: str) -> bool:
    return any(part in name for part in _SECRETS)


def _parameters(found: re.Match[str]) -> Iterator[str]:
    return (name for name, _ in _pairs(found))


def _pairs(found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The name of each parameter, and the parameter as it is written."""
    from urllib.parse import unquote  # few settings name a database

    for pair in (found["parameters"] or "").split("&"):
        yield unquote(pair.partition("=")[0]).strip().lower(), pair


def _values(found: re.Match[str]) -> Iterator[tuple[str, str]]:
    """The name and the value of each parameter."""
    from urllib.parse import unquote  # few settings name a database

    for name, pair in _pairs(found):
        yield name, unquote(pair.partition("=")[2])
