"""Plan how to switch a skill off, or on again, in the settings of a host."""

import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from metier.core.coerce import mapping_of
from metier.core.paths import is_inside
from metier.errors import MetierError, UsageError
from metier.flow.host_skills import HostSkill, HostView
from metier.hosts.loading import DoesNotLoad, Loads
from metier.hosts.model import Host, Switch
from metier.hosts.settings_forms import Scope
from metier.hosts.skill_settings import read_settings, settings_files
from metier.install.changes import Change, read
from metier.install.plans import check_links
from metier.install.switch_edits import (
    BeforeSwitch,
    SwitchedSkill,
    is_empty,
    is_off,
    is_same,
    parse,
    switched_off,
    switched_on,
)
from metier.install.switch_record import Entry, SwitchRecord, digest

_PLUGINS = "plugin"


class Wanted(NamedTuple):
    """What to do with a skill in one host."""

    view: HostView
    skill: HostSkill
    workspace: str
    home: str
    scope: Scope | None = None
    """Whose settings; None: those of the workspace for its own skills, else the user's."""
    whole_plugin: bool = False

    @property
    def host(self) -> Host:
        return self.view.host

    @property
    def name(self) -> str:
        return self.skill.row.name or self.skill.folder


class SwitchPlan(NamedTuple):
    """The change of one file, and what to remember of it."""

    host: str
    title: str
    change: Change
    key: str
    name: str
    """What the settings call the skill, or the plugin."""
    entry: Entry | None
    """What to keep for `metier enable`; None if the skill is switched on."""

    def record(self, record: SwitchRecord) -> None:
        """Raises `MetierError`."""
        try:
            if self.entry is not None:
                record.keep(self.entry)
            else:
                record.drop(self.change.target, self.key, self.name)
        except OSError as error:
            raise MetierError(
                f"what was there before cannot be kept: {error.strerror or error}",
                code="SYSTEM",
                where=error.filename or "",
            ) from error


def loads_here(wanted: Wanted) -> bool:
    return isinstance(wanted.skill.outcome, Loads)


def is_switched_off(wanted: Wanted) -> bool:
    outcome = wanted.skill.outcome
    return isinstance(outcome, DoesNotLoad) and outcome.reason == "off"


# Off


def plan_off(wanted: Wanted) -> SwitchPlan:
    """Raises `UsageError` if the host has no such switch, or another setting is stronger."""
    switch = _switch(wanted)
    scope = _scope(wanted, switch)
    file, switched = _file(wanted, scope), _switched_skill(wanted, switch)
    before = read(file)
    try:
        after, taken = switched_off(before or "", switched)
    except ValueError as error:
        raise _unwritable(wanted, switch, switched, file, error) from None
    _check(wanted, file, after, is_wanted_off=True)
    change = Change(path=file, before=before, after=after)
    entry = Entry(change.target, switch.key, switched.name, before, digest(after), *taken)
    host = wanted.host
    return SwitchPlan(host.name, host.title, change, switch.key, switched.name, entry)


def _switch(wanted: Wanted) -> Switch:
    written = [one for one in wanted.host.switches if one.written is not None]
    of_plugins = [one for one in written if one.written and one.written.called == _PLUGINS]
    of_skills = [one for one in written if one not in of_plugins]
    title = wanted.host.title
    if wanted.whole_plugin:
        if not wanted.skill.row.plugin:
            raise UsageError(f"'{wanted.name}' does not come with a plugin", hint="omit --plugin")
        if not of_plugins:
            raise UsageError(f"{title} has no switch for plugins that metier can write")
        return of_plugins[0]
    if of_skills:
        return of_skills[0]
    raise UsageError(f"{title} has no setting that switches a skill off", hint=_by_hand(wanted))


def _by_hand(wanted: Wanted) -> str:
    """What to write into the skill, for a host that looks nowhere else."""
    keys = [one for one in wanted.host.switches if one.at == "front matter"]
    for one in keys:
        for value, effect in one.effects.items():
            if effect in ("off", "manual"):
                where = wanted.skill.row.file
                return f"write '{one.key}: {value}' into the front matter of {where}"
    return ""


def _scope(wanted: Wanted, switch: Switch) -> Scope:
    settings = wanted.host.skill_settings
    has_project = settings is not None and settings.project and not switch.file.startswith("~")
    if wanted.scope == "project" and not has_project:
        raise UsageError(
            f"{wanted.host.title} switches skills off in your own settings only", hint="--user"
        )
    if wanted.scope is not None:
        return wanted.scope
    return "project" if has_project and wanted.skill.found_at.scope == "project" else "user"


def _file(wanted: Wanted, scope: Scope) -> str:
    settings = wanted.host.skill_settings
    assert settings is not None
    files = settings_files(settings, wanted.workspace, wanted.home)
    if scope == "user":
        return files[0]
    check_links([files[1]], wanted.workspace)
    return files[1]


def _switched_skill(wanted: Wanted, switch: Switch) -> SwitchedSkill:
    row, written = wanted.skill.row, switch.written
    assert written is not None
    folder = wanted.skill.folder
    parts = row.path.split("/")
    names = {
        "folder": f"{row.plugin}:{folder}" if row.plugin else folder,
        "name": row.name or folder,
        "file": row.file,
        "plugin": f"{parts[2]}@{parts[1]}" if parts[3:] else row.plugin,
    }
    return SwitchedSkill(written, names[written.called], wanted.home)


def _unwritable(
    wanted: Wanted, switch: Switch, switched: SwitchedSkill, file: str, error: ValueError
) -> UsageError:
    value = switched.written.value
    shown = value if isinstance(value, str) else str(value).lower()
    said = f" = {shown}" if switched.written.form == "map" else ""
    return UsageError(
        f"the settings of {wanted.host.title} cannot be changed: {error}",
        where=file,
        hint=f"add this by hand: {switch.key}, {switched.name}{said}",
    )


# On


def plans_on(wanted: Wanted, record: SwitchRecord) -> list[SwitchPlan]:
    """A plan for each file that switches the skill off. Raises `UsageError` if none can be."""
    plans, texts = [], {}
    for file in _files(wanted):
        before = read(file)
        after = before
        for switch, switched in _switched_skills(wanted):
            after, change = _on(wanted, file, before, switch, switched, record)
            if change is not None:
                plans.append(change)
                texts[file] = after or ""
                break
    if plans:
        check_links([one.change.path for one in plans if _is_in(one, wanted)], wanted.workspace)
        _check_all(wanted, texts, is_wanted_off=False)
    return plans


def _is_in(plan: SwitchPlan, wanted: Wanted) -> bool:
    return is_inside(plan.change.path, wanted.workspace)


def _files(wanted: Wanted) -> Sequence[str]:
    settings = wanted.host.skill_settings
    if settings is None:
        return ()
    files = settings_files(settings, wanted.workspace, wanted.home)
    if wanted.scope is None:
        return files
    return files[:1] if wanted.scope == "user" else files[1:]


def _switched_skills(wanted: Wanted) -> Iterator[tuple[Switch, SwitchedSkill]]:
    for one in wanted.host.switches:
        if one.written is not None:
            is_for_plugin = one.written.called == _PLUGINS
            if wanted.skill.row.plugin or not is_for_plugin:
                yield one, _switched_skill(wanted, one)


def _on(
    wanted: Wanted,
    file: str,
    before: str | None,
    switch: Switch,
    switched: SwitchedSkill,
    record: SwitchRecord,
) -> tuple[str | None, SwitchPlan | None]:
    """The text of a file with the skill on, and the plan; no plan if it is not off there."""
    is_toml = switched.written.form == "tables"
    try:
        if before is None or not is_off(before, switched):
            return before, None
        entry = record.of(os.path.realpath(file), switch.key, switched.name)
        after = _restored(before, switched, entry, is_toml)
    except ValueError as error:
        message = f"the settings of {wanted.host.title} cannot be changed: {error}"
        raise UsageError(message, where=file, hint=f"remove {switch.key} by hand") from None
    change = Change(path=file, before=before, after=after)
    host = wanted.host
    return after, SwitchPlan(host.name, host.title, change, switch.key, switched.name, None)


def _restored(
    before: str, switched: SwitchedSkill, entry: Entry | None, is_toml: bool
) -> str | None:
    """What was there before, exactly if nothing else has changed; None if there was no file."""
    if entry is None:
        return switched_on(before, switched, BeforeSwitch(len(switched.written.keys)))
    if digest(before) == entry.after:
        return entry.before
    text = switched_on(before, switched, BeforeSwitch(entry.made, entry.had))
    if entry.before is None:
        return None if is_empty(text, is_toml) else text
    return entry.before if is_same(text, entry.before, is_toml) else text


# What the host would make of it


def _check(wanted: Wanted, file: str, text: str, *, is_wanted_off: bool) -> None:
    _check_all(wanted, {file: text}, is_wanted_off=is_wanted_off)


def _check_all(wanted: Wanted, texts: dict[str, str], *, is_wanted_off: bool) -> None:
    """Raise `UsageError` unless the host, with these files, does what is wanted."""
    settings = wanted.host.skill_settings
    assert settings is not None
    files = settings_files(settings, wanted.workspace, wanted.home)
    found: list[dict[str, Any]] = [
        mapping_of(parse(texts[file], file.endswith(".toml")))
        if file in texts
        else read_settings(file)
        for file in files
    ]
    switched = settings.read(found, wanted.home).switched
    values = switched(wanted.skill.row, wanted.skill.folder) if switched is not None else {}
    off = [
        one.key for one in wanted.host.switches if one.effects.get(values.get(one.key, "")) == "off"
    ]
    if bool(off) == is_wanted_off:
        return
    others = ", ".join(file for file in files if file not in texts and os.path.exists(file))
    if is_wanted_off:
        message = (
            f"'{wanted.name}' would stay on: another setting of {wanted.host.title} counts more"
        )
    else:
        message = f"'{wanted.name}' would stay off: {', '.join(off)} of {wanted.host.title}"
    raise UsageError(message, hint=f"look at {others}" if others else "look at its other rules")
