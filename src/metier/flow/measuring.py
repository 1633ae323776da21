"""Start the user's own host once, offline, and compare what it lists with what was computed.

The host gets a home and a workspace of its own: copies of SKILL.md files and of the few settings
that change a listing. Credentials are not copied, and no request leaves the machine.
"""

import os
import shutil
import tempfile
from collections.abc import Iterable
from typing import Any, NamedTuple

from metier.core.paths import is_inside
from metier.errors import UsageError
from metier.flow.listing import HostListing
from metier.hosts.beside import is_set_beside
from metier.hosts.known import HOSTS
from metier.hosts.model import Switch
from metier.hosts.skill_settings import merged_settings
from metier.hosts.starting import Start, Surroundings
from metier.listing.recorder import LOOPBACK, free_port, run_recorded
from metier.listing.rules import Skill, listing_of
from metier.listing.sent import Sent, listing_text, sent_skills
from metier.parse.skills import parse_skill
from metier.values.documents import Skill as Document

SECONDS = 90
PROMPT = "Say hello."
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "TMPDIR", "VIRTUAL_ENV", "SYSTEMROOT")


class Difference(NamedTuple):
    """A skill that the host did not list as computed."""

    name: str
    computed: str | None
    """Its text; None if it should not be listed."""
    sent: str | None
    """Its text; None if it was not listed."""

    def to_json(self) -> dict[str, Any]:
        return self._asdict()


class Measured(NamedTuple):
    """What a host really sent."""

    program: str
    text: str
    """The listing."""
    sent: list[Sent]
    differences: list[Difference]

    def to_json(self) -> dict[str, Any]:
        return {
            "program": self.program,
            "listed": len(self.sent),
            "listing": self.text,
            "differences": [one.to_json() for one in self.differences],
        }


def program_of(host: str, workspace: str) -> str:
    """The host's program on the user's PATH, outside of the workspace. Raises `UsageError`."""
    name = _start_of(host).program
    folders = filter(os.path.isabs, os.environ.get("PATH", "").split(os.pathsep))
    outside = (one for one in folders if not is_inside(os.path.realpath(one), workspace))
    found = shutil.which(name, path=os.pathsep.join(outside))
    if found is None or is_inside(os.path.realpath(found), workspace):
        raise UsageError(f"there is no '{name}' on your PATH", hint=f"install {HOSTS[host].title}")
    return found


def _start_of(host: str) -> Start:
    start = HOSTS[host].start
    if start is None:
        measurable = ", ".join(name for name, one in HOSTS.items() if one.start)
        hint = f"hosts that can be measured: {measurable}"
        raise UsageError(f"{HOSTS[host].title} cannot be measured", hint=hint)
    return start


def measure(found: HostListing, workspace: str, home: str) -> Measured:
    """Start the host once and compare. Raises `UsageError` if it sends no listing."""
    program = program_of(found.host, workspace)
    with tempfile.TemporaryDirectory(prefix="metier-measure-") as scratch:
        return _Measuring(found, workspace, home, os.path.realpath(scratch)).run(program)


class _Measuring:
    def __init__(self, found: HostListing, workspace: str, home: str, scratch: str) -> None:
        self._found = found
        self._start = _start_of(found.host)
        self._host = HOSTS[found.host]
        self._old = (workspace, home)
        self._new = (f"{scratch}/work", f"{scratch}/home")
        self._records = f"{scratch}/requests"

    def run(self, program: str) -> Measured:
        for folder in (*self._new, self._records, f"{self._new[0]}/.git"):
            os.makedirs(folder)
        skills = [self._copied(one) for one in self._found.offered if one.scope != "plugin"]
        port = free_port()
        environ = self._settled(f"http://{LOOPBACK}:{port}")
        command = [program, *self._start.arguments, PROMPT, *self._start.after]
        finished = run_recorded(
            command, folder=self._records, port=port, cwd=self._new[0], environ=environ,
            timeout=SECONDS,
        )  # fmt: skip
        text = listing_text(self._found.host, finished.requests)
        if not text:
            last = (finished.output.strip().splitlines() or ["it sent nothing"])[-1]
            raise UsageError(f"'{program}' sent no listing: {last[:200]}", hint="start it yourself")
        sent = sent_skills(self._found.host, finished.requests)
        skills = [one for one in skills if one.scope != "system"] + self._written()
        return Measured(program, text, sent, self._compared(skills, sent))

    def _settled(self, url: str) -> dict[str, str]:
        """Write the settings, and return the environment of the host."""
        workspace, home = self._new
        merged = merged_settings(self._host.skill_settings, *self._old)
        kept = {key: merged[key] for key in self._start.keeps if key in merged}
        context = self._found.context or 200_000
        given = Surroundings(url, workspace, context, kept, self._old[1])
        started = self._start.configure(given)
        for path, text in started.files.items():
            _write(f"{home}/{path}", text)
        base = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
        return {**base, "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb", **started.environ}

    def _copied(self, skill: Skill) -> Skill:
        """Copy the SKILL.md of a skill to where the host will look for it."""
        if skill.scope in ("own", "admin", "system"):
            return skill
        path, root = self._moved(skill.path), self._moved(skill.root)
        for name in ("", *(one.file for one in self._beside())):
            old = os.path.join(os.path.dirname(skill.path), name) if name else skill.path
            new = os.path.join(os.path.dirname(path), name) if name else path
            if os.path.isfile(old):
                os.makedirs(os.path.dirname(new), exist_ok=True)
                shutil.copyfile(old, new)
        return skill._replace(path=path, root=root)

    def _written(self) -> list[Skill]:
        """The host's own skills, which it wrote into its new home."""
        loading = self._host.loading
        if loading is None or not loading.own_folder:
            return []
        roots = [one.replace("~", self._new[1], 1) for one in loading.user]
        return [
            skill for root in roots for skill in self._written_in(f"{root}/{loading.own_folder}")
        ]

    def _beside(self) -> list[Switch]:
        return [one for one in self._host.switches if one.at == "file beside"]

    def _written_in(self, root: str) -> list[Skill]:
        found = []
        for folder in sorted(os.listdir(root)) if os.path.isdir(root) else ():
            path = f"{root}/{folder}/SKILL.md"
            is_off = any(is_set_beside(f"{root}/{folder}", one) for one in self._beside())
            if os.path.isfile(path) and not is_off and (skill := _parsed(path)) is not None:
                text = skill.description
                found.append(
                    Skill(
                        name=skill.name, folder=folder, description=text, path=path, root=root,
                        scope="system",
                    )
                )  # fmt: skip
        return found

    def _moved(self, path: str) -> str:
        pairs = sorted(zip(self._old, self._new, strict=True), key=lambda pair: -len(pair[0]))
        for old, new in pairs:
            if is_inside(path, old):
                return new + path[len(old) :]
        return path

    def _compared(self, skills: list[Skill], sent: Iterable[Sent]) -> list[Difference]:
        """Differences among the user's skills; those of the host depend on its version."""
        budget = self._found.listing.budget
        listing = listing_of(self._found.host, skills, self._found.context, budget)
        shown = [one for one in listing.entries if one.state != "invisible"]
        computed = {one.name: one.text for one in shown if one.skill.scope not in _OWN}
        own = {one.name for one in shown if one.skill.scope in _OWN}
        real = {one.name: one.text for one in sent if one.name in computed}
        unknown = [one for one in sent if one.name not in computed and one.name not in own]
        names = [name for name, text in computed.items() if not _is_same(real.get(name), text)]
        return [
            *(Difference(name, computed[name], real.get(name)) for name in names),
            *(Difference(one.name, None, one.text) for one in unknown),
        ]


_OWN = ("own", "system")


def _is_same(sent: str | None, computed: str) -> bool:
    """Whether two texts differ in white space alone, which some hosts keep."""
    return sent is not None and sent.split() == computed.split()


def _parsed(path: str) -> Document | None:
    with open(path, "rb") as file:
        skill = parse_skill(file.read(), path).document
    return skill if isinstance(skill, Document) else None


def _write(path: str, text: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
