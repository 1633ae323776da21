"""Every fact about a host has a source and a date, or is unknown; light tables follow the model."""

import re
import subprocess
import sys

import pytest

from metier.discover.plugins import INSTALLED, MANIFEST, NOTED, PLUGIN_FOLDER
from metier.hook.serve import envelope
from metier.hosts import HOOKED, honours_the_switch
from metier.hosts.folders import FOLDERS, PROJECT_FOLDERS
from metier.hosts.known import HOOKS, HOSTS, SERVERS, host_keys
from metier.hosts.loading import SWITCH, honours
from metier.hosts.model import STANDARD_KEYS, UNKNOWN, Host
from metier.hosts.table import IGNORE_THE_SWITCH

SECTIONS = ("loading", "plugins", "listing", "hook", "transcripts", "values")
WHOLE = ("keys", "switches", "hook_settings", "mcp_settings")
"""Sections that have one source for all."""
EVERY_HOST = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)


def facts(host: Host) -> dict[str, object]:
    """Every known fact, as `section.field`."""
    found: dict[str, object] = {}
    for section in SECTIONS:
        values = getattr(host, section)
        if values is not None:
            found |= {f"{section}.{field}": one for field, one in values._asdict().items()}
    found |= {f"{section}.": one for section in WHOLE if (one := getattr(host, section))}
    return {name: value for name, value in found.items() if value is not UNKNOWN}


@EVERY_HOST
def test_every_fact_has_a_source_and_a_date(host: Host) -> None:
    assert facts(host)
    for fact in facts(host):
        source = host.source_of(*fact.split("."))
        assert source is not None, fact
        assert source.where, fact
        assert re.fullmatch(r"2026-(0[1-9]|1[0-2])(-[0-3][0-9])?", source.date), fact


@EVERY_HOST
def test_every_source_is_of_a_fact(host: Host) -> None:
    known = {*SECTIONS, *WHOLE}
    assert host.sources
    for name in host.sources:
        section, _, field = name.partition(".")
        assert section in known
        assert getattr(host, section) is not None
        assert not field or field in getattr(host, section)._fields
        assert f"{section}.{field}" not in facts(host) or host.source_of(section, field)


@EVERY_HOST
def test_no_source_of_its_own_is_given_for_what_is_unknown(host: Host) -> None:
    given = {name for name in host.sources if "." in name}
    assert given <= facts(host).keys()


def test_the_hosts_that_the_hook_answers_are_those_it_can_be_installed_in() -> None:
    assert tuple(HOOKS) == HOOKED
    assert [name for name, host in HOSTS.items() if host.hook is not None] == list(HOOKED)


def test_a_host_has_its_name_and_title_wherever_it_is_listed() -> None:
    for name, file in [*HOOKS.items(), *SERVERS.items()]:
        assert (file.name, file.title) == (name, HOSTS[name].title)
    assert len({host.title for host in HOSTS.values()}) == len(HOSTS)


def test_metier_looks_through_the_skill_folders_of_all_hosts_and_no_others() -> None:
    loading = [host.loading for host in HOSTS.values() if host.loading is not None]
    admin = [one.admin for one in loading if one.admin is not UNKNOWN]
    plugins = HOSTS["claude-code"].plugins
    assert plugins is not None
    project = {folder for one in loading for folder in one.project} - {"skills"}
    user = {folder for one in loading for folder in one.user}
    assert {folder for _, folder in PROJECT_FOLDERS} == project
    assert {one.folder for one in FOLDERS} == {
        *project, *user, plugins.folder, *(folder for folders in admin for folder in folders)
    }  # fmt: skip
    assert len({one.label for one in FOLDERS}) == len(FOLDERS)


def test_the_folders_that_a_host_borrows_are_another_hosts() -> None:
    borrowers = [name for name, host in HOSTS.items() if host.loading and host.loading.borrowed]
    assert borrowers == ["copilot", "cursor", "opencode"]
    for host in HOSTS.values():
        for folder in host.loading.borrowed if host.loading else ():
            owners = [
                one.name
                for one in HOSTS.values()
                if one.loading is not None
                and folder in (*one.loading.project, *one.loading.user)
                and folder not in one.loading.borrowed
            ]
            assert owners
            assert host.name not in owners


def test_the_walk_finds_plugins_where_the_model_says() -> None:
    plugins = HOSTS["claude-code"].plugins
    assert plugins is not None
    assert plugins.manifests == (f"{PLUGIN_FOLDER}/{MANIFEST}",)
    (cache,) = (one.folder for one in FOLDERS if one.label == INSTALLED)
    assert plugins.folder == cache
    assert plugins.installed == f"{cache.rpartition('/')[0]}/{NOTED}"


@EVERY_HOST
def test_the_light_switch_is_that_of_the_model(host: Host) -> None:
    if host.loading is not None:
        assert honours_the_switch(host.name) == honours(host, SWITCH)
    assert HOSTS.keys() >= IGNORE_THE_SWITCH


@EVERY_HOST
def test_a_switch_in_front_matter_is_a_key_of_the_host(host: Host) -> None:
    keys = {one.key for one in host.switches if one.at == "front matter"}
    assert keys <= host.keys.keys()


def test_hosts_agree_on_the_type_of_a_key() -> None:
    merged = host_keys()
    for host in HOSTS.values():
        assert {name: merged[name] for name in host.keys} == host.keys
        assert host.keys.keys().isdisjoint(STANDARD_KEYS)


@EVERY_HOST
def test_the_hook_answers_as_the_model_says(host: Host) -> None:
    if host.hook is None or host.hook_settings is None:
        return
    assert f'"{host.hook.answer}"' in envelope(host.name, "", "text")
    entry = host.hook_settings.entry
    assert entry is None or entry.event == host.hook.event


def test_neither_a_hook_nor_a_resolution_loads_the_model() -> None:
    for module in ("metier.hook.serve", "metier.flow.resolving", "metier.discover.walk"):
        code = f"import sys, {module}; print('metier.hosts.model' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert done.stdout == "False\n", module
