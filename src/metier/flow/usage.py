"""Which skills hosts used, from their transcripts: counts for each skill of a catalog."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from metier.core.names import camel_case
from metier.core.timestamps import to_iso
from metier.flow.usage_kept import kept_with
from metier.flow.usage_sessions import SessionUse, SkillUse, Turn, joined
from metier.hosts.events import Compacted, Event, Fired, Prompt, Session, Unparsed
from metier.hosts.known import HOSTS as KNOWN
from metier.hosts.transcript_files import Transcript, UserFolders
from metier.storage.places import ignored_folder
from metier.storage.room import Room
from metier.storage.workspace import find_workspace
from metier.usage import READERS
from metier.values.rows import Row

HOSTS = tuple(READERS)
OnProgress = Callable[[int, int], None]
Rank = Callable[[str, str], str]
"""A host and a prompt → the path of the skill that fits best, empty if none does."""
FEW_SESSIONS = 10
"""With fewer, a skill that never fired says little."""
_MOST_CASES = 1_000


class Question(NamedTuple):
    """Which transcripts to read, and what to keep of them."""

    workspace: str
    hosts: Sequence[str] = HOSTS
    since: float = 0.0
    """Only sessions that were active after this time."""
    everywhere: bool = False
    """Also the sessions of other workspaces."""
    keeps_prompts: bool = False
    """Whether prompts are part of the result."""


class Case(NamedTuple):
    """A prompt, and the skills that it is for."""

    prompt: str
    skills: tuple[str, ...]
    is_missed: bool
    """Whether the skills only look right: none of them fired."""


class Reading(NamedTuple):
    """What the transcripts say."""

    sessions: Sequence[SessionUse]
    missed: Mapping[str, int]
    """Skill → how many prompts looked like its job while nothing fired."""
    ranked: int
    """How many prompts without a skill were ranked."""
    cases: Sequence[Case]
    transcripts: int
    unparsed: int
    """Lines that are not JSON, too long, or half written."""
    unread: Mapping[str, int]
    """Why transcripts were not read → how many."""
    ignored: Sequence[str]
    """Environment variables that are ignored."""


class Usage(NamedTuple):
    """How skills were used, over all sessions of a question."""

    since: float
    skills: Sequence[SkillUse]
    """Those of the catalog, and those that were removed from it; most used first."""
    hosts: Mapping[str, int]
    """Host → sessions."""
    others: Mapping[str, int]
    """Skills that are not in the catalog → how often the model used them."""
    reading: Reading
    not_stored: str
    """Why the counts could not be stored; empty if they are."""

    @property
    def sessions(self) -> int:
        return sum(self.hosts.values())

    @property
    def is_too_little(self) -> bool:
        """Whether there are too few sessions to call a skill unused."""
        return self.sessions < FEW_SESSIONS

    def to_json(self) -> dict[str, Any]:
        reading = self.reading
        return {
            "schemaVersion": "1",
            "since": to_iso(self.since),
            "sessions": self.sessions,
            "hosts": dict(self.hosts),
            "tooLittleHistory": self.is_too_little,
            "skills": [_skill_json(use) for use in self.skills],
            "notInCatalog": dict(self.others),
            "rankedPrompts": reading.ranked,
            "transcripts": reading.transcripts,
            "unparsedLines": reading.unparsed,
            "unreadTranscripts": dict(reading.unread),
        }


def _skill_json(use: SkillUse) -> dict[str, Any]:
    last = to_iso(use.last) if use.last else None
    return {**camel_case(use._asdict()), "last": last}


def usage_of(names: "SkillNames", question: Question, reading: Reading, room: Room | None) -> Usage:
    """Sum up what was read and what is stored; stores the sessions of the workspace."""
    sessions, not_stored = list(reading.sessions), ""
    if room is not None:
        elsewhere = [use for use in sessions if not use.is_here]
        try:
            stored = kept_with(room, [use for use in sessions if use.is_here])
            wanted = [use for use in stored if use.host in question.hosts]
            sessions = [*elsewhere, *(use for use in wanted if use.last >= question.since)]
        except OSError as error:
            not_stored = error.strerror or str(error)
    return Usage(
        question.since,
        joined(names.handles, sessions, reading.missed),
        Counter(use.host for use in sessions),
        sum((use.others for use in sessions), Counter()),
        reading,
        not_stored,
    )


def _by_folder(host: str) -> bool:
    """Whether a host names skills by their folder."""
    loading = KNOWN[host].loading if host in KNOWN else None
    return loading is not None and loading.name == "folder"


def _is_typed_alone(host: str) -> bool:
    """Whether a skill that the user types takes the place of a prompt."""
    facts = KNOWN[host].transcripts if host in KNOWN else None
    return facts is not None and facts.typed_alone


class SkillNames:
    """Finds the skill that a host means."""

    def __init__(self, rows: Iterable[Row]) -> None:
        rows = list(rows)
        self.handles = list(dict.fromkeys(row.handle for row in rows))
        self.by_path = {row.path: row.handle for row in rows}
        self._by_file: dict[str, str] = {}
        self._by_name: dict[str, str] = {}
        self._by_folder: dict[str, str] = {}
        for row in rows:
            self._by_file.setdefault(os.path.realpath(row.file), row.handle)
            self._by_name.setdefault(row.name, row.handle)
            folder = os.path.basename(os.path.dirname(row.file))
            self._by_folder.setdefault(
                f"{row.plugin}:{folder}" if row.plugin else folder, row.handle
            )

    def of(self, host: str, fired: Fired) -> str:
        """The handle of a skill; empty if it is not in the catalog."""
        if fired.file and (handle := self._by_file.get(_real(fired.file))):
            return handle
        names = [self._by_name, self._by_folder]
        if _by_folder(host):
            names.reverse()
        return next((some[fired.skill] for some in names if fired.skill in some), "")


def _real(path: str) -> str:
    """The path without links; empty if it cannot be a path."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return ""


def read_usage(
    names: SkillNames,
    question: Question,
    *,
    environ: Mapping[str, str],
    rank: Rank | None = None,
    on_progress: OnProgress | None = None,
) -> Reading:
    """Read the transcripts of hosts, oldest first; nothing in them stops the rest."""
    counting = _Counting(names, question, rank)
    folders = UserFolders(environ, question.workspace)
    found = [
        (transcript, host)
        for host in question.hosts
        for transcript in READERS[host].transcripts(folders)
        if transcript.changed >= question.since
    ]
    found.sort(key=lambda one: one[0].changed)
    done, total = 0, sum(transcript.size for transcript, _ in found)
    for transcript, host in found:
        counting.read(host, transcript)
        done += transcript.size
        if on_progress:
            on_progress(done >> 10, total >> 10)
    return counting.result(len(found), _ignored(question, environ))


def _ignored(question: Question, environ: Mapping[str, str]) -> list[str]:
    variables = (READERS[host].moved_by for host in question.hosts)
    lines = (ignored_folder(name, environ, question.workspace) for name in variables)
    return [line for line in lines if line]


class _Counting:
    """Counts while transcripts are read. Prompts are dropped as soon as they are ranked."""

    def __init__(self, names: SkillNames, question: Question, rank: Rank | None) -> None:
        self._names = names
        self._question = question
        self._rank = rank
        self._sessions: dict[tuple[str, str], SessionUse] = {}
        self._seen: set[int] = set()
        """Hashes of uses and prompts: a resumed session repeats those of an earlier session."""
        self._workspaces: dict[str, str] = {}
        self._missed: Counter[str] = Counter()
        self._ranked = self._unparsed = 0
        self._cases: list[Case] = []
        self._unread: Counter[str] = Counter()

    def read(self, host: str, transcript: Transcript) -> None:
        events = READERS[host].read(transcript.path, self._is_wanted)
        try:
            self._count(host, events)
        except OSError as error:
            self._unread[error.strerror or str(error)] += 1

    def _count(self, host: str, events: Iterable[Event]) -> None:
        use: SessionUse | None = None
        turn: Turn | None = None
        for event in events:
            if isinstance(event, Unparsed):
                self._unparsed += event.lines
            elif isinstance(event, Session):
                self._close(use, turn)
                use, turn = self._session(host, event), None
            elif use is not None:
                turn = self._event(use, turn, event)
        self._close(use, turn)

    def _session(self, host: str, session: Session) -> SessionUse | None:
        if not self._is_wanted(session):
            return None
        use = self._sessions.setdefault((host, session.id), SessionUse(host, session.id))
        is_here = self._workspace_of(session.folder) == self._question.workspace
        use.begin(session.started, is_here=is_here)
        return use

    def _event(
        self, use: SessionUse, turn: Turn | None, event: Fired | Prompt | Compacted
    ) -> Turn | None:
        if isinstance(event, Compacted):
            use.compacted(event.at)
            return turn
        if self._is_repeated(use.host, event.call if isinstance(event, Fired) else event.id):
            return turn
        if isinstance(event, Fired):
            if event.by == "user" and _is_typed_alone(use.host):
                self._close(use, turn)
                turn = None
            use.fired(self._names.of(use.host, event), event, turn)
            return turn
        self._close(use, turn)
        use.went_on(event.at)
        return Turn(event.text, event.at)

    def _is_repeated(self, host: str, known_by: str) -> bool:
        """Whether a use or a prompt was seen before; without an id it never was."""
        digest = hash((host, known_by))
        if not known_by or digest not in self._seen:
            self._seen.add(digest)
            return False
        return True

    def _close(self, use: SessionUse | None, turn: Turn | None) -> None:
        """Judge the turn that ends: a skill fired, or the prompt looks like the job of a skill."""
        if use is None or turn is None:
            return
        if turn.skills:
            self._keep(Case(turn.prompt, tuple(dict.fromkeys(turn.skills)), is_missed=False))
        elif self._rank and not use.fired_since(turn.at):
            self._ranked += 1
            skill = self._names.by_path.get(self._rank(use.host, turn.prompt), "")
            if skill and not use.has_loaded(skill, turn.at):
                self._missed[skill] += 1
                self._keep(Case(turn.prompt, (skill,), is_missed=True))

    def _keep(self, case: Case) -> None:
        if self._question.keeps_prompts:
            self._cases.append(case)
            del self._cases[:-_MOST_CASES]

    def _is_wanted(self, session: Session) -> bool:
        everywhere = self._question.everywhere
        return everywhere or self._workspace_of(session.folder) == self._question.workspace

    def _workspace_of(self, folder: str) -> str:
        """The workspace around a folder, which may be gone by now; empty if it is unknown."""
        if folder not in self._workspaces:
            is_usable = os.path.isabs(folder) and bool(_real(folder))
            self._workspaces[folder] = find_workspace(folder) if is_usable else ""
        return self._workspaces[folder]

    def result(self, transcripts: int, ignored: Sequence[str]) -> Reading:
        since = self._question.since
        return Reading(
            [use for use in self._sessions.values() if use.last >= since],
            self._missed,
            self._ranked,
            self._cases,
            transcripts,
            self._unparsed,
            self._unread,
            ignored,
        )
