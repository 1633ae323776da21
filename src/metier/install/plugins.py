"""The plugins for hosts that run JavaScript instead of a command.

Each file works alone, since a host loads every file of its folder as a plugin. It runs the command
once for a prompt, waits at most two seconds, and stays silent whatever goes wrong.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence

from metier.errors import MetierError, UsageError
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

_OPENCODE = """
const MOST_SESSIONS = 100
const answers = new Map() // session → what the command says to its latest prompt

function remember(session, prompt, cwd) {
  answers.delete(session)
  if (!prompt) return
  answers.set(session, ask({ hook_event_name: "chat.message", prompt, cwd, session_id: session }))
  if (answers.size > MOST_SESSIONS) answers.delete(answers.keys().next().value)
}

// opencode 1. Only the prompts of running agents name the folder; those for a title do not.
const server = async ({ directory }) => ({
  "chat.message": quietly(async (input, output) => {
    const texts = output.parts.filter((part) => part.type === "text" && !part.synthetic)
    remember(input.sessionID, texts.map((part) => part.text).join("\\n"), directory)
  }),
  "experimental.chat.system.transform": quietly(async (input, output) => {
    if (!output.system.some((part) => part.includes(directory))) return
    const text = await answers.get(input.sessionID)
    if (text) output.system[0] += `\\n\\n${text}`
  }),
})

// opencode 2
const setup = async (host) => {
  const cwd = host.location?.directory ?? process.cwd()
  await host.session.hook("prompt", quietly(async (event) => {
    remember(event.sessionID, event.prompt.text, cwd)
  }))
  await host.session.hook("context", quietly(async (event) => {
    const text = await answers.get(event.sessionID)
    if (text) event.system.push({ type: "text", text })
  }))
}

export default { id: "metier", server, setup: quietly(setup) }
"""

_OPENCLAW = """
const MOST_MESSAGES = 5
const MOST_LETTERS = 6000 // of one message

function textIn(content) {
  const parts = Array.isArray(content) ? content : [{ type: "text", text: content }]
  const texts = parts.filter((part) => part?.type === "text").map((part) => part.text)
  return texts.join("\\n").slice(0, MOST_LETTERS)
}

const answer = quietly(async (event, about) => {
  const prompt = event.currentUserMessage ?? event.prompt
  if (!prompt) return undefined
  const text = await ask({
    hook_event_name: "before_prompt_build",
    prompt,
    cwd: about?.workspaceDir ?? process.cwd(),
    session_id: about?.sessionId ?? about?.sessionKey,
    messages: (event.messages ?? []).slice(-MOST_MESSAGES).map((message) => ({
      role: message?.role,
      content: textIn(message?.content),
    })),
  })
  return text ? { prependContext: text } : undefined
})

export default {
  id: "metier",
  name: "metier",
  register: (host) => host.on("before_prompt_build", answer),
}
"""


def mark(host: str) -> str:
    """Marks the files that metier creates for `host`."""
    return f"made by 'metier hook install {host}'"


def plugin_files(host: str, command: Sequence[str]) -> dict[str, str]:
    return _PLUGINS[host](command)


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


def _opencode(command: Sequence[str]) -> dict[str, str]:
    return {"metier.js": _script("opencode", _OPENCODE, command)}


def _openclaw(command: Sequence[str]) -> dict[str, str]:
    about = f"Injects what a prompt needs; {mark('openclaw')}."
    manifest = {
        "id": "metier",
        "name": "metier",
        "description": about,
        "activation": {"onStartup": True},
        "configSchema": {"type": "object", "additionalProperties": False, "properties": {}},
    }
    package = {
        "name": "metier-hook",
        "version": "1.0.0",
        "description": about,
        "private": True,
        "type": "module",
        "openclaw": {"extensions": ["./index.js"]},
    }
    return {
        "index.js": _script("openclaw", _OPENCLAW, command),
        "package.json": json.dumps(package, indent=2) + "\n",
        "openclaw.plugin.json": json.dumps(manifest, indent=2) + "\n",
    }


_PLUGINS: dict[str, Callable[[Sequence[str]], dict[str, str]]] = {
    "opencode": _opencode,
    "openclaw": _openclaw,
}


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
