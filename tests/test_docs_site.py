"""Pages for users and pages for contributors: the index, the site, the FAQ and the pictures."""

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest
from tools.recording import RECORDING, recording
from tools.site import SETTINGS, loaded_from_elsewhere, nav_text, navigation, on_the_site

from metier.cli import group
from reference import DOCS, check

REPOSITORY = Path(__file__).parents[1]
README = REPOSITORY / "README.md"
SOURCE = REPOSITORY / "src"
FAQ = DOCS / "faq.md"
INDEX = DOCS / "README.md"
TABS = navigation(INDEX.read_text())
USER_TABS = ("Get started", "Guides", "Reference")
_FROM_INDEX = re.compile(r"pip install '?metier\b(?!\[[\w,]+\] @ git\+)")
_INVARIANT = re.compile(r"\b(?:INV|DCI|CARD)-[A-Z0-9-]*[0-9]\b")


def pages(tab: str) -> list[str]:
    return [path for section in TABS[tab].values() for _, path in section]


def test_the_index_has_tabs_for_users_and_one_for_contributors() -> None:
    assert list(TABS) == [*USER_TABS, "Contribute"]
    assert {"install.md", "tutorial.md", "faq.md"} <= set(pages("Get started"))
    assert {"architecture.md", "glossary.md", "invariants.md", "specs.md"} <= set(
        pages("Contribute")
    )


def test_every_page_is_in_the_navigation_once() -> None:
    listed = sorted(path for tab in TABS for path in pages(tab))
    files = sorted(str(file.relative_to(DOCS)) for file in DOCS.rglob("*.md") if file != INDEX)
    assert listed == files


@pytest.mark.parametrize("page", [path for tab in USER_TABS for path in pages(tab)])
def test_a_page_for_users_names_no_invariant(page: str) -> None:
    assert _INVARIANT.findall((DOCS / page).read_text()) == []


def test_the_first_page_for_users_names_no_invariant() -> None:
    assert _INVARIANT.findall(README.read_text() + INDEX.read_text()) == []


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[the changelog](../CHANGELOG.md#added)", "the changelog (`CHANGELOG.md`)"),
        ("[`ask.py`](../examples/workspace/ask.py)", "`ask.py`"),
        ("[which](which.md)", "[which](which.md)"),
        ("[which](../docs/which.md)", "[which](../docs/which.md)"),
    ],
)
def test_a_link_that_leaves_the_pages_is_text_on_the_site(link: str, shown: str) -> None:
    assert on_the_site(f"See {link}.", DOCS) == f"See {shown}."


@pytest.mark.parametrize(
    "file", [README, *(DOCS / path for tab in USER_TABS for path in pages(tab))], ids=str
)
def test_no_page_installs_from_an_index_by_a_name_that_may_be_anybodys(file: Path) -> None:
    assert _FROM_INDEX.findall(file.read_text()) == []


def test_no_message_installs_from_an_index_by_a_name_that_may_be_anybodys() -> None:
    files = [file for file in SOURCE.rglob("*") if file.suffix in (".py", ".md", ".html")]
    assert files
    assert [str(file) for file in files if _FROM_INDEX.search(file.read_text())] == []


# The site


def test_the_navigation_is_valid_for_the_site() -> None:
    nav = tomllib.loads(nav_text(TABS))["nav"]
    assert nav[0] == {"Home": "README.md"}
    assert [next(iter(tab)) for tab in nav[1:]] == list(TABS)
    assert {"Install": "install.md"} in nav[1]["Get started"]


def test_the_site_loads_no_font_and_needs_no_other_server() -> None:
    project = tomllib.loads(SETTINGS.read_text())["project"]
    assert project["theme"]["font"] is False
    assert [one["scheme"] for one in project["theme"]["palette"]] == ["default", "slate"]
    assert "https://" not in SETTINGS.read_text()


@pytest.mark.parametrize(
    ("html", "count"),
    [
        ('<script src="https://cdn.example.com/a.js"></script>', 1),
        ('<link rel="stylesheet" href="//fonts.example.com/css">', 1),
        ("<img src=http://example.com/a.png>", 1),
        ('<script src="../assets/a.js"></script><a href="https://example.com">x</a>', 0),
    ],
)
def test_what_a_page_would_load_from_elsewhere_is_found(
    html: str, count: int, tmp_path: Path
) -> None:
    (tmp_path / "index.html").write_text(html)
    assert len(list(loaded_from_elsewhere(tmp_path))) == count


# README and FAQ


def test_the_readme_begins_with_the_problem_the_installation_output_and_a_picture() -> None:
    first = README.read_text().partition("\n## ")[0]
    order = [
        "Which skill fires for this prompt",
        "uv tool install",
        "\n$ metier which ",
        "docs/pictures/which-light.png",
        "make demo",
        "make test",
    ]
    found = [first.index(one) for one in order]
    assert found == sorted(found)


def test_the_stories_come_before_contracts_cards_and_abilities() -> None:
    stories, _, _advanced = README.read_text().partition("\n## Advanced\n")
    assert stories.count("\n## ") == 5
    assert re.findall(r"\b[Cc]ontracts?\b|\b[Aa]bilit(?:y|ies)\b", stories) == []


@pytest.mark.slow
def test_the_recording_shows_what_a_terminal_shows() -> None:
    check(RECORDING, recording())


def questions() -> dict[str, str]:
    return dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", FAQ.read_text(), re.DOTALL | re.M))


@pytest.mark.parametrize("question", questions())
def test_a_question_is_answered_in_three_lines_and_a_command(question: str) -> None:
    prose, commands = questions()[question].split("```sh\n")
    assert 1 <= len(prose.strip().splitlines()) <= 3
    for line in commands.split("```")[0].splitlines():
        assert_known(shlex.split(line))


def assert_known(words: list[str]) -> None:
    """The command and its options exist."""
    assert words.pop(0) == "metier"
    command: click.Command = group
    context = click.Context(group)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        inner = command.get_command(context, words[0])
        if inner is None:
            break
        command = inner
        words.pop(0)
    assert command is not group, words
    known = {name for one in command.params for name in one.opts}
    assert {word for word in words if word.startswith("--")} <= known
