"""Hook and server of one host: in whatever order they come and go, nothing of them is left."""

import json
from collections.abc import Callable
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as profile
from hypothesis import strategies as st

from metier.hosts.known import HOOKS, SERVERS
from metier.hosts.settings_forms import Scope
from metier.install.changes import BACKUP, Plan, apply
from metier.install.plans import make_plan

pytestmark = pytest.mark.slow

COMMAND = ["/opt/bin/metier"]
SCOPES: tuple[Scope, ...] = ("project", "user")
PLACES: list[tuple[str, Scope]] = [
    (name, scope)
    for name, host in SERVERS.items()
    for scope in SCOPES
    if name in HOOKS and (host.project if scope == "project" else host.user)
]
STEPS = ("hook in", "server in", "hook out", "server out")
ORDERS = list(permutations(STEPS))
Tree = dict[str, bytes | None]


class Machine:
    """A workspace and a home, for one host in one scope."""

    def __init__(self, folder: Path, host: str, scope: Scope) -> None:
        self.folder, self.host, self.scope = folder, host, scope
        self.places = (str(folder / "ws"), str(folder / "home"))
        for place in self.places:
            Path(place).mkdir(parents=True)

    def plan(self, step: str) -> Plan:
        about = (self.host, self.scope, *self.places)
        plans: dict[str, Callable[[], Plan]] = {
            "hook in": lambda: make_plan("hook", *about, COMMAND),
            "server in": lambda: make_plan("mcp", *about, COMMAND),
            "hook out": lambda: make_plan("hook", *about),
            "server out": lambda: make_plan("mcp", *about),
        }
        return plans[step]()

    def do(self, *steps: str) -> None:
        for step in steps:
            apply(self.plan(step))

    def file(self, kind: str) -> Path:
        """The file that a hook or a server is written into."""
        return Path(self.plan(f"{kind} in").changes[0].path)

    def write(self, kind: str, text: str) -> Path:
        file = self.file(kind)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def tree(self) -> Tree:
        return {
            str(one.relative_to(self.folder)): one.read_bytes() if one.is_file() else None
            for one in sorted(self.folder.rglob("*"))
        }


FOREIGN_JSON = """{
    "theme" : "dark", "size": 1.50,
    "version": 1,
    "hooks": {"BeforeAgent": [], "Stop": [{"hooks": [{"type": "command", "command": "x"}]}]},
    "mcpServers": {"other": {"command": "/bin/y", "args": ["mcp"]}},
    "mcp": {"other": {"command": ["z"]}}
}

"""
FOREIGN_TOML = '# mine\nmodel = "x"  # why\n\n[mcp_servers.other]\ncommand = "y"\n\n\n'
CONTENTS = {
    "no folder": None,
    "no file": None,
    "empty": {"json": "", "toml": ""},
    "nothing in it": {"json": "{}", "toml": "# nothing\n"},
    "foreign": {"json": FOREIGN_JSON, "toml": FOREIGN_TOML},
}


def fill(machine: Machine, content: str) -> None:
    """Put what the name says into the place of both files, as far as they are no plugin."""
    texts = CONTENTS[content]
    for kind in ("hook", "server"):
        is_plugin = kind == "hook" and HOOKS[machine.host].entry is None
        file = machine.file(kind)
        if content == "no folder" or (is_plugin and texts):
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        if texts:
            file.write_text(texts["toml" if file.suffix == ".toml" else "json"])


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize(("host", "scope"), PLACES)
def test_in_every_order_all_is_as_before_when_both_have_gone(
    host: str, scope: Scope, content: str, tmp_path: Path
) -> None:
    for number, order in enumerate(ORDERS):
        machine = Machine(tmp_path / str(number), host, scope)
        fill(machine, content)
        before = machine.tree()
        installed: set[str] = set()
        for step in order:
            machine.do(step)
            kind = step.split()[0]
            installed = installed | {kind} if step.endswith("in") else installed - {kind}
            assert {one for one in ("hook", "server") if not machine.plan(f"{one} in").changed} == (
                installed
            ), (order, step)
        machine.do("hook out", "server out")
        assert machine.tree() == before, order


def test_a_host_that_both_commands_know_is_tried_in_both_scopes() -> None:
    assert len(PLACES) == 12
    assert len(ORDERS) == 24


@profile(max_examples=50)
@given(st.lists(st.sampled_from(STEPS), max_size=9), st.sampled_from(sorted(CONTENTS)))
def test_however_often_they_come_and_go_nothing_is_left(
    tmp_path_factory: pytest.TempPathFactory, steps: list[str], content: str
) -> None:
    machine = Machine(tmp_path_factory.mktemp("shared"), "gemini", "project")
    fill(machine, content)
    before = machine.tree()
    machine.do(*steps, "server out", "hook out")
    assert machine.tree() == before


# After other changes


@pytest.fixture
def gemini(tmp_path: Path) -> Machine:
    return Machine(tmp_path, "gemini", "project")


def edit(file: Path, **more: object) -> None:
    file.write_text(json.dumps({**json.loads(file.read_text()), **more}, indent=4))


BOTH_OUT = [("hook out", "server out"), ("server out", "hook out")]


@pytest.mark.parametrize("out", BOTH_OUT)
@pytest.mark.parametrize("into", [("hook in", "server in"), ("server in", "hook in")])
@pytest.mark.parametrize("at", [1, 2, 3])
def test_what_was_added_to_a_file_of_metier_alone_stays_and_nothing_else(
    gemini: Machine, into: tuple[str, str], out: tuple[str, str], at: int
) -> None:
    steps = [*into, *out]
    gemini.do(*steps[:at])
    file = gemini.file("hook")
    edit(file, theme="dark")
    gemini.do(*steps[at:])
    assert json.loads(file.read_text()) == {"theme": "dark"}
    assert gemini.tree().keys() == {"ws", "home", "ws/.gemini", "ws/.gemini/settings.json"}


@pytest.mark.parametrize("out", BOTH_OUT)
def test_what_was_changed_since_stays_and_so_does_the_first_copy(
    gemini: Machine, out: tuple[str, str]
) -> None:
    file = gemini.write("hook", '{"theme": "dark"}')
    gemini.do("hook in")
    edit(file, theme="light")
    gemini.do("server in", *out)
    assert json.loads(file.read_text()) == {"theme": "light"}
    assert file.with_name(file.name + BACKUP).read_text() == '{"theme": "dark"}'


def test_a_hook_that_somebody_wrote_is_in_the_copy_that_the_server_makes(gemini: Machine) -> None:
    entry = {"type": "command", "command": "metier hook gemini"}
    text = json.dumps({"hooks": {"BeforeAgent": [{"hooks": [entry]}]}})
    file = gemini.write("hook", text)
    gemini.do("server in")
    assert file.with_name(file.name + BACKUP).read_text() == text
    gemini.do("server out")
    assert file.read_text() == text
    assert not gemini.plan("hook in").changed


def test_a_server_that_somebody_wrote_is_in_the_copy_that_the_hook_makes(gemini: Machine) -> None:
    text = json.dumps({"mcpServers": {"metier": {"command": "metier", "args": ["mcp"]}}})
    file = gemini.write("server", text)
    gemini.do("hook in")
    assert file.with_name(file.name + BACKUP).read_text() == text
    gemini.do("hook out")
    assert file.read_text() == text
    assert not gemini.plan("server in").changed


def test_the_copy_of_a_hook_that_somebody_wrote_has_no_server_of_metier(gemini: Machine) -> None:
    gemini.do("server in")
    entry = {"type": "command", "command": "metier hook gemini"}
    hooks = {"BeforeAgent": [{"hooks": [entry]}]}
    file = gemini.file("hook")
    edit(file, hooks=hooks)
    gemini.do("hook out", "server out")
    assert json.loads(file.read_text()) == {}
    assert json.loads(file.with_name(file.name + BACKUP).read_text()) == {"hooks": hooks}


# Folders that they share


def test_a_folder_that_is_used_by_somebody_else_stays_without_a_mark(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "openclaw", "user")
    machine.do("hook in", "server in")
    (tmp_path / "home/.openclaw/extensions/other").mkdir()
    machine.do("hook out", "server out")
    assert machine.tree().keys() == {
        "ws",
        "home",
        "home/.openclaw",
        "home/.openclaw/extensions",
        "home/.openclaw/extensions/other",
    }


@pytest.mark.parametrize(("host", "scope"), [("codex", "project"), ("openclaw", "user")])
def test_a_file_that_somebody_removed_does_not_hold_its_folder(
    host: str, scope: Scope, tmp_path: Path
) -> None:
    machine = Machine(tmp_path, host, scope)
    before = machine.tree()
    machine.do("server in", "hook in")
    machine.file("server").unlink()
    machine.do("hook out")
    assert machine.tree() == before


def test_a_folder_that_was_there_in_between_stays(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "openclaw", "user")
    machine.do("server in")
    (tmp_path / "home/.openclaw/extensions").mkdir()
    machine.do("hook in", "server out", "hook out")
    assert machine.tree().keys() == {
        "ws",
        "home",
        "home/.openclaw",
        "home/.openclaw/extensions",
    }


def test_a_file_of_somebody_else_in_a_folder_of_metier_has_no_mark(tmp_path: Path) -> None:
    machine = Machine(tmp_path, "codex", "project")
    machine.do("hook in")
    file = machine.write("server", 'model = "x"\n')
    machine.do("server in")
    assert "metier" in file.read_text()
    marks = [name for name in machine.tree() if name.endswith("-made")]
    assert marks == ["ws/.codex/hooks.json.metier-made"]
