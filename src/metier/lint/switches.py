"""Rules for the switches of front matter that some hosts ignore."""

from collections.abc import Sequence

from metier.hosts.model import Host
from metier.lint.noting import Findings
from metier.values.files import Matter
from metier.values.outcomes import Issue
from metier.values.skills import Skill


def lint_switch(skill: Skill, matter: Matter, hosts: Sequence[Host]) -> list[Issue]:
    """The finding that these hosts ignore `disable-model-invocation`."""
    if not hosts or not skill.is_manual:
        return []
    found = Findings(skill.path, matter)
    hint = "keep it in a folder of hosts that honour it, such as .claude/skills"
    for host in hosts:
        for file in (one.file for one in host.switches if one.at == "file beside"):
            hint += f"; for {host.title} add {file} beside it: metier explain SK317"
    message = f"{_ignore(hosts)} 'disable-model-invocation': the model may start this skill there"
    names = tuple(host.name for host in hosts)
    found.add("SK317", message, ("disable-model-invocation",), hint, names)
    return found.issues


def lint_hidden_switch(skill: Skill, matter: Matter, hosts: Sequence[Host]) -> list[Issue]:
    """The note that these hosts ignore `user-invocable: false`."""
    found = Findings(skill.path, matter)
    if hosts:
        message = f"{_ignore(hosts)} 'user-invocable': the user may start this skill there"
        hint = "say in the description that it is only for the model"
        names = tuple(host.name for host in hosts)
        found.add("SK329", message, ("user-invocable",), hint, names)
    return found.issues


def _ignore(hosts: Sequence[Host]) -> str:
    """`Codex CLI and Gemini CLI ignore`"""
    titles = [host.title for host in hosts]
    named = " and ".join(filter(None, [", ".join(titles[:-1]), titles[-1]]))
    return f"{named} {'ignores' if len(hosts) == 1 else 'ignore'}"
