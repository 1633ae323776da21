"""Which skills may be used: by how far their source is trusted, and what the user reviewed.

Light: as long as the files of a skill have the same stamps, nothing is read or parsed.
"""

import os
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import cache
from typing import TYPE_CHECKING

from metier.config import Config
from metier.config.review_record import ReviewRecord
from metier.config.source_trust import blocked_detail, level_of
from metier.core.timestamps import now_iso
from metier.discover.bundle import Listed, list_skill, main_of
from metier.errors import ConfigError, StoreError
from metier.index.review_contents import KnownBundle, keep_bundles, known_bundles
from metier.index.store import Store
from metier.storage.places import user_room
from metier.storage.reviewed_texts import ReviewedTexts
from metier.values.files import Found, SourceGroup
from metier.values.listings import Standing
from metier.values.outcomes import Issue
from metier.values.reviews import Contents, Review, difference
from metier.values.trust import ALWAYS, NEVER, ON_FIRST_USE

if TYPE_CHECKING:
    from metier.flow.skill_contents import SkillNow

_AT_ONCE = 200
"""Skills whose texts are in memory at a time."""
_FRESH_NS = 2_000_000_000
"""A file changed this shortly before it was read may change again within one clock tick."""
NEW = "it is new, and you have not reviewed it"
REVOKED = "its review was revoked, or its entry in the record is incomplete"


def key_of(found: Found) -> str:
    """What the record calls a skill: its folder; that of a plugin without the version."""
    parts = found.path.split("/")
    if found.group == _PLUGINS and len(parts) > _VERSION + 1:
        return "/".join([*parts[:_VERSION], *parts[_VERSION + 1 : -1]])
    return found.folder or os.path.dirname(found.file)


_PLUGINS: SourceGroup = "plugins"
_VERSION = 3
"""The part of `claude-plugins/MARKETPLACE/PLUGIN/VERSION/…` that changes with each update."""


def record_of(found: Found, workspace: str) -> ReviewRecord:
    """The file of the record that a skill belongs to."""
    return ReviewRecord(workspace, is_users=found.origin == "user")


def standing_of(level: str, review: Review | None, now: KnownBundle) -> Standing:
    """Whether a skill with these contents may be used; `review` is what was reviewed of it."""
    if now.problem:
        why = f"not all of its files can be read: {now.problem}"
        return Standing("held", why, problem=now.problem)
    if review is None:
        return Standing("held", NEW)
    if is_same(review.contents, now.contents):
        return Standing("reviewed")
    changed = difference(review.contents, now.contents)
    what = f"it changed since it was reviewed: {changed.summary()}"
    is_used = level == ON_FIRST_USE and not changed.gained
    return Standing("changed" if is_used else "held", what)


def is_same(before: Contents, now: Contents) -> bool:
    return before.files == now.files and set(before.scripts) == set(now.scripts)


class Reviewing:
    """The review of all skills of a refresh."""

    def __init__(self, workspace: str, config: Config, store: Store) -> None:
        self._workspace = workspace
        self._config = config
        self._store = store
        self._levels: dict[tuple[str, ...], str] = {}
        self._known: dict[str, KnownBundle] = {}
        self._now: dict[str, KnownBundle] = {}
        self._records: dict[bool, _Recorded] = {}
        self.issues: list[Issue] = []
        """What could not be recorded."""

    def apply(self, found: list[Found], paths: list[str]) -> list[Found]:
        """The same files, skills that need a review with their standing.

        A new skill of a source that is trusted on first use is recorded. `paths` gets all paths
        that the result depends on.
        """
        self._known, self._now, self._records = known_bundles(self._store), {}, {}
        self._started = time.time_ns()
        judged = [self._judged(one, paths) for one in found]
        for recorded in self._records.values():
            recorded.write()
        paths += [recorded.file for recorded in self._records.values()]
        self.issues = [issue for one in self._records.values() for issue in one.issues]
        return [self._settled(one) for one in judged] if self._records else judged

    def keep(self) -> None:
        """Remember what was read, so that it need not be read again."""
        if self._now != self._known:
            keep_bundles(self._store, self._now)
            self._known = self._now

    def _judged(self, found: Found, paths: list[str]) -> Found:
        if found.kind != "skill" or found.excluded:
            return found
        level = self._level(found)
        if level == ALWAYS:
            return found
        if level == NEVER:
            return found._replace(standing=Standing("blocked", blocked_detail(found)))
        now = self._contents(found, paths)
        recorded, key = self._recorded(found), key_of(found)
        if level == ON_FIRST_USE and recorded.is_new(key) and not now.problem:
            recorded.accept(key, found, now)
        sha256 = now.contents.files.get(main_of(found), "")
        standing = recorded.standing(level, key, now)._replace(sha256=sha256)
        return found._replace(standing=standing)

    def _level(self, found: Found) -> str:
        source = (found.group, found.source, found.plugin, found.origin)
        if source not in self._levels:
            self._levels[source] = level_of(self._config, found)
        return self._levels[source]

    def _contents(self, found: Found, paths: list[str]) -> KnownBundle:
        """What a skill consists of; read only if the stamps of its files are others."""
        listed = list_skill(found)
        paths += listed.paths
        known = self._known.get(found.path)
        if known is None or not known.is_steady or known.stamps != listed.stamps:
            is_steady = newest(listed.stamps) < self._started - _FRESH_NS
            now = _reader()(found, listed)
            known = KnownBundle(listed.stamps, is_steady, now.name, now.contents, now.problem)
        self._now[found.path] = known
        return known

    def _recorded(self, found: Found) -> "_Recorded":
        is_users = found.origin == "user"
        if is_users not in self._records:
            self._records[is_users] = _Recorded(record_of(found, self._workspace))
        return self._records[is_users]

    def _settled(self, found: Found) -> Found:
        """Hold a skill that another process recorded first, with other contents."""
        standing = found.standing
        if standing is None or key_of(found) not in self._recorded(found).refused:
            return found
        why = "it changed while it was being recorded"
        return found._replace(standing=standing._replace(state="held", detail=why))


class _Recorded:
    """One file of the record, and what is to be added to it."""

    def __init__(self, record: ReviewRecord) -> None:
        self._record = record
        self.file = record.file
        self.issues: list[Issue] = []
        self.refused: set[str] = set()
        self._accepted: dict[str, tuple[Review, Found]] = {}
        self._problem = ""
        self._reviews: dict[str, Review | None] = {}
        try:
            self._reviews = record.skills()
        except ConfigError as error:
            self._problem = error.message

    def is_new(self, key: str) -> bool:
        return not self._problem and key not in self._reviews

    def standing(self, level: str, key: str, now: KnownBundle) -> Standing:
        standing = standing_of(level, self._reviews.get(key), now)
        if self._problem:
            return standing._replace(state="held", detail=self._problem)
        if key in self._reviews and self._reviews[key] is None:
            return standing._replace(detail=REVOKED)
        return standing

    def accept(self, key: str, found: Found, now: KnownBundle) -> None:
        review = Review(now.name, now.contents, now_iso(), "first-use")
        self._reviews[key] = review
        self._accepted[key] = review, found

    def write(self) -> None:
        """Record what was accepted, with copies of its texts."""
        if not self._accepted:
            return
        reviews = {key: review for key, (review, _) in self._accepted.items()}
        try:
            kept = self._record.put_skills(reviews, only_new=True)
        except (ConfigError, OSError) as error:
            why = getattr(error, "message", "") or getattr(error, "strerror", "") or str(error)
            message = f"new skills could not be recorded as reviewed: {why}"
            self.issues.append(Issue("RV104", message, self.file, hint="check that you may write"))
            return
        self.refused = reviews.keys() - kept
        self._copy([(key, *self._accepted[key]) for key in sorted(kept)])

    def _copy(self, accepted: list[tuple[str, Review, Found]]) -> None:
        with suppress(StoreError), closing(ReviewedTexts.within(user_room())) as copies:
            for start in range(0, len(accepted), _AT_ONCE):
                part = accepted[start : start + _AT_ONCE]
                copies.keep(self.file, {key: _texts(review, found) for key, review, found in part})


def _texts(review: Review, found: Found) -> dict[str, str]:
    """The texts of a skill, if its files are still those that were accepted."""
    now = _reader()(found, list_skill(found))
    return now.texts if is_same(review.contents, now.contents) else {}


def newest(stamps: Iterable[str]) -> int:
    """The latest time in stamps; that of a file that is gone is now."""
    times = (stamp.partition("\t")[0].split(" ")[-2:] for stamp in stamps)
    return max((time.time_ns() if one == ["-"] else max(map(int, one)) for one in times), default=0)


@cache
def _reader() -> Callable[[Found, Listed], "SkillNow"]:
    from metier.flow.skill_contents import read_skill  # loads the parsers

    return read_skill
