"""Measuring: CPU seconds of calls and of processes, and bars as ratios in one run."""

import gc
import math
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple


class Bar(NamedTuple):
    """One figure with its limit."""

    name: str
    figure: float
    limit: float
    unit: str
    """What the figure is a multiple of, or its unit."""
    detail: str
    at_least: bool = False

    @property
    def holds(self) -> bool:
        return self.figure >= self.limit if self.at_least else self.figure <= self.limit

    @property
    def margin(self) -> float:
        """By what share the figure may get worse until the bar fails; negative when it does."""
        better, worse = (self.figure, self.limit) if self.at_least else (self.limit, self.figure)
        if worse == 0:
            return 0.0 if better == 0 else math.inf
        return better / worse - 1


def cpu(call: Callable[[], object]) -> float:
    """CPU seconds of one call in this process."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def cpu_of_process(command: Sequence[str], *, check: bool = True, **environment: str) -> float:
    """CPU seconds of one process, user and system."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        command, check=check, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def alternate(rounds: int, *calls: Callable[[], float]) -> list[tuple[float, ...]]:
    """The results of `rounds` rounds; within a round all calls see the same machine."""
    return [tuple(call() for call in calls) for _ in range(rounds)]


def least(rounds: Iterable[tuple[float, ...]]) -> list[float]:
    """The least that each call of `alternate` took: what it costs when nothing disturbs it."""
    return [min(column) for column in zip(*rounds, strict=True)]


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


_PRINT_PEAK = """
import re, resource, sys
try:
    with open("/proc/self/status") as status:
        print(int(re.search(r"VmHWM:\\s+(\\d+)", status.read())[1]) / 1024)
except OSError:
    scale = 1024 * 1024 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale)
"""


def peak_megabytes(code: str, *arguments: str) -> float:
    """The most memory that a process has while it runs `code`.

    Not by `ru_maxrss` where it can be helped: on Linux that counts the process it was started from.
    """
    result = subprocess.run(
        [sys.executable, "-c", f"{code}\n{_PRINT_PEAK}", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(result.stdout)
