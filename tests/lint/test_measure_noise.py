"""tools/measure_noise.py: the bar, with a validator that accepts what a file lists."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools/measure_noise.py"
SOUND = "---\nname: {}\ndescription: Draws a chart from a table of numbers.\n---\nDraw.\n"


@pytest.fixture
def validator(tmp_path: Path) -> Path:
    """A program in place of Python with `skills-ref`: it accepts every skill of a folder."""
    file = tmp_path / "validator"
    script = (
        "import json, sys\n"
        "from pathlib import Path\n"
        "print(json.dumps([str(one.parent) for one in Path(sys.argv[3]).rglob('SKILL.md')]))\n"
    )
    file.write_text(f"#!{sys.executable}\n{script}")
    file.chmod(0o755)
    return file


def measure(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(TOOL), *arguments], capture_output=True, text=True, check=False
    )


def test_without_a_folder_it_says_that_it_is_skipped() -> None:
    found = measure()
    assert (found.returncode, found.stdout) == (0, "")
    assert found.stderr.startswith("skipped")


def test_sound_skills_meet_the_bar_and_an_error_misses_it(tmp_path: Path, validator: Path) -> None:
    skills = tmp_path / "skills"
    for name in ("a", "b"):
        (skills / name).mkdir(parents=True)
        (skills / name / "SKILL.md").write_text(SOUND.format(name))
    found = measure("--validator", str(validator), str(skills))
    assert found.returncode == 0
    assert "2 skills accepted by skills-ref; 0 errors, 0 warnings" in found.stdout
    (skills / "a/SKILL.md").write_text(json.dumps("no front matter"))
    assert measure("--validator", str(validator), str(skills)).returncode == 1
