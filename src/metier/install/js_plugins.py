"""The plugins for hosts that run JavaScript instead of a command.

Each file works alone, since a host loads every file of its folder as a plugin. It runs the command
once for a prompt, waits at most two seconds, and stays silent whatever goes wrong.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence

from metier.errors import MetierError, UsageError
from metier.hosts.known import HOOKS
from metier.hosts.settings_forms import MARK
from metier.install.changes import BACKUP, Change, backup_of, read

_ASK = """\
import { execFile } from "node:child_process"

const COMMAND = @COMMAND@
const LIMITS = { timeout: 2000, maxBuffer: 65536, killSignal: "SIGKILL" }

function contextIn(output) {
  try {
    const text = JSON.parse(output)?.additionalContext
    return typeof text === "string" ? text : ""
  } catch {
    return ""
  }
}

// What the command says to a prompt; nothing when it fails, is late or prints too much.
const ask = (input) => new Promise((resolve) => {
  const given = JSON.stringify(input)
  const done = (error, output) => resolve(error ? "" : contextIn(output))
  const child = execFile(COMMAND[0], COMMAND.slice(1), LIMITS, done)
  child.stdin.on("error", () => {})
  child.stdin.end(given)
}).catch(() => "")

const quietly = (run) => async (...given) => {
  try {
    return await run(...given)
  } catch {
    return undefined
  }
}
"""

_COMMAND = re.compile(r"^const COMMAND = (\[.*\])$", re.MULTILINE)


def mark(host: str) -> str:
    """Marks the files that metier creates for `host`."""
    return f"made by 'metier hook install {host}'"


def plugin_files(host: str, command: Sequence[str]) -> dict[str, str]:
    return {
        name: _script(host, text, command)
        if name.endswith(".js")
        else text.replace(MARK, mark(host))
        for name, text in HOOKS[host].plugin.items()
    }


def is_unedited(host: str, name: str, text: str) -> bool:
    """Whether a file is as metier writes it, for any command."""
    found = _COMMAND.search(text)
    try:
        command = json.loads(found[1]) if found else []
    except ValueError:
        return False
    return plugin_files(host, command).get(name) == text


def _script(host: str, body: str, command: Sequence[str]) -> str:
    return f"// {mark(host)}\n" + _ASK.replace("@COMMAND@", json.dumps(list(command))) + body


def plugin_changes(host: str, folder: str, command: Sequence[str]) -> Iterator[Change]:
    """Write the plugin. Raises `UsageError` for a file that is not metier's."""
    for name, text in plugin_files(host, command).items():
        path = os.path.join(folder, name)
        before = read(path)
        if before is not None and mark(host) not in before:
            hint = f"move it away, then: metier hook install {host}"
            raise UsageError("the file is there and is not metier's", where=path, hint=hint)
        is_known = before is None or is_unedited(host, name, before)
        yield Change(path=path, before=before, after=text, backup=backup_of(path, is_known))


def plugin_removals(host: str, folder: str) -> Iterator[Change]:
    """Restore the files from before the first install, or remove the plugin, last file first."""
    names = list(reversed(plugin_files(host, [])))
    paths = {name: os.path.join(folder, name) for name in names}
    now = {name: read(path) for name, path in paths.items()}
    kept = {name: text for name in names if (text := _kept(host, paths[name], now[name]))}
    for name, path in paths.items():
        before = now[name]
        if name in kept:
            yield Change(path=path, before=before, after=kept[name], backup="drop")
        elif kept or before is None or mark(host) not in before:
            yield Change(path=path, before=before, after=before)
        else:
            copy = backup_of(path, is_unedited(host, name, before))
            yield Change(path=path, before=before, after=None, backup=copy)


def _kept(host: str, path: str, now: str | None) -> str:
    """The backup of a file of metier; empty for none."""
    try:
        text = read(path + BACKUP) or ""
    except MetierError:
        return ""
    is_ours = now is not None and mark(host) in now
    return text if is_ours and mark(host) in text and text != now else ""
