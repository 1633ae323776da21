"""Installing over what somebody wrote or edited: it is left, or kept and given back."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from metier.errors import UsageError
from metier.hosts.known import HOOKS
from metier.hosts.settings_forms import Entry
from metier.install.changes import BACKUP, Plan, apply
from metier.install.commands import is_by_hand
from metier.install.plans import make_plan

ENTRIES = {name: host.entry for name, host in HOOKS.items() if host.entry is not None}
PLUGINS = [name for name, host in HOOKS.items() if host.entry is None]


def install(host: str, folder: Path, command: str = "/opt/tools/metier") -> Plan:
    made = make_plan("hook", host, "project", str(folder), str(folder / "home"), [command])
    apply(made)
    return made


def uninstall(host: str, folder: Path) -> Plan:
    made = make_plan("hook", host, "project", str(folder), str(folder / "home"))
    apply(made)
    return made


def entry_with(entry: Entry, command: str, **more: Any) -> dict[str, Any]:
    return {**entry.kind, entry.key: command, **more}


def settings(folder: Path, host: str, *entries: dict[str, Any], **more: Any) -> Path:
    """Settings of a host with these entries, in a layout that metier would not choose."""
    spec = ENTRIES[host]
    items = [{"hooks": [one]} if spec.in_group else one for one in entries]
    version = {} if spec.version is None else {"version": spec.version}
    data = {**version, "hooks": {spec.event: items}, **more}
    file = folder / (HOOKS[host].project or "")
    file.parent.mkdir(parents=True)
    file.write_text(json.dumps(data, indent=3))
    return file


def backup_of(file: Path) -> Path:
    return file.with_name(file.name + BACKUP)


def left_in(file: Path, host: str) -> Any:
    return json.loads(file.read_text()).get("hooks", {}).get(ENTRIES[host].event, [])


# Entries that work


BY_HAND = [
    "metier hook {}",
    "timeout 5 metier hook {} 2>/dev/null",
    "env A=b /usr/bin/metier hook {} || true",
    "python3 -P -m metier hook {}",
    "timeout 5 /usr/bin/python3 -I -m metier hook {}",
]


@pytest.mark.parametrize("host", ENTRIES)
@pytest.mark.parametrize("command", BY_HAND)
def test_an_entry_that_somebody_wrote_is_left_as_it_is(
    command: str, host: str, tmp_path: Path
) -> None:
    entry = entry_with(ENTRIES[host], command.format(host), note="mine")
    file = settings(tmp_path, host, entry)
    before = file.read_bytes()
    assert not install(host, tmp_path).changed
    assert file.read_bytes() == before
    assert not backup_of(file).exists()


@pytest.mark.parametrize("host", ENTRIES)
def test_uninstalling_takes_it_out_and_keeps_the_file_and_a_copy(host: str, tmp_path: Path) -> None:
    file = settings(tmp_path, host, entry_with(ENTRIES[host], f"metier hook {host}"))
    before = file.read_bytes()
    install(host, tmp_path)
    (change,) = uninstall(host, tmp_path).changes
    assert (change.action, change.backup) == ("change", "make")
    assert left_in(file, host) == []
    assert backup_of(file).read_bytes() == before
    assert not uninstall(host, tmp_path).changed


def test_an_entry_without_the_type_that_the_host_asks_for_gets_it(tmp_path: Path) -> None:
    file = settings(tmp_path, "codex", {"command": "metier hook codex"})
    before = file.read_bytes()
    install("codex", tmp_path)
    entry = {"type": "command", "command": "metier hook codex"}
    assert left_in(file, "codex") == [{"hooks": [entry]}]
    uninstall("codex", tmp_path)
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("metier hook codex", True),
        ("bin/metier hook codex", True),
        ("timeout 5 /x/metier hook codex", True),
        ("/x/metier hook codex 2>/dev/null", True),
        ("/x/metier hook codex", False),
        ("'/a b/metier' hook codex", False),
        ("timeout 5 metier hook codex --json", False),
        ("metier hook gemini", False),
        ("python3 -P -m metier hook codex", True),
        ("/x/python3 -I -m metier hook codex", True),
        ("/x/python3 -P -m metier hook codex", False),
        ("python3 -m metier hook codex", False),
        ("/x/python3 -m metier hook codex", False),
        (None, False),
    ],
)
def test_what_counts_as_written_by_hand(command: object, expected: bool) -> None:
    assert is_by_hand(command, "codex") is expected


# Entries that are replaced


REPLACED = [
    [("/old/metier hook {}", {})],
    [("/old/metier hook {}", {"timeout": 60, "note": "mine"})],
    [("metier hook {} --root /somewhere", {})],
    [("metier hook {}", {}), ("/old/metier hook {}", {})],
    [("python3 -m metier hook {}", {"note": "imports from the folder of the host"})],
    [("timeout 5 /usr/bin/python3 -m metier hook {}", {})],
]


@pytest.mark.parametrize("host", ENTRIES)
@pytest.mark.parametrize("written", REPLACED)
def test_what_is_replaced_is_kept_and_comes_back(
    written: list[tuple[str, dict[str, Any]]], host: str, tmp_path: Path
) -> None:
    entries = [entry_with(ENTRIES[host], one.format(host), **more) for one, more in written]
    file = settings(tmp_path, host, *entries, entry_with(ENTRIES[host], "lint-prompt"))
    before = file.read_bytes()
    install(host, tmp_path)
    assert file.read_bytes() != before
    assert backup_of(file).read_bytes() == before
    assert not install(host, tmp_path).changed
    (change,) = uninstall(host, tmp_path).changes
    assert change.action == "restore"
    assert file.read_bytes() == before
    assert not backup_of(file).exists()


def test_what_came_back_can_be_taken_out_too(tmp_path: Path) -> None:
    ours = entry_with(ENTRIES["codex"], "/old/metier hook codex", timeout=3)
    file = settings(tmp_path, "codex", ours, model="x")
    install("codex", tmp_path)
    uninstall("codex", tmp_path)
    uninstall("codex", tmp_path)
    assert json.loads(file.read_text()) == {"model": "x"}
    assert not uninstall("codex", tmp_path).changed


def test_a_copy_that_equals_the_file_does_not_hinder(tmp_path: Path) -> None:
    file = settings(tmp_path, "codex", entry_with(ENTRIES["codex"], "/old/metier hook codex"))
    backup_of(file).write_bytes(file.read_bytes())
    uninstall("codex", tmp_path)
    assert left_in(file, "codex") == []


@pytest.mark.parametrize("host", HOOKS)
def test_what_metier_alone_has_made_needs_no_copy(host: str, tmp_path: Path) -> None:
    for command in ("/a/metier", "/b/metier", "/c d/metier"):
        assert install(host, tmp_path, command).changed
    assert [one for one in tmp_path.rglob("*") if one.name.endswith(BACKUP)] == []
    uninstall(host, tmp_path)
    assert list(tmp_path.iterdir()) == []


# Plugins


def edited(host: str, folder: Path) -> Path:
    install(host, folder)
    file = Path(make_plan("hook", host, "project", str(folder), "/", ["/x/metier"]).changes[0].path)
    file.write_text(f"{file.read_text()}// mine\n")
    return file


@pytest.mark.parametrize("host", PLUGINS)
def test_an_edited_plugin_is_kept_and_comes_back(host: str, tmp_path: Path) -> None:
    file = edited(host, tmp_path)
    before = file.read_bytes()
    others = sorted(file.parent.iterdir())
    install(host, tmp_path)
    assert backup_of(file).read_bytes() == before
    assert b"// mine" not in file.read_bytes()
    assert not install(host, tmp_path).changed
    assert {one.action for one in uninstall(host, tmp_path).changes} <= {"restore", "keep"}
    assert file.read_bytes() == before
    assert [one for one in others if not one.exists()] in ([], [Path(f"{file}.metier-made")])


@pytest.mark.parametrize("host", PLUGINS)
def test_an_edited_plugin_that_goes_leaves_a_copy(host: str, tmp_path: Path) -> None:
    file = edited(host, tmp_path)
    before = file.read_bytes()
    uninstall(host, tmp_path)
    assert [one.name for one in file.parent.iterdir()] == [backup_of(file).name]
    assert backup_of(file).read_bytes() == before
    assert not uninstall(host, tmp_path).changed


def test_a_copy_that_equals_the_plugin_does_not_hinder(tmp_path: Path) -> None:
    file = edited("opencode", tmp_path)
    backup_of(file).write_bytes(file.read_bytes())
    uninstall("opencode", tmp_path)
    assert not file.exists()
    assert backup_of(file).exists()


def test_a_copy_of_somebody_else_is_never_put_in_the_place_of_a_plugin(tmp_path: Path) -> None:
    install("opencode", tmp_path)
    file = tmp_path / ".opencode" / "plugins" / "metier.js"
    for other in (b"mine", b"\xff"):
        backup_of(file).write_bytes(other)
        (change,) = make_plan("hook", "opencode", "project", str(tmp_path), "/").changes
        assert change.action == "remove"
        assert change.backup == "keep"


# Links


def linked(folder: Path, target: Path, at: str) -> Path:
    """A workspace where `at` is a link to `target`."""
    workspace = folder / "workspace"
    link = workspace / at
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    return workspace


@pytest.mark.parametrize("at", [".claude/settings.json", ".claude"])
@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_out_of_the_workspace_is_not_followed(
    is_there: bool, at: str, tmp_path: Path
) -> None:
    target = tmp_path / "elsewhere" / ("settings.json" if at.endswith("json") else "")
    (tmp_path / "elsewhere").mkdir()
    if is_there:
        (tmp_path / "elsewhere" / "settings.json").write_text('{"a": 1}')
    workspace = linked(tmp_path, target, at)
    state = {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}
    with pytest.raises(UsageError, match="a link leads out of the workspace, to /") as caught:
        install("claude-code", workspace)
    assert str(tmp_path / "elsewhere" / "settings.json") in caught.value.message
    assert caught.value.where == str(workspace / ".claude" / "settings.json")
    assert "--user" in caught.value.hint
    assert state == {one: one.read_bytes() for one in tmp_path.rglob("*") if one.is_file()}


def test_neither_is_it_when_nothing_would_change_or_the_entry_is_taken_out(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    install("claude-code", tmp_path / "elsewhere")
    target = tmp_path / "elsewhere" / ".claude" / "settings.json"
    workspace = linked(tmp_path, target, ".claude/settings.json")
    before = target.read_bytes()
    for change in (install, uninstall):
        with pytest.raises(UsageError, match="a link leads out of the workspace"):
            change("claude-code", workspace)
    assert target.read_bytes() == before


def test_the_user_s_own_settings_may_be_a_link_to_anywhere(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles.json"
    target.write_text("{}")
    home = linked(tmp_path, target, ".claude/settings.json")
    plan = make_plan("hook", "claude-code", "user", "/nowhere", str(home), ["/opt/metier"])
    apply(plan)
    assert plan.changes[0].target == str(target)
    assert "hooks" in json.loads(target.read_text())
    assert sorted(os.listdir(home / ".claude")) == ["settings.json", f"settings.json{BACKUP}"]
