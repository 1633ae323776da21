"""The plugins in JavaScript, run by node with a stand-in for the command and for the host."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from metier.hook.serve import envelope
from metier.install.js_plugins import plugin_files

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("node") is None, reason="no node here"),
]

ANSWERS = """#!/bin/sh
cat > "$0.input"
printf '%s' "$*" > "$0.arguments"
cat "$0.answer"
"""
CONTEXT = 'Ränge ≥ 1 "so"\n\nund $(so)'
MEGABYTE = "yes | head -c 1000000 | tr -d '\\n'"
SILENT = {
    "hangs": "exec tail -f /dev/null",
    "hangs, deaf to a polite signal": "trap '' TERM; exec tail -f /dev/null",
    "leaves its pipe to another": "sleep 3 & exit 0",
    "prints 1 MB": MEGABYTE,
    "prints 1 MB of JSON": f"""printf '{{"additionalContext": "'; {MEGABYTE}; printf '"}}'""",
    "exits with 1": """printf '{"additionalContext": "x"}'; exit 1""",
    "prints nothing": "exit 0",
    "prints something else": "printf 'Traceback: x'",
    "prints other JSON": "printf '[1, null]'",
    "prints null": "printf null",
    "prints no text": """printf '{"additionalContext": {"a": 1}}'""",
    "reads nothing and ends": "exec 0<&-; printf '{}'",
}
OPENCODE_1 = """
const hooks = await plugin.server({ directory: "/project" })
const message = (text, session) => hooks["chat.message"](
  { sessionID: session }, { parts: [{ type: "file" }, { type: "text", text },
    { type: "text", text: "not typed", synthetic: true }] })
const transformed = async (session, given) => {
  const output = { system: given }
  await hooks["experimental.chat.system.transform"]({ sessionID: session }, output)
  return output.system
}
const system = async (session, given) =>
  (await transformed(session, [...given, "Working directory: /project"])).slice(0, -1)
await message("Fix it", "s1")
"""
OPENCODE_2 = """
const hooks = {}
const host = { location: { directory: "/project" }, session: { hook: async (name, run) => {
  hooks[name] = run
} } }
await plugin.setup(host)
const context = async (session) => {
  const event = { sessionID: session, system: [{ type: "text", text: "You are." }] }
  await hooks.context(event)
  return event.system
}
await hooks.prompt({ sessionID: "s1", prompt: { text: "Fix it" } })
"""
OPENCLAW = """
const hooks = {}
plugin.register({ on: (name, run) => { hooks[name] = run } })
const build = async (event, about) => (await hooks.before_prompt_build(event, about)) ?? null
"""


class Shim:
    """One plugin, installed beside a command called metier."""

    def __init__(self, host: str, folder: Path, script: str, timeout: int = 60_000) -> None:
        """`envelope` is what the command really answers with."""
        self.command = folder / "a b" / "metier"
        self.command.parent.mkdir()
        self.command.write_text(script)
        self.command.chmod(0o755)
        Path(f"{self.command}.answer").write_text(envelope(host, "", CONTEXT))
        files = plugin_files(host, [str(self.command), "hook", host])
        for name, text in files.items():
            shorter = text.replace("timeout: 2000", f"timeout: {timeout}")
            (folder / name).write_text(shorter)
        source = next(name for name in files if name.endswith(".js"))
        self.module = folder / source.replace(".js", ".mjs")
        shutil.copy(folder / source, self.module)
        self.folder = folder

    def run(self, code: str) -> Any:
        """What `code` gives to `say`; node must end by itself, with nothing on its streams."""
        driver = self.folder / "driver.mjs"
        driver.write_text(
            f"import plugin from {json.dumps(str(self.module))}\n"
            "const say = (value) => console.log(JSON.stringify(value))\n" + code
        )
        finished = subprocess.run(
            ["node", str(driver)], capture_output=True, text=True, check=False, timeout=300
        )
        assert finished.stderr == ""
        assert finished.returncode == 0
        return json.loads(finished.stdout)

    @property
    def input(self) -> Any:
        return json.loads(Path(f"{self.command}.input").read_text())

    @property
    def arguments(self) -> str:
        return Path(f"{self.command}.arguments").read_text()


# opencode 1


def test_opencode_appends_to_the_first_part_of_the_system_prompt(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    said = shim.run(OPENCODE_1 + 'say(await system("s1", ["You are.", "Rules."]))')
    assert said == [f"You are.\n\n{CONTEXT}", "Rules."]
    assert shim.arguments == "hook opencode"
    assert shim.input == {
        "hook_event_name": "chat.message",
        "prompt": "Fix it",
        "cwd": "/project",
        "session_id": "s1",
    }


def test_opencode_asks_once_for_a_prompt_and_says_it_at_every_step(tmp_path: Path) -> None:
    counting = ANSWERS.replace("cat >", 'echo x >> "$0.count"; cat >')
    shim = Shim("opencode", tmp_path, counting)
    code = 'say([await system("s1", ["a"]), await system("s1", ["b"])])'
    assert shim.run(OPENCODE_1 + code) == [[f"a\n\n{CONTEXT}"], [f"b\n\n{CONTEXT}"]]
    assert Path(f"{shim.command}.count").read_text() == "x\n"


def test_opencode_keeps_sessions_apart_and_takes_an_empty_prompt_for_none(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    code = """
const other = await system("s2", ["You are."])
await message("", "s1")
say([other, await system("s1", ["You are."]), await system("s1", [])])
"""
    assert shim.run(OPENCODE_1 + code) == [["You are."], ["You are."], []]


def test_opencode_gets_nothing_in_its_request_for_a_title(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    code = 'say(await transformed("s1", ["Make a title."]))'
    assert shim.run(OPENCODE_1 + code) == ["Make a title."]


def test_opencode_remembers_a_bounded_number_of_sessions(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, '#!/bin/sh\nprintf \'{"additionalContext": "x"}\'\n')
    code = """
for (let at = 0; at < 100; at++) await message("go", `n${at}`)
say([await system("s1", ["first"]), await system("n99", ["last"])])
"""
    assert shim.run(OPENCODE_1 + code) == [["first"], ["last\n\nx"]]


@pytest.mark.parametrize("what", SILENT)
def test_opencode_goes_on_when_the_command(what: str, tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, f"#!/bin/sh\n{SILENT[what]}\n", timeout=300)
    assert shim.run(OPENCODE_1 + 'say(await system("s1", ["You are."]))') == ["You are."]


def test_opencode_never_throws_whatever_it_is_given(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    shim.command.unlink()
    code = """
const odd = [undefined, null, 1, {}, { parts: 1 }, { parts: [null] }, { system: null }]
for (const input of odd) for (const output of odd) {
  for (const run of Object.values(hooks)) await run(input, output)
  await plugin.setup(input)
}
say(await system("s1", ["You are."]))
"""
    assert shim.run(OPENCODE_1 + code) == ["You are."]


def test_opencode_survives_a_prompt_that_is_no_json(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    code = """
await hooks.prompt({ sessionID: "s1", prompt: { text: 1n } })
await new Promise(setImmediate)
say((await context("s1")).length)
"""
    assert shim.run(OPENCODE_2 + code) == 1


# opencode 2


def test_opencode_2_gets_a_part_of_its_own(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    first = {"type": "text", "text": "You are."}
    said = shim.run(OPENCODE_2 + 'say([await context("s1"), await context("s2")])')
    assert said == [[first, {"type": "text", "text": CONTEXT}], [first]]
    assert shim.input["cwd"] == "/project"
    assert shim.input["prompt"] == "Fix it"


@pytest.mark.parametrize("what", SILENT)
def test_opencode_2_goes_on_when_the_command(what: str, tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, f"#!/bin/sh\n{SILENT[what]}\n", timeout=300)
    said = shim.run(OPENCODE_2 + 'say(await context("s1"))')
    assert said == [{"type": "text", "text": "You are."}]


def test_one_file_serves_both_and_exports_nothing_else(tmp_path: Path) -> None:
    shim = Shim("opencode", tmp_path, ANSWERS)
    code = f"""
const all = await import({json.dumps(str(shim.module))})
say([Object.keys(all), Object.keys(plugin), plugin.id])
"""
    assert shim.run(code) == [["default"], ["id", "server", "setup"], "metier"]


# OpenClaw


def test_openclaw_gets_the_context_before_the_prompt(tmp_path: Path) -> None:
    shim = Shim("openclaw", tmp_path, ANSWERS)
    messages = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": [{"type": "text", "text": "two"}, {"type": "image"}]},
        {"role": "user", "content": "x" * 7000},
        *({"role": "user", "content": str(number)} for number in range(3)),
    ]
    event = json.dumps({"prompt": "Fix it", "messages": messages})
    about = json.dumps({"workspaceDir": "/project", "sessionId": "s1", "sessionKey": "main"})
    assert shim.run(OPENCLAW + f"say(await build({event}, {about}))") == {"prependContext": CONTEXT}
    assert shim.arguments == "hook openclaw"
    assert shim.input == {
        "hook_event_name": "before_prompt_build",
        "prompt": "Fix it",
        "cwd": "/project",
        "session_id": "s1",
        "messages": [
            {"role": "assistant", "content": "two"},
            {"role": "user", "content": "x" * 6000},
            *({"role": "user", "content": str(number)} for number in range(3)),
        ],
    }


def test_openclaw_reads_the_request_itself_where_it_is_given(tmp_path: Path) -> None:
    shim = Shim("openclaw", tmp_path, ANSWERS)
    code = """
const none = await build({ prompt: "history and all", currentUserMessage: "" }, {})
await build({ prompt: "history and all", currentUserMessage: "Fix it" }, { sessionKey: "main" })
say(none)
"""
    assert shim.run(OPENCLAW + code) is None
    assert (shim.input["prompt"], shim.input["session_id"]) == ("Fix it", "main")
    assert shim.input["messages"] == []


@pytest.mark.parametrize("what", SILENT)
def test_openclaw_goes_on_when_the_command(what: str, tmp_path: Path) -> None:
    shim = Shim("openclaw", tmp_path, f"#!/bin/sh\n{SILENT[what]}\n", timeout=300)
    assert shim.run(OPENCLAW + 'say(await build({ prompt: "Fix it" }, {}))') is None


def test_openclaw_never_throws_whatever_it_is_given(tmp_path: Path) -> None:
    shim = Shim("openclaw", tmp_path, ANSWERS)
    shim.command.unlink()
    code = """
const odd = [undefined, null, 1, {}, { prompt: "x", messages: 1 }, { prompt: {}, messages: [null] }]
const said = []
for (const event of odd) for (const about of odd) said.push(await build(event, about))
say(said.filter((one) => one !== null))
"""
    assert shim.run(OPENCLAW + code) == []


# Both


@pytest.mark.parametrize("host", ["opencode", "openclaw"])
def test_time_and_output_are_bounded_and_no_shell_is_between(host: str) -> None:
    (script,) = (
        text for name, text in plugin_files(host, ["/x/metier"]).items() if name.endswith(".js")
    )
    assert "timeout: 2000, maxBuffer: 65536" in script
    assert "shell" not in script
    assert script.count("execFile(") == 1


def test_a_path_with_anything_in_it_is_only_a_path(tmp_path: Path) -> None:
    files = plugin_files("opencode", ['/x"]; process.exit(1) //\n\u2028`${1}`/metier'])
    assert files
    for text in files.values():
        file = tmp_path / "odd.mjs"
        file.write_text(text)
        code = f"import plugin from {json.dumps(str(file))}; console.log(plugin.id)"
        finished = subprocess.run(
            ["node", "--input-type=module", "-e", code],
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )
        assert finished.stdout == "metier\n"
