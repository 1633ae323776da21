"""Repairs that may change a meaning: with new names, folders and what refers to them."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from metier.config import Config
from metier.core.names import canonical_id, name_in_plugin, plugin_name, team_name
from metier.core.paths import is_inside
from metier.flow.entries import lint_text, read_text
from metier.flow.host_switches import HostSwitches
from metier.flow.reading import read_documents, workspace_roots
from metier.flow.references import References, Renames, text_of, texts_to_follow
from metier.flow.renaming import Renaming, Surroundings, is_free
from metier.flow.repairing import (
    AS_IT_IS,
    NAME_CODES,
    Naming,
    Repair,
    Wants,
    is_repairable,
    moved,
    plan_repair,
    write_repairs,
)
from metier.storage.places import state_room, user_home
from metier.storage.room import Room
from metier.storage.transaction import Move, Write, commit
from metier.values.agents import AgentProfile
from metier.values.documents import Skill
from metier.values.files import Found, Reading
from metier.values.outcomes import Issue

_STUCK = "an agent names it in a way that cannot be changed"
_BLOCKED = "its new folder exists"


class Workspace(NamedTuple):
    """Where repairs are made."""

    root: str
    """Symlinks resolved."""
    documents: Sequence[Found]
    """All of its documents, not only those to repair."""
    handles: Sequence[str]
    """The names that skills have."""
    journal: Room | None
    """Where renames are recorded; without it no folder is renamed."""


def journal_of(root: str, config: Config) -> Room | None:
    """Where the renames in a folder are recorded; None if it is no workspace."""
    return state_room(root) if config.is_workspace else None


def workspace_of(
    root: str, config: Config, handles: Sequence[str], documents: Sequence[Found]
) -> Workspace:
    """A workspace with these documents; without any, they are looked for."""
    journal = journal_of(root, config)
    if not documents:
        roots, _ = workspace_roots(root, config, user_home(os.environ), journal)
        documents = read_documents(roots).found
    return Workspace(root, documents, handles, journal)


def plan_unsafe(
    workspace: Workspace, reading: Reading, issues: Sequence[Issue], wants: Wants
) -> tuple[list[Repair], dict[str, str]]:
    """Repairs of those `issues` that are wanted, and of what refers to a renamed skill.

    Also why skills with wrong names keep them, by path. One of the reasons is an agent that refers
    to the skill in a way that cannot be changed.
    """
    return _Planner(workspace, reading, issues, wants).plan()


class _Planner:
    """Plans until no repair uncovers another wrong name, and no name has to stay."""

    def __init__(
        self, workspace: Workspace, reading: Reading, issues: Sequence[Issue], wants: Wants
    ) -> None:
        self._workspace = workspace
        self._wants = wants
        paths = {issue.path for issue in issues if self._may(issue)}
        self._found = [one for one in reading.found if one.path in paths]
        self._issues = list(filter(wants, issues))
        self._switches = HostSwitches(workspace.root, user_home(os.environ))
        self._known: dict[tuple[str, Naming], Repair | None] = {}

    def plan(self) -> tuple[list[Repair], dict[str, str]]:
        texts: dict[str, bytes] = {}
        while True:
            repairs, refused = self._plan(texts)
            uncovered = self._uncovered(repair for repair in repairs if repair.issues)
            if uncovered.keys() <= texts.keys():
                return repairs, refused
            texts |= uncovered

    def _plan(self, texts: dict[str, bytes]) -> tuple[list[Repair], dict[str, str]]:
        """The plan if these files, which get a text without other mistakes, have wrong names."""
        names, refused = self._renaming(texts).choose(
            self._found, [*self._issues, *(Issue("SK303", "", path) for path in texts)]
        )
        while True:
            planned = [self._repair(one, names.get(one.path, AS_IT_IS)) for one in self._found]
            repairs = [repair for repair in planned if repair is not None]
            followed, stuck = _with_references(self._workspace, repairs)
            kept = dict.fromkeys(stuck, _STUCK) | dict.fromkeys(_blocked(repairs), _BLOCKED)
            if not kept:
                return followed, refused
            refused |= kept
            names = {path: naming for path, naming in names.items() if path not in kept}

    def _renaming(self, texts: dict[str, bytes]) -> Renaming:
        documents, handles = self._workspace.documents, self._workspace.handles
        can_move = self._workspace.journal is not None
        around = Surroundings(self._workspace.root, documents, handles, self._switches, can_move)
        return Renaming(around, texts)

    def _repair(self, found: Found, naming: Naming) -> Repair | None:
        key = (found.path, naming)
        if key not in self._known:
            self._known[key] = plan_repair(found, self._may, naming)
        return self._known[key]

    def _may(self, issue: Issue) -> bool:
        return is_repairable(issue, unsafe=True) and self._wants(issue)

    def _uncovered(self, repairs: Iterable[Repair]) -> dict[str, bytes]:
        """The new texts of files in which only the repair shows that the name is wrong."""
        wrong = {issue.path for issue in self._issues if issue.code in NAME_CODES}
        return {
            repair.found.path: repair.after
            for repair in repairs
            if repair.found.path not in wrong
            and any(
                issue.code in NAME_CODES and self._may(issue)
                for issue in lint_text(repair.found, repair.after)[1]
            )
        }


def _blocked(repairs: Sequence[Repair]) -> set[str]:
    """The skills whose new folder is one that keeps its name after all."""
    moves = {repair.found.path: _move(repair) for repair in repairs if repair.naming.folder}
    old = {move.old for move in moves.values()}
    return {
        path
        for path, move in moves.items()
        if move.new not in old and not is_free(move.new, move.old)
    }


def write_all(repairs: Sequence[Repair], journal: Room | None) -> list[tuple[Repair, str]]:
    """Write repairs, joint ones together or not at all; those left alone, and why."""
    joint = [repair for repair in repairs if repair.joint]
    left_alone = write_repairs(repair for repair in repairs if not repair.joint)
    if not joint or journal is None:
        return left_alone
    writes = [
        Write(one.found.file, one.before, one.after) for one in joint if one.before != one.after
    ]
    try:
        commit(writes, _in_order([_move(one) for one in joint if one.naming.folder]), journal)
    except OSError as error:
        reason = error.strerror or str(error)
        where = f" ({os.path.basename(str(error.filename))})" if error.filename else ""
        left_alone += [(repair, f"{reason}{where}") for repair in joint]
    return left_alone


def _in_order(moves: Sequence[Move]) -> list[Move]:
    """A folder that gives its name to another one is renamed first."""
    by_old = {move.old: move for move in moves}
    ordered: dict[str, Move] = {}
    for first in moves:
        chain: list[Move] = []
        move: Move | None = first
        while move is not None and move.old not in ordered and move not in chain:
            chain.append(move)
            move = by_old.get(move.new)
        ordered |= {one.old: one for one in reversed(chain)}
    return list(ordered.values())


def _move(repair: Repair) -> Move:
    new = moved(repair.found, repair.naming.folder)
    return Move(os.path.dirname(repair.found.file), os.path.dirname(new.file))


def _with_references(
    workspace: Workspace, repairs: Sequence[Repair]
) -> tuple[list[Repair], set[str]]:
    """The repairs and those of what refers to renamed skills; the skills that must not be."""
    renamed = [repair for repair in repairs if repair.naming != Naming()]
    if not renamed or workspace.journal is None:
        return list(repairs), set()
    names = _new_names(renamed)
    renames = Renames(
        {move.old: move.new for move in map(_move, (one for one in renamed if one.naming.folder))},
        {old: new for old, (new, _) in names.items()},
    )
    followed, stuck = _followed(workspace, repairs, renames)
    is_named = any(not one.issues for one in followed)
    joint = [
        replace(one, joint=True)
        if one.naming.folder or not one.issues or (is_named and one.naming != Naming())
        else one
        for one in followed
    ]
    return joint, {names[name][1] for name in stuck}


def _new_names(renamed: Iterable[Repair]) -> dict[str, tuple[str, str]]:
    """Each name by which a skill is found: the new one, and the path of the skill."""
    names: dict[str, tuple[str, str]] = {}
    for repair in renamed:
        found = repair.found
        skill = read_text(found, repair.before).document
        if not isinstance(skill, Skill):
            continue
        new = plugin_name(found.plugin, repair.naming.name) if repair.naming.name else skill.name
        folder = os.path.dirname(moved(found, repair.naming.folder).path) or "."
        pairs = [
            (skill.name, new),
            (skill.own_name, name_in_plugin(new, found.plugin)),
            (team_name(found.team.name, skill.name), team_name(found.team.name, new)),
            (skill.id, canonical_id(new, folder)),
        ]
        for old, now in pairs:
            if old != now:
                names.setdefault(old, (now, found.path))
    return names


def _followed(
    workspace: Workspace, repairs: Sequence[Repair], renames: Renames
) -> tuple[list[Repair], set[str]]:
    documents = {
        one.file: one for one in workspace.documents if is_inside(one.file, workspace.root)
    }
    root = workspace.root
    planned = {repair.found.file: repair for repair in repairs}
    folders = [os.path.dirname(repair.found.file) for repair in repairs if repair.naming.folder]
    references = References(root, renames)
    stuck: set[str] = set()
    for file in texts_to_follow(root, documents, folders):
        repair = planned.get(file)
        before = repair.after if repair is not None else text_of(file)
        if before is None:
            continue
        found = documents.get(file)
        is_agent = found is not None and found.kind == "agent"
        text = before.decode(errors="surrogateescape")
        after = references.followed(text, file, is_agent=is_agent)
        if found is not None and is_agent:
            stuck |= _not_followed(found, before, after.encode(), renames.names)
        if after != text:
            raw = after.encode(errors="surrogateescape")
            planned[file] = (
                replace(repair, after=raw, joint=True)
                if repair is not None
                else Repair(found or _plain(file, root), before, raw, (), joint=True)
            )
    return list(planned.values()), stuck


def _not_followed(found: Found, before: bytes, after: bytes, names: Mapping[str, str]) -> set[str]:
    """The old names that an agent's profile still has after they were replaced."""
    old, new = (read_text(found, raw).document for raw in (before, after))
    if not isinstance(old, AgentProfile):
        return set()
    named = {name for name in old.skills or () if name in names}
    if not isinstance(new, AgentProfile):
        return named
    expected = [names.get(name, name) for name in old.skills or ()]
    return named if list(new.skills or ()) != expected else set()


def _plain(file: str, root: str) -> Found:
    """A file that is no document."""
    info = os.stat(file)
    path = os.path.relpath(file, root).replace(os.sep, "/")
    return Found(
        "skill", path, 0, info.st_size, info.st_mtime_ns, "", file, "workspace", info.st_ino
    )
