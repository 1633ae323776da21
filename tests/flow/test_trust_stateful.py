"""Whatever a workspace does, in any order: only the user's record says what it may do.

The machine changes settings and files of two workspaces, trusts and forgets them as the user, goes
back to the file that all workspaces shared, and damages the record. After each step it compares the
trust in both workspaces with a model that knows only the rules.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from metier.config import Config, read_settings
from metier.config.powers import Powers
from metier.config.record import Entry, TrustRecord
from metier.flow.boundary import RECORD, open_boundary, power_set
from metier.values.trust import Trust
from soak import SOAK

NAMES = ("own", "cloned")
names = st.sampled_from(NAMES)
scripts = st.integers(0, 2)
POWERS = (
    '[tools.chart]\nargv = ["sh", "chart.sh"]\n',
    '[tools.chart]\nargv = ["sh", "-c", "sh chart.sh"]\n',
    '[models.lab]\nbase-url = "http://127.0.0.1:1/v1"\napi-key-env = "LAB_KEY"\n',
    "mounts = []\n",
)
COMFORT = ("", '[lint]\nselect = ["SK"]\n')
powers = st.sampled_from(POWERS)
Known = tuple[str, int, bool]
"""The settings and the script that were trusted, and whether the workspace may speak."""


class TrustMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="metier-trust-"))
        (self.folder / "home").mkdir()
        self.environ = mock.patch.dict("os.environ", {"HOME": str(self.folder / "home")})
        self.environ.start()
        self.roots = {name: self.folder / name for name in NAMES}
        self.powers = dict.fromkeys(NAMES, "")
        self.scripts = dict.fromkeys(NAMES, 0)
        self.known: dict[str, Known] = {}
        self.damaged: set[str] = set()

    def teardown(self) -> None:
        self.environ.stop()
        shutil.rmtree(self.folder)

    @initialize(first=powers)
    def begin(self, first: str) -> None:
        for name in NAMES:
            (self.roots[name] / ".git").mkdir(parents=True)
            self.run_another_script(name, 0)
            self.ask_for_powers(name, first, "")

    # What a workspace does

    @rule(name=names, wanted=powers, comfort=st.sampled_from(COMFORT))
    def ask_for_powers(self, name: str, wanted: str, comfort: str) -> None:
        self.powers[name] = wanted
        (self.roots[name] / "metier.toml").write_text(wanted + comfort)

    @rule(name=names, number=scripts)
    def run_another_script(self, name: str, number: int) -> None:
        self.scripts[name] = number
        (self.roots[name] / "chart.sh").write_text(f"echo {number}\n")

    @rule(name=names)
    def forge_a_record(self, name: str) -> None:
        """A record like the user's, where the workspace can write."""
        record = self._record(name)
        text = self._text(name, Entry.of(self._powers(name), speak=True))
        for folder in (".config/metier", ".config/metier/trust", ".metier/trust", "trust"):
            (self.roots[name] / folder).mkdir(parents=True, exist_ok=True)
            for file in record.files(str(self.roots[name])):
                (self.roots[name] / folder / os.path.basename(file)).write_text(text)

    # What the user does

    @rule(name=names, speak=st.booleans())
    def trust(self, name: str, speak: bool) -> None:
        self._record(name).put(str(self.roots[name]), Entry.of(self._powers(name), speak=speak))
        self.known[name] = (self.powers[name], self.scripts[name], speak)
        self.damaged.discard(name)

    @rule(name=names)
    def forget(self, name: str) -> None:
        if name not in self.damaged:
            was_known = self._record(name).drop(str(self.roots[name]))
            assert was_known == (self.known.pop(name, None) is not None)

    @rule(name=names)
    def go_back_to_the_shared_file(self, name: str) -> None:
        """As an earlier version left it: one file for all workspaces."""
        own, shared = map(Path, self._record(name).files(str(self.roots[name])))
        if self.known.keys() == {name} and not self.damaged and own.exists():
            shared.write_bytes(own.read_bytes())
            own.unlink()

    # What goes wrong

    @rule(name=names, content=st.sampled_from([b"", b"{", b"[]", b"[" * 9999, b'{"version": 2}']))
    def damage_the_record(self, name: str, content: bytes) -> None:
        own = Path(self._record(name).files(str(self.roots[name]))[0])
        if own.exists():
            own.write_bytes(content)
            self.known.pop(name, None)
            self.damaged.add(name)

    # The rules

    @invariant()
    def only_what_was_trusted_is_trusted(self) -> None:
        for name in self.known.keys() | self.powers.keys():
            if not (self.roots[name] / "metier.toml").exists():
                continue  # before the first step
            trust, known = self._trust(name), self.known.get(name)
            if known is None:
                assert trust.state == "new"
            else:
                same = known[:2] == (self.powers[name], self.scripts[name])
                is_read = "chart.sh" in known[0] or "chart.sh" in self.powers[name]
                same = same or (known[0] == self.powers[name] and not is_read)
                assert trust.state == ("trusted" if same else "changed")
            assert trust.speak == (trust.is_trusted and known is not None and known[2])
            assert bool(trust.keys) == (trust.is_trusted and "LAB_KEY" in self.powers[name])

    def _record(self, name: str) -> TrustRecord:
        return TrustRecord(workspace=str(self.roots[name]))

    def _powers(self, name: str) -> Powers:
        return power_set(read_settings(str(self.roots[name])))

    def _trust(self, name: str) -> Trust:
        return open_boundary(self.roots[name], Config(), RECORD).trust

    def _text(self, name: str, entry: Entry) -> str:
        workspaces = {str(self.roots[name]): entry.to_json()}
        return json.dumps({"version": 1, "workspaces": workspaces})


TestTrust = TrustMachine.TestCase
TestTrust.settings = settings(
    max_examples=300 if SOAK else 40, stateful_step_count=40 if SOAK else 15, deadline=None
)
