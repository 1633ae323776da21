"""Real hosts, each with a home of its own, in front of a model server that records.

Codex, Gemini CLI and opencode are installed into a cache; Claude Code and Copilot CLI are used
only where they are on the PATH.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from metier.listing.protocols import Call
from metier.listing.recorder import LOOPBACK, Finished, free_port, run_recorded

LIMIT = 60
"""Seconds that a host may take for one prompt."""


@dataclass(frozen=True)
class LiveHost:
    """How one host is installed, pointed at the recorder and asked."""

    name: str
    program: str
    package: str
    """On npm; empty for a host that is used only where its user has it."""
    version: str
    skills: tuple[str, str]
    """Folders of skills below the workspace, and below the home."""
    configure: Callable[["Lab"], Mapping[str, str]]
    """Writes settings; the environment of the host."""
    ask: Callable[[str], list[str]]
    """Arguments that put one prompt and end."""
    context: int = 200_000
    """The size of the model's context that the settings say."""
    prepare: Callable[["Lab"], None] | None = None
    """Called before each prompt."""


def _codex(lab: "Lab") -> Mapping[str, str]:
    settings = f"""\
model = "stand-in"
model_provider = "local"
model_context_window = {lab.context}
check_for_update_on_startup = false

[analytics]
enabled = false

[model_providers.local]
name = "local"
base_url = "{lab.url}/v1"
wire_api = "responses"

[projects."{lab.workspace}"]
trust_level = "trusted"

[sandbox_workspace_write]
exclude_slash_tmp = true
exclude_tmpdir_env_var = true
"""  # else its sandbox makes the folders above a temporary home look like a repository
    lab.write(".codex/config.toml", settings)
    return {}


def _gemini(lab: "Lab") -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
        "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
    }
    lab.write(".gemini/settings.json", json.dumps(settings))
    return {
        "GOOGLE_GEMINI_BASE_URL": lab.url,
        "GEMINI_API_KEY": "none",
        "GEMINI_CLI_NO_RELAUNCH": "1",
    }


def _opencode(lab: "Lab") -> Mapping[str, str]:
    limit = {"context": lab.context, "output": 8000}
    settings = {
        "$schema": "https://opencode.ai/config.json",
        "model": "local/stand-in",
        "autoupdate": False,
        "share": "disabled",
        "provider": {
            "local": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "local",
                "options": {"baseURL": f"{lab.url}/v1", "apiKey": "none"},
                "models": {"stand-in": {"name": "stand-in", "limit": limit}},
            }
        },
    }
    lab.write(".config/opencode/opencode.json", json.dumps(settings))
    return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}


def _without_packages(lab: "Lab") -> None:
    """Let opencode find its package for plugins installed: it would wait for the network."""
    lock = {"packages": {"": {"dependencies": {"@opencode-ai/plugin": "*"}}}}
    for folder in (lab.workspace / ".opencode", lab.home / ".config/opencode"):
        if folder.exists():
            (folder / "node_modules").mkdir(exist_ok=True)
            (folder / "package-lock.json").write_text(json.dumps(lock))


def _claude(lab: "Lab") -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": lab.url,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def _copilot(lab: "Lab") -> Mapping[str, str]:
    lab.write(".copilot/config.json", json.dumps({"trustedFolders": [str(lab.workspace)]}))
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{lab.url}/v1",
        "COPILOT_MODEL": "stand-in",
        "COPILOT_OFFLINE": "true",
        "COPILOT_AUTO_UPDATE": "false",
    }


HOSTS = {
    host.name: host
    for host in (
        LiveHost(
            "codex", "codex", "@openai/codex", "0.166.0", (".agents/skills", ".agents/skills"),
            _codex,
            lambda text: ["exec", "--skip-git-repo-check", "--dangerously-bypass-hook-trust", text],
            context=272_000,
        ),
        LiveHost(
            "gemini", "gemini", "@google/gemini-cli", "0.61.0",
            (".agents/skills", ".agents/skills"), _gemini,
            lambda text: ["-m", "gemini-2.5-pro", "-p", text],
        ),
        LiveHost(
            "opencode", "opencode", "opencode-ai", "1.18.33", (".agents/skills", ".agents/skills"),
            _opencode, lambda text: ["run", text], prepare=_without_packages,
        ),
        LiveHost(
            "claude-code", "claude", "", "", (".claude/skills", ".claude/skills"), _claude,
            lambda text: ["-p", text, "--model", "claude-sonnet-4-5"],
        ),
        LiveHost(
            "copilot", "copilot", "", "", (".github/skills", ".copilot/skills"), _copilot,
            lambda text: ["-p", text, "--allow-all-tools"],
        ),
    )
}  # fmt: skip


CACHE = Path(os.environ.get("METIER_LIVE_CACHE") or "~/.cache/metier-live").expanduser()
"""Where hosts are installed."""


def program_of(host: LiveHost) -> Path | None:
    """The host's program in the cache, or on the PATH for a host that is not installed by us."""
    if not host.package:
        found = shutil.which(host.program)
        return Path(found) if found else None
    program = CACHE / f"{host.name}-{host.version}" / "node_modules" / ".bin" / host.program
    return program if program.exists() else None


def install(host: LiveHost) -> None:
    """Install a host into the cache, unless it is there."""
    if not host.package or program_of(host):
        return
    folder = CACHE / f"{host.name}-{host.version}"
    folder.mkdir(parents=True, exist_ok=True)
    quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
    package = f"{host.package}@{host.version}"
    subprocess.run(["npm", "install", "--prefix", str(folder), *quiet, package], check=True)


@dataclass
class Lab:
    """One host with its home, its workspace and its recorder."""

    host: LiveHost
    folder: Path
    context: int = 0
    port: int = field(default_factory=free_port)
    number: int = 0

    def __post_init__(self) -> None:
        self.context = self.context or self.host.context
        self.home.mkdir(parents=True)
        (self.workspace / ".git").mkdir(parents=True)
        self.environ = {**self._base(), **self.host.configure(self)}

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def workspace(self) -> Path:
        return self.folder / "work"

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    @property
    def project_skills(self) -> Path:
        return self.workspace / self.host.skills[0]

    @property
    def user_skills(self) -> Path:
        return self.home / self.host.skills[1]

    def _base(self) -> dict[str, str]:
        kept = ("PATH", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV")
        found = {name: os.environ[name] for name in kept if name in os.environ}
        return {**found, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb", "CI": "1"}

    def write(self, path: str, text: str) -> None:
        """Write a file below the home."""
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def ask(self, text: str, calls: Sequence[Call] = (), more: Sequence[str] = ()) -> Finished:
        """Put one prompt to the host; what it sent, and how it ended."""
        program = program_of(self.host)
        assert program is not None
        if self.host.prepare:
            self.host.prepare(self)
        self.number += 1
        records = self.folder / f"requests-{self.number}"
        records.mkdir()
        return run_recorded(
            [str(program), *self.host.ask(text), *more],
            folder=str(records),
            port=self.port,
            cwd=str(self.workspace),
            environ=self.environ,
            calls=calls,
            timeout=LIMIT,
        )

    def metier(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run metier in the workspace, as the owner of the home would."""
        return subprocess.run(
            [sys.executable, "-P", "-m", "metier", *arguments],
            cwd=self.workspace,
            env=self.environ,
            capture_output=True,
            text=True,
            check=False,
        )


def open_lab(name: str, folder: Path, context: int = 0) -> Lab:
    """A lab with a host of the cache, or of the PATH. Skips the test where it is in neither."""
    host = HOSTS[name]
    if program_of(host) is None:
        pytest.skip(_missing(host))
    return Lab(host, folder / "lab", context=context)


def _missing(host: LiveHost) -> str:
    if not host.package:
        return f"no {host.program} on the PATH"
    if shutil.which("npm") is None:
        return f"{host.name} is not in the cache, and no npm here to install it"
    return f"{host.name} {host.version} is not in the cache: make live installs it"


if __name__ == "__main__":
    for each in HOSTS.values():
        install(each)
        print(f"{each.name}: {program_of(each) or 'not on the PATH: left out'}")
