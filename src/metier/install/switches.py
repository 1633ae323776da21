"""Plan how to switch a skill off, or on again, in the settings of a host."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
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
_SHOWN = 5
"""The most folders that a message names."""
Texts = dict[str, str | None]
"""File → the text that it will have; None if it is removed."""


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


def one_meant(found: Sequence[Wanted], said: str) -> Wanted:
    """The first of some skills of one host. Raises `UsageError` if they have different switches."""
    first = found[0]
    switch = next(iter(_switches_of_skills(first.host)), None)
    if switch is None or len({_switched_skill(one, switch).name for one in found}) == 1:
        return first
    folders = sorted(os.path.dirname(one.skill.row.path) for one in found)
    more = f" and {len(folders) - _SHOWN} more" if len(folders) > _SHOWN else ""
    raise UsageError(
        f"'{said}' is the name of {len(found)} skills in {first.host.title}",
        hint=f"give the folder of one: {', '.join(folders[:_SHOWN])}{more}",
    )


# Off


def plans_off(
    asked: Iterable[Wanted], on_refused: Callable[[UsageError], None] | None = None
) -> list[SwitchPlan]:
    """The changes in their order, each on top of those before it.

    Raises `UsageError` if a host has no such switch, or another setting is stronger; with
    `on_refused`, that is called instead.
    """
    plans: list[SwitchPlan] = []
    planned: Texts = {}
    for wanted in asked:
        try:
            plan = _plan_off(wanted, planned)
        except UsageError as error:
            if on_refused is None:
                raise
            on_refused(error)
        else:
            if plan is not None:
                plans.append(plan)
                planned[plan.change.path] = plan.change.after
    return plans


def _plan_off(wanted: Wanted, planned: Texts) -> SwitchPlan | None:
    """None if a skill before it has the same switch."""
    switch = _switch(wanted)
    scope = _scope(wanted, switch)
    file, switched = _file(wanted, scope), _switched_skill(wanted, switch)
    before = _text(file, planned)
    with_comments = f"{file}c"
    if before is None and os.path.lexists(with_comments):
        error = ValueError("they are in JSON with comments")
        raise _unwritable(wanted, switch, switched, with_comments, error)
    try:
        if file in planned and is_off(before or "", switched):
            return None
        after, taken = switched_off(before or "", switched)
    except ValueError as error:
        raise _unwritable(wanted, switch, switched, file, error) from None
    _check_all(wanted, {**planned, file: after}, is_wanted_off=True)
    change = Change(path=file, before=before, after=after)
    entry = Entry(change.target, switch.key, switched.name, before, digest(after), *taken)
    host = wanted.host
    return SwitchPlan(host.name, host.title, change, switch.key, switched.name, entry)


def _switch(wanted: Wanted) -> Switch:
    written = [one for one in wanted.host.switches if one.written is not None]
    of_plugins = [one for one in written if one.written and one.written.called == _PLUGINS]
    of_skills = _switches_of_skills(wanted.host)
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


def _switches_of_skills(host: Host) -> list[Switch]:
    """Those that metier can write."""
    written = [one for one in host.switches if one.written is not None]
    return [one for one in written if one.written and one.written.called != _PLUGINS]


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


def plans_on(asked: Iterable[Wanted], record: SwitchRecord) -> list[SwitchPlan]:
    """The changes in their order, each on top of those before it: what was switched off last
    comes first, so that each finds what it left. Raises `UsageError` if one cannot be."""
    order = {entry.about: at for at, entry in enumerate(record.entries())}
    plans: list[SwitchPlan] = []
    planned: Texts = {}
    for wanted in sorted(asked, key=lambda one: -_last_off(one, order)):
        found = _plans_on(wanted, record, planned)
        planned |= {plan.change.path: plan.change.after for plan in found}
        plans += found
    return plans


def _last_off(wanted: Wanted, order: Mapping[tuple[str, str, str], int]) -> int:
    """The index of a skill in the record; -1 if it is not there."""
    abouts = {
        (os.path.realpath(file), switch.key, switched.name)
        for file in _files(wanted)
        for switch, switched in _switched_skills(wanted)
    }
    return max((order[one] for one in abouts if one in order), default=-1)


def _plans_on(wanted: Wanted, record: SwitchRecord, planned: Texts) -> list[SwitchPlan]:
    """A plan for each file that switches the skill off. Raises `UsageError` if none can be.

    A file that cannot be edited, and that metier did not write, does not hinder the others.
    """
    plans, texts = [], dict(planned)
    refused: UsageError | None = None
    for file in _files(wanted):
        before = _text(file, planned)
        for switch, switched in _switched_skills(wanted):
            try:
                after, change = _on(wanted, file, before, switch, switched, record)
            except UsageError as error:
                if record.of(os.path.realpath(file), switch.key, switched.name) is not None:
                    raise
                refused = refused or error
                continue
            if change is not None:
                plans.append(change)
                texts[file] = after
                break
    if refused is not None and not plans:
        raise refused
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


def _text(file: str, planned: Texts) -> str | None:
    return planned[file] if file in planned else read(file)


def _check_all(wanted: Wanted, texts: Texts, *, is_wanted_off: bool) -> None:
    """Raise `UsageError` unless the host, with these files, does what is wanted."""
    settings = wanted.host.skill_settings
    assert settings is not None
    files = settings_files(settings, wanted.workspace, wanted.home)
    found: list[dict[str, Any]] = [
        mapping_of(parse(texts[file] or "", file.endswith(".toml")))
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
        other = f"another setting of {wanted.host.title} takes precedence"
        message = f"'{wanted.name}' would stay on: {other}"
    else:
        message = f"'{wanted.name}' would stay off: {', '.join(off)} of {wanted.host.title}"
    raise UsageError(message, hint=f"look at {others}" if others else "look at its other rules")
