"""The values of variables that tools see stay in the record, and are on no surface."""

import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cli.run_workspace import Agents, prompt, tool
from conftest import state_of, trust
from metier.catalog import Catalog
from metier.run.models.offline import ScriptedModel
from metier.run.telemetry import Spans
from metier.values.runs import Event
from metier.web.exporting import Exporter
from run.recorded_spans import Recorder
from web_served import inspected

pytestmark = pytest.mark.slow

SETTINGS = """
host-folders = false
[tools]
allow = ["read", "check"]
[tools.read]
argv = ["sh", "-c", 'printf "%s" "$TOKEN"']
environment = ["TOKEN"]
[tools.check]
argv = ["sh", "-c", '''
    test -e ready || { printf "no access with %s" "$TOKEN" >&2; exit 3; }
    test "$0" = "$TOKEN" && echo same
''', "{text}"]
environment = ["TOKEN"]
"""
LETTERS = st.characters(min_codepoint=33, max_codepoint=0x17F, exclude_categories=("Cc", "Cf", "Z"))
SECRETS = st.text(LETTERS, min_size=8, max_size=40).filter(
    lambda text: not text.startswith("-") and "{" not in text and "secret" not in text
)
NASTY = ["a\"b'c<d>&e/f", "back\\slash\\n", "1234567890"]


def made(folder: Path) -> Agents:
    agents = Agents(folder)
    agents.write("metier.toml", SETTINGS)
    agents.agent(
        "worker",
        tool("read", "read"),
        prompt("think", "Think about {{ steps.read.output }} for {{ task }}"),
        tool("check", "check", given={"text": "{{ steps.read.output }}"}),
    )
    trust(folder)
    return agents


def printed(agents: Agents, task: str, token: str) -> Iterator[str]:
    """What every command prints about a run that fails."""
    commands = [
        ("run", "worker", task), ("run", "worker", task, "--events"),
        ("run", "worker", task, "--json"),
        ("runs", "list"), ("runs", "list", "--json"), ("runs", "show", "last"),
        ("runs", "show", "last", "--json"), ("runs", "steps", "last"),
        ("runs", "steps", "last", "--json"), ("runs", "watch", "last"),
        ("runs", "watch", "last", "--events"), ("resolve", "-r", "web", "--query", task),
        ("reports", "show", "last"), ("reports", "list", "--json"),
    ]  # fmt: skip
    for command in commands:
        finished = agents.metier(*command, TOKEN=token)
        assert "Traceback" not in finished.stderr
        yield finished.stdout
        yield finished.stderr


def served(agents: Agents) -> Iterator[str]:
    """What pages and an export show."""
    with inspected(agents.root, own_settings=True) as pages:
        for path in ("/overview", "/runs", "/run", "/reports"):
            yield pages.page(path, id="last")
            yield json.dumps(pages.json(f"{path}.json", id="last"), ensure_ascii=False)
    with Catalog.open(agents.root) as catalog:
        for _, content in Exporter(catalog, with_prompts=True).files():
            yield content.decode(errors="replace")


def heard(agents: Agents, task: str, token: str) -> Iterator[str]:
    """What listeners and spans get, with a model that says the token in two pieces."""
    events: list[Event] = []
    tracer = Recorder()
    spans = Spans(tracer)
    with Catalog.open(agents.root) as catalog:
        model = ScriptedModel([f"It is {token}."])

        def listen(event: Event) -> None:
            events.append(event)
            spans(event)

        result = catalog.run_sync("worker", task, model=model, on_event=listen)
        assert token in [step.output for step in result.steps]
    yield json.dumps([event.to_json() for event in events], ensure_ascii=False)
    for span in tracer.spans:
        yield f"{span.name} {span.attributes} {span.events}"
        yield str(span.status.description if span.status else "")


def check(secret: str, *, everywhere: bool = True) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TOKEN", secret)
        agents = made(Path(folder).resolve() / "workspace")
        task = f"log in with {secret} please"
        for text in printed(agents, task, secret):
            assert secret not in text
        if everywhere:
            for text in (*served(agents), *heard(agents, task, secret)):
                assert secret not in text
        (agents.root / "ready").touch()
        resumed = agents.metier("runs", "resume", agents.runs("list")[-1]["runId"])
        assert (resumed.returncode, resumed.stdout.strip()) == (0, "same"), resumed.stderr
        with closing(sqlite3.connect(state_of(agents.root) / "runs.db")) as rows:
            assert (task,) in rows.execute("SELECT task FROM run").fetchall()


@settings(max_examples=4, deadline=None)
@given(SECRETS)
def test_no_command_prints_a_secret_and_a_resume_has_it(secret: str) -> None:
    check(secret, everywhere=False)


@pytest.mark.parametrize("secret", NASTY)
def test_no_surface_shows_a_secret_whatever_it_contains(secret: str) -> None:
    check(secret)


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_user_can_read_what_is_kept_whatever_the_umask(
    tmp_path: Path, umask: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "a-long-token")
    agents = made(tmp_path / "workspace")
    before = os.umask(umask)
    try:
        agents.metier("run", "worker", "a task")
        agents.metier("resolve", "-r", "web")
        agents.metier("hook", "prompt", "--host", "claude-code")
    finally:
        os.umask(before)
    folder = state_of(agents.root)
    above = [folder.parent, folder.parent.parent]
    assert [one.name for one in above] == ["workspaces", "metier"]
    kept = [*above, folder, *folder.rglob("*")]
    assert {"runs.db", "metier.db"} <= {path.name for path in kept}
    assert any(path.parent.name == "reports" for path in kept)
    assert {
        path: oct(path.stat().st_mode & 0o777) for path in kept if path.stat().st_mode & 0o77
    } == {}
