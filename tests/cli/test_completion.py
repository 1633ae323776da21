"""Completion in a shell: the scripts, and what they are answered."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable

import pytest

from cli.printed import run_here
from conftest import Workspace
from metier.cli import COMMANDS, run

AGENT = "agentId: writer\ndisplayName: Writer\nversion: 1.0.0\ndescription: Writes texts.\n"
Complete = Callable[..., list[str]]


def metier(workspace: Workspace, *arguments: str, **environment: str) -> str:
    """What `metier` prints, as the shell's completion calls it; nothing else may appear."""
    finished = run_here(workspace.root, *arguments, **environment)
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


@pytest.fixture
def complete(workspace: Workspace) -> Complete:
    """What bash is offered for the last of the words typed so far."""

    def ask(*words: str) -> list[str]:
        answer = metier(
            workspace,
            _METIER_COMPLETE="bash_complete",
            COMP_WORDS=" ".join(("metier", *words)),
            COMP_CWORD=str(len(words)),
        )
        return answer.split()

    return ask


def plain(*values: str) -> list[str]:
    return [f"plain,{value}" for value in values]


@pytest.fixture
def known(workspace: Workspace) -> Workspace:
    """A workspace with a catalog, which its user has looked at."""
    for name in ("brave", "searx", "summarize"):
        workspace.skill(name, extra=f"capabilities: [{name}-search]")
    workspace.write("agents/writer.yaml", AGENT)
    workspace.trust()
    metier(workspace, "refresh", "--quiet")
    return workspace


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_every_shell_calls_metier(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["completion", shell]) == 0
    printed = capsys.readouterr()
    assert f"_METIER_COMPLETE={shell}_complete" in printed.out
    assert "_metier_completion" in printed.out
    assert printed.err == ""


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_the_shell_accepts(shell: str, workspace: Workspace) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"no {shell} here")
    script = workspace.write(f"completion.{shell}", metier(workspace, "completion", shell))
    checked = subprocess.run(
        [program, "-n", str(script)], capture_output=True, text=True, check=False, timeout=300
    )
    assert (checked.returncode, checked.stderr) == (0, "")


def test_command_names_are_offered_in_the_order_of_the_help(complete: Complete) -> None:
    assert complete("") == plain(*COMMANDS)
    assert complete("sel") == plain("select")
    assert complete("zzz") == []


def test_zsh_is_told_what_a_command_does(workspace: Workspace) -> None:
    answer = metier(
        workspace, _METIER_COMPLETE="zsh_complete", COMP_WORDS="metier sel", COMP_CWORD="1"
    )
    assert answer.split("\n")[:2] == ["plain", "select"]
    assert answer.split("\n")[2].startswith("Select the agents for a task")


def test_kinds_formats_and_options_are_offered(complete: Complete) -> None:
    assert complete("list", "") == plain("skills", "abilities", "cards", "agents")
    assert complete("show", "a") == plain("ability", "agent")
    assert complete("lint", "--format", "") == plain(
        "text", "json", "sarif", "github", "gitlab", "html"
    )
    assert set(plain("--json", "--no-refresh", "--root")) < set(complete("list", "--"))


def test_names_of_documents_are_offered_by_kind(known: Workspace, complete: Complete) -> None:
    assert complete("show", "skill", "") == plain("brave", "searx", "summarize")
    assert complete("show", "skill", "s") == plain("searx", "summarize")
    assert complete("show", "skills", "s") == plain("searx", "summarize")
    assert complete("show", "agents", "") == plain("writer")
    assert complete("show", "agent", "") == plain("writer")
    assert complete("show", "card", "") == []


def test_names_come_from_the_workspace_that_is_asked_for(
    known: Workspace, complete: Complete
) -> None:
    inner = known.root / "elsewhere"
    inner.mkdir()
    (inner / "metier.toml").touch()
    root = os.fspath(inner)
    assert complete("show", "--root", os.fspath(known.root), "skill", "b") == plain("brave")
    assert complete("show", "--root", root, "skill", "b") == []
    assert complete("show", "--root", "nowhere", "skill", "b") == []


@pytest.mark.parametrize("damage", ["metier.toml", "metier.db"])
def test_damage_silences_completion_and_is_no_error(
    known: Workspace, complete: Complete, damage: str
) -> None:
    folder = known.state if damage == "metier.db" else known.root
    (folder / damage).write_text("[garbage" * 1000)
    assert complete("show", "skill", "") == []


def test_names_of_a_workspace_that_is_not_trusted_are_offered_too(
    workspace: Workspace, complete: Complete
) -> None:
    workspace.skill("brave")
    workspace.write("agents/writer.yaml", AGENT)
    metier(workspace, "refresh", "--quiet")
    assert complete("show", "skill", "") == plain("brave")
    assert complete("show", "agent", "") == plain("writer")


def test_completing_writes_nothing(workspace: Workspace, complete: Complete) -> None:
    workspace.skill("one")
    complete("show", "skill", "")
    assert {path.name for path in workspace.root.iterdir()} == {".git", "skills"}
    assert not workspace.state.exists()


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("explain", "FM10"), plain(*(f"FM10{number}" for number in range(1, 10)))),
        (("list", "--capability", "br"), plain("brave-search")),
        (("lint", "--select", "FM10"), plain(*(f"FM10{number}" for number in range(1, 10)))),
        (("lint", "ski"), ["file,ski"]),
        (("list", "--root", "ski"), ["dir,ski"]),
        (("list", "--config", "met"), ["file,met"]),
    ],
)
def test_codes_capabilities_and_paths_are_offered(
    known: Workspace, complete: Complete, words: tuple[str, ...], offered: list[str]
) -> None:
    assert complete(*words) == offered


ODD_NAMES = {
    "two words": r"two\ words",
    "it's $HOME": r"it\'s\ \$HOME",
    "a;b&c": r"a\;b\&c",
    "star*": r"star\*",
    "comma,colon:dot.": "comma,colon:dot.",
    "größe": "größe",
}
"""Names that a shell would split or expand, as bash inserts them."""


@pytest.fixture
def odd(workspace: Workspace) -> Workspace:
    """A workspace with skills of odd names."""
    for number, name in enumerate(ODD_NAMES):
        text = f'---\nname: "{name}"\ndescription: Does things.\n---\nText.\n'
        workspace.write(f"skills/s{number}/SKILL.md", text)
    metier(workspace, "refresh", "--quiet")
    return workspace


def answers(workspace: Workspace, shell: str, words: str, current: str) -> list[str]:
    made = metier(
        workspace, _METIER_COMPLETE=f"{shell}_complete", COMP_WORDS=words, COMP_CWORD=current
    )
    return made.splitlines()


def test_names_are_escaped_for_bash(odd: Workspace) -> None:
    offered = answers(odd, "bash", "metier\nshow\nskill\n", "3")
    assert sorted(offered) == sorted(plain(*ODD_NAMES.values()))
    assert answers(odd, "bash", "metier\nshow\nskill\ntwo\\ w", "3") == plain(r"two\ words")


def test_names_are_not_escaped_for_bash_inside_quotes(odd: Workspace) -> None:
    assert answers(odd, "bash", 'metier\nshow\nskill\n"two w', "3") == plain("two words")


def test_names_are_whole_lines_for_zsh_and_fish_which_quote_them(odd: Workspace) -> None:
    zsh = answers(odd, "zsh", "metier show skill ", "3")
    assert sorted(zsh[1::3]) == sorted(ODD_NAMES)
    fish = answers(odd, "fish", "metier show skill ", "")
    assert sorted(fish) == sorted(plain(*ODD_NAMES))


def test_the_script_of_fish_keeps_commas_in_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "fish"]) == 0
    assert 'string split --max 1 ","' in capsys.readouterr().out


def test_bash_completes_an_odd_name_to_one_word(odd: Workspace) -> None:
    program = shutil.which("bash")
    if program is None:
        pytest.skip("no bash here")
    odd.write("completion.bash", metier(odd, "completion", "bash"))
    asked = (
        "source completion.bash; COMP_WORDS=(metier show skill ''); COMP_CWORD=3;"
        " _metier_completion ./metier.sh; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    script = odd.write(
        "metier.sh", f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m metier "$@"\n'
    )
    script.chmod(0o755)
    done = subprocess.run(
        [program, "-c", asked],
        cwd=odd.root,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert sorted(done.stdout.splitlines()) == sorted(ODD_NAMES.values())
