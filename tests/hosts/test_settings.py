"""The facts about hosts are kept once."""

from metier.hosts import HOOKED
from metier.hosts.settings import HOOKS, SERVERS


def test_the_hosts_that_the_hook_answers_are_those_it_can_be_installed_in() -> None:
    assert tuple(HOOKS) == HOOKED


def test_a_host_has_one_title_wherever_it_is_listed() -> None:
    assert {name: HOOKS[name].title for name in HOOKED} == {
        name: SERVERS[name].title for name in HOOKED
    }
