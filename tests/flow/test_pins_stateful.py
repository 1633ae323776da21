"""Whatever an MCP server says of itself, in any order: only reviewed tools can be called.

The machine changes a server's tools and command, lets agents use it, reviews and revokes as the
user, and damages the record. It compares what is on with a model that knows only the rules.
"""

import asyncio
import json
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from metier.config import Config
from metier.config.mcp_pins import SECTION, McpPins
from metier.config.review_record import ReviewRecord
from metier.errors import ConfigError
from metier.flow.boundary import Boundary
from metier.flow.mcp_review import McpReviews, ServerReview
from metier.run.tools import ToolExecutor, connected
from metier.values.agents import ToolResult
from metier.values.run_settings import ServerSetting
from metier.values.trust import Trust
from run.served_in_process import served, wait
from soak import SOAK

NAMES = ("find", "buy", "sell")
tools = st.dictionaries(
    st.sampled_from(NAMES), st.sampled_from(["Does it.", "Does it!", "Steals."])
)
commands = st.sampled_from(["serve", "serve", "serve --evil"])
_MOST_TURNS = 30
"""Of the event loop: more than a connection needs to close."""
OFF, GONE, LOST = "TOOL_PERMISSION_DENIED", "TOOL_NOT_FOUND", "TOOL_EXECUTION_ERROR"


class Pinned(NamedTuple):
    """What the model knows of a record."""

    command: str
    tools: dict[str, str]
    by: str


class Answered(NamedTuple):
    """What calls led to, and what a model saw of the tools."""

    codes: dict[str, str]
    """Tool → code of its error; empty if it worked."""
    shown: str


class PinMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="metier-pins-"))
        self.workspace = self.folder / "shop"
        (self.workspace / ".git").mkdir(parents=True)
        self.stack = ExitStack()
        home = self.folder / "home"
        home.mkdir()
        self.stack.enter_context(mock.patch.dict("os.environ", {"HOME": str(home)}))
        self.served = self.stack.enter_context(served())
        self.command = "serve"
        self.is_users = True
        self.pinned: dict[bool, Pinned] = {}
        """By whether the server is the user's own."""
        self.digests: dict[str, tuple[str, dict[str, str]]] = {}

    def teardown(self) -> None:
        self.stack.close()
        shutil.rmtree(self.folder)

    # What the server does

    @initialize(first=tools)
    def begin(self, first: dict[str, str]) -> None:
        self.served.tools = first

    @rule(now=tools)
    def says(self, now: dict[str, str]) -> None:
        self.served.tools = now

    # What the workspace tries

    @rule(command=commands)
    def changes_the_command(self, command: str) -> None:
        self.command = command

    @rule()
    def takes_the_place_of_the_users_server(self) -> None:
        self.is_users = not self.is_users

    @rule()
    def forge_a_record(self) -> None:
        """A file like the user's, where the workspace can write."""
        entry = {"start": ["serve"], "tools": {}, "reviewedAt": "2026", "by": "user"}
        forged = {"version": 1, "workspace": str(self.workspace), SECTION: {"shop": entry}}
        for folder in (".metier/reviews", "reviews", ".config/metier/reviews"):
            (self.workspace / folder).mkdir(parents=True, exist_ok=True)
            for name in (Path(self._record().file).name, "user.json"):
                (self.workspace / folder / name).write_text(json.dumps(forged))

    # What agents do

    @rule()
    def use(self) -> None:
        now = dict(self.served.tools)
        answered = asyncio.run(self._answered())
        assert answered.codes == self._expected(now, now)
        self._check_shown(answered, now)

    @rule(later=tools, turns=st.integers(0, _MOST_TURNS))
    def use_while_it_restarts(self, later: dict[str, str], turns: int) -> None:
        """The first call comes while the connection closes, `turns` after it began to."""
        now = dict(self.served.tools)
        answered = asyncio.run(self._answered(later, turns))
        assert answered.codes == self._expected(now, later)
        self._check_shown(answered, now)

    # What the user does

    @rule()
    def look(self) -> None:
        """A review that is not accepted changes nothing, and says what changed."""
        review = self._reviewed()
        known = self.pinned.get(self.is_users)
        before = known.tools if known else {}
        now = self.served.tools
        both = {*before, *now}
        changed = {name for name in both if before.get(name) != now.get(name)}
        assert {one.name for one in review.tools()} == both
        assert {one.name for one in review.tools() if one.change != "same"} == changed
        is_same = known is not None and known.command == self.command and not changed
        assert review.state == ("same" if is_same else "changed" if known else "new")
        told = self.digests.setdefault(review.now.digest, (self.command, dict(now)))
        assert told == (self.command, now)

    @rule(meanwhile=st.none() | tools)
    def accept(self, meanwhile: dict[str, str] | None) -> None:
        """What is recorded is what was shown, whatever the server says by then."""
        review = self._reviewed()
        shown = Pinned(self.command, dict(self.served.tools), "user")
        if meanwhile is not None:
            self.served.tools = meanwhile
        self._reviews().accept(review)
        self.pinned[self.is_users] = shown

    @rule()
    def revoke(self) -> None:
        known = self.pinned.get(self.is_users)
        assert self._reviews().revoke("shop") == (known is None or bool(known.tools))
        self.pinned[self.is_users] = Pinned(self.command, {}, "revoked")

    # What goes wrong

    @precondition(lambda self: self.is_users in self.pinned)
    @rule(entry=st.sampled_from([None, 3, {}, {"tools": {}}, {"tools": {"find": 1}}]))
    def damage_the_entry(self, entry: object) -> None:
        record = self._record()
        data = json.loads(Path(record.file).read_text())
        data[SECTION]["shop"] = entry
        Path(record.file).write_text(json.dumps(data))
        self.pinned[self.is_users] = Pinned("", {}, "invalid")

    @precondition(lambda self: self.is_users in self.pinned)
    @rule(content=st.sampled_from([b"", b"{", b"[]", b"[" * 9999, b'{"version": 2}']))
    def use_with_a_damaged_record(self, content: bytes) -> None:
        file = Path(self._record().file)
        kept = file.read_bytes()
        file.write_bytes(content)
        answered = asyncio.run(self._answered())
        assert all(answered.codes.values())
        assert file.read_bytes() == content
        try:
            self._reviews().revoke("shop")
        except ConfigError:
            file.write_bytes(kept)
        else:
            raise AssertionError("a damaged record was replaced")

    # The model

    def _expected(self, listed: dict[str, str], now: dict[str, str]) -> dict[str, str]:
        """Code by tool; what is `listed` at a first use is recorded. `now`: after a restart."""
        first = Pinned(self.command, listed, "first-use")
        known = self.pinned.setdefault(self.is_users, first)
        if known.command != self.command:
            return dict.fromkeys(NAMES, OFF)
        codes = dict.fromkeys(NAMES, GONE)
        for name, text in listed.items():
            is_on = known.tools.get(name) == text == now.get(name)
            codes[name] = "" if is_on else OFF
        return codes

    def _check_shown(self, answered: Answered, listed: dict[str, str]) -> None:
        """Models read descriptions as they were reviewed, and no other."""
        known = self.pinned[self.is_users]
        is_on = known.command == self.command
        reviewed = [text for name, text in listed.items() if known.tools.get(name) == text]
        for text in ("Does it.", "Does it!", "Steals."):
            assert (text in answered.shown) == (is_on and text in reviewed)

    # Real calls

    def _settings(self) -> ServerSetting:
        command, *args = self.command.split()
        folder = str(self.workspace)
        return ServerSetting(
            "shop", command, tuple(args), folder=folder, is_users=self.is_users, timeout=300.0
        )

    def _reviews(self) -> McpReviews:
        config = Config(servers=(self._settings(),), is_trusted=True)
        return McpReviews(Boundary(str(self.workspace), Trust("trusted"), config))

    def _reviewed(self) -> ServerReview:
        return self._reviews().review("shop")

    def _record(self) -> ReviewRecord:
        return ReviewRecord(str(self.workspace), is_users=self.is_users)

    async def _answered(self, later: dict[str, str] | None = None, turns: int = 0) -> Answered:
        """Call every tool as an agent does; with `later` after a restart with other tools."""
        wanted = [f"shop__{name}" for name in NAMES]
        executor = ToolExecutor(consent=wanted)
        known, starts = self.pinned.get(self.is_users), self.served.starts
        pins = McpPins(str(self.workspace))
        async with connected(executor, [self._settings()], wanted, pins=pins):
            shown = "\n".join(str(spec) for spec in executor.specs())
            is_started = known is None or known.command == self.command
            if later is not None and is_started:
                self.served.tools = later
                self.served.stop()
                await wait(turns)
                await self._restart(executor, wanted)
            results = [await executor.execute(name, {}) for name in wanted]
        if not is_started:
            assert self.served.starts == starts
        return Answered({one: _code(r) for one, r in zip(NAMES, results, strict=True)}, shown)

    async def _restart(self, executor: ToolExecutor, wanted: list[str]) -> None:
        """Call until a call meets the stop: the next one starts the server, and no other does."""
        before = self.served.starts
        for name in wanted * _MOST_TURNS:  # each takes a turn at least, unless all are off
            if _code(await executor.execute(name, {})) == LOST:
                assert _code(await executor.execute(name, {})) != LOST
                break
            assert self.served.starts == before


def _code(result: ToolResult) -> str:
    return "" if result.success else result.error_code or ""


TestPins = PinMachine.TestCase
TestPins.settings = settings(
    max_examples=200 if SOAK else 25, stateful_step_count=40 if SOAK else 12, deadline=None
)
