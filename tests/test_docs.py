"""Pages that cannot drift: references are generated, the commands and code of all pages run."""

import json
import os
import pty
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from tools.make_host_table import KEY_TABLE, TABLE, key_table_text, table_text

from invariants import INVARIANTS
from metier.core import ranked, ranking
from metier.core.learned import MOST_DOCUMENTS
from metier.flow.examples import MOST_RECORDED
from metier.hosts.folders import FOLDERS
from metier.hosts.known import HOSTS
from metier.index.learned import MOST_LESSONS
from metier.index.rank_index import MOST_EXAMPLES
from metier.values.settings_tables import CapabilitiesConfig
from proofs import PAGE, page
from reference import (
    DOCS,
    NOTE,
    OTHER_HOMES,
    SCHEMA_OF,
    check,
    cli_page,
    commands_with_json,
    errors_page,
    findings_page,
    is_writing,
    schema_names,
    schemas_page,
)
from reference_hosts import PARTS, hosts_page
from reference_python import python_page
from reference_settings import settings_page

pytestmark = pytest.mark.slow

REPOSITORY = Path(__file__).parents[1]
README = REPOSITORY / "README.md"
TUTORIAL = DOCS / "tutorial.md"
WHICH, OVERLAP, EVALS = DOCS / "which.md", DOCS / "overlap.md", DOCS / "evals.md"
PYTHON = DOCS / "python.md"
EXAMPLE = REPOSITORY / "examples" / "workspace"
METIER = str(Path(sys.executable).with_name("metier"))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("reference/cli.md", cli_page()),
        ("reference/findings.md", findings_page()),
        ("reference/errors.md", errors_page()),
        ("reference/schemas.md", schemas_page()),
        ("reference/settings.md", settings_page(NOTE)),
        ("reference/python.md", python_page(NOTE)),
    ],
    ids=["cli", "findings", "errors", "schemas", "settings", "python"],
)
def test_a_reference_page_says_what_the_program_says(name: str, text: str) -> None:
    check(DOCS / name, text)


def test_the_invariants_page_is_up_to_date() -> None:
    check(PAGE, page())


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def everywhere(language: str) -> list[str]:
    """The blocks of README and tutorial: whatever is shown there has to be true."""
    return [block for page in (README, TUTORIAL) for block in blocks(page.read_text(), language)]


SKILL_OF_THE_READER = """\
---
name: of-my-own
description: Write release notes: search the web, read the Git history. Use for every release.
capabilities: [web-search, git-history]
---
Search the web for the changelog.
"""
"""Readers have skills in their hosts' folders, with mistakes and with the same subjects."""


class Session:
    """Somebody who does what a page says, from its first line to its last."""

    def __init__(self, folder: Path, start: str) -> None:
        checkout, home = folder / "checkout", folder / "home"
        skill = home / ".claude" / "skills" / "of-my-own" / "SKILL.md"
        skill.parent.mkdir(parents=True)
        skill.write_text(SKILL_OF_THE_READER)
        shutil.copytree(EXAMPLE, checkout / "examples" / "workspace")
        self._folder = checkout / start
        self.seen: dict[str, str] = {}
        """Blocks of a page, and what they should be."""
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("METIER_")},
            "PATH": os.pathsep.join([str(Path(METIER).parent), os.environ["PATH"]]),
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
        }

    def follow(self, text: str, *, with_terminal: bool = False) -> int:
        """Write each file and type each command; how many commands there were."""
        count = 0
        for path, content, shown, seen in re.findall(_TO_DO, text):
            if path:
                self._write(path, content)
            if seen and with_terminal:
                self._look(seen)
            for part in re.split(r"^\$ ", shown, flags=re.MULTILINE)[1:]:
                command, _, output = part.partition("\n")
                self._type(command, output)
                count += 1
        return count

    def write_files(self, text: str) -> None:
        """Write each file of a page."""
        for path, content, *_ in re.findall(_TO_DO, text):
            if path:
                self._write(path, content)

    def _look(self, block: str) -> None:
        """Compare what a terminal shows of a command, or note it to be written."""
        command, _, output = block.removeprefix("$ ").partition("\n")
        seen = self.see(command)
        if is_writing():
            self.seen[block] = f"$ {command}\n{seen}"
        else:
            assert seen == output

    def _write(self, path: str, content: str) -> None:
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def _type(self, command: str, output: str) -> None:
        if command.startswith("cd "):
            self._folder = (self._folder / command.removeprefix("cd ")).resolve(strict=True)
            return
        if command == "metier trust":
            self.agree(command)
            return
        printed = self.run(command)
        anything = re.escape(output.removesuffix("\n")).replace("…", "[^\n]*")
        if re.fullmatch(anything, printed.stdout.removesuffix("\n")) is None:
            assert printed.stdout.removesuffix("\n") == output.removesuffix("\n"), (
                f"$ {command}\n{printed.stderr}"
            )

    def agree(self, command: str) -> None:
        """Type a command on a terminal, and `y` to what it asks."""
        code, shown = self._on_terminal(command, b"y\n")
        assert code == 0, shown

    def see(self, command: str) -> str:
        """What a terminal of 100 columns shows of a command, without colours and notes."""
        _, shown = self._on_terminal(f"COLUMNS=100 LINES=100 {command} 2> /dev/null")
        return re.sub("\x1b\\[[0-9;]*m", "", shown.replace("\r\n", "\n"))

    def _on_terminal(self, command: str, typed: bytes = b"") -> tuple[int, str]:
        ours, terminal = pty.openpty()
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=self._folder,
            env=self._environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        )
        os.close(terminal)
        os.write(ours, typed)
        shown = b""
        with suppress(OSError):  # a terminal whose other end is closed
            while part := os.read(ours, 65_536):
                shown += part
        os.close(ours)
        return process.wait(), shown.decode()

    def run(self, command: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            ["sh", "-c", command],
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )


_TO_DO = re.compile(
    r"^Write `([^`]+)`:\n\n```\w+\n(.*?)^```|^```console\n(.*?)^```"
    r"|^```text\n(\$ metier (?:which|resolve) .*?)^```",
    re.DOTALL | re.MULTILINE,
)
"""A file to write, a block of commands with what they print, or what a terminal shows of one."""
PAGES = [README, *(file for file in sorted(DOCS.rglob("*.md")) if "```console" in file.read_text())]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_commands_print_what_a_page_shows(page: Path, tmp_path: Path) -> None:
    """`…` stands for what differs from one machine and one run to the next."""
    session = Session(tmp_path, "." if page == TUTORIAL else "examples/workspace")
    if page not in (README, TUTORIAL):
        session.agree("metier trust")  # as the index of the documentation says
    text = page.read_text()
    count = session.follow(text, with_terminal=page == TUTORIAL)
    for block, seen in session.seen.items():
        text = text.replace(block, seen)
    if session.seen:
        page.write_text(text)
    assert count == sum(block.count("\n$ ") + 1 for block in blocks(page.read_text(), "console"))


@pytest.mark.parametrize("page", [README, WHICH, OVERLAP], ids=lambda page: page.stem)
def test_a_terminal_shows_what_a_page_shows_of_one(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path, "examples/workspace")
    session.agree("metier trust")
    text = page.read_text()
    session.write_files(text)
    commands = ("$ metier which ", "$ metier overlap")
    shown = [block for block in blocks(text, "text") if block.startswith(commands)]
    assert shown
    for block in shown:
        command, _, output = block.removeprefix("$ ").partition("\n")
        seen = session.see(command)
        if is_writing():
            text = text.replace(block, f"$ {command}\n{seen}")
            page.write_text(text)
        else:
            assert seen == output


def test_a_terminal_shows_what_the_page_about_evals_shows(tmp_path: Path) -> None:
    session = Session(tmp_path, "examples/workspace")
    session.agree("metier trust")
    text = EVALS.read_text()
    session.follow(text)
    shown = [block for block in blocks(text, "text") if block.startswith("$ metier eval")]
    assert shown
    for block in shown:
        command, _, output = block.removeprefix("$ ").partition("\n")
        seen = session.see(command)
        if is_writing():
            text = text.replace(block, f"$ {command}\n{seen}")
            EVALS.write_text(text)
        else:
            assert seen == output


def test_there_are_commands_to_check() -> None:
    assert sum(block.count("$ metier ") for block in everywhere("console")) >= 10


def test_the_hook_of_the_first_pages_works_in_three_commands(tmp_path: Path) -> None:
    found = [block for block in everywhere("sh") if "metier hook" in block]
    assert found
    for number, block in enumerate(found):
        folder = tmp_path / str(number)
        folder.mkdir()
        session = Session(folder, "examples/workspace")
        commands = block.strip().split("\n")
        assert len(commands) == 3
        session.agree(commands[0].partition("#")[0].strip())
        results = [session.run(command) for command in commands[1:]]
        assert [result.returncode for result in results] == [0, 0]
        workspace = folder / "checkout" / "examples" / "workspace"
        assert "UserPromptSubmit" in (workspace / ".claude" / "settings.json").read_text()
        context = json.loads(results[0].stdout)["hookSpecificOutput"]["additionalContext"]
        assert 'card="release-train"' in context
        assert "changelog" in context
        assert "claude-code" in results[1].stdout


def test_the_page_about_the_ranker_names_its_constants() -> None:
    text = (DOCS / "ranker.md").read_text()
    limits = {
        "words of a task that count, the rarest first": ranking.MOST_TERMS,
        "index entries that are read for them": ranking.MOST_POSTINGS,
        "words of a task that are searched for in bodies": ranking.MOST_BODY_TERMS,
        "longest task, in words, for which related words count": ranking.MOST_FOR_RELATED,
        "words of a task that get related words": ranking.MOST_EXPANDED,
        "related words that count, the nearest first": ranking.MOST_RELATED,
        "index entries that are read for related words": ranking.MOST_RELATED_POSTINGS,
        "words of a task whose meaning counts": ranking.MOST_VECTOR_WORDS,
        "skills whose bodies are searched, the best by words": ranking.BY_WORDS,
        "skills that are ordered by meaning, the best of these": ranking.BY_MEANING,
        "most skills for which all are candidates": ranking.SMALL_POOL,
        "words that must match, unless the meaning is clear": ranking.FEWEST_WORDS,
        "cosine from which the meaning is clear": ranking.CLEAR_COSINE,
    }
    said = [f"| {label} | {value:,} |" for label, value in limits.items()]
    said += [
        f"W     = {ranking.NAME:g}·name + {ranking.DESCRIPTION:g}·description"
        f' + {ranking.EXAMPLES:g}·examples − {-ranking.AGAINST:g}·"not for"'
        f" + {ranking.BODY:g}·body",
        f"{ranking.NAME_SHARE:g}·share of the name) + {ranking.MEANING:g}·g·z(cosine)",
        f"g = min(1, {ranking.FULL_MEANING} / words of the task)",
        f"+ {ranking.COSINE_EVIDENCE:g}·cosine",
    ]
    assert [one for one in said if one not in text] == []
    assert pytest.approx(1 / 3) == ranking.BODY_EVIDENCE


def test_the_page_about_which_names_the_defaults() -> None:
    text, config = WHICH.read_text(), CapabilitiesConfig()
    said = [
        f"skillThreshold = {config.skill_threshold:g} ",
        f"skillSuggestions = {config.skill_suggestions} ",
    ]
    assert [one for one in said if one not in text] == []


def test_the_page_about_examples_names_the_constants_of_the_model() -> None:
    text = (DOCS / "examples.md").read_text()
    assert ranked.OWN_EVIDENCE == 1 / 4
    said = [
        f"evidence = ¼ of the evidence without examples + {ranked.CHANCE_EVIDENCE:g}·chance",
        f"Up to {MOST_DOCUMENTS} skills share a model, with up to {MOST_LESSONS:,} examples",
        f"in its front matter, up to {MOST_EXAMPLES} |",
        f"the latest {MOST_RECORDED:,} of each workspace",
    ]
    assert [one for one in said if one not in text] == []


def test_the_ability_that_is_shown_is_the_one_of_the_example() -> None:
    shown = [block for block in everywhere("markdown") if "displayName: Commit messages" in block]
    assert shown
    assert set(shown) == {(EXAMPLE / "abilities" / "commit-messages.md").read_text()}


def test_the_agent_of_the_readme_runs_and_can_be_resumed_and_shown(tmp_path: Path) -> None:
    (block,) = (one for one in blocks(README.read_text(), "sh") if "metier run" in one)
    session = Session(tmp_path, "examples/workspace")
    first, *commands = block.strip().split("\n")
    assert first.startswith("metier trust ")
    session.agree("metier trust")
    results = [session.run(command) for command in commands]
    assert [(one.returncode, one.stderr) for one in results if one.returncode] == []
    ran, resumed, shown = (one.stdout for one in results)
    assert ran == resumed
    assert "state: succeeded" in shown


@pytest.mark.parametrize("page", [TUTORIAL, WHICH, EVALS, PYTHON], ids=lambda page: page.stem)
def test_the_python_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    session = Session(tmp_path, ".")
    session.agree("metier trust --root examples/workspace")
    codes = blocks(page.read_text(), "python")
    assert codes
    for code in codes:
        result = session.run(shlex.join([sys.executable, "-c", code]))
        assert result.returncode == 0, result.stderr
        shown = re.findall(r"print\(.*\)\s+# (.*)", code)
        assert result.stdout.splitlines()[: len(shown)] == shown


MISSPELT = """\
from metier import Catalgo  # type: ignore[attr-defined]
from metier.mcp import asgi_ap  # type: ignore[attr-defined]
from metier.types import Wich  # type: ignore[attr-defined]
"""
"""With --strict, a type checker rejects the comment where the name is no error."""


def test_the_python_of_the_pages_is_typed_and_misspelt_names_are_errors(tmp_path: Path) -> None:
    pages = (TUTORIAL, WHICH, EVALS, PYTHON)
    codes = [code for page in pages for code in blocks(page.read_text(), "python")]
    codes.append(MISSPELT)
    for number, code in enumerate(codes):
        (tmp_path / f"block_{number}.py").write_text(code)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    result = subprocess.run([*command, "."], cwd=tmp_path, capture_output=True, text=True)
    said = f"Success: no issues found in {len(codes)} source files"
    assert result.stdout.startswith(said), result.stdout


def test_the_table_that_hooks_load_says_what_the_files_of_hosts_say() -> None:
    check(TABLE, table_text())
    check(KEY_TABLE, key_table_text())


HOST_PAGES = ("hosts.md", "host-sources.md", "mcp.md")


@pytest.mark.parametrize("name", HOST_PAGES)
def test_the_tables_of_hosts_say_what_the_model_says(name: str) -> None:
    check(DOCS / name, hosts_page((DOCS / name).read_text()))


def test_every_table_of_hosts_stands_on_a_page() -> None:
    text = "".join((DOCS / name).read_text() for name in HOST_PAGES)
    assert sorted(re.findall(r"<!-- generated: (\w+) -->", text)) == sorted(PARTS)
    assert [one.folder for one in FOLDERS if f"`{one.folder}`" not in text] == []
    assert [host.title for host in HOSTS.values() if f"| {host.title} |" not in text] == []


def test_every_stage_has_a_page() -> None:
    flow = re.search(r"^    (discover .*) → report$", (DOCS / "architecture.md").read_text(), re.M)
    assert flow is not None
    stages = re.split(r" → | / ", flow[1])
    assert sorted(file.stem for file in (DOCS / "stages").glob("*.md")) == sorted(stages)
    for stage in stages:
        text = (DOCS / "stages" / f"{stage}.md").read_text()
        assert "```console" in text
        assert len(text.splitlines()) <= 75


def test_every_id_of_an_invariant_that_a_page_names_exists() -> None:
    known = {one.id for one in INVARIANTS}
    pages = {
        file.name: set(re.findall(r"\b(?:INV|DCI|CARD)-[A-Z0-9-]*[0-9]\b", file.read_text()))
        for file in DOCS.glob("stages/*.md")
    }
    assert any(pages.values())
    assert {page: named - known for page, named in pages.items() if named - known} == {}


def test_every_page_is_in_the_index() -> None:
    index = DOCS / "README.md"
    linked = {
        (DOCS / target).resolve() for target in re.findall(r"\]\(([^)#]+)\)", index.read_text())
    }
    missing = [file for file in DOCS.rglob("*.md") if file != index and file not in linked]
    assert [str(file.relative_to(DOCS)) for file in missing] == []


def test_every_schema_has_a_place_in_the_reference() -> None:
    assert {*SCHEMA_OF.values(), *OTHER_HOMES.values()} == set(schema_names())


def test_every_command_that_prints_json_has_a_schema() -> None:
    typed = {" ".join(re.findall(r"\b(?<!-)[a-z]+(?= |$)", name)) for name in SCHEMA_OF}
    own = {"hook", "lsp"}  # their JSON is that of a protocol
    assert typed == commands_with_json() - own


def test_lines_are_not_longer_than_a_screen() -> None:
    for file in [TUTORIAL, DOCS / "README.md", DOCS / "hosts.md", *DOCS.glob("stages/*")]:
        text = re.sub(r"^```.*?^```", "", file.read_text(), flags=re.DOTALL | re.MULTILINE)
        long = [line for line in text.splitlines() if len(line) > 120 and not line.startswith("|")]
        assert long == [], file.name


def anchors(file: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}


def without_examples(text: str) -> str:
    """A page without the bad and good examples of findings, whose links may lead nowhere."""
    return re.sub(r"^````.*?^````", "", text, flags=re.DOTALL | re.MULTILINE)


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (file, target)
        for file in [README, *DOCS.rglob("*.md")]
        for target in re.findall(r"\]\((?!https?:)([^)]+)\)", without_examples(file.read_text()))
    ]
    assert {file for file, _ in links} >= {README, DOCS / "README.md"}
    for file, target in links:
        path, _, anchor = target.partition("#")
        other = file.parent / path if path else file
        assert other.exists(), f"{file.name} → {target}"
        assert not anchor or anchor in anchors(other), f"{file.name} → {target}"
