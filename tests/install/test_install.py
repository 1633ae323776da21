"""Installing: one entry more, and every other character where it was."""

import json
import os
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from metier.errors import MetierError, UsageError
from metier.hosts.known import HOOKS
from metier.hosts.settings_forms import Entry, Scope, SettingsFile
from metier.install.changes import BACKUP, Plan, apply
from metier.install.commands import around, shell_words
from metier.install.plans import make_plan, path_of

COMMAND = ["/opt/tools/metier"]
SETTINGS = ["claude-code", "codex", "gemini", "copilot", "cursor"]
PLUGIN_FILES = {"opencode": 1, "openclaw": 3}
PLUGINS = list(PLUGIN_FILES)
FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "copilot": ".github/hooks/metier.json",
    "cursor": ".cursor/hooks.json",
}
OTHER_TOOL = {"hooks": [{"type": "command", "command": "lint-prompt --fast", "timeout": 3}]}


def plan(
    host: str, folder: Path, scope: Scope = "project", command: list[str] | None = None
) -> Plan:
    home = folder / "home"
    return make_plan("hook", host, scope, str(folder), str(home), command or COMMAND)


def install(host: str, folder: Path, **options: Any) -> Plan:
    made = plan(host, folder, **options)
    apply(made)
    return made


def settings(folder: Path, text: str | bytes, host: str = "claude-code") -> Path:
    file = folder / FILES[host]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def tree(folder: Path) -> dict[str, bytes | None]:
    return {
        str(one.relative_to(folder)): one.read_bytes() if one.is_file() else None
        for one in sorted(folder.rglob("*"))
    }


# What is written


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (
            "claude-code",
            {
                "hooks": {
                    "UserPromptSubmit": [{"hooks": [{"type": "command", "timeout": 10}]}],
                    "SessionStart": [
                        {
                            "matcher": "compact|resume",
                            "hooks": [{"type": "command", "timeout": 10}],
                        }
                    ],
                    "SubagentStart": [{"hooks": [{"type": "command", "timeout": 10}]}],
                }
            },
        ),
        (
            "codex",
            {
                "hooks": {
                    "UserPromptSubmit": [{"hooks": [{"type": "command", "timeout": 10}]}],
                    "SessionStart": [
                        {
                            "matcher": "compact|resume",
                            "hooks": [{"type": "command", "timeout": 10}],
                        }
                    ],
                    "SubagentStart": [{"hooks": [{"type": "command", "timeout": 10}]}],
                }
            },
        ),
        (
            "gemini",
            {
                "hooks": {
                    "BeforeAgent": [{"hooks": [{"type": "command", "timeout": 10_000}]}],
                    "SessionStart": [
                        {"matcher": "resume", "hooks": [{"type": "command", "timeout": 10_000}]}
                    ],
                }
            },
        ),
        (
            "copilot",
            {
                "version": 1,
                "hooks": {"userPromptSubmitted": [{"type": "command", "timeoutSec": 10}]},
            },
        ),
        ("cursor", {"version": 1, "hooks": {"sessionStart": [{}]}}),
    ],
)
def test_a_new_file_has_the_nesting_of_its_host(
    host: str, expected: dict[str, Any], tmp_path: Path
) -> None:
    (change,) = install(host, tmp_path).changes
    file = tmp_path / FILES[host]
    assert (change.path, change.action) == (str(file), "create")
    assert file.read_text() == change.after
    assert file.read_text().endswith("}\n")
    data = json.loads(file.read_text())
    for event in data["hooks"].values():
        entry = event[0]["hooks"][0] if "hooks" in event[0] else event[0]
        assert entry.pop("bash" if host == "copilot" else "command") == f"{COMMAND[0]} hook {host}"
    assert data == expected


def test_an_entry_joins_what_is_there_as_its_neighbours_are_laid_out(tmp_path: Path) -> None:
    before = """{
    "permissions": {"allow": ["Bash(ls:*)", "Read"], "deny": []},
    "ratio": 1.50,
    "hooks": {
        "UserPromptSubmit": [
            {
                "hooks": [{"type": "command", "command": "lint-prompt"}]
            }
        ]
    },
    "model": "großes Modell"
}
"""
    file = settings(tmp_path, before)
    install("claude-code", tmp_path)
    added = """            },
            {
                "hooks": [
                    {
                        "type": "command",
                        "command": "/opt/tools/metier hook claude-code",
                        "timeout": 10
                    }
                ]
            }
        ]
"""
    start, end = before.split("            }\n        ]\n")
    assert file.read_text().startswith(f'{start}{added.rstrip()},\n        "SessionStart": [\n')
    assert file.read_text().endswith(end)


@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
@pytest.mark.parametrize("end", ["\n", ""])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_indentation_line_ends_and_the_last_line_stay_as_they_are(
    indent: str, end: str, newline: str, tmp_path: Path
) -> None:
    before = (json.dumps({"model": "x"}, indent=indent) + end).replace("\n", newline)
    file = settings(tmp_path, before)
    install("claude-code", tmp_path)
    data = {"model": "x", **json.loads(file.read_bytes())}
    whole = (json.dumps(data, indent=indent) + end).replace("\n", newline)
    assert file.read_bytes().decode() == whole


@pytest.mark.parametrize(
    ("before", "start"),
    [
        ('{"a": 1}', '{"a": 1, "hooks": {'),
        ("{}", "{\n  "),
        ("", "{\n  "),
        (" \n", "{\n  "),
        ('\ufeff{"a": 1}', '\ufeff{"a": 1, "hooks": {'),
        ('{"hooks": {}}', '{"hooks": {\n  "UserPromptSubmit": ['),
    ],
)
def test_short_and_empty_files_take_an_entry_too(before: str, start: str, tmp_path: Path) -> None:
    file = settings(tmp_path, before)
    install("claude-code", tmp_path)
    after = file.read_bytes().decode()
    assert after.startswith(start)
    hooks = json.loads(after.removeprefix("\ufeff"))["hooks"]
    assert len(hooks["UserPromptSubmit"]) == 1


def test_a_host_that_asks_for_a_version_gets_it_and_no_other_is_touched(tmp_path: Path) -> None:
    file = settings(tmp_path, '{\n  "hooks": {}\n}\n', "cursor")
    install("cursor", tmp_path)
    assert json.loads(file.read_text())["version"] == 1
    settings(tmp_path, '{"version": 2, "hooks": {}}', "copilot")
    with pytest.raises(UsageError, match="not of version 1"):
        plan("copilot", tmp_path)


@pytest.mark.parametrize("path", ["/home/a b/metier", "/opt/it's/metier", "/o;rm -rf $HOME/metier"])
def test_the_command_is_quoted_for_a_shell(path: str, tmp_path: Path) -> None:
    file = settings(tmp_path, "{}")
    install("claude-code", tmp_path, command=[path])
    (group,) = json.loads(file.read_text())["hooks"]["UserPromptSubmit"]
    assert shlex.split(group["hooks"][0]["command"]) == [path, "hook", "claude-code"]


def test_a_path_that_is_no_text_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not UTF-8"):
        plan("claude-code", tmp_path, command=["/opt/\udcff/metier"])


# What is there already


@pytest.mark.parametrize("host", SETTINGS + PLUGINS)
def test_a_second_install_writes_nothing(host: str, tmp_path: Path) -> None:
    first = install(host, tmp_path)
    state = tree(tmp_path)
    times = {change.path: os.stat(change.path).st_mtime_ns for change in first.changes}
    second = install(host, tmp_path)
    assert first.changed
    assert not second.changed
    assert [change.diff for change in second.changes] == [""] * len(second.changes)
    assert tree(tmp_path) == state
    assert times == {path: os.stat(path).st_mtime_ns for path in times}


@pytest.mark.parametrize(
    "old",
    [
        {"type": "command", "command": "/old/bin/metier hook claude-code", "timeout": 10},
        {"type": "command", "command": "/opt/tools/metier hook claude-code", "timeout": 60},
        {"type": "command", "command": "metier hook claude-code --root /somewhere"},
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_an_outdated_entry_is_replaced_where_it_stands(
    old: dict[str, Any], indent: int | None, tmp_path: Path
) -> None:
    mine: dict[str, Any] = {"matcher": "", "hooks": [{**old, "statusMessage": "x"}]}
    groups = [OTHER_TOOL, mine, OTHER_TOOL]
    data = {"hooks": {"UserPromptSubmit": groups}, "model": "x"}
    before = json.dumps(data, indent=indent)
    file = settings(tmp_path, before)
    install("claude-code", tmp_path)
    after = json.loads(file.read_text())
    (entry,) = after["hooks"]["UserPromptSubmit"][1].pop("hooks")
    assert entry == {
        "type": "command",
        "command": "/opt/tools/metier hook claude-code",
        "timeout": 10,
        "statusMessage": "x",
    }
    del mine["hooks"]
    del after["hooks"]["SessionStart"], after["hooks"]["SubagentStart"]
    assert after == data
    assert ("\n" in file.read_text()) == (indent is not None)
    assert file.with_name(file.name + BACKUP).read_text() == before


def test_an_entry_in_a_layout_of_its_own_is_left_so(tmp_path: Path) -> None:
    command = '"bash":"/opt/tools/metier hook copilot"'
    text = '{"version":1,"hooks":{"userPromptSubmitted":[ {"timeoutSec":10,' + command
    file = settings(tmp_path, text + ', "type":"command"} ]}}', "copilot")
    state = tree(tmp_path)
    assert not install("copilot", tmp_path).changed
    assert tree(tmp_path) == state
    assert file.read_text().startswith(text)


def test_an_entry_of_an_older_version_gets_the_other_events(tmp_path: Path) -> None:
    install("claude-code", tmp_path)
    file = tmp_path / FILES["claude-code"]
    whole = file.read_text()
    data = json.loads(whole)
    del data["hooks"]["SessionStart"], data["hooks"]["SubagentStart"]
    file.write_text(json.dumps(data))
    install("claude-code", tmp_path)
    assert json.loads(file.read_text()) == json.loads(whole)
    assert not install("claude-code", tmp_path).changed


def test_an_entry_that_an_older_version_wrote_for_another_event_is_moved(tmp_path: Path) -> None:
    install("copilot", tmp_path)
    file = tmp_path / FILES["copilot"]
    whole = file.read_text()
    file.write_text(whole.replace("userPromptSubmitted", "sessionStart"))
    install("copilot", tmp_path)
    assert json.loads(file.read_text()) == json.loads(whole)
    by_hand = {"type": "command", "bash": "env A=1 metier hook copilot"}
    data = {**json.loads(whole), "hooks": {"sessionStart": [by_hand]}}
    file.write_text(json.dumps(data))
    install("copilot", tmp_path)
    assert json.loads(file.read_text())["hooks"]["sessionStart"] == [by_hand]


def test_an_entry_by_hand_keeps_the_events_that_its_author_chose(tmp_path: Path) -> None:
    entry = {"type": "command", "command": "env A=1 /opt/tools/metier hook claude-code"}
    file = settings(tmp_path, json.dumps({"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}))
    install("claude-code", tmp_path)
    assert list(json.loads(file.read_text())["hooks"]) == ["UserPromptSubmit"]


def test_half_a_surrogate_pair_in_an_entry_survives(tmp_path: Path) -> None:
    entry = {"command": "/old/metier hook claude-code", "note": "\ud800"}
    data = {"hooks": {"UserPromptSubmit": [{"hooks": [entry]}]}}
    file = settings(tmp_path, json.dumps(data))
    install("claude-code", tmp_path)
    (group,) = json.loads(file.read_text())["hooks"]["UserPromptSubmit"]
    assert group["hooks"][0]["note"] == "\ud800"
    assert group["hooks"][0]["timeout"] == 10


def test_of_two_entries_of_metier_one_stays(tmp_path: Path) -> None:
    entry = {"type": "command", "command": "/old/metier hook gemini"}
    groups = [{"hooks": [entry]}, OTHER_TOOL, {"hooks": [entry, *OTHER_TOOL["hooks"]]}]
    file = settings(tmp_path, json.dumps({"hooks": {"BeforeAgent": groups}}), "gemini")
    install("gemini", tmp_path)
    after = json.loads(file.read_text())["hooks"]["BeforeAgent"]
    assert after[1:] == [OTHER_TOOL, OTHER_TOOL]
    assert after[0]["hooks"][0]["command"] == "/opt/tools/metier hook gemini"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("metier hook codex", True),
        ("'/a b/metier' hook codex", True),
        ("timeout 5 metier hook codex 2>/dev/null", True),
        ("cd /x && METIER_CAPABILITIES=monitor /y/metier hook codex || true", True),
        ("/x/python -P -m metier hook codex", True),
        ("metier hook codex --json", True),
        ("/x/metier --root /y hook codex", False),
        ("metier hook claude-code", False),
        ("metier hook codex-2", False),
        ("/x/metier-dev hook codex", False),
        ("metier hook codex; rm x", False),
        ("metier metier hook", False),
        ("'metier hook codex", False),
        ("hook codex", False),
        ("", False),
        (None, False),
        (["metier", "hook", "codex"], False),
    ],
)
def test_an_entry_is_known_by_its_command_alone(command: object, expected: bool) -> None:
    words = shell_words(command)
    assert (around(words, "hook", "codex") is not None) is expected


# What is kept


def test_what_was_there_before_is_kept_once(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"first": true}')
    (change,) = install("claude-code", tmp_path).changes
    backup = file.with_name(file.name + BACKUP)
    assert change.backup == "make"
    assert backup.read_text() == '{"first": true}'
    file.write_text('{"second": true}')
    install("claude-code", tmp_path)
    assert backup.read_text() == '{"first": true}'


def test_a_new_file_has_no_backup(tmp_path: Path) -> None:
    install("claude-code", tmp_path)
    assert not (tmp_path / (FILES["claude-code"] + BACKUP)).exists()


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_the_file_and_its_backup_keep_the_mode(mode: int, tmp_path: Path) -> None:
    file = settings(tmp_path, "{}")
    file.chmod(mode)
    install("claude-code", tmp_path)
    for one in (file, file.with_name(file.name + BACKUP)):
        assert stat.S_IMODE(one.stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path: Path) -> None:
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_text('{"a": 1}')
    link = tmp_path / FILES["claude-code"]
    link.parent.mkdir()
    link.symlink_to(target)
    install("claude-code", tmp_path)
    assert link.is_symlink()
    assert not target.is_symlink()
    assert "hooks" in json.loads(target.read_text())
    assert link.with_name(link.name + BACKUP).read_text() == '{"a": 1}'


# What is refused


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{\n  // mine\n  "a": 1\n}', "line 2 has a comment"),
        ('{"a": 1, // mine\n "b": 2}', "line 1 has a comment"),
        ('{"a": 1 /* mine */}', "line 1 has a comment"),
        ('{"a": 1,}', "line 1"),
        ('{"a": ', "line 1"),
        ('{"a": NaN}', "NaN"),
        pytest.param(
            f'{{\n "a": {"9" * 5_000}}}',
            "a number with more digits than metier reads: line 2 column 7",
            id="digits",
        ),
        ('{"a": 1, "a": 2}', "'a' occurs twice"),
        ("[" * 100_000, "deeply"),
        ("[]", "not an object"),
        ('"text"', "not an object"),
        ('{"hooks": []}', "'hooks' is not an object"),
        ('{"hooks": null}', "'hooks' is not an object"),
        ('{"hooks": {"UserPromptSubmit": {}}}', "'hooks.UserPromptSubmit' is not a list"),
    ],
)
def test_what_cannot_be_edited_safely_is_left_and_the_entry_is_shown(
    text: str, why: str, tmp_path: Path
) -> None:
    file = settings(tmp_path, text)
    state = tree(tmp_path)
    with pytest.raises(UsageError) as caught:
        plan("claude-code", tmp_path)
    assert why in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.where == str(file)
    snippet = json.loads(caught.value.hint.removeprefix("add this by hand: "))
    (group,) = snippet["hooks"]["UserPromptSubmit"]
    assert group["hooks"][0]["command"] == "/opt/tools/metier hook claude-code"
    assert tree(tmp_path) == state


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"a": "ä"}'.encode("latin-1"))
    with pytest.raises(UsageError, match="not UTF-8") as caught:
        plan("claude-code", tmp_path)
    assert caught.value.where == str(file)


@contextmanager
def without_privileges() -> Iterator[None]:
    """As somebody whom the system refuses something; root is refused nothing."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("host", ["claude-code", "opencode"])
def test_a_folder_that_cannot_be_written_is_named(host: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o555)
        with without_privileges(), pytest.raises(MetierError, match="cannot be written") as caught:
            install(host, Path(name))
        assert caught.value.where.startswith(name)
        assert "Permission denied" in caught.value.message
        assert os.listdir(name) == []
        os.chmod(name, 0o755)


def test_a_folder_that_cannot_be_listed_takes_an_entry_too() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / ".claude"
        folder.mkdir()
        os.chmod(name, 0o755)
        os.chmod(folder, 0o333)
        with without_privileges():
            assert install("claude-code", Path(name)).changed
        os.chmod(folder, 0o755)
        assert os.listdir(folder) == ["settings.json"]


def test_a_file_where_a_folder_should_be_is_named(tmp_path: Path) -> None:
    (tmp_path / ".claude").write_text("no folder")
    with pytest.raises(MetierError, match="cannot be read: Not a directory"):
        plan("claude-code", tmp_path)


def test_a_file_that_changed_after_the_plan_is_not_written(tmp_path: Path) -> None:
    file = settings(tmp_path, '{"a": 1}')
    made = plan("claude-code", tmp_path)
    file.write_text('{"a": 2}')
    state = tree(tmp_path)
    with pytest.raises(MetierError, match="changed in the meantime"):
        apply(made)
    assert tree(tmp_path) == state


# Plugins


@pytest.mark.parametrize("host", PLUGINS)
def test_a_plugin_of_another_path_is_made_anew(host: str, tmp_path: Path) -> None:
    install(host, tmp_path, command=["/old/metier"])
    changes = install(host, tmp_path).changes
    assert "change" in [change.action for change in changes]
    texts = [Path(change.path).read_text() for change in changes]
    assert any('["/opt/tools/metier", "hook"' in text for text in texts)
    assert not any("/old/metier" in text for text in texts)


@pytest.mark.parametrize("host", PLUGINS)
def test_a_file_of_somebody_else_is_never_overwritten(host: str, tmp_path: Path) -> None:
    changes = plan(host, tmp_path).changes
    assert [change.action for change in changes] == ["create"] * PLUGIN_FILES[host]
    for change in changes:
        file = Path(change.path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("mine")
        with pytest.raises(UsageError, match="is not metier's"):
            plan(host, tmp_path)
        file.unlink()


def test_the_plugin_of_openclaw_has_a_manifest_and_an_entry_point(tmp_path: Path) -> None:
    install("openclaw", tmp_path)
    folder = tmp_path / ".openclaw" / "extensions" / "metier"
    manifest = json.loads((folder / "openclaw.plugin.json").read_text())
    assert manifest["id"] == folder.name
    assert manifest["configSchema"]["type"] == "object"
    package = json.loads((folder / "package.json").read_text())
    (entry,) = package["openclaw"]["extensions"]
    assert (folder / entry).is_file()


# Places


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("claude-code", ".claude/settings.json"),
        ("codex", ".codex/hooks.json"),
        ("gemini", ".gemini/settings.json"),
        ("copilot", ".copilot/hooks/metier.json"),
        ("cursor", ".cursor/hooks.json"),
        ("opencode", ".config/opencode/plugins/metier.js"),
        ("openclaw", ".openclaw/extensions/metier/index.js"),
    ],
)
def test_the_user_s_own_settings_lie_in_the_home_folder(
    host: str, expected: str, tmp_path: Path
) -> None:
    first = install(host, tmp_path, scope="user").changes[0]
    assert first.path == str(tmp_path / "home" / expected)
    assert Path(first.path).is_file()
    assert os.listdir(tmp_path) == ["home"]


@pytest.mark.parametrize(
    ("host", "variable", "expected"),
    [
        ("claude-code", "CLAUDE_CONFIG_DIR", "settings.json"),
        ("codex", "CODEX_HOME", "hooks.json"),
        ("copilot", "COPILOT_HOME", "hooks/metier.json"),
        ("opencode", "XDG_CONFIG_HOME", "opencode/plugins/metier.js"),
        ("openclaw", "OPENCLAW_STATE_DIR", "extensions/metier/index.js"),
    ],
)
def test_a_host_that_was_moved_is_found(
    host: str, variable: str, expected: str, tmp_path: Path
) -> None:
    def place(scope: Scope, value: str) -> str:
        made = make_plan("hook", host, scope, "/w", "/h", COMMAND, environ={variable: value})
        return made.changes[0].path

    assert place("user", "/moved") == f"/moved/{expected}"
    assert place("user", "relative").startswith("/h/")
    assert place("user", "").startswith("/h/")
    assert place("project", "/moved").startswith("/w/")


@pytest.mark.parametrize(("has", "lacks"), [("project", "user"), ("user", "project")])
def test_a_host_without_a_scope_says_which_it_has(has: Scope, lacks: Scope) -> None:
    places = {has: "file.json"}
    host = SettingsFile(
        places.get("project"), places.get("user"), "", entry=Entry("e"), name="x", title="Ex"
    )
    assert path_of(host, has, "/w", "/h", {}).endswith("/file.json")
    with pytest.raises(UsageError, match=f"no {lacks} settings") as caught:
        path_of(host, lacks, "/w", "/h", {})
    assert caught.value.hint == f"metier hook install x --{has}"


def test_an_unknown_host_or_scope_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="did you mean 'codex'") as caught:
        plan("codx", tmp_path)
    assert caught.value.hint == f"hosts: {', '.join(HOOKS)}"
    with pytest.raises(UsageError, match="no scope is called 'global'"):
        plan("codex", tmp_path, scope="global")  # type: ignore[arg-type]  # the mistake itself
