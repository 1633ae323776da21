"""`metier lock`"""

from collections.abc import Sequence

from metier.cli.session import Session, counted, metier_command
from metier.config.lockfile import lock_path, write_lock
from metier.core.text import one_line
from metier.errors import ConfigError, StoreError
from metier.flow.reviews import Reviews
from metier.values.locks import LockedSkill

_MOST_SHOWN = 3
_NO_TEXTS = (
    "this workspace is not trusted: digests are kept and no texts, so metier diff will name "
    "changed files only; to keep texts: metier trust, then metier lock"
)


@metier_command("lock", catalog=False)
def command(session: Session) -> int:
    """Write metier.lock, with the hashes of the skills of this workspace.

    It lists each skill of the workspace and its mounts, but none in your home folder: the sha256 of
    every file, scripts included, the capabilities, tools and commands that the skill asks for, and
    its origin if known. Folders whose SKILL.md metier cannot use are listed too, since a host may
    load it. Commit the lock; `metier verify` compares, and `metier diff` shows what changed since,
    in words. Exit code 1 if not all files of a skill can be read.
    """
    session.require_workspace()
    with session.catalog() as catalog:
        skills, unreadable = catalog.reviews.locked_now()
        _accept(session, catalog.reviews)
        is_home_left_out = any(row.origin == "user" for row in catalog.skills())
        keeps_texts = catalog.config.is_trusted
    left_out = [(path, one) for path, one in skills.items() if one.left_out]
    workspace = session.workspace()
    try:
        was_written = write_lock(workspace, skills)
    except OSError as error:
        raise StoreError(
            f"the lock cannot be written: {error.strerror}", where=lock_path(workspace)
        ) from None
    if session.as_json:
        session.print_json(
            {
                "file": lock_path(workspace),
                "written": was_written,
                "skills": len(skills),
                "unreadable": [one._asdict() for one in unreadable.values()],
                "leftOut": [
                    {"path": path, "name": one.name, "why": one.left_out} for path, one in left_out
                ],
            }
        )
    else:
        files = sum(len(one.contents.files) for one in skills.values())
        verb = "wrote" if was_written else "nothing changed in"
        shown = session.shown(lock_path(workspace))
        session.tell(f"{verb} {shown}: {counted(len(skills), 'skill')}, {counted(files, 'file')}")
        if of_mounts := sum(one.is_of_mount for one in skills.values()):
            session.note(f"{of_mounts:,} of them from mounts")
        if left_out:
            session.note(_left_out(left_out))
        if skills and not keeps_texts:
            session.note(_NO_TEXTS)
        if is_home_left_out:
            session.note("skills in your home folders are not locked")
        for one in unreadable.values():
            session.tell(one_line(f"not locked: {one.path}: {one.why}"))
    return int(bool(unreadable))


def _left_out(skills: Sequence[tuple[str, LockedSkill]]) -> str:
    """What is locked although metier does not use it, with the reasons of the first."""
    shown = "; ".join(f"{path}: {one.left_out}" for path, one in skills[:_MOST_SHOWN])
    more = f"; and {len(skills) - _MOST_SHOWN:,} more" if len(skills) > _MOST_SHOWN else ""
    return one_line(
        f"{len(skills):,} of them not used by metier, but a host may load them: {shown}{more}"
    )


def _accept(session: Session, reviews: Reviews) -> None:
    """Record what is locked, for `metier diff`."""
    try:
        reviews.accept_locked()
    except (ConfigError, StoreError, OSError) as error:
        session.note(f"metier diff will not show what changes: {error}")
