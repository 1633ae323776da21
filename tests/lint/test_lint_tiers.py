"""The three tiers: AGENTS.md stays short and points to the cards, cards have their size."""

import json
from pathlib import Path

import pytest

from conftest import Workspace
from metier.cli import run
from metier.lint.tiers import LONGEST_AGENTS_FILE, lint_agents_file

CARDS = ("web-search", "docs/capabilities/search.md")
CARD = "---\nid: web-search\nname: S\ndescription: D\ntriggers: {{keywords: [web]}}\n---\n{}\n"


def codes(text: str, cards: tuple[str, ...] = CARDS) -> list[str]:
    return [issue.code for issue in lint_agents_file(text, "AGENTS.md", cards)]


@pytest.mark.invariant(id="CARD-TIER-001")
def test_an_agents_file_over_500_characters_gets_a_note() -> None:
    assert codes("a" * 500, ()) == []
    assert codes(f"\n{'a' * 500}\n", ()) == []
    (issue,) = lint_agents_file("a" * 501, "AGENTS.md", ())
    assert (issue.code, issue.severity, issue.path) == ("CD608", "info", "AGENTS.md")
    assert "501" in issue.message
    assert str(LONGEST_AGENTS_FILE) in issue.hint


@pytest.mark.parametrize(
    "text",
    [
        "Read docs/capabilities/ first.",
        "Read `docs/capabilities`.",
        "Read ./docs/capabilities/search.md first.",
        "There is a card called web-search.",
    ],
)
def test_a_folder_a_path_or_an_id_points_to_the_cards(text: str) -> None:
    assert codes(text) == []


@pytest.mark.parametrize("text", ["", "Be nice.", "my-web-search-2", "docs/capabilities-old"])
def test_an_agents_file_that_points_to_no_card_gets_a_note(text: str) -> None:
    (issue,) = lint_agents_file(text, "AGENTS.md", CARDS)
    assert (issue.code, issue.severity) == ("CD609", "info")
    assert "docs/capabilities" in issue.hint


def test_without_cards_there_is_nothing_to_point_to() -> None:
    assert codes("Be nice.", ()) == []


@pytest.mark.invariant(id="CARD-TIER-002")
@pytest.mark.parametrize(
    ("size", "found"), [(199, ["CD607"]), (200, []), (800, []), (801, ["CD607"])]
)
def test_a_card_has_200_to_800_characters(
    tmp_path: Path, size: int, found: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    workspace = Workspace(tmp_path)
    file = workspace.write("docs/capabilities/a.md", CARD.format("b" * size))
    run(["lint", "--json", str(file)])
    assert [issue["code"] for issue in json.loads(capsys.readouterr().out)] == found


class Linted:
    def __init__(self, workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
        self.workspace = workspace
        self.capsys = capsys

    def __call__(self, *arguments: str) -> list[tuple[str, str]]:
        run(["lint", "--notes", "--json", *arguments])
        found = json.loads(self.capsys.readouterr().out)
        return [(issue["code"], issue["path"]) for issue in found]


@pytest.fixture
def lint(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Linted:
    workspace.write("docs/capabilities/search.md", CARD.format("b" * 300))
    workspace.write("AGENTS.md", "Be nice. " * 90)
    monkeypatch.chdir(workspace.root)
    return Linted(workspace, capsys)


def test_the_workspaces_own_agents_file_is_checked(lint: Linted) -> None:
    assert lint() == [("CD608", "AGENTS.md"), ("CD609", "AGENTS.md")]


def test_it_is_checked_when_it_is_named(lint: Linted) -> None:
    assert lint("./AGENTS.md") == [("CD608", "./AGENTS.md"), ("CD609", "./AGENTS.md")]
    assert lint("AGENTS.md", "docs") == [("CD608", "AGENTS.md"), ("CD609", "AGENTS.md")]
    assert lint("docs/capabilities/search.md") == []


def test_only_cards_that_can_be_used_count(lint: Linted) -> None:
    broken = CARD.format("b" * 300).replace("id: web-search", "id: web-search\npriority: 500")
    lint.workspace.write("docs/capabilities/search.md", broken)
    assert [code for code, _ in lint()] == ["CD608", "CD602"]


def test_a_mention_by_the_id_in_the_card_counts(lint: Linted) -> None:
    lint.workspace.write("AGENTS.md", "There is the card web-search.")
    assert lint() == []


def test_without_an_agents_file_nothing_is_missed(lint: Linted) -> None:
    (lint.workspace.root / "AGENTS.md").unlink()
    assert lint() == []


def test_another_agents_file_is_no_tier(lint: Linted) -> None:
    lint.workspace.write(
        "agents/AGENTS.md", "---\nagentId: a\ndescription: Reads it.\n---\nRead.\n"
    )
    assert lint("agents/AGENTS.md") == []


def test_notes_never_fail(lint: Linted) -> None:
    assert run(["lint"]) == 0


def test_an_agents_file_that_is_no_utf_8_is_read_all_the_same(lint: Linted) -> None:
    lint.workspace.write("AGENTS.md", b"caf\xe9, see docs/capabilities")
    assert lint() == []
