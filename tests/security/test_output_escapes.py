"""No output that programs read holds a character that turns text around or shows nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.printed import Printed
from cli.run_workspace import Agents, agents, prompt, tool
from conftest import Workspace
from metier.cli import run
from metier.cli.lint_formats import rendered
from metier.flow.lint_report import Reported
from metier.safety.escapes import escaped_json, visible
from metier.values.outcomes import Issue

__all__ = ["agents"]

RANGES = [
    (0x00, 0x08),
    (0x0B, 0x0C),
    (0x0E, 0x1F),
    (0x7F, 0x9F),
    (0xAD, 0xAD),
    (0x061C, 0x061C),
    (0x180E, 0x180E),
    (0x200B, 0x200F),
    (0x2028, 0x2029),
    (0x202A, 0x202E),
    (0x2060, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),
    (0xE0100, 0xE01EF),
]
HIDDEN = frozenset(chr(code) for first, last in RANGES for code in range(first, last + 1))
ODD = "a\u202eb\u200bc\x85d\x9be\U000e0041f\x7fg\ufeffh\u2066i"
"""One character of every sort."""
EMOJI = "\u2764\ufe0f"
Metier = Callable[..., Printed]


@pytest.fixture
def metier(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> Metier:
    """Run any command on the workspace."""

    def call(*arguments: str) -> Printed:
        return Printed(run([*arguments, "--root", str(workspace.root)]), *capsys.readouterr())

    return call


def hidden_in(text: str) -> set[str]:
    return set(text) & HIDDEN


# One text


def test_every_such_character_is_written_out() -> None:
    everything = "".join(sorted(HIDDEN))
    escaped = escaped_json(json.dumps({everything: [everything]}, ensure_ascii=False))
    assert escaped.isascii()
    assert hidden_in(escaped) == set()
    assert json.loads(escaped) == {everything: [everything]}
    assert visible(everything).isascii()
    assert hidden_in(visible(everything)) == set()


@pytest.mark.parametrize(
    ("char", "in_json", "shown"),
    [
        ("\u202e", '"\\u202e"', "\\u202e"),
        ("\x9b", '"\\u009b"', "\\x9b"),
        ("\x7f", '"\\u007f"', "\\x7f"),
        ("\u200d", '"\\u200d"', "\\u200d"),
        ("\U000e0041", '"\\udb40\\udc41"', "\\U000e0041"),
    ],
)
def test_how_it_is_written_out(char: str, in_json: str, shown: str) -> None:
    assert escaped_json(json.dumps(char, ensure_ascii=False)) == in_json
    assert visible(char) == shown


@pytest.mark.parametrize("text", ["", "Grüße\t日本語", "❤️", "👩🏽", "a\n\tb\r\n", "\\u202e"])
def test_all_else_stays_as_it_is(text: str) -> None:
    assert visible(text) == text
    dumped = json.dumps([text], ensure_ascii=False, indent=2)
    assert escaped_json(dumped) == dumped


TEXTS = st.text(
    st.one_of(
        st.sampled_from([*sorted(HIDDEN), "\\", '"']), st.characters(exclude_categories=["Cs"])
    )
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXTS),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(TEXTS, inner)),
    max_leaves=8,
)


@given(VALUES, st.sampled_from([None, 2]))
def test_escaped_json_is_the_same_value(value: Any, indent: int | None) -> None:
    escaped = escaped_json(json.dumps(value, ensure_ascii=False, indent=indent))
    assert hidden_in(escaped) == set()
    assert json.loads(escaped) == value
    assert escaped_json(escaped) == escaped


# Findings


@given(TEXTS, TEXTS, TEXTS)
def test_no_format_of_findings_lets_one_through(message: str, path: str, hint: str) -> None:
    issue = Issue("SK301", message=message, path=path, line=1, column=1, hint=hint)
    reported = Reported(issue, path, issue, owners=(message,))
    for name in ("json", "sarif", "github", "gitlab", "html"):
        assert hidden_in(rendered(name, [reported])) == set(), name
    (given_back,) = json.loads(rendered("json", [reported]))
    assert (given_back["message"], given_back["path"]) == (message, path)


def test_github_shows_the_character_and_keeps_its_own_escapes() -> None:
    issue = Issue("SK301", message="50%\r\n\u202eoff", path="a,\u200bb:c", line=1, column=1)
    line = rendered("github", [Reported(issue, issue.path, issue)])
    assert "file=a%2C\\u200bb%3Ac," in line
    assert line.endswith("::50%25%0D%0A\\u202eoff\n")


# Commands


@pytest.mark.parametrize("shape", ["json", "sarif", "github", "gitlab", "html"])
def test_lint_of_a_folder_with_an_odd_name(
    workspace: Workspace, metier: Metier, shape: str
) -> None:
    workspace.write(f"skills/{ODD}{EMOJI}/SKILL.md", "---\ndescription: Does it.\n---\nDo.\n")
    printed = metier("lint", "--format", shape)
    assert "SK301" in printed.out
    assert hidden_in(printed.out) == set()
    if shape == "json":
        assert printed.data[0]["path"].endswith(f"/skills/{ODD}{EMOJI}/SKILL.md")
        assert EMOJI in printed.out


@pytest.mark.parametrize(
    "command", [["list"], ["show", "skill", "odd"], ["select", "does it"], ["refresh"], ["lint"]]
)
def test_json_of_a_command(workspace: Workspace, metier: Metier, command: list[str]) -> None:
    description = json.dumps(f"Does it {ODD}")
    workspace.skill("odd", description, folder=f"skills/{ODD}", body=f"Do {ODD}.")
    printed = metier(*command, "--json")
    assert isinstance(printed.data, dict | list)
    assert hidden_in(printed.out) == set()


def test_a_report_that_is_printed_and_the_file_that_keeps_it(
    workspace: Workspace, metier: Metier
) -> None:
    workspace.skill("odd", folder=f"skills/{ODD}", extra="capabilities: [search]")
    printed = metier("resolve", "-r", "search", "-r", "nothing", "--json")
    assert f"skills/{ODD}" in json.dumps(printed.data, ensure_ascii=False)
    assert hidden_in(printed.out) == set()
    (file,) = (workspace.state / "reports").iterdir()
    assert kept(file) == printed.data
    assert metier("resolve", "--continue", file.stem, "--decision", "emulate").code == 0
    assert kept(file) != printed.data
    assert f"skills/{ODD}" in json.dumps(kept(file), ensure_ascii=False)


def kept(file: Path) -> Any:
    text = file.read_text(encoding="utf-8")
    assert hidden_in(text) == set()
    return json.loads(text)


@pytest.mark.parametrize("option", ["--json", "--events", "-q"])
def test_what_a_run_prints(agents: Agents, option: str) -> None:
    steps = [tool("say", "say", given={"text": "{{ task }}"}), prompt("ask")]
    agents.agent("both", {"stepId": "all", "type": "parallel", "config": {"steps": steps}})
    printed = agents.metier("run", "both", ODD.replace("\x85", ""), option)
    assert "\\u202e" in printed.stdout
    assert hidden_in(printed.stdout) == set()
