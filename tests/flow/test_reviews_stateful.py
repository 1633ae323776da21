"""Whatever happens, in any order: the user's record decides which skills are used.

The machine edits skills in the workspace and its mount, writes locks and settings of the workspace,
and reviews and revokes as the user. After each step it compares the catalog with a model that knows
only the rules.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from conftest import load_config
from flow.reviewed import Shop
from metier.config.lockfile import lock_path, write_lock
from metier.values.trust import LEVELS
from soak import SOAK

NAMES = ("own-a", "own-b", "team-a", "team-b")
Skill = tuple[int, bool, bool]
"""The number of its text, whether it asks for a tool, whether it has a script."""
skills = st.tuples(st.integers(0, 2), st.booleans(), st.booleans())
names = st.sampled_from(NAMES)
levels = st.sampled_from(LEVELS)
likely = st.sampled_from(("ask", "on-first-use", "ask", "always"))


class ReviewMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="metier-reviews-"))
        home = self.folder / "home"
        home.mkdir()
        self.environ = mock.patch.dict("os.environ", {"HOME": str(home)})
        self.environ.start()
        self.shop = Shop(self.folder / "shop", home)
        self.disk: dict[str, Skill] = {}
        self.reviewed: dict[str, Skill | None] = {}
        """None: revoked."""
        self.users = {"workspace": "always", "mounts": "on-first-use"}
        self.own: dict[str, str] = {}

    def teardown(self) -> None:
        self.environ.stop()
        shutil.rmtree(self.folder)

    @initialize(workspace=likely, mounts=likely, first=st.lists(skills, min_size=4, max_size=4))
    def begin(self, workspace: str, mounts: str, first: list[Skill]) -> None:
        self.users = {"workspace": workspace, "mounts": mounts}
        self._apply_settings()
        for name, skill in zip(NAMES, first, strict=True):
            self.write(name, skill)

    # What happens on disk

    @rule(name=names, skill=skills)
    def write(self, name: str, skill: Skill) -> None:
        number, has_tool, has_script = skill
        where = self.shop.own if name.startswith("own") else self.shop.team
        extra = "allowed-tools: Bash" if has_tool else ""
        where.skill(name, f"Does {name}. Use it then.", extra=extra, body=f"Do {number}.")
        script = where.root / f"skills/{name}/run.sh"
        script.unlink(missing_ok=True)
        if has_script:
            script.write_text(f"echo {name}\n")
        self.disk[name] = skill

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        where = self.shop.own if name.startswith("own") else self.shop.team
        shutil.rmtree(where.root / "skills" / name)
        del self.disk[name]

    # What the workspace tries

    @rule()
    def lock(self) -> None:
        with self.shop.catalog() as catalog:
            write_lock(str(self.shop.root), catalog.reviews.locked_now()[0])
        self._note_first_uses()

    @rule(content=st.sampled_from([b"", b"{", b'{"lockVersion": 1, "skills": {}}', b"[" * 9999]))
    def forge_a_lock(self, content: bytes) -> None:
        Path(lock_path(str(self.shop.root))).write_bytes(content)

    @rule(group=st.sampled_from(["workspace", "mounts"]), level=levels)
    def workspace_sets(self, group: str, level: str) -> None:
        self.own[group] = level
        self._apply_settings()

    @rule()
    def forge_a_record(self) -> None:
        """A file like the user's, where the workspace can write."""
        forged = {"version": 1, "workspace": str(self.shop.root), "skills": {}}
        name = Path(self.shop.record().file).name
        for folder in (".metier/reviews", "reviews", ".config/metier/reviews"):
            self.shop.own.write(f"{folder}/{name}", json.dumps(forged))

    # What the user does

    @rule(group=st.sampled_from(["workspace", "mounts"]), level=levels)
    def user_sets(self, group: str, level: str) -> None:
        self.users[group] = level
        self._apply_settings()

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def accept(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._note_first_uses()
        self.shop.accept(name)
        self.reviewed[name] = self.disk[name]

    @precondition(lambda self: self.disk)
    @rule(data=st.data())
    def revoke(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.disk)))
        self._note_first_uses()
        one = self.shop.review(name)
        with self.shop.catalog() as catalog:
            was_reviewed = catalog.reviews.revoke(one)
        assert was_reviewed == (self.reviewed.get(name) is not None)
        if was_reviewed:
            self.reviewed[name] = None

    # What must hold

    @invariant()
    def the_record_decides(self) -> None:
        self._note_first_uses()
        with self.shop.catalog() as catalog:
            active = {row.name for row in catalog.skills()}
        assert active == {name for name in self.disk if self._is_used(name)}
        for name in active:
            assert self._level(name) != "never"
            if self._level(name) == "ask":
                assert self.reviewed.get(name) == self.disk[name]

    # The model

    def _level(self, name: str) -> str:
        group = "workspace" if name.startswith("own") else "mounts"
        both = (self.users[group], self.own.get(group, "always"))
        return max(both, key=LEVELS.index)

    def _note_first_uses(self) -> None:
        """Every refresh accepts what is new where that is wanted."""
        for name, skill in self.disk.items():
            if self._level(name) == "on-first-use":
                self.reviewed.setdefault(name, skill)

    def _is_used(self, name: str) -> bool:
        level, now = self._level(name), self.disk[name]
        before = self.reviewed.get(name)
        if level in ("always", "never"):
            return level == "always"
        if before is None or level == "ask":
            return before == now
        return not (now[1] > before[1] or now[2] > before[2])

    def _apply_settings(self) -> None:
        """Through files, as a user and a workspace write them."""
        config_folder = Path(self.shop.home / ".config/metier")
        config_folder.mkdir(parents=True, exist_ok=True)
        (config_folder / "metier.toml").write_text(_toml(self.users))
        (self.shop.root / "metier.toml").write_text(_toml(self.own))
        read: Any = load_config(str(self.shop.root), is_trusted=True)
        self.shop.config = read._replace(mounts=self.shop.config.mounts)


def _toml(levels: dict[str, str]) -> str:
    return "[trust]\n" + "".join(f'{key} = "{value}"\n' for key, value in levels.items())


TestReviews = ReviewMachine.TestCase
TestReviews.settings = settings(
    max_examples=200 if SOAK else 25, stateful_step_count=40 if SOAK else 12, deadline=None
)
