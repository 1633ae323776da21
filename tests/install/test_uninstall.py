"""Uninstalling: our entry goes, and nothing else does."""

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from metier.errors import UsageError
from metier.hosts.known import HOOKS
from metier.install.changes import BACKUP, Plan, apply
from metier.install.plans import make_plan

FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/metier.json",
    "cursor": ".cursor/hooks.json",
}
OURS = {"type": "command", "command": "/opt/tools/metier hook claude-code", "timeout": 10}
OTHER_TOOL = {"hooks": [{"type": "command", "command": "lint-prompt --fast", "timeout": 3}]}


def install(host: str, folder: Path) -> None:
    home = str(folder / "home")
    apply(make_plan("hook", host, "project", str(folder), home, ["/opt/tools/metier"]))


def plan(host: str, folder: Path) -> Plan:
    return make_plan("hook", host, "project", str(folder), str(folder / "home"))


def uninstall(host: str, folder: Path) -> Plan:
    made = plan(host, folder)
    apply(made)
    return made


def settings(folder: Path, text: str, host: str = "claude-code") -> Path:
    file = folder / FILES[host]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode())
    return file


def names(folder: Path) -> list[str]:
    return sorted(str(one.relative_to(folder)) for one in folder.rglob("*"))


# As it was before


@pytest.mark.parametrize("host", FILES)
@pytest.mark.parametrize(
    "before",
    [
        "",
        "{}",
        "{ }\n\n",
        '{"a":1,"b" : [ 1,2 ]}',
        '{\r\n\t"a": 1.50\r\n}',
        '\ufeff{"hooks" : { } }',
        '{"hooks": {"UserPromptSubmit": [ ], "BeforeAgent": [ ], "sessionStart": [ ]}}',
        '{"version": 1, "hooks": {"x": [{"command": "a"}], "sessionStart": [{"command": "b"}]}}\n',
    ],
)
def test_the_very_bytes_come_back_and_nothing_is_left(
    host: str, before: str, tmp_path: Path
) -> None:
    file = settings(tmp_path, before, host)
    state = names(tmp_path)
    install(host, tmp_path)
    assert file.read_bytes() != before.encode()
    (change,) = uninstall(host, tmp_path).changes
    assert change.action == "restore"
    assert file.read_bytes() == before.encode()
    assert names(tmp_path) == state


def test_the_mode_stays_and_a_link_stays_a_link(tmp_path: Path) -> None:
    target = tmp_path / "real.json"
    target.write_text('{"a": 1}')
    target.chmod(0o600)
    link = tmp_path / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(target)
    install("claude-code", tmp_path)
    uninstall("claude-code", tmp_path)
    assert link.is_symlink()
    assert target.read_text() == '{"a": 1}'
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert names(tmp_path) == [".claude", ".claude/settings.json", "real.json"]


@pytest.mark.parametrize("host", HOOKS)
def test_files_and_folders_that_were_made_go(host: str, tmp_path: Path) -> None:
    install(host, tmp_path)
    made = uninstall(host, tmp_path)
    assert {change.action for change in made.changes} == {"remove"}
    assert names(tmp_path) == []


@pytest.mark.parametrize("host", HOOKS)
def test_folders_that_were_there_stay(host: str, tmp_path: Path) -> None:
    first = make_plan("hook", host, "project", str(tmp_path), "/", ["/opt/metier"]).changes[0]
    Path(first.path).parent.mkdir(parents=True)
    state = names(tmp_path)
    install(host, tmp_path)
    uninstall(host, tmp_path)
    assert names(tmp_path) == state


def test_of_several_folders_only_those_that_were_made_go(tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    install("copilot", tmp_path)
    uninstall("copilot", tmp_path)
    assert names(tmp_path) == [".github"]


def test_a_folder_that_was_made_and_is_used_now_stays(tmp_path: Path) -> None:
    install("copilot", tmp_path)
    (tmp_path / ".github" / "workflows").mkdir()
    uninstall("copilot", tmp_path)
    assert names(tmp_path) == [".github", ".github/workflows"]


@pytest.mark.parametrize("count", ["99", "-1", "x", ""])
def test_a_wrong_count_of_folders_removes_nothing_that_is_used(count: str, tmp_path: Path) -> None:
    install("claude-code", tmp_path)
    (tmp_path / "kept").write_text("")
    (tmp_path / (FILES["claude-code"] + ".metier-made")).write_text(count)
    uninstall("claude-code", tmp_path)
    assert "kept" in names(tmp_path)
    assert not (tmp_path / FILES["claude-code"]).exists()


def test_a_dangling_link_is_as_it_was(tmp_path: Path) -> None:
    link = tmp_path / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(tmp_path / "later.json")
    install("claude-code", tmp_path)
    assert "hooks" in json.loads((tmp_path / "later.json").read_text())
    uninstall("claude-code", tmp_path)
    assert os.readlink(link) == str(tmp_path / "later.json")
    assert names(tmp_path) == [".claude", ".claude/settings.json"]


def test_folders_that_were_made_behind_a_link_go_and_the_link_stays(tmp_path: Path) -> None:
    link = tmp_path / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(tmp_path / "new" / "deep" / "later.json")
    state = names(tmp_path)
    install("claude-code", tmp_path)
    assert (tmp_path / "new" / "deep" / "later.json").is_file()
    uninstall("claude-code", tmp_path)
    assert names(tmp_path) == state


# After other changes


def test_what_changed_since_stays_and_so_does_the_backup(tmp_path: Path) -> None:
    file = settings(tmp_path, '{\n  "model": "x"\n}\n')
    install("claude-code", tmp_path)
    file.write_text(file.read_text().replace('"model": "x"', '"model": "y"'))
    (change,) = uninstall("claude-code", tmp_path).changes
    assert change.action == "change"
    assert file.read_text() == '{\n  "model": "y"\n}\n'
    assert file.with_name(file.name + BACKUP).read_text() == '{\n  "model": "x"\n}\n'


def test_a_file_that_was_made_and_has_more_now_stays(tmp_path: Path) -> None:
    install("claude-code", tmp_path)
    file = tmp_path / FILES["claude-code"]
    data = json.loads(file.read_text())
    data["hooks"]["UserPromptSubmit"].append(OTHER_TOOL)
    file.write_text(json.dumps(data, indent=2))
    uninstall("claude-code", tmp_path)
    assert json.loads(file.read_text()) == {"hooks": {"UserPromptSubmit": [OTHER_TOOL]}}
    assert names(tmp_path) == [".claude", FILES["claude-code"]]


@pytest.mark.parametrize("backup", [None, "{", "[]", b"\xff"])
def test_without_a_backup_that_can_be_used_the_entry_alone_goes(
    backup: str | bytes | None, tmp_path: Path
) -> None:
    file = settings(tmp_path, '{\n  "model": "x"\n}\n')
    install("claude-code", tmp_path)
    kept = file.with_name(file.name + BACKUP)
    if backup is None:
        kept.unlink()
    else:
        kept.write_bytes(backup if isinstance(backup, bytes) else backup.encode())
    uninstall("claude-code", tmp_path)
    assert file.read_text() == '{\n  "model": "x"\n}\n'
    assert kept.exists() == (backup is not None)


@pytest.mark.parametrize(("old", "new"), [("1", "1.0"), ("true", "1"), ("[0]", "[false]")])
def test_an_equal_value_of_another_kind_is_a_change(old: str, new: str, tmp_path: Path) -> None:
    file = settings(tmp_path, f'{{"a": {old}}}')
    install("claude-code", tmp_path)
    file.write_text(file.read_text().replace(f'"a": {old}', f'"a": {new}'))
    (change,) = uninstall("claude-code", tmp_path).changes
    assert change.action == "change"
    assert file.read_text() == f'{{"a": {new}}}'


def test_another_order_of_keys_is_no_change(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"a": 1, "b": {"c": 2, "d": 3}}')
    install("claude-code", tmp_path)
    file.write_text(json.dumps(json.loads(file.read_text()), sort_keys=True, indent=1))
    uninstall("claude-code", tmp_path)
    assert file.read_text() == '{"a": 1, "b": {"c": 2, "d": 3}}'


def test_a_version_that_was_added_goes_unless_it_is_gone(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"hooks": {}}', "cursor")
    install("cursor", tmp_path)
    file.write_text(file.read_text().replace(', "version": 1', ""))
    assert "version" not in file.read_text()
    uninstall("cursor", tmp_path)
    assert file.read_text() == '{"hooks": {}}'


# What counts as ours


@pytest.mark.parametrize("command", ["metier", "/somewhere/else/metier", "'/a b/metier'"])
def test_an_entry_goes_wherever_its_metier_lies(command: str, tmp_path: Path) -> None:
    entry = {"type": "command", "command": f"{command} hook claude-code"}
    before = json.dumps({"hooks": {"SessionStart": [{"hooks": [entry]}]}, "a": 1})
    file = settings(tmp_path, before)
    uninstall("claude-code", tmp_path)
    assert file.read_text() == '{"a": 1}'
    assert file.with_name(file.name + BACKUP).read_text() == before


def test_groups_of_others_stay_when_our_entry_leaves_them(tmp_path: Path) -> None:
    groups = [
        {"matcher": "x", "hooks": [OURS]},
        {"hooks": [OURS, OURS]},
        {"hooks": [OURS, *OTHER_TOOL["hooks"]]},
        OTHER_TOOL,
        OURS,
        7,
    ]
    file = settings(tmp_path, json.dumps({"hooks": {"UserPromptSubmit": groups, "Stop": {}}}))
    uninstall("claude-code", tmp_path)
    left = [{"matcher": "x", "hooks": []}, OTHER_TOOL, OTHER_TOOL, 7]
    assert json.loads(file.read_text()) == {"hooks": {"UserPromptSubmit": left, "Stop": {}}}


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"hooks": None},
        {"hooks": {"UserPromptSubmit": [OTHER_TOOL]}},
        {"hooks": {"UserPromptSubmit": [{"hooks": [{**OURS, "command": "metier hook codex"}]}]}},
        {"command": "metier hook claude-code"},
        ["metier hook claude-code"],
    ],
)
def test_where_nothing_is_ours_nothing_happens(data: Any, tmp_path: Path) -> None:
    file = settings(tmp_path, json.dumps(data))
    assert not uninstall("claude-code", tmp_path).changed
    assert file.read_text() == json.dumps(data)


@pytest.mark.parametrize("host", HOOKS)
def test_where_no_file_is_nothing_happens(host: str, tmp_path: Path) -> None:
    assert not uninstall(host, tmp_path).changed
    assert names(tmp_path) == []


@pytest.mark.parametrize("host", ["opencode", "openclaw"])
def test_a_file_of_somebody_else_is_not_removed(host: str, tmp_path: Path) -> None:
    install(host, tmp_path)
    last = Path(plan(host, tmp_path).changes[0].path)
    last.write_text("mine")
    uninstall(host, tmp_path)
    assert last.read_text() == "mine"


def test_settings_that_are_not_json_are_left_with_a_hint(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"a": 1, // mine\n}')
    with pytest.raises(UsageError, match="line 1 has a comment") as caught:
        plan("claude-code", tmp_path)
    assert caught.value.where == str(file)
    assert "'metier hook claude-code' by hand" in caught.value.hint
