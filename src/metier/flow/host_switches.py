"""Whether the settings of a host switch a skill by a name that a repair would change."""

from typing import NamedTuple

from metier.hosts.known import HOSTS
from metier.hosts.model import Host
from metier.hosts.skill_settings import HostSettings, read_host_settings


class NamedSkill(NamedTuple):
    """What settings can call a skill by."""

    name: str
    path: str
    file: str
    plugin: str

    @property
    def folder(self) -> str:
        return self.file.rsplit("/", 2)[-2]


class HostSwitches:
    """The switches for skills in the settings of every host."""

    def __init__(self, workspace: str, home: str) -> None:
        read = (
            (host, read_host_settings(host.skill_settings, workspace, home))
            for host in HOSTS.values()
        )
        self._settings = [(host, settings) for host, settings in read if settings.switched]

    def changed_by(self, old: NamedSkill, new: NamedSkill) -> str:
        """The host that would switch the skill otherwise under its new name; empty if none."""
        changed = (
            host.title
            for host, settings in self._settings
            if _switches(host, settings, old) != _switches(host, settings, new)
        )
        return next(changed, "")


def _switches(host: Host, settings: HostSettings, skill: NamedSkill) -> dict[str, str]:
    """The values in settings; what is in a file beside the skill moves with it."""
    if settings.switched is None:
        return {}
    keys = {one.key for one in host.switches if one.at == "settings"}
    values = settings.switched(skill, skill.folder)
    return {key: value for key, value in values.items() if key in keys}
