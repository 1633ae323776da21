"""Links and special files wherever metier reads or writes in a workspace."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from security.hostile import VALUE, Clone

pytestmark = pytest.mark.slow

READ = (
    "metier.toml", "pyproject.toml", ".dci/aliases.v1.json", ".dci/state/reliability.v1.json",
    "AGENTS.md", "SYSTEM_ARCHITECTURE.md", "docs/SYSTEM_ARCHITECTURE.md", "skills/x/SKILL.md",
    "abilities/x.md", "docs/capabilities/x.md", "agents/x.yaml", "agents/x.json",
    ".claude/settings.json", ".mcp.json", ".codex/hooks.json", ".codex/config.toml",
)  # fmt: skip
FOLDERS = ("skills", "abilities", "docs/capabilities", "agents", ".claude", ".dci", ".dci/state")
KINDS: dict[str, Callable[[Path, Path], object]] = {
    "file outside": lambda file, outside: file.symlink_to(outside / "secret.txt"),
    "folder outside": lambda file, outside: file.symlink_to(outside),
    "dangling": lambda file, outside: file.symlink_to(outside / "not-there"),
    "/dev/zero": lambda file, _: file.symlink_to("/dev/zero"),
    "fifo": lambda file, _: os.mkfifo(file),
    "loop": lambda file, _: file.symlink_to(file),
}
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("lint",), ("doctor",), ("resolve", "-r", "web-search"), ("inject", "--task", "pdf"),
    ("hook", "install", "claude-code"), ("mcp", "install", "codex"), ("init",),
    ("show", "reference", "SYSTEM_ARCHITECTURE.md"),
)  # fmt: skip


class Plain(Clone):
    """A clone with nothing in it."""

    def _fill(self) -> None:
        (self.root / ".git").mkdir()
        self.write("skills/ok/SKILL.md", "---\nname: ok\ndescription: Is fine. Use it.\n---\nOk.\n")


@pytest.mark.parametrize("names", [READ[:2], READ[2:]], ids=["settings", "others"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_link_is_not_followed_out_of_the_workspace(
    kind: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    clone = Plain(tmp_path)
    for name in names:
        file = clone.root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        KINDS[kind](file, clone.outside)
    for line in COMMANDS if names != READ[:2] else COMMANDS[:3]:
        ran = clone.run(*line)
        assert clone.strays(ran) == [], line
        assert clone.damage() == [], line
        assert VALUE not in ran.stdout + ran.stderr, line
        assert "Traceback" not in ran.stderr, line


def test_folders_that_are_links_are_not_followed_out_of_the_workspace(tmp_path: Path) -> None:
    clone = Plain(tmp_path)
    (clone.root / "skills/ok/SKILL.md").unlink()
    (clone.root / "skills/ok").rmdir()
    (clone.root / "skills").rmdir()
    for name in FOLDERS:
        file = clone.root / name
        if not os.path.lexists(file) and not os.path.islink(file.parent):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to(clone.outside)
    before = sorted(str(one) for one in clone.outside.rglob("*"))
    for line in COMMANDS:
        ran = clone.run(*line)
        assert clone.strays(ran) == [], line
        assert clone.damage() == [], line
        assert "Traceback" not in ran.stderr, line
    assert sorted(str(one) for one in clone.outside.rglob("*")) == before
