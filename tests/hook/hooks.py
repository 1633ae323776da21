"""Hooks as hosts run them: a workspace, what hosts write to standard input, what answers hold."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import jsonschema
import pytest

from conftest import Workspace, trust
from metier.catalog import Catalog
from metier.core.render import REFERENCE_PREAMBLE
from metier.flow.boundary import read_boundary
from metier.hook.serve import serve
from metier.storage.places import state_room, user_room

HOSTS = ("claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "openclaw")
NESTED = ("claude-code", "codex", "gemini")
PROMPTED = tuple(host for host in HOSTS if host != "cursor")
"""The hosts that tell what the user has typed."""
PROMPT = "Please refund the invoice in this PDF"
NEUTRAL = "Hello there, how are you?"
SESSION = "5f0c1f9e-8f0a-4d5e-9d43-6a1f2f7b9c10"
OWN_ONLY = (
    b"metier: only your own skills and cards are used until you run 'metier trust' here, "
    b"on a terminal\n"
)
"""What a hook says once a session on standard error in a workspace that may not speak."""
UNDER = 9_500
"""Characters that an answer must stay under."""

_REFERENCE = re.compile(
    r'<reference code="(?P<code>[0-9a-f]{16})" (?P<kind>card|skills)="(?P<id>[^"\n]*)"'
    r' source="(?P<source>[^"\n]*)"(?: sha256="(?P<sha256>[0-9a-f]+)")?>\n'
    r'(?P<content>.*?)\n</reference code="(?P=code)">',
    re.DOTALL,
)


def closed(**properties: Any) -> dict[str, Any]:
    """The schema of an object that has just these keys."""
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


TEXT = {"type": "string", "minLength": 1, "maxLength": UNDER - 1}
ENVELOPES: dict[str, dict[str, Any]] = {
    **{
        host: closed(
            hookSpecificOutput=closed(hookEventName={"type": "string"}, additionalContext=TEXT)
        )
        for host in NESTED
    },
    **{host: closed(additionalContext=TEXT) for host in ("copilot", "opencode", "openclaw")},
    "cursor": closed(additional_context=TEXT),
}


class Reference(NamedTuple):
    """What stands between two marks."""

    kind: str
    id: str
    source: str
    content: str


def asked(host: str, root: Path, prompt: str = PROMPT, **changes: Any) -> dict[str, Any]:
    """What a host writes to the standard input of its hook."""
    cwd = str(root)
    given: dict[str, dict[str, Any]] = {
        "claude-code": {
            "session_id": SESSION,
            "transcript_path": "/nowhere/projects/-workspace/none.jsonl",
            "cwd": cwd,
            "permission_mode": "default",
            "hook_event_name": "UserPromptSubmit",
            "prompt": prompt,
        },
        "codex": {
            "cwd": cwd,
            "hook_event_name": "UserPromptSubmit",
            "model": "gpt-5-codex",
            "permission_mode": "default",
            "prompt": prompt,
            "session_id": SESSION,
            "transcript_path": None,
            "turn_id": "0199b2c0-turn",
        },
        "gemini": {
            "session_id": SESSION,
            "transcript_path": "/nowhere/.gemini/tmp/chats/session.json",
            "cwd": cwd,
            "hook_event_name": "BeforeAgent",
            "timestamp": "2026-11-15T09:30:00.000Z",
            "prompt": prompt,
        },
        "copilot": {
            "timestamp": 1_763_219_441_125,
            "cwd": cwd,
            "sessionId": SESSION,
            "prompt": prompt,
        },
        "cursor": {
            "conversation_id": SESSION,
            "generation_id": "8c6f7a30-generation",
            "model": "default",
            "hook_event_name": "sessionStart",
            "cursor_version": "2.4.0",
            "workspace_roots": [cwd, "/another/root"],
            "user_email": None,
            "transcript_path": None,
            "session_id": SESSION,
            "is_background_agent": False,
            "composer_mode": "agent",
        },
        "opencode": {
            "hook_event_name": "chat.message",
            "prompt": prompt,
            "cwd": cwd,
            "session_id": SESSION,
        },
        "openclaw": {
            "hook_event_name": "before_prompt_build",
            "prompt": prompt,
            "cwd": cwd,
            "session_id": SESSION,
            "messages": [],
        },
    }
    return {**given[host], **changes}


def context_in(host: str, printed: bytes | str) -> str:
    """The text in what a hook printed, which is nothing, or one JSON object of that host's form."""
    if not printed:
        return ""
    answer = json.loads(printed)
    jsonschema.validate(answer, ENVELOPES[host])
    inner = answer["hookSpecificOutput"] if host in NESTED else answer
    text: str = inner["additional_context" if host == "cursor" else "additionalContext"]
    return text


def references(text: str) -> list[Reference]:
    """The parts of an answer; nothing else may stand there but what introduces them."""
    if not text:
        return []
    assert text.startswith(REFERENCE_PREAMBLE)
    rest = text.removeprefix(REFERENCE_PREAMBLE)
    assert _REFERENCE.sub("", rest).strip("\n") == ""
    return [
        Reference(one["kind"], one["id"], one["source"], one["content"])
        for one in _REFERENCE.finditer(rest)
    ]


def card_ids(text: str) -> list[str]:
    return [one.id for one in references(text) if one.kind == "card"]


def skill_lines(text: str) -> list[str]:
    """The lines about skills in an answer."""
    found = [one.content for one in references(text) if one.kind == "skills"]
    return [line for content in found for line in content.split("\n")[1:]]


def name_in(line: str) -> str:
    """The name of the skill that a line is about."""
    found = re.match(r"- '(.*?)': ", line)
    assert found is not None
    return found[1]


class Hooks:
    """A workspace that its user lets speak, the home of that user, and the hooks that run there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "workspace"
        self.home = folder / "home"
        self.root.mkdir(parents=True)
        self.home.mkdir()
        self.workspace = Workspace(self.root)
        self.environ = {
            "HOME": str(self.home),
            **{
                f"XDG_{one}_HOME": str(self.home / one.lower())
                for one in ("STATE", "CONFIG", "DATA", "CACHE")
            },
        }
        self.settings("")
        self.room = state_room(str(self.root), self.environ)
        self.state = Path(self.room.path)
        (self.home / "config").mkdir()
        self.user_state = Path(user_room(self.environ).path)

    def settings(self, capabilities: str) -> None:
        """Write the settings of `[capabilities]`; `prepare` makes them known."""
        lines = ["host-folders = false", "", "[capabilities]", capabilities, ""]
        if "skillThreshold" not in capabilities:
            lines.insert(3, "skillThreshold = 0.3")  # few skills share many words
        self.workspace.write("metier.toml", "\n".join(lines))

    def card(
        self,
        id: str,
        *keywords: str,
        threshold: float = 0.2,
        priority: int = 10,
        body: str = "The module is src/{id}; its tests are beside it.",
        triggers: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> None:
        """Write a card; `triggers` and `more` are further front matter."""
        all_triggers = {"keywords": keywords, "confidenceThreshold": threshold, **(triggers or {})}
        matter = {
            "id": id,
            "name": id.title(),
            "description": f"About {id}.",
            "priority": priority,
            "triggers": all_triggers,
            **more,
        }
        lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in matter.items()]
        text = "\n".join(["---", *lines, "---", body.replace("{id}", id)])
        self.workspace.write(f"docs/capabilities/{id}.md", f"{text}\n")

    def skill(self, name: str, description: str, folder: str | None = None) -> None:
        """Write a skill with any description."""
        quoted = json.dumps(description, ensure_ascii=False)
        self.workspace.skill(name, quoted, folder=folder)

    def user_settings(self, text: str) -> None:
        """Write the user's own settings."""
        file = self.home / "config" / "metier" / "metier.toml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def user_skill(self, name: str, description: str) -> None:
        """Write a skill of the user's own, which every workspace has."""
        quoted = json.dumps(description, ensure_ascii=False)
        Workspace(self.home).skill(name, quoted, folder=f".claude/skills/{name}")
        shared = self.home / ".agents/skills"  # for the hosts that do not read Claude Code's
        shared.parent.mkdir(exist_ok=True)
        if not shared.exists():
            shared.symlink_to("../.claude/skills")

    def prepare_user(self) -> None:
        """Bring the catalog of the user's own documents up to date."""
        with self.as_user(), Catalog.of_user() as catalog:
            catalog.prepare_for_hooks()

    def prepare(self) -> None:
        """Let the workspace speak as it is now, and do what the detached refresh does."""
        trust(self.root, speak=True, environ=self.environ)
        self.refresh()

    def refresh(self) -> None:
        """Do what the detached refresh does, whatever the user trusts."""
        with self.as_user():
            Catalog.for_hooks(read_boundary(str(self.root), for_host=True)).close()

    @contextlib.contextmanager
    def as_user(self, **env: str) -> Iterator[None]:
        """The environment of the user, in this process."""
        with mock.patch.dict(os.environ, {**self.environ, **env}):
            yield

    def asked(self, host: str, prompt: str = PROMPT, **changes: Any) -> dict[str, Any]:
        return asked(host, self.root, prompt, **changes)

    def run(self, host: str, given: bytes | Mapping[str, Any], **env: str) -> bytes:
        """What the hook prints as a process of its own; whatever it is given, it ends well."""
        finished = subprocess.run(
            [sys.executable, "-m", "metier", "hook", host],
            input=as_bytes(given),
            capture_output=True,
            cwd=self.home,
            env={**os.environ, **self.environ, **env},
            timeout=120,
            check=False,
        )
        assert finished.returncode == 0
        assert finished.stderr in (b"", OWN_ONLY)
        return finished.stdout

    def text(self, host: str, given: bytes | Mapping[str, Any], **env: str) -> str:
        """What the hook hands over, run as a process of its own."""
        return context_in(host, self.run(host, given, **env))

    def served(self, host: str, given: bytes | Mapping[str, Any], **env: str) -> str:
        """What the hook prints, run in this process: for those who ask very often."""
        with tempfile.TemporaryFile() as file, contextlib.ExitStack() as stack:
            file.write(as_bytes(given))
            file.seek(0)
            stack.enter_context(contextlib.chdir(self.home))
            stack.enter_context(self.as_user(**env))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore", ResourceWarning)  # its process would end here
            printed = stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
            kept = os.dup(0)
            try:
                os.dup2(file.fileno(), 0)
                serve(host)
            finally:
                os.dup2(kept, 0)
                os.close(kept)
            return printed.getvalue()

    def rows(self) -> list[dict[str, Any]]:
        """The decisions that were logged, the latest last."""
        file = self.state / "decisions.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def log(self) -> list[str]:
        """The failures that were logged in the state of the workspace."""
        return lines_of(self.state / "hook.log") if self.state.is_dir() else []

    def user_log(self) -> list[str]:
        """The failures that were logged for the user."""
        return lines_of(self.user_state / "hook.log")


def as_bytes(given: bytes | Mapping[str, Any]) -> bytes:
    return given if isinstance(given, bytes) else json.dumps(given).encode()


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.exists() else []


def fill(hooks: Hooks) -> None:
    """A card and a skill for `PROMPT`, one of each for nothing, and a card for each start."""
    hooks.card("billing", "invoice", "refund")
    hooks.card("weather", "rain", "snow")
    hooks.card("house-rules", "house rule", threshold=0.25, priority=30)
    hooks.skill("pdf", "Extracts invoices from PDF files. Use it for every PDF.")
    hooks.skill("sql", "Writes database queries. Use it for databases.")
    hooks.prepare()


@pytest.fixture
def hooks(tmp_path: Path) -> Hooks:
    """A workspace with nothing in it."""
    return Hooks(tmp_path)


@pytest.fixture
def filled(tmp_path: Path) -> Hooks:
    """A workspace with what `fill` writes."""
    made = Hooks(tmp_path)
    fill(made)
    return made
