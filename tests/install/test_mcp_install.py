"""metier in the hosts' lists of MCP servers: merged, shown, kept, taken out again."""

import json
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from cli.printed import run_here
from mcp_served import ENOUGH, METIER, environment
from metier.errors import UsageError
from metier.hosts.known import SERVERS
from metier.hosts.settings_forms import Scope
from metier.install.changes import BACKUP, Plan, apply
from metier.install.plans import make_plan

COMMAND = ["/opt/bin/metier"]
SCOPES: tuple[Scope, ...] = ("project", "user")
PLACES = [
    (name, scope)
    for name, host in SERVERS.items()
    for scope in SCOPES
    if (host.project if scope == "project" else host.user) is not None
]
JSON_PLACES = [one for one in PLACES if SERVERS[one[0]].servers.form == "json"]


class Machine:
    """A workspace and a home."""

    def __init__(self, folder: Path) -> None:
        self.workspace, self.home = folder / "ws", folder / "home"
        self.workspace.mkdir()
        self.home.mkdir()

    def install(self, host: str, scope: Scope, command: list[str] = COMMAND) -> Plan:
        plan = make_plan("mcp", host, scope, str(self.workspace), str(self.home), command)
        apply(plan)
        return plan

    def uninstall(self, host: str, scope: Scope) -> Plan:
        plan = make_plan("mcp", host, scope, str(self.workspace), str(self.home))
        apply(plan)
        return plan

    def file(self, host: str, scope: Scope) -> Path:
        plan = make_plan("mcp", host, scope, str(self.workspace), str(self.home))
        return Path(plan.changes[0].path)

    def files(self) -> list[Path]:
        return sorted(one for one in self.workspace.parent.rglob("*") if one.is_file())


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def parsed(file: Path, host: str) -> Any:
    text = file.read_text()
    return tomllib.loads(text) if SERVERS[host].servers.form == "toml" else json.loads(text)


def servers(file: Path, host: str) -> dict[str, Any]:
    return servers_in(parsed(file, host), host)


def servers_in(data: Any, host: str) -> dict[str, Any]:
    for step in SERVERS[host].servers.keys:
        data = data[step]
    found: dict[str, Any] = data
    return found


def joined(left: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """Both objects in one, as somebody does who pastes one into the other."""
    both = {**left, **right}
    for key in left.keys() & right.keys():
        both[key] = joined(left[key], right[key])
    return both


@pytest.mark.parametrize(("host", "scope"), PLACES)
def test_an_entry_is_made_once_and_goes_without_a_trace(
    machine: Machine, host: str, scope: Scope
) -> None:
    assert machine.install(host, scope).changes[0].action == "create"
    (file,) = (one for one in machine.files() if not one.name.endswith("-made"))
    entry = servers(file, host)["metier"]
    words = [entry["command"]] if isinstance(entry["command"], str) else entry["command"]
    assert [*words, *entry.get("args", [])] == ["/opt/bin/metier", "mcp"]
    assert not machine.install(host, scope).changed
    assert machine.uninstall(host, scope).changes[0].action == "remove"
    assert machine.files() == []
    assert not machine.uninstall(host, scope).changed
    assert list(machine.workspace.iterdir()) == []
    assert list(machine.home.iterdir()) == []


@pytest.mark.parametrize(("host", "scope"), JSON_PLACES)
def test_all_else_keeps_its_characters_and_comes_back_to_the_byte(
    machine: Machine, host: str, scope: Scope
) -> None:
    file = machine.file(host, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    inner: dict[str, Any] = {"other": {"command": "x"}}
    for step in reversed(SERVERS[host].servers.keys):
        inner = {step: inner}
    text = json.dumps({"a": 1.50, **inner, "z": ["ü"]}, indent=4, ensure_ascii=False) + "\n\n"
    file.write_text(text)
    machine.install(host, scope)
    new = file.read_text()
    assert list(servers(file, host)) == ["other", "metier"]
    assert (file.parent / f"{file.name}{BACKUP}").read_text() == text
    assert all(line in new for line in text.splitlines() if '"other"' not in line)
    machine.uninstall(host, scope)
    assert file.read_text() == text
    assert [one for one in machine.files() if one != file] == []


@pytest.mark.parametrize(("host", "scope"), PLACES)
def test_another_path_replaces_what_install_wrote(
    machine: Machine, host: str, scope: Scope
) -> None:
    machine.install(host, scope)
    machine.install(host, scope, ["/new/metier"])
    file = machine.file(host, scope)
    assert "/new/metier" in file.read_text()
    assert "/opt/bin" not in file.read_text()
    machine.uninstall(host, scope)
    assert machine.files() == []


@pytest.mark.parametrize(
    "entry",
    [
        {"command": "metier", "args": ["mcp"]},
        {"command": "timeout", "args": ["5", "/x/metier", "mcp", "--root", "/y"]},
        {"command": "/opt/bin/metier", "args": ["mcp"], "env": {"A": "b"}},
    ],
)
@pytest.mark.parametrize("name", ["metier", "mine"])
def test_an_entry_that_somebody_wrote_counts_as_installed(
    machine: Machine, entry: dict[str, Any], name: str
) -> None:
    file = machine.workspace / ".mcp.json"
    text = json.dumps({"mcpServers": {name: entry}})
    file.write_text(text)
    assert not machine.install("claude-code", "project").changed
    assert file.read_text() == text
    assert machine.uninstall("claude-code", "project").changed
    assert json.loads(file.read_text()) == {}


def test_an_older_entry_of_metier_does_not_come_back_with_the_backup(machine: Machine) -> None:
    file = machine.workspace / ".mcp.json"
    old = {"type": "stdio", "command": "/old/metier", "args": ["mcp"]}
    file.write_text(json.dumps({"theme": 1, "mcpServers": {"metier": old}}))
    assert machine.install("claude-code", "project").changed
    machine.uninstall("claude-code", "project")
    assert json.loads(file.read_text()) == {"theme": 1}


def test_an_empty_list_of_servers_that_was_there_stays(machine: Machine) -> None:
    file = machine.workspace / ".mcp.json"
    file.write_text('{"mcpServers": {}, "theme": 1}')
    machine.install("claude-code", "project")
    file.write_text(file.read_text().replace('"theme": 1', '"theme": 2'))
    machine.uninstall("claude-code", "project")
    assert json.loads(file.read_text()) == {"mcpServers": {}, "theme": 2}


def test_another_server_of_that_name_is_not_touched(machine: Machine) -> None:
    file = machine.workspace / ".mcp.json"
    file.write_text('{"mcpServers": {"metier": {"command": "something-else"}}}')
    with pytest.raises(UsageError, match="another server is called 'metier'"):
        machine.install("claude-code", "project")
    assert not machine.uninstall("claude-code", "project").changed


@pytest.mark.parametrize(("host", "scope"), JSON_PLACES)
@pytest.mark.parametrize("taken", [["metier"], ["metier", "metier-mcp"]])
def test_where_the_name_is_taken_the_entry_to_paste_has_another(
    machine: Machine, host: str, scope: Scope, taken: list[str]
) -> None:
    file = machine.file(host, scope)
    file.parent.mkdir(parents=True, exist_ok=True)
    inner: dict[str, Any] = {name: {"command": "something-else"} for name in taken}
    for step in reversed(SERVERS[host].servers.keys):
        inner = {step: inner}
    file.write_text(json.dumps(inner))
    with pytest.raises(UsageError, match="another server is called 'metier'") as caught:
        machine.install(host, scope)
    words, snippet = caught.value.hint.split(": ", 1)
    assert words == "rename that server, or add this by hand"
    pasted = servers_in(json.loads(snippet), host)
    assert pasted.keys().isdisjoint(taken)
    file.write_text(json.dumps(joined(inner, json.loads(snippet))))
    assert not machine.install(host, scope).changed
    assert machine.uninstall(host, scope).changed
    assert list(servers(file, host)) == taken


BROKEN = [
    ("claude-code", "// mine\n{}", "comment"),
    ("claude-code", "[]", "not an object"),
    ("claude-code", '{"mcpServers": []}', "not an object"),
    ("claude-code", '{"a": 1, "a": 2}', "twice"),
    ("codex", "a = ", "not TOML"),
    ("codex", "mcp_servers = 1", "not an object"),
]


@pytest.mark.parametrize(("host", "text", "words"), BROKEN)
def test_settings_that_cannot_be_edited_are_left_with_the_entry_to_paste(
    machine: Machine, host: str, text: str, words: str
) -> None:
    file = machine.file(host, "project")
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    with pytest.raises(UsageError, match=words) as caught:
        machine.install(host, "project")
    assert "add this by hand" in caught.value.hint
    assert "/opt/bin/metier" in caught.value.hint
    assert file.read_text() == text


def test_a_link_out_of_the_workspace_is_refused(machine: Machine) -> None:
    (machine.home / "settings").write_text("{}")
    (machine.workspace / ".mcp.json").symlink_to("../home/settings")
    with pytest.raises(UsageError, match="leads out of the workspace"):
        machine.install("claude-code", "project")
    assert (machine.home / "settings").read_text() == "{}"


def test_hook_and_server_in_one_file_do_not_disturb_each_other(machine: Machine) -> None:
    file = machine.workspace / ".gemini" / "settings.json"
    file.parent.mkdir()
    text = '{"theme": "dark"}\n'
    file.write_text(text)
    places = (str(machine.workspace), str(machine.home))
    apply(make_plan("hook", "gemini", "project", *places, COMMAND))
    machine.install("gemini", "project")
    assert json.loads(file.read_text()).keys() == {"theme", "hooks", "mcpServers"}
    apply(make_plan("hook", "gemini", "project", *places))
    assert json.loads(file.read_text()).keys() == {"theme", "mcpServers"}
    machine.uninstall("gemini", "project")
    assert file.read_text() == text


# The command


def metier(root: Path, *arguments: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return run_here(root, "mcp", *arguments, "--root", str(root), **env)


def test_the_command_shows_the_diff_and_writes_nothing_when_dry(tmp_path: Path) -> None:
    done = metier(tmp_path, "install", "claude-code", "--dry-run")
    assert done.returncode == 0
    assert '+    "metier": {' in done.stdout
    assert "nothing was written" in done.stderr
    assert not (tmp_path / ".mcp.json").exists()


def test_the_command_installs_says_what_is_next_and_uninstalls(tmp_path: Path) -> None:
    done = metier(tmp_path, "install", "claude-code")
    assert "next: start a new session of Claude Code" in done.stderr
    entry = json.loads((tmp_path / ".mcp.json").read_text())["mcpServers"]["metier"]
    assert [entry["command"], *entry["args"]] == [METIER, "mcp"]
    assert "already installed" in metier(tmp_path, "install", "claude-code").stderr
    done = metier(tmp_path, "uninstall", "claude-code", "--json")
    assert json.loads(done.stdout)["files"][0]["action"] == "remove"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["install"], "missing argument HOST: one of claude-code"),
        (["install", "nobody"], "nobody"),
        (["install", "copilot"], "metier mcp install copilot --user"),
        (["uninstall", "copilot"], "metier mcp uninstall copilot --user"),
        (["uninstall", "vscode", "--user"], "metier mcp uninstall vscode --project"),
        (["install", "cursor", "--http"], "no such option --http"),
        (["--port", "1"], "--port is not for serving over stdio"),
        (["--token-file", "x"], "--token-file is not for serving over stdio"),
        (["--dry-run"], "--dry-run"),
        (["--http", "--user"], "no such option --user"),
        (["--http", "install", "cursor"], "'mcp install' takes no --http before it"),
        (["--http", "--listen", "0.0.0.0", "--port", "0"], "needs a token"),
        (["--http", "--token", "x"], "other users of this machine can read command lines"),
        (["--token=x"], "other users of this machine can read command lines"),
        (["--http", "--allow-run"], "it needs a token"),
        (["--http", "--allow-host", "http://a.example"], "not the name of a host"),
        (["--http", "--token-file", "nothing"], "the token file cannot be read"),
        (["--http", "--port", "70000"], "70000"),
    ],
)
def test_wrong_usage_is_one_line_a_hint_and_exit_code_two(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    refused_in_one_line(metier(tmp_path, *arguments), words)


def test_an_address_of_another_machine_is_refused_in_one_line(tmp_path: Path) -> None:
    done = metier(tmp_path, "--http", "--listen", "192.0.2.1", METIER_MCP_TOKEN="x")
    refused_in_one_line(done, "not an address of this machine")


def refused_in_one_line(done: "subprocess.CompletedProcess[str]", words: str) -> None:
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert done.stderr.startswith("error: ")
    assert "hint:" in done.stderr
    assert "Traceback" not in done.stderr


def test_without_the_package_it_says_how_to_install_it(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as util\n"
        "find = util.find_spec\n"
        "util.find_spec = lambda name, *more: None if name == 'mcp' else find(name, *more)\n"
        "from metier.cli import run\n"
        "sys.exit(run(['mcp', '--root', sys.argv[1]]))\n"
    )
    python = str(Path(METIER).with_name("python"))
    done = subprocess.run(
        [python, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=ENOUGH,
        env=environment(),
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "error: the package mcp is not installed (USAGE)" in done.stderr
    assert "install metier with its extra 'mcp'" in done.stderr
