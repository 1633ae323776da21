"""Make the light tables in `metier/hosts/` from the files in `metier/hosts/known/`.

Hooks load `table.py`, and what reads front matter loads `key_table.py`.

    python tools/make_host_table.py

`make docs` does the same.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metier import hosts
from metier.hosts.known import HOSTS, host_keys
from metier.hosts.loading import SWITCH, honours
from metier.hosts.model import (
    STANDARD_FOLDERS,
    STANDARD_KEYS,
    UNKNOWN,
    Host,
    Key,
    Mark,
    SkillFolder,
)

TABLE = Path(hosts.__file__).with_name("table.py")
KEY_TABLE = Path(hosts.__file__).with_name("key_table.py")
_HEAD = '''\
"""What hooks need of all hosts. Made by tools/make_host_table.py; edit the files in known/."""
# fmt: off
# ruff: noqa: E501  # as long as it gets

'''
_HEAD_OF_KEYS = '''\
"""Keys of a skill's front matter. Made by tools/make_host_table.py; edit the files in known/."""
# fmt: off

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from metier.hosts.model import KeyType

Row: TypeAlias = "tuple[KeyType, tuple[str, ...], bool]"
"""The fields of `metier.hosts.model.Key`."""

'''


def table_text() -> str:
    """The source of the table."""
    ignoring = [host.name for host in HOSTS.values() if host.loading and not honours(host, SWITCH)]
    by_folder = [
        host.name for host in HOSTS.values() if host.loading and host.loading.name == "folder"
    ]
    folders = [[one.label, one.folder] for one in sorted(_folders(), key=_rank)]
    return _HEAD + "\n".join(
        [
            "HOOKS: dict[str, tuple[tuple[str, ...], str, bool]] = {",
            *(f"    {_python(host.name)}: {_hook(host)}," for host in HOSTS.values() if host.hook),
            "}",
            '"""Host → its events, the usual first; the key of an answer; if it has a prompt."""',
            f"IGNORE_THE_SWITCH = frozenset({_python(ignoring)})",
            '"""Hosts that let the model start a skill with `disable-model-invocation: true`."""',
            f"NAME_BY_FOLDER = frozenset({_python(by_folder)})",
            '"""Hosts that call a skill by its folder, whatever name its front matter has."""',
            f"NAMES = {_python(list(HOSTS))}",
            "FOLDERS: tuple[tuple[str, str], ...] = (",
            *(f"    {_python(one)}," for one in folders),
            ")",
            '"""The label and the folder of skills of all hosts, by metier\'s precedence."""',
            "MARKS: tuple[tuple[str, str, str], ...] = (",
            *(f"    {_python(list(one))}," for host in HOSTS.values() for one in _marks(host)),
            ")",
            '"""What shows that a skill was used, what the name follows, what ends it."""',
            "",
        ]
    )


def key_table_text() -> str:
    """The source of the table of keys."""
    return _HEAD_OF_KEYS + "\n".join(
        [
            "STANDARD_KEYS: dict[str, Row] = {",
            *_key_rows(STANDARD_KEYS),
            "}",
            '"""Those of the Agent Skills format."""',
            "HOST_KEYS: dict[str, Row] = {",
            *_key_rows(host_keys()),
            "}",
            '"""Those that some host reads beyond them."""',
            "",
        ]
    )


def _key_rows(keys: Mapping[str, Key]) -> list[str]:
    rows = ((name, [key.type, list(key.choices), key.or_number]) for name, key in keys.items())
    return [f"    {_python(name)}: {_python(row)}," for name, row in rows]


def _hook(host: Host) -> str:
    hook = host.hook
    assert hook is not None
    assert hook.event is not UNKNOWN, f"{host.name}: a hook needs an event"
    assert hook.answer is not UNKNOWN, f"{host.name}: a hook needs the key of an answer"
    others = () if hook.others is UNKNOWN else hook.others
    return _python([[hook.event, *others], hook.answer, hook.sees_prompt is True])


def _marks(host: Host) -> tuple[Mark, ...]:
    return host.transcripts.marks if host.transcripts is not None else ()


def _folders() -> list[SkillFolder]:
    return [*STANDARD_FOLDERS, *(one for host in HOSTS.values() for one in host.folders)]


def _rank(one: SkillFolder) -> tuple[bool, int, str]:
    return one.folder.startswith(("~", "/")), one.rank, one.label


def _python(value: Any) -> str:
    """A value in Python, with double quotes; lists become tuples."""
    if not isinstance(value, list):
        return str(value) if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)
    inner = ", ".join(map(_python, value))
    return f"({inner},)" if len(value) == 1 else f"({inner})"


if __name__ == "__main__":
    TABLE.write_text(table_text(), encoding="utf-8")
    KEY_TABLE.write_text(key_table_text(), encoding="utf-8")
