"""Where a server can listen, and what is said where it cannot."""

import errno
import socket

import pytest

from metier.errors import UsageError
from metier.serving.endpoint import Endpoint


def refusal(where: Endpoint) -> UsageError:
    with pytest.raises(UsageError, match=f"cannot listen on .*:{where.port}: ") as caught:
        where.bound()
    return caught.value


def test_a_port_that_is_in_use_is_told_with_the_way_to_another() -> None:
    with Endpoint(port=0).bound() as bound:
        error = refusal(Endpoint(port=bound.getsockname()[1]))
    assert "in use" in error.message
    assert error.hint == "--port 0 picks a free port"


@pytest.mark.parametrize("address", ["300.1.1.1", "192.0.2.1", "no..name", "ü" * 300, "::zz"])
def test_an_address_of_no_machine_or_another_is_told_as_such(address: str) -> None:
    hint = refusal(Endpoint(address, 0, "token")).hint
    assert hint == f"{address} is not an address of this machine; 127.0.0.1 always is"


def test_a_port_that_needs_rights_is_told_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refused(socket.socket):
        def bind(self, _address: object) -> None:
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("metier.serving.endpoint.socket.socket", Refused)
    assert refusal(Endpoint(port=80)).hint == "ports from 1024 on need no privileges: --port N"
