"""Settings while they are written: what is wrong, and where."""

from pathlib import Path

import pytest

from metier.config import Config
from metier.flow.boundary import NONE, open_boundary
from metier.flow.editing import Editing


@pytest.fixture
def editing(tmp_path: Path) -> Editing:
    (tmp_path / "metier.toml").write_text("")
    return Editing(open_boundary(tmp_path, Config(), NONE))


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[lint]\n# select\nselect = "SK"\n', 3, 1),
        ("\nexcluded = []\n", 2, 1),
        ('mounts = [{path = "a/b"}, {path = "c/b"}]\n', 1, 1),
        ('[tools.chart]\nfunction = "no function"\n', 2, 1),
        ('[mcp.one__two]\ncommand = "a"\n', 1, 6),
        ('[teams."/a"]\n', 1, 9),
        ('[capabilities.agents]\nwriter = "unknown"\n', 2, 1),
        ("[capabilities]\nmaxTokens = 1\nmax_tokens = 2\n", 2, 1),
        ("safe-directories = []\n", 1, 1),
        ("one = 1\n[lint\n", 2, 6),
        (f"a = {'9' * 2000}\n", 1, 1),
    ],
)
def test_wrong_settings_are_reported_where_they_are(
    editing: Editing, text: str, line: int, column: int
) -> None:
    file = f"{editing.boundary.workspace}/metier.toml"
    (problem,) = editing.settings_problems(file, text)
    assert (problem.line, problem.column) == (line, column), problem.message


def test_settings_without_a_problem_have_none(editing: Editing) -> None:
    file = f"{editing.boundary.workspace}/metier.toml"
    assert editing.settings_problems(file, '[lint]\nselect = ["SK"]\n') == []
