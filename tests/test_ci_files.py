"""What runs metier in CI: the action, the hooks of pre-commit, and the examples of the page."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from conftest import REPOSITORY, Workspace
from metier.cli.lint_options import FAIL_ON
from metier.values.files import SKILL_NAMES

ACTION: dict[str, Any] = yaml.safe_load((REPOSITORY / "action.yml").read_text())
HOOKS: list[dict[str, Any]] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
STEPS: dict[str, dict[str, Any]] = {step["name"]: step for step in ACTION["runs"]["steps"]}
NAMELESS = "---\ndescription: Does one thing well. Use it when that is needed.\n---\n\nDo it.\n"
_WHO = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="there is no git")


# The action


@pytest.mark.parametrize("name", [name for name, step in STEPS.items() if "run" in step])
def test_no_input_is_interpolated_into_shell(name: str) -> None:
    assert "${{" not in STEPS[name]["run"]
    assert STEPS[name]["shell"] == "bash"


def test_every_input_is_described_and_used() -> None:
    text = (REPOSITORY / "action.yml").read_text()
    for name, one in ACTION["inputs"].items():
        assert one["description"]
        assert isinstance(one["default"], str)
        assert f"inputs.{name}" in text
    assert set(re.findall(r"inputs\.([a-z-]+)", text)) == set(ACTION["inputs"])
    assert ACTION["inputs"]["fail-on"]["default"] in FAIL_ON


class Runner:
    """Runs the shell of a step as GitHub does."""

    def __init__(self, workspace: Workspace, temporary: Path) -> None:
        self.root = workspace.root
        self.temporary = temporary
        self.output = temporary / "output"
        program = temporary / "metier/bin/metier"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m metier "$@"\n')
        program.chmod(0o755)

    def run(self, name: str, **environment: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", STEPS[name]["run"]],
            cwd=self.root,
            env={
                **os.environ,
                "RUNNER_TEMP": str(self.temporary),
                "GITHUB_OUTPUT": str(self.output),
                **environment,
            },
            capture_output=True,
            text=True,
            check=False,
        )

    def lint(self, **given: str) -> "subprocess.CompletedProcess[str]":
        usual = {
            "LINT_PATHS": "",
            "LINT_BASELINE": "",
            "LINT_FAIL_ON": "warning",
            "LINT_SARIF_FILE": "metier.sarif",
        }
        return self.run("Lint", **{**usual, **given})

    @property
    def code(self) -> str:
        return self.output.read_text().splitlines()[-1]


@pytest.fixture
def runner(workspace: Workspace, tmp_path: Path) -> Runner:
    workspace.write("skills/a/SKILL.md", NAMELESS)
    workspace.write("skills/b c/SKILL.md", NAMELESS.replace("one", "another"))
    return Runner(workspace, tmp_path / "temporary")


@needs_bash
def test_the_action_annotates_writes_sarif_and_says_whether_it_failed(runner: Runner) -> None:
    done = runner.lint()
    assert done.returncode == 0
    assert done.stdout.count("::warning title=metier SK301,file=skills/") == 2
    sarif = yaml.safe_load((runner.root / "metier.sarif").read_text())
    assert len(sarif["runs"][0]["results"]) >= 2
    assert runner.code == "code=1"
    assert runner.run("Fail on findings", CODE="1").returncode == 1
    assert runner.run("Fail on findings", CODE="0").returncode == 0


@needs_bash
def test_the_action_takes_paths_as_they_are(runner: Runner) -> None:
    strange = "skills/b c\n\n; touch hacked; $(touch hacked)\n"
    done = runner.lint(LINT_PATHS="skills/b c\n")
    assert done.stdout.count("SK301") == 1
    runner.lint(LINT_PATHS=strange)
    assert not (runner.root / "hacked").exists()
    assert runner.code == "code=1"


@needs_bash
def test_the_action_fails_on_what_it_is_asked_to(runner: Runner) -> None:
    runner.lint(LINT_FAIL_ON="error")
    assert runner.code == "code=0"


@needs_bash
@needs_git
def test_the_action_checks_only_what_a_pull_request_changes(
    runner: Runner, workspace: Workspace, tmp_path: Path
) -> None:
    def git(*arguments: str, folder: Path = workspace.root) -> str:
        done = subprocess.run(
            ["git", *_WHO, *arguments], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    shutil.rmtree(workspace.root / ".git")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-qm", "one")
    base = git("rev-parse", "HEAD")
    git("clone", "-q", "--bare", ".", str(tmp_path / "origin"))
    git("remote", "add", "origin", str(tmp_path / "origin"))
    workspace.write("skills/b c/SKILL.md", NAMELESS + "\nMore.\n")
    (workspace.root / "skills/a/SKILL.md").unlink()
    git("commit", "-qam", "two")
    assert runner.run("List changed files", BASE=base).returncode == 0
    done = runner.lint()
    assert done.stdout.count("SK301") == 1
    assert "file=skills/b c/SKILL.md" in done.stdout


# pre-commit


def matched(hook: dict[str, Any], path: str) -> bool:
    return bool(re.search(hook["files"], path)) and not re.search(hook["exclude"], path)


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_get_the_documents_of_the_usual_folders(hook: dict[str, Any]) -> None:
    documents = [*(f"skills/a/{name}" for name in SKILL_NAMES), "SKILL.md", "abilities/a.md",
                 "docs/capabilities/web.md", "agents/a.yaml", "agents/a.yml", "agents/a.json",
                 "agents/a.md", ".claude/skills/a/SKILL.md"]  # fmt: skip
    others = ["README.md", "skills/a/NOTSKILL.md", "docs/capabilities/README.md", "agents/a.txt",
              "src/agents/a.yaml", "node_modules/x/SKILL.md", ".github/a.yaml"]  # fmt: skip
    assert [path for path in documents if not matched(hook, path)] == []
    assert [path for path in others if matched(hook, path)] == []


@pytest.mark.parametrize("hook", HOOKS, ids=lambda hook: hook["id"])
def test_hooks_take_the_files_that_pre_commit_names(
    hook: dict[str, Any], workspace: Workspace
) -> None:
    workspace.write("skills/a/SKILL.md", NAMELESS)
    workspace.write("skills/b/SKILL.md", NAMELESS.replace("one", "another"))
    program, *arguments = hook["entry"].split()
    assert (program, hook["language"]) == ("metier", "python")
    done = subprocess.run(
        [sys.executable, "-m", "metier", *arguments, "skills/a/SKILL.md"],
        cwd=workspace.root,
        capture_output=True,
        text=True,
        check=False,
    )
    is_fixed = "name: a" in (workspace.root / "skills/a/SKILL.md").read_text()
    assert (done.returncode, is_fixed) == ((0, True) if "--fix" in arguments else (1, False))
    assert "skills/b" not in done.stdout


# The page


def examples() -> list[str]:
    text = (REPOSITORY / "docs/ci.md").read_text()
    return re.findall(r"^```yaml\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_examples_of_the_page_are_valid() -> None:
    assert len(examples()) >= 4
    for example in examples():
        assert yaml.safe_load(example)


def test_the_examples_name_inputs_and_hooks_that_exist() -> None:
    text = "\n".join(examples())
    hooks = {hook["id"] for hook in HOOKS}
    assert set(re.findall(r"- id: (\S+)", text)) <= hooks
    steps = [
        step
        for example in examples()
        for job in (yaml.safe_load(example).get("jobs") or {}).values()
        for step in job["steps"]
        if "/metier@" in step.get("uses", "")
    ]
    assert steps
    for step in steps:
        assert set(step.get("with", {})) <= set(ACTION["inputs"])
