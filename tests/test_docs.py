"""Pages that cannot drift: references are generated, the commands and code of the README run."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metier.config import _ENVIRONMENT, _KEYS
from reference import DOCS, check, cli_page, errors_page, findings_page
from test_invariants import PAGE, page

REPOSITORY = Path(__file__).parents[1]
README = (REPOSITORY / "README.md").read_text()
METIER = str(Path(sys.executable).with_name("metier"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reference/cli.md", cli_page()),
        ("reference/findings.md", findings_page()),
        ("reference/errors.md", errors_page()),
    ],
    ids=["cli", "findings", "errors"],
)
def test_a_reference_page_says_what_the_program_says(name: str, text: str) -> None:
    check(DOCS / name, text)


def test_the_invariants_page_is_up_to_date() -> None:
    check(PAGE, page())


def test_every_setting_is_documented() -> None:
    text = (DOCS / "reference" / "settings.md").read_text()
    missing = [name for name in (*_KEYS, *_ENVIRONMENT) if f"`{name}`" not in text]
    assert missing == []


def console_commands() -> list[tuple[str, str]]:
    """Each `$ command` of the README's console blocks, with the output shown below it."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output))
    return found


@pytest.mark.parametrize(("command", "output"), console_commands())
def test_a_command_of_the_readme_prints_what_the_readme_shows(
    command: str, output: str, tmp_path: Path
) -> None:
    workspace = tmp_path / "workspace"
    shutil.copytree(
        REPOSITORY / "examples" / "workspace", workspace, ignore=shutil.ignore_patterns(".metier")
    )
    name, *arguments = shlex.split(command)
    assert name == "metier"
    result = subprocess.run(
        [METIER, *arguments], cwd=workspace, capture_output=True, text=True, check=False
    )
    assert result.stdout.removesuffix("\n") == output.removesuffix("\n")


def test_the_hook_of_the_readme_works_in_three_commands(tmp_path: Path) -> None:
    workspace, home = tmp_path / "workspace", tmp_path / "home"
    shutil.copytree(
        REPOSITORY / "examples" / "workspace", workspace, ignore=shutil.ignore_patterns(".metier")
    )
    (workspace / "metier.toml").touch()
    home.mkdir()
    (block,) = (one for one in re.findall(r"```sh\n(.*?)```", README, re.DOTALL) if "hook" in one)
    commands = block.strip().split("\n")
    assert len(commands) == 3
    path = os.pathsep.join([str(Path(METIER).parent), os.environ["PATH"]])
    results = [
        subprocess.run(
            ["sh", "-c", command],
            cwd=workspace,
            env={**os.environ, "PATH": path, "HOME": str(home)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for command in commands
    ]
    assert "UserPromptSubmit" in (workspace / ".claude" / "settings.json").read_text()
    context = json.loads(results[1])["hookSpecificOutput"]["additionalContext"]
    assert 'card="release-train"' in context
    assert "changelog" in context
    assert "claude-code" in results[2]


def test_the_ability_of_the_readme_is_the_one_of_the_example() -> None:
    (shown,) = re.findall(r"```markdown\n(.*?)```", README, re.DOTALL)
    file = REPOSITORY / "examples" / "workspace" / "abilities" / "commit-messages.md"
    assert shown == file.read_text()


def test_the_readme_has_commands_to_check() -> None:
    assert len(console_commands()) >= 3


def test_the_python_of_the_readme_runs(tmp_path: Path) -> None:
    shutil.copytree(
        REPOSITORY / "examples" / "workspace",
        tmp_path / "examples" / "workspace",
        ignore=shutil.ignore_patterns(".metier"),
    )
    (code,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert result.returncode == 0, result.stderr
    shown = re.findall(r"print\(.*\)\s+# (.*)", code)
    assert result.stdout.splitlines()[: len(shown)] == shown


def test_links_between_pages_lead_somewhere() -> None:
    for file in [REPOSITORY / "README.md", *DOCS.rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name} → {target}"
