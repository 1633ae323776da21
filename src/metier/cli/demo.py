"""`metier demo`"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import chdir, contextmanager
from importlib.util import find_spec

import click

from metier.cli.review import Review
from metier.cli.session import Session
from metier.cli.shown_paths import shipped_folder
from metier.errors import NotFoundError, install_hint

_TASK = "Review the Python pull request"
_QUESTION = "Which changelog goes with the release tag? Is there a report?"
_RELEASE = "prepare release 4.12.0"
_WANTED = "a spreadsheet of the disputed invoices for the auditor"
_KILLED = ("run", "release-manager", _RELEASE, "--input", '{"version": "4.12.0"}')
_SHOWN, _ACCEPTED = ("trust", "--show"), ("trust", "--accept", "DIGEST")
_FAILING = '{"version": "4.12.1", "folder": "nowhere"}'
_KILLED_AFTER = "announcement"
_PAUSE = 1.5
"""Seconds before each step on a terminal."""
_STEPS: tuple[tuple[str, Sequence[str]], ...] = (
    ("Find everything: one command, no setup.", ("refresh",)),
    ("Its settings do not count until you trust it. This is what it asks for.", _SHOWN),
    ("You reviewed it: accept exactly these settings, but no skills in prompts yet.", _ACCEPTED),
    ("These are the skills of a small team.", ("list", "skills")),
    (
        "Which one fires for this prompt, and why not Data_Export?",
        ("which", _WANTED, "--expect", "Data_Export"),
    ),
    ("Who provides what?", ("list", "--capability", "web-search")),
    ("Which one, and why? By fixed rules.", ("resolve", "-r", "web-search")),
    ("What is wrong with them? Every finding says where, and what to change.", ("lint",)),
    ("Why does that matter?", ("explain", "FM104")),
    ("Mechanical problems are fixed automatically.", ("lint", "--fix")),
    ("Abilities, cards and agents follow the same rules.", ("list", "abilities")),
    (
        "A task gets the text of the abilities that fit it, within a budget.",
        ("inject", "--task", "Write the commit message", "--min-signal", "10"),
    ),
    (
        "Why these? Every part of every score is shown.",
        ("inject", "--task", _TASK, "--agent", "reviewer", "--min-signal", "5", "--explain"),
    ),
    (
        "A card is triggered by its keywords; the scores of the others are shown.",
        ("inject", "--task", _QUESTION, "--min-signal", "60", "--explain"),
    ),
    ("Which agent fits this task?", ("select", _RELEASE, "--explain")),
    (
        "It runs: parallel steps, skills by rule, delegation. Then its process is killed.",
        _KILLED,
    ),
    ("No acknowledged step is lost.", ("runs", "list")),
    ("It resumes where it stopped.", ("runs", "resume", "last")),
    (
        "Every decision is on record: what each step got, and by which report.",
        ("runs", "show", "last"),
    ),
    (
        "Here a step fails: the tag is undone, and the steps that cannot be undone are listed.",
        ("run", "release-manager", "prepare release 4.12.1", "--input", _FAILING),
    ),
    (
        "In your host, with every prompt: this is what would change.",
        ("hook", "install", "claude-code", "--dry-run"),
    ),
)
_ASK = "ask.py"


@click.command("demo")
@click.option("--fast", is_flag=True, help="Do not pause between the steps.")
def command(fast: bool) -> int:
    """Show what metier does, on a bundled example. Leaves nothing behind."""
    from metier.cli import run  # the group loads this module

    with tempfile.TemporaryDirectory(prefix="metier-demo-") as folder:
        workspace = os.path.join(folder, "workspace")
        shutil.copytree(_example(), workspace)
        with chdir(workspace), _isolated_folders(folder):
            pause = 0.0 if fast or not sys.stdout.isatty() else _PAUSE
            for title, arguments in _STEPS:
                if arguments == _ACCEPTED:
                    arguments = (*arguments[:-1], Review(Session()).digest)
                _announce(title, f"metier {shlex.join(arguments)}", pause)
                if arguments == _KILLED:
                    _run_and_kill(arguments)
                elif run(arguments) > 1:
                    return 1
                if not sys.stdout.isatty() and arguments[0] == "inject":
                    click.echo()  # its text may lack a final newline
            _announce("Any MCP client can ask the same.", f"python {_ASK}", pause)
            if _ask() != 0:
                return 1
    click.echo(f"\n{_closing()}")
    click.echo(click.style("\nNow yours: cd into a folder with skills, then", fg="cyan", bold=True))
    click.echo(click.style("$ metier init", bold=True))
    return 0


@contextmanager
def _isolated_folders(folder: str) -> Iterator[None]:
    """A temporary home folder: MCP clients pass no other variable to their servers."""
    home = os.path.join(folder, "home")
    os.mkdir(home, 0o700)
    before = dict(os.environ)
    for name in ("METIER_STATE_DIR", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
        os.environ.pop(name, None)
    os.environ["HOME"] = home
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _announce(title: str, shown: str, pause: float) -> None:
    time.sleep(pause)
    click.echo(click.style(f"\n# {title}", fg="cyan", bold=True))
    click.echo(click.style(f"$ {shown}", bold=True))


def _closing() -> str:
    first = "" if find_spec("starlette") else f" (first {install_hint('web')})"
    return f"To see all of this in your browser: metier web{first}"


def _ask() -> int:
    """Run the MCP client, if the extra is installed."""
    if find_spec("mcp") is None:
        click.echo(f"(skipped: {install_hint('mcp')})")
        return 0
    sys.stdout.flush()
    return subprocess.run([sys.executable, _ASK], check=False).returncode


def _run_and_kill(arguments: Sequence[str]) -> None:
    """Run a command in another process, and kill it midway."""
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "METIER_EXAMPLE_WAIT": "2"},
    )
    assert process.stderr is not None
    with process.stderr:
        for line in process.stderr:
            click.echo(line, nl=False)
            if line.startswith(f"{_KILLED_AFTER}:"):
                process.kill()
                click.echo(click.style("(killed with kill -9)", fg="red"))
                break
    process.wait()


def _example() -> str:
    folder = shipped_folder("examples/workspace", "examples/workspace")
    if not folder:
        raise NotFoundError("the bundled example is missing", hint="install metier again")
    return folder
