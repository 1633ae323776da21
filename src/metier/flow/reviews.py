"""What was reviewed of skills, what they are now, and the lock of a workspace."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

from metier.config.lockfile import read_lock
from metier.config.review_record import ReviewRecord
from metier.config.source_trust import level_of
from metier.core.timestamps import now_iso
from metier.discover.bundle import list_skill
from metier.discover.left_out import left_out, why_hidden
from metier.discover.origins import git_remote, without_credentials
from metier.discover.walk import discover
from metier.errors import ConfigError, NotFoundError, StoreError, UsageError
from metier.flow.ambiguous_names import why_ambiguous
from metier.flow.reading import team_folders
from metier.flow.reviewing import is_same, key_of, record_of
from metier.flow.skill_contents import SkillNow, read_skill
from metier.storage.places import user_room
from metier.storage.reviewed_texts import ReviewedTexts
from metier.values.files import Found, Root
from metier.values.locks import LockedSkill, Mismatch, Unlockable, compared, lock_change
from metier.values.reviews import Contents, Difference, Review, difference
from metier.values.rows import Row
from metier.values.trust import ALWAYS, NEVER

if TYPE_CHECKING:
    from metier.config import Config
    from metier.values.packages import Package

NOT_LISTED = "not-listed"
"""The reason of skills that the catalog does not know: they are reviewed by `metier lock`."""


class Reviewed(NamedTuple):
    """One skill: what was reviewed of it, and what it is now."""

    row: Row
    found: Found
    level: str
    before: Review | None
    """None if it was not reviewed."""
    now: SkillNow

    @property
    def handle(self) -> str:
        """How to name it in a command; the folder of a skill that cannot be parsed."""
        return self.row.handle or lock_key(self.row.path)

    @property
    def is_in_catalog(self) -> bool:
        """Whether commands find it by name or folder."""
        return self.row.reason != NOT_LISTED

    @property
    def is_waiting(self) -> bool:
        """Whether it is held until it is reviewed, even if it could not be used then either."""
        return self.row.is_held or self.row.review == "held"

    @property
    def is_same(self) -> bool:
        return self.before is not None and is_same(self.before.contents, self.now.contents)

    @property
    def change(self) -> Difference:
        before = self.before.contents if self.before is not None else Contents()
        return difference(before, self.now.contents)

    @property
    def digest(self) -> str:
        """What a review would accept."""
        return self.now.contents.digest

    @property
    def state(self) -> str:
        if self.now.problem:
            return "unreadable"
        if self.before is None:
            return "new"
        return "same" if self.is_same else "changed"


class SkillSource(Protocol):
    """What reviews and locks need of a catalog."""

    workspace: str
    config: "Config"

    def skill_roots(self) -> list[Root]: ...
    def skill_rows(self) -> list[Row]: ...
    def package_of(self, row: Row) -> "Package": ...


class Reviews:
    """The reviews of a catalog's skills. The catalog is refreshed; files are read again."""

    def __init__(self, source: SkillSource) -> None:
        self._source = source
        self._workspace = source.workspace

    @cached_property
    def _found(self) -> dict[str, Found]:
        """Every skill on disk by path, also those that metier leaves out and a host may load."""
        roots = self._source.skill_roots()
        teams = team_folders(self._workspace, self._source.config)
        found = [one for one in discover(roots, teams=teams) if one.kind == "skill"]
        used = [one for one in found if not one.excluded]
        return {one.path: one for one in [*used, *left_out(roots, found)]}

    @cached_property
    def _rows(self) -> dict[str, Row]:
        """The rows of these skills by path; the catalog has none of some that are left out."""
        rows = {row.path: row for row in self._source.skill_rows()}
        return {path: rows.get(path) or _row_of(one) for path, one in self._found.items()}

    def named(self, rows: Sequence[Row], wanted: str) -> Reviewed:
        """The skill among `rows` that waits for a review, or else the first.

        Raises `UsageError` if their handles differ and none is `wanted`, or if several wait;
        `NotFoundError` if its file is gone.
        """
        handles = list(dict.fromkeys(row.handle for row in rows))
        if why := why_ambiguous(wanted, handles):
            raise UsageError(f"'{wanted}': {why}")
        rows = [row for row in rows if wanted not in handles or row.handle == wanted]
        waiting = [row for row in rows if row.is_held]
        if len(waiting) > 1:
            ids = ", ".join(row.id for row in waiting)
            message = f"{len(waiting)} skills called '{wanted}' wait for a review"
            raise UsageError(message, hint=f"give the full id of one: {ids}")
        row = (waiting or rows)[0]
        found = self._found.get(row.path)
        if found is None:
            raise NotFoundError(f"the files of skill '{wanted}' are gone", where=row.file)
        return self._reviewed(row, found)

    def all(self) -> Iterator[Reviewed]:
        """Every skill that was reviewed or has to be, by path."""
        for path, found in sorted(self._found.items()):
            level = level_of(self._source.config, found)
            is_known = key_of(found) in self._reviews(found)
            if is_known or (level not in (ALWAYS, NEVER) and not found.excluded):
                yield self._reviewed(self._rows[path], found)

    def _reviewed(self, row: Row, found: Found) -> Reviewed:
        before = self._reviews(found).get(key_of(found))
        now = read_skill(found, list_skill(found))
        return Reviewed(row, found, level_of(self._source.config, found), before, now)

    def _reviews(self, found: Found) -> Mapping[str, Review | None]:
        return self._users if found.origin == "user" else self._own

    @cached_property
    def _users(self) -> Mapping[str, Review | None]:
        return ReviewRecord(self._workspace, is_users=True).skills()

    @cached_property
    def _own(self) -> Mapping[str, Review | None]:
        return ReviewRecord(self._workspace, is_users=False).skills()

    def texts_before(self, reviewed: Reviewed) -> dict[str, str]:
        """The texts that were reviewed; empty if the copies are lost."""
        record = record_of(reviewed.found, self._workspace)
        try:
            with closing(ReviewedTexts.within(user_room())) as copies:
                return copies.texts(record.file, key_of(reviewed.found))
        except StoreError:
            return {}

    def accept(self, accepted: Sequence[Reviewed]) -> None:
        """Record skills as they were read. Raises `ConfigError`, `OSError` or `UsageError`."""
        for one in accepted:
            if one.now.problem:
                message = f"skill '{one.handle}' cannot be accepted: {one.now.problem}"
                raise UsageError(message, where=one.row.file)
        for is_users in (True, False):
            some = [one for one in accepted if (one.found.origin == "user") is is_users]
            if some:
                self._accept(ReviewRecord(self._workspace, is_users=is_users), some)

    def _accept(self, record: ReviewRecord, accepted: Sequence[Reviewed]) -> None:
        at = now_iso()
        record.put_skills(
            {key_of(one.found): Review(one.now.name, one.now.contents, at) for one in accepted}
        )
        with closing(ReviewedTexts.within(user_room())) as copies:
            copies.keep(record.file, {key_of(one.found): one.now.texts for one in accepted})

    def revoke(self, reviewed: Reviewed) -> bool:
        """Take a review back; whether there was one. Raises as `accept`."""
        return record_of(reviewed.found, self._workspace).revoke_skill(
            key_of(reviewed.found), reviewed.row.name or reviewed.now.name
        )

    # The lock

    def locked_now(self) -> tuple[dict[str, LockedSkill], dict[str, Unlockable]]:
        """The workspace's own skills as they are now, by folder, and those that cannot be read."""
        skills: dict[str, LockedSkill] = {}
        unreadable: dict[str, Unlockable] = {}
        for path, found in sorted(self._found.items()):
            if found.origin == "user":
                continue
            now, folder = read_skill(found, list_skill(found)), lock_key(path)
            if now.problem:
                unreadable[folder] = Unlockable(folder, now.name, now.problem)
            else:
                origin = self._origin(self._rows[path], found)
                skills[folder] = LockedSkill(
                    now.name, found.source, now.contents, origin, now.left_out
                )
        return skills, unreadable

    def accept_locked(self) -> None:
        """Record own skills that need no review as they are: `metier diff` shows what changes.

        Nothing is recorded in a workspace that is not trusted. Raises as `accept`.
        """
        if not self._source.config.is_trusted:
            return
        own = [
            self._reviewed(self._rows[path], found)
            for path, found in self._found.items()
            if found.origin != "user" and level_of(self._source.config, found) == ALWAYS
        ]
        self.accept([one for one in own if not one.now.problem and not one.is_same])

    def _origin(self, row: Row, found: Found) -> dict[str, str]:
        package = self._source.package_of(row)
        folder = key_of(found)
        known = {
            "git": git_remote(folder, self._workspace),
            "mount": found.source if found.group == "mounts" else "",
            "plugin": found.plugin,
            "marketplace": package.marketplace,
            "version": package.version,
            "installedFrom": without_credentials(package.installed_from),
        }
        return {key: value for key, value in known.items() if value}

    def mismatches(self) -> list[Mismatch]:
        """How the skills differ from the lock. Raises `NotFoundError` or `ConfigError`."""
        return self._compared(read_lock(self._workspace))

    def changed_since_lock(self) -> list[Mismatch]:
        """The skills that cannot be as in the lock; none without a readable lock."""
        found = self._compared(self._locked) if self._locked else []
        return [one for one in found if one.is_change]

    def _compared(self, locked: Mapping[str, LockedSkill]) -> list[Mismatch]:
        skills, unreadable = self.locked_now()
        hidden = {
            path: why
            for path in locked.keys() - skills.keys() - unreadable.keys()
            if (why := why_hidden(path, self._source.skill_roots()))
        }
        ignored = self._source.config.ignored
        has_mounts = not any(key.startswith("mounts.") for key in ignored)
        return compared(locked, skills, unreadable, hidden=hidden, has_mounts=has_mounts)

    @cached_property
    def _locked(self) -> dict[str, LockedSkill]:
        try:
            return read_lock(self._workspace)
        except (NotFoundError, ConfigError):
            return {}

    def matches_lock(self, reviewed: Reviewed) -> bool:
        """Whether a skill is exactly what the workspace's lock proposes."""
        locked = self._locked.get(lock_key(reviewed.found.path))
        if locked is None or reviewed.now.problem or reviewed.found.origin == "user":
            return False
        now = LockedSkill(reviewed.now.name, reviewed.found.source, reviewed.now.contents)
        return locked.name == now.name and lock_change(locked, now).is_empty


def lock_key(path: str) -> str:
    """The folder of a skill's file, as the lock names it."""
    return path.rpartition("/")[0] or "."


def _row_of(found: Found) -> Row:
    """The row of a skill that the catalog does not know."""
    return Row(
        "skill", "", "", "", found.path, found.source, "excluded", NOT_LISTED, "", found.file,
        "", 0, (), "{}", found.origin,
    )  # fmt: skip
