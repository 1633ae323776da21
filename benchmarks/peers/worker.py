"""What runs in the Python of a peer: one operation in a fresh process, its result as JSON.

python -m benchmarks.peers.worker PEER OPERATION ARGUMENTS...
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.peers.known import PEERS
from benchmarks.peers.protocol import Act, Batch, Peer, Runs

STEP_SECONDS = 0.002
"""A step of a run that is killed takes so long."""


def index(peer: Peer, skills: str, state: str) -> int:
    assert peer.index is not None
    return peer.index(Path(skills), Path(state))


def search(peer: Peer, skills: str, state: str, tasks: str) -> dict[str, Any]:
    """The answers, and the median wall and CPU seconds of one."""
    assert peer.search is not None
    ask = peer.search(Path(skills), Path(state))
    answers, walls, cpus = [], [], []
    texts = json.loads(Path(tasks).read_text("utf-8"))
    ask(texts[0])
    for text in texts:
        start, cpu = time.perf_counter(), time.process_time()
        answers.append(ask(text))
        walls.append(time.perf_counter() - start)
        cpus.append(time.process_time() - cpu)
    medians = {"wall": statistics.median(walls), "cpu": statistics.median(cpus)}
    return {"answers": answers, **medians}


def steps(peer: Peer, state: str, runs: str, each: str, together: str) -> dict[str, float]:
    """Wall and CPU seconds of one step, without loading the library and making the store."""
    durable, batch = _runs(peer), Batch(int(runs), int(each), together == "together")
    for name in ("warm", "timed"):
        os.mkdir(os.path.join(state, name))
    durable.execute(Path(state, "warm"), Batch(1, batch.steps, together=False))
    start, cpu = time.perf_counter(), time.process_time()
    durable.execute(Path(state, "timed"), batch)
    count = batch.runs * batch.steps
    wall = time.perf_counter() - start
    return {"wall": wall / count, "cpu": (time.process_time() - cpu) / count}


def start(peer: Peer, state: str, count: str) -> None:
    _runs(peer).start(Path(state), int(count), _recording(state))


def resume(peer: Peer, state: str, count: str) -> None:
    _runs(peer).resume(Path(state), int(count), _recording(state))


def _runs(peer: Peer) -> Runs:
    assert peer.runs is not None
    return peer.runs


def _recording(state: str) -> Act:
    """A step that writes when it begins and ends; a kill loses none of these lines."""
    side = os.open(os.path.join(state, "side.txt"), os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def act(number: int) -> None:
        os.write(side, f"begin {number}\n".encode())
        time.sleep(STEP_SECONDS)
        os.write(side, f"end {number}\n".encode())

    return act


OPERATIONS: dict[str, Callable[..., Any]] = {
    one.__name__: one for one in (index, search, steps, start, resume)
}

if __name__ == "__main__":
    name, operation, *arguments = sys.argv[1:]
    print(json.dumps(OPERATIONS[operation](PEERS[name], *arguments)), flush=True)
    os._exit(0)  # threads of a library can abort the process while Python ends
