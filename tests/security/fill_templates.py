"""Fills templates in a process with little memory, and says what came of each.

Reads a list of `[kind, template]` as JSON, of which `kind` says what to do with it: `read` it as
when a profile is loaded, or fill a `text`. Prints a row of JSON for each. The argument is the work
that each may do.
"""

import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

from metier.core import template_work
from metier.core.templates import References, TemplateError, compiled_text

ROOM = 600 * 1024 * 1024
NAMES: dict[str, Any] = {"task": "go", "input": {"items": [1, 2]}, "steps": {}}
WAYS: dict[str, Callable[[str], Any]] = {
    "read": lambda template: sorted(References(template).names),
    "text": lambda template: compiled_text(template)(NAMES),
}


def leave_little_memory() -> None:
    """Let this process take only so much more than it has."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[0])
    limit = pages * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def outcome(kind: str, template: str) -> dict[str, Any]:
    started = time.process_time()
    try:
        made = WAYS[kind](template)
        result: dict[str, Any] = {"size": len(repr(made))}
    except TemplateError as error:
        result = {"error": str(error)}
    return {**result, "seconds": time.process_time() - started}


if __name__ == "__main__":
    template_work.MOST_WORK = int(sys.argv[1])
    leave_little_memory()
    for kind, template in json.load(sys.stdin):
        print(json.dumps(outcome(kind, template)), flush=True)
