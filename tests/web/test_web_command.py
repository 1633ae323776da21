"""`metier web`: how it starts, what it prints, how it ends, and what is said if it cannot."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import validate

from conftest import Workspace
from mcp_served import METIER, environment
from metier.cli.web import command
from metier.errors import UsageError
from metier.serving.endpoint import Endpoint
from metier.web import open_browser

ENOUGH = 60.0
SCHEMAS = Path(open_browser.__file__).parents[1] / "schemas"


@contextmanager
def served(root: Path, *options: str) -> Iterator[tuple["subprocess.Popen[str]", str]]:
    """`metier web` as a program, and the first line that it prints."""
    args = [METIER, "web", "--root", str(root), "--port", "0", *options]
    with subprocess.Popen(
        args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment()
    ) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def fetched(url: str, **headers: str) -> tuple[int, str, Any]:
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=ENOUGH
        ) as got:
            return got.status, got.read().decode(), got.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(), error.headers


@pytest.mark.slow
def test_it_prints_an_address_that_lets_in_once_and_ends_on_ctrl_c(workspace: Workspace) -> None:
    workspace.skill("one")
    with served(workspace.root, "--no-open") as (process, line):
        status, _, headers = fetched(line)
        assert status == 200
        assert fetched(line)[0] == 403
        cookie = headers["Set-Cookie"].partition(";")[0]
        root = line.partition("/enter")[0]
        assert cookie.startswith(f"metier_{root.rpartition(':')[2]}=")
        status, text, _ = fetched(f"{root}/catalog", Cookie=cookie)
        assert status == 200
        assert ">one</a>" in text
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=ENOUGH)
    assert process.returncode == 0
    assert out == ""
    assert err.splitlines() == ["this address lets one browser in, once; Ctrl-C ends it", "stopped"]
    assert "Traceback" not in err


@pytest.mark.slow
def test_as_json_it_prints_both_addresses(workspace: Workspace) -> None:
    with served(workspace.root, "--json") as (process, line):
        assert process.stdout is not None
        told = json.loads(line + process.stdout.readline() + process.stdout.readline() + "}")
    validate(told, json.loads((SCHEMAS / "web-serving.v1.schema.json").read_text()))
    assert told["open"].startswith(f"{told['url']}enter?token=")


def test_a_port_that_is_taken_is_told_in_one_line(workspace: Workspace) -> None:
    with Endpoint(port=0).bound() as bound:
        options = [
            "--root",
            str(workspace.root),
            "--port",
            str(bound.getsockname()[1]),
            "--no-open",
        ]
        error = CliRunner().invoke(command, options).exception
    assert isinstance(error, UsageError)
    assert error.message.startswith("cannot listen on 127.0.0.1:")
    assert error.hint == "--port 0 picks a free port"


def test_without_its_extra_it_says_how_to_install_it(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("metier.cli.web.find_spec", lambda _name: None)
    error = CliRunner().invoke(command, ["--root", str(workspace.root)]).exception
    assert isinstance(error, UsageError)
    assert error.message == "the package starlette is not installed"
    assert error.hint == "install metier with its extra 'web' (docs/install.md)"


@pytest.mark.parametrize("name", ["http://box", "*", "a b", "box:99999999"])
def test_a_name_that_is_no_host_is_rejected(workspace: Workspace, name: str) -> None:
    options = ["--root", str(workspace.root), "--port", "0", "--allow-host", name]
    assert isinstance(CliRunner().invoke(command, options).exception, UsageError)


def test_the_browser_gets_a_file_and_no_token(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []

    def browse(url: str) -> bool:
        given.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    with open_browser.way_in("http://127.0.0.1:1/enter?token=secret") as file:
        assert open_browser.open_browser(file)
    assert given[0].startswith("file:///")
    assert "secret" not in given[0]


def test_there_is_no_browser_without_a_screen() -> None:
    assert not open_browser.has_browser({}) or sys.platform in ("darwin", "win32")
    assert open_browser.has_browser({"DISPLAY": ":0"})
