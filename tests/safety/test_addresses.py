"""Addresses: whose host they name, and which of them secrets may be sent to."""

import pytest

from metier.errors import UsageError
from metier.safety.addresses import (
    check_address,
    host_of,
    is_at,
    is_inner_host,
    is_loopback_host,
    redirected,
)


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://api.example.org/v1", "api.example.org"),
        ("HTTPS://API.Example.org./v1?a=b#c", "api.example.org"),
        ("https://h:443/", "h"),
        ("http://h:80", "h"),
        ("http://h:443", "h:443"),
        ("https://h:8443/v1", "h:8443"),
        ("http://[::1]:8080/v1", "[::1]:8080"),
        ("https://user:secret@h/v1", "h"),
        ("https://good@evil", "evil"),
        ("https://evil#@good/", "evil"),
    ],
)
def test_the_host_of_an_address(address: str, host: str) -> None:
    assert host_of(address) == host


NO_ADDRESSES = [
    "",
    "h",
    "localhost:8080",
    "//h/v1",
    "ftp://h/",
    "file:///etc/passwd",
    "https://",
    "https:///v1",
    "https://.",
    "https://h:port/",
    "https://h:99999/",
    "https://h:0/",
    "https://[::1/",
    "https://good\\@evil/",
    "https://h/a b",
    "https://h\n/",
    " https://h/",
]


@pytest.mark.parametrize("address", NO_ADDRESSES)
def test_what_is_no_address_has_no_host_and_is_refused(address: str) -> None:
    assert host_of(address) == ""
    with pytest.raises(UsageError, match="is not an http or https address"):
        check_address(address, plain_http=True)


@pytest.mark.parametrize(
    ("address", "host", "expected"),
    [
        ("https://h/v1", "h", True),
        ("https://h/v1", "H.", True),
        ("https://h/v1", "h:443", True),
        ("https://h:8443/v1", "h:8443", True),
        ("http://[::1]:80/v1", "[::1]", True),
        ("https://h:8443/v1", "h", False),
        ("https://h/v1", "h:8443", False),
        ("https://h.evil/v1", "h", False),
        ("https://evil/h", "h", False),
        ("https://h@evil/", "h", False),
        ("https://h/v1", "", False),
        ("", "", False),
        ("no address", "h", False),
    ],
)
def test_an_address_is_at_one_host_alone(address: str, host: str, expected: bool) -> None:
    assert is_at(address, host) is expected


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST.", "localhost:8080"),
        *("127.0.0.1", "127.0.0.1:80", "127.9.8.7"),
        *("::1", "[::1]", "[::1]:8080"),
    ],
)
def test_this_machine_is_known_by_its_names(host: str) -> None:
    assert is_loopback_host(host)
    assert is_inner_host(host)


@pytest.mark.parametrize("host", ["10.0.0.1", "192.168.1.1:80", "169.254.169.254", "[fe80::1]:80"])
def test_a_local_network_is_inner_but_not_this_machine(host: str) -> None:
    assert not is_loopback_host(host)
    assert is_inner_host(host)


@pytest.mark.parametrize(
    "host",
    [
        *("", "example.org", "localhost.example.org", "my-localhost"),
        *("127.0.0.1.example.org", "1.1.1.1", "2606:4700::1111"),
    ],
)
def test_other_hosts_are_neither(host: str) -> None:
    assert not is_loopback_host(host)
    assert not is_inner_host(host)


@pytest.mark.parametrize(
    "address",
    ["https://api.example.org/v1", "http://localhost:8080/v1", "http://127.0.0.1/", "http://[::1]"],
)
def test_https_and_this_machine_are_fine(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize("address", ["http://api.example.org/v1", "HTTP://10.0.0.1:80/v1"])
def test_plain_http_is_for_hosts_that_the_user_named(address: str) -> None:
    check_address(address, plain_http=True)
    with pytest.raises(UsageError, match="the url is plain http") as caught:
        check_address(address, what="the url")
    assert host_of(address) in caught.value.message
    assert "your own settings" in caught.value.hint


@pytest.mark.parametrize("who", ["user:secret@", "user@", "@", ":secret@"])
def test_a_name_or_password_is_refused_and_not_repeated(who: str) -> None:
    with pytest.raises(UsageError, match="must not contain a name or password") as caught:
        check_address(f"https://{who}example.org/v1")
    assert "secret" not in caught.value.message


@pytest.mark.parametrize(
    ("location", "place"),
    [
        ("https://other.example/a?token=secret", "other.example"),
        ("//other.example:1/a", "other.example:1"),
        ("/elsewhere", "h:8080"),
        ("https://user:secret@other.example", "other.example"),
        ("ftp://other.example", "an invalid address"),
        ("http://[", "an invalid address"),
    ],
)
def test_a_redirect_is_told_by_its_host(location: str, place: str) -> None:
    told = redirected("http://h:8080/v1", location)
    assert told == f"the server redirected to {place}; redirects are not followed"
