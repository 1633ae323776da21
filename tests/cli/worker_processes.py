"""Workers in processes of their own, over one workspace and one namespace of PostgreSQL."""

import secrets
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cli.run_workspace import Agents, Step, eventually, tool

PASSWORD = "pass-4711-word"
SETTINGS = """
[tools]
allow = ["act", "hold", "record"]

[tools.act]
description = "Notes that it was called; has an effect once for each idempotency key."
argv = ["sh", "-c", '''
    echo "$METIER_RUN_ID $METIER_STEP_ID" >> calls
    key=$(printf %s "$METIER_IDEMPOTENCY_KEY" | tr / _)
    mkdir "effects/$key" 2>/dev/null && echo "$METIER_RUN_ID $METIER_STEP_ID" >> effects.txt
    sleep PAUSE; echo $METIER_STEP_ID
''']

[tools.record]
description = "Like `act`; its output is new each time, and a ledger has it and what was given."
argv = ["sh", "-c", '''
    key=$(printf %s "$METIER_IDEMPOTENCY_KEY" | tr / _)
    mkdir "effects/$key" 2>/dev/null && echo "$METIER_RUN_ID $METIER_STEP_ID" >> effects.txt
    output=$METIER_STEP_ID:$(od -An -N8 -tx1 /dev/urandom | tr -d ' ')
    echo "$METIER_RUN_ID $output $1" >> ledger
    sleep PAUSE; echo $output
''', "sh", "{given}"]

[tools.hold]
description = "Waits until the file 'release' is there; not for ever."
argv = ["sh", "-c", '''
    echo "$METIER_RUN_ID $METIER_STEP_ID" >> calls; n=0
    until test -e release; do n=$((n + 1)); test $n -lt 3000 || exit 1; sleep 0.02; done
    echo released
''']
"""
LEASE = "2"
"""Seconds: a killed worker is noticed soon."""


def acts(count: int) -> list[Step]:
    return [tool(f"s{number}", "act") for number in range(1, count + 1)]


class Team(Agents):
    """A workspace whose runs workers execute."""

    def __init__(self, root: Path, address: str, pause: float = 0.02) -> None:
        """`pause` is how many seconds the tool `act` takes."""
        super().__init__(root)
        self.namespace = f"team-{secrets.token_hex(4)}"
        scheme, _, rest = address.partition("://postgres:@")
        self.address = f"{scheme}://postgres:{PASSWORD}@{rest}"
        self.workers: list[subprocess.Popen[str]] = []
        self.logs: list[Path] = []
        (root / "effects").mkdir()
        settings = SETTINGS.replace("PAUSE", f"{pause:g}")
        self.write("metier.toml", f'{settings}\n[state]\nnamespace = "{self.namespace}"\n')

    def worker(self, *options: str) -> "subprocess.Popen[str]":
        """Start a worker, and wait until it takes runs."""
        self.trust()
        log = self.root.parent / f"worker-{len(self.logs)}.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "metier", "worker", "--lease", LEASE, *options],
                cwd=self.root, stdin=subprocess.DEVNULL, stdout=file, stderr=file, text=True,
            )  # fmt: skip
        self.workers.append(process)
        self.logs.append(log)
        eventually(lambda: "waiting for runs" in log.read_text() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        return process

    def log(self, worker: "subprocess.Popen[str]") -> str:
        return self.logs[self.workers.index(worker)].read_text()

    def detached(self, agent: str, *options: str) -> str:
        finished = self.metier("run", agent, "the task", "--detach", *options)
        assert finished.returncode == 0, finished.stderr
        return finished.stdout.strip()

    def state_of(self, run_id: str) -> str:
        return str(self.runs("show", run_id)["state"])

    def ended(self, *run_ids: str, state: str = "succeeded", seconds: float = 60.0) -> None:
        """Wait until these runs are in a state."""
        eventually(lambda: all(self.state_of(one) == state for one in run_ids), seconds)

    def lines(self, name: str) -> Counter[str]:
        file = self.root / name
        return Counter(file.read_text().splitlines()) if file.exists() else Counter()

    def rows(self, statement: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.address) as connection:
            return connection.execute(statement, values).fetchall()

    def texts(self) -> str:
        """What PostgreSQL stores for this test, without heartbeats, as text."""
        tables = self.rows(
            "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables"
            " WHERE schemaname IN ('metier', %s) AND tablename != 'worker' ORDER BY 1",
            f"metier_queue_{self.namespace}",
        )
        rows = [row for (name,) in tables for row in self.rows(f"SELECT t::text FROM {name} t")]
        return "\n".join(sorted(text for (text,) in rows))

    def close(self) -> None:
        for one in self.workers:
            if one.poll() is None:
                one.send_signal(signal.SIGCONT)
                one.kill()
            one.wait()


@pytest.fixture
def team(tmp_path: Path, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    root = tmp_path / "workspace"
    root.mkdir()
    with closing(Team(root, postgres)) as made:
        monkeypatch.setenv("METIER_STATE_URL", made.address)
        yield made
