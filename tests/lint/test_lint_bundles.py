"""Files beside a skill: named and missing, there and not mentioned."""

import os
from pathlib import Path

import pytest

from metier.flow.linting import lint_files
from metier.flow.reading import read_skills
from metier.flow.surroundings import DEEPEST, LARGEST_READ, MOST_FILES
from metier.values.outcomes import Issue

FRONT = "---\nname: charts\ndescription: Draws a chart from a table of numbers.\n---\n"


def write(folder: Path, body: str, *files: str) -> Path:
    skill = folder / "skills/charts"
    for name in files:
        (skill / name).parent.mkdir(parents=True, exist_ok=True)
        (skill / name).write_text("Text.\n")
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text(f"{FRONT}{body}\n")
    return skill


def lint(folder: Path) -> list[Issue]:
    return lint_files(read_skills([folder])).issues


def codes(folder: Path, body: str, *files: str) -> list[str]:
    write(folder, body, *files)
    return [issue.code for issue in lint(folder)]


def test_a_link_to_a_missing_file_is_reported_where_it_is(tmp_path: Path) -> None:
    write(tmp_path, "Draw.\n\nSee [fonts](references/fonts.md) first.")
    (issue,) = lint(tmp_path)
    assert (issue.code, issue.severity) == ("SK327", "warning")
    assert (issue.line, issue.column) == (7, 13)
    assert "'references/fonts.md' does not exist" in issue.message


def test_several_missing_files_are_one_finding(tmp_path: Path) -> None:
    write(tmp_path, "\n".join(f"[{n}](rules/{n}.md)" for n in range(8)))
    (issue,) = lint(tmp_path)
    assert "and 3 more do not exist" in issue.message


@pytest.mark.parametrize(
    "body",
    [
        "[fonts](fonts.md)", "[fonts](./fonts.md#serif)", "[fonts](<fonts.md>)",
        '[fonts](fonts.md "Fonts")', "![fonts](fonts.md?raw=1)", "[fonts](my%20fonts.md)",
    ],
)  # fmt: skip
def test_a_link_to_a_file_that_is_there_is_fine(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body, "fonts.md", "my fonts.md") in ([], ["SK328"])


@pytest.mark.parametrize(
    "body",
    [
        "[a](https://example.org/a.md)", "[a](/etc/a.md)", "[a](~/a.md)", "[a](#part)",
        "[a](mailto:a@example.org)", "[a](../other/a.md)", "[a](path/to/file.md)", "[a](url)",
        "[a]({{ file }}.md)", "[a](<NAME>.md)", "`[a](a.md)`", "```\n[a](a.md)\n```", "[a](*.md)",
        "Save it as `charts.md`.", "Run `scripts/draw.py`.",
    ],
)  # fmt: skip
def test_addresses_placeholders_and_code_are_not_followed(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body) == []


def test_a_path_in_code_is_a_note_if_its_folder_is_part_of_the_skill(tmp_path: Path) -> None:
    body = "Run `scripts/drawing.py` or `scripts/draw.py`, then `other/draw.py`."
    assert codes(tmp_path, body, "scripts/draw.py") == ["SK330"]


def test_a_file_that_nothing_mentions_is_a_note(tmp_path: Path) -> None:
    write(tmp_path, "Draw.", "references/fonts.md", "scripts/draw.py")
    (issue,) = lint(tmp_path)
    assert (issue.code, issue.severity) == ("SK328", "info")
    assert "'references/fonts.md', 'scripts/draw.py' are in the folder" in issue.message


@pytest.mark.parametrize(
    "body",
    ["Run draw.py.", "Run `scripts/draw.py`.", "Everything in scripts/ draws.", "Use `draw` now."],
)
def test_a_file_is_mentioned_by_its_name_or_its_folder(tmp_path: Path, body: str) -> None:
    assert codes(tmp_path, body, "scripts/draw.py") == []


def test_a_file_that_a_mentioned_file_mentions_is_reached(tmp_path: Path) -> None:
    skill = write(tmp_path, "Read [all](all.md).", "all.md", "fonts.md", "serif.md")
    (skill / "all.md").write_text("See fonts.md.\n")
    (skill / "fonts.md").write_text("See serif.md.\n")
    assert lint(tmp_path) == []


def test_files_that_mention_only_each_other_are_not_reached(tmp_path: Path) -> None:
    skill = write(tmp_path, "Draw.", "fonts.md", "serif.md")
    (skill / "fonts.md").write_text("See serif.md.\n")
    (skill / "serif.md").write_text("See fonts.md.\n")
    assert [issue.code for issue in lint(tmp_path)] == ["SK328"]


@pytest.mark.parametrize(
    "file",
    ["LICENSE.txt", "README.md", "requirements.txt", "package.json", "tests/test_draw.py",
     "evals/evals.json", "agents/openai.yaml", "scripts/__init__.py", ".gitignore"],
)  # fmt: skip
def test_files_that_programs_and_people_look_for_need_no_mention(tmp_path: Path, file: str) -> None:
    assert codes(tmp_path, "Draw.", file) == []


def test_a_skill_in_the_folder_of_a_skill_has_its_own_files(tmp_path: Path) -> None:
    skill = write(tmp_path, "Draw.")
    inner = skill / "inner"
    inner.mkdir()
    (inner / "SKILL.md").write_text(FRONT.replace("name: charts", "name: inner") + "See lost.md.\n")
    (inner / "lost.md").write_text("Text.\n")
    assert [issue.code for issue in lint(tmp_path) if issue.code == "SK328"] == []


def test_the_files_of_a_repository_are_not_a_bundle(tmp_path: Path) -> None:
    skill = write(tmp_path, "Draw.", "fonts.md")
    (skill / ".git").mkdir()
    assert lint(tmp_path) == []


def test_links_are_not_followed_and_not_listed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("See fonts.md.\n")
    skill = write(tmp_path / "in", "Read [notes](notes.md).", "fonts.md")
    (skill / "notes.md").symlink_to(outside / "secret.md")
    (skill / "more").symlink_to(outside)
    (issue,) = [one for one in lint(tmp_path / "in") if one.code.startswith("SK")]
    assert issue.code == "SK328"  # `notes.md` was not read
    assert "'fonts.md' is in the folder" in issue.message


def test_a_pipe_in_the_folder_is_not_opened(tmp_path: Path) -> None:
    skill = write(tmp_path, "Read [notes](notes.md).", "fonts.md")
    os.mkfifo(skill / "notes.md")
    assert [issue.code for issue in lint(tmp_path)] == ["SK328"]


def test_of_too_many_files_none_is_reported(tmp_path: Path) -> None:
    write(tmp_path, "Draw.", *(f"data/{number}.md" for number in range(MOST_FILES + 1)))
    assert lint(tmp_path) == []


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    skill = write(tmp_path, "Read [all](all.md).", "all.md", "fonts.md")
    (skill / "all.md").write_text("See fonts.md.\n" + "x" * LARGEST_READ)
    assert [issue.code for issue in lint(tmp_path)] == ["SK328"]


def test_folders_that_are_too_deep_are_not_listed(tmp_path: Path) -> None:
    write(tmp_path, "Draw.", "/".join(["x"] * (DEEPEST + 1)) + "/fonts.md")
    assert lint(tmp_path) == []


@pytest.mark.parametrize("top", [".claude", "plugin"])
def test_a_command_of_the_same_name_is_reported(tmp_path: Path, top: str) -> None:
    skill = tmp_path / top / "skills/charts"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"{FRONT}Draw.\n")
    commands = tmp_path / top / "commands"
    commands.mkdir()
    (commands / "charts.md").write_text("Draw.\n")
    (commands / "other.md").write_text("Draw.\n")
    if top == "plugin":
        assert lint(tmp_path) == []  # no plugin, so no command
        (tmp_path / top / ".claude-plugin").mkdir()
    assert [issue.code for issue in lint(tmp_path)] == ["XF906"]
    (commands / "charts.md").unlink()
    assert lint(tmp_path) == []
