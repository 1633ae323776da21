"""What is around the documents that are linted: files beside skills, commands, plugins, aliases.

Only `metier lint` and an editor look: a refresh reads no file but the documents. Nothing outside of
a skill's folder, of a plugin or of the linted folders is opened, and no link is followed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

from metier.config import ALIAS_FILE
from metier.core.paths import is_inside, is_markdown, without_md
from metier.discover.plugins import MANIFEST, PLUGIN_FOLDER
from metier.lint.bundles import Bundle, lint_bundle
from metier.storage.room import read_regular
from metier.values.files import NOT_ENTERED, SKILL_NAMES, Entry, Found
from metier.values.outcomes import Issue, same_command
from metier.values.skills import Skill

MOST_FILES = 200
"""In the folder of one skill; of more, none is reported as unmentioned."""
DEEPEST = 5
MOST_READ = 32
LARGEST_READ = 1 << 16
_LARGEST_MANIFEST = 1 << 20
_TEXTS = (
    *(".md", ".txt", ".py", ".sh", ".js", ".ts", ".mjs", ".json", ".yaml", ".yml", ".toml"),
    *(".html", ".css", ".rb", ".go", ".rs", ".ps1"),
)
_ENDS = SKILL_NAMES | {".git"}
"""What makes a folder in a skill's folder something of its own."""
_NONE: frozenset[str] = frozenset()


class Surroundings:
    """What is beside the skills of one lint."""

    def __init__(self) -> None:
        self._commands: dict[str, frozenset[str]] = {}

    def lint(self, entry: Entry) -> Iterator[Issue]:
        """Findings about the files beside one usable skill."""
        skill, folder = entry.document, entry.found.file.rpartition("/")[0]
        if not isinstance(skill, Skill):
            return
        yield from lint_bundle(
            entry.found.path,
            skill.body,
            entry.body_line,
            _bundle(folder),
            is_there=partial(_exists, folder),
            read=_Reader(folder),
        )
        parent, _, name = folder.rpartition("/")
        above, _, skills = parent.rpartition("/")
        if skills == "skills" and name in self._commands_in(above):
            yield same_command(name, entry.found.path)

    def _commands_in(self, above: str) -> frozenset[str]:
        """The commands of Claude Code in a folder of settings, or of a plugin."""
        if above not in self._commands:
            is_read = above.endswith("/.claude") or _exists(above, PLUGIN_FOLDER)
            self._commands[above] = _commands(os.path.join(above, "commands")) if is_read else _NONE
        return self._commands[above]


class _Reader:
    """Reads a few small files of one folder."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._left = MOST_READ

    def __call__(self, name: str) -> str:
        if not self._left or not name.lower().endswith(_TEXTS):
            return ""
        self._left -= 1
        try:
            raw = read_regular(os.path.join(self._folder, name), LARGEST_READ, links=False)
        except OSError:
            return ""
        return raw.decode(errors="replace")


def _bundle(folder: str) -> Bundle:
    files = list(islice(_files(folder, "", 0), MOST_FILES + 1))
    folders = {name.rpartition("/")[0] for name in files} - {""}
    return Bundle(frozenset(files), frozenset(folders), len(files) <= MOST_FILES)


def _files(folder: str, below: str, depth: int) -> Iterator[str]:
    """The files of a skill's folder; none for a whole repository, or another skill below it."""
    try:
        with os.scandir(f"{folder}/{below}") as found:
            entries = sorted(found, key=lambda one: one.name)
    except OSError:
        return
    names = {one.name for one in entries}
    if names & _ENDS if below else ".git" in names:
        return
    for one in entries:
        name = f"{below}/{one.name}" if below else one.name
        if one.name.startswith(".") or one.name in NOT_ENTERED or one.name in SKILL_NAMES:
            continue
        if one.is_file(follow_symlinks=False):
            yield name
        elif depth < DEEPEST and one.is_dir(follow_symlinks=False):
            yield from _files(folder, name, depth + 1)


def _commands(folder: str) -> frozenset[str]:
    try:
        return frozenset(without_md(name) for name in os.listdir(folder) if is_markdown(name))
    except OSError:
        return _NONE


def lint_plugins(found: Iterable[Found], paths: Sequence[str], workspace: str) -> Iterator[Issue]:
    """Findings in the plugin files around skills, in the named paths, else in the workspace."""
    tops = {os.path.abspath(path): path for path in paths} or {workspace: "."}
    files = (one.file for one in found if one.kind == "skill")
    folders = sorted(_around(files, tops))
    if not folders:
        return
    from metier.lint.plugins import lint_marketplace, lint_plugin  # few skills are in plugins

    rules = {MANIFEST: lint_plugin, "marketplace.json": lint_marketplace}
    for folder in folders:
        for manifest, rule in rules.items():
            file = os.path.join(folder, PLUGIN_FOLDER, manifest)
            try:
                text = read_regular(file, _LARGEST_MANIFEST, links=False).decode(errors="replace")
            except OSError:
                continue
            yield from rule(text, _shown(file, tops), partial(_exists, folder))


def _shown(file: str, tops: Mapping[str, str]) -> str:
    top = max((top for top in tops if is_inside(file, top)), key=len)
    return os.path.normpath(os.path.join(tops[top], os.path.relpath(file, top)))


def _exists(folder: str, path: str) -> bool:
    return os.path.lexists(os.path.join(folder, path))


def _around(files: Iterable[str], tops: Mapping[str, str]) -> set[str]:
    """The folders around files that have a folder of plugin files."""
    seen: set[str] = set(tops)
    for file in files:
        folder = file.rpartition("/")[0]
        while folder not in seen and any(is_inside(folder, top) for top in tops):
            seen.add(folder)
            folder = folder.rpartition("/")[0]
    return {folder for folder in seen if os.path.isdir(f"{folder}/{PLUGIN_FOLDER}")}


def table_below(path: str) -> str:
    """The alias table in a folder, or at the path itself; else empty."""
    folder = os.path.dirname(ALIAS_FILE)
    inside = ALIAS_FILE if os.path.basename(path) != folder else os.path.basename(ALIAS_FILE)
    table = os.path.join(path, inside) if os.path.isdir(path) else path
    return table if is_alias_table(table) else ""


def is_alias_table(path: str) -> bool:
    return os.path.basename(path) == os.path.basename(ALIAS_FILE) and os.path.isfile(path)
