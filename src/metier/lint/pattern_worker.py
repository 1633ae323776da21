"""Matches regular expressions in a separate process, which can be killed.

Run as a file, with the standard library alone: lines of JSON in, lines of JSON out.
"""

import json
import re
import sys
from typing import Any


def compiled(patterns: list[str]) -> tuple[list[re.Pattern[str] | None], list[str]]:
    """Every pattern, and what is wrong with it."""
    made: list[re.Pattern[str] | None] = []
    problems = []
    for pattern in patterns:
        try:
            made.append(re.compile(pattern))
            problems.append("")
        except (re.error, RecursionError, OverflowError) as error:
            made.append(None)
            problems.append(str(error) or type(error).__name__)
    return made, problems


def spans(pattern: re.Pattern[str] | None, text: str, most: int) -> list[tuple[int, int]]:
    """The first matches that are not empty."""
    found: list[tuple[int, int]] = []
    for match in pattern.finditer(text) if pattern is not None else ():
        if match.end() > match.start():
            found.append(match.span())
        if len(found) == most:
            break
    return found


def occurs(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.search(text) is not None


def main() -> None:
    patterns: list[re.Pattern[str] | None] = []
    for line in sys.stdin.buffer:
        asked: dict[str, Any] = json.loads(line)
        if "compile" in asked:
            patterns, problems = compiled(asked["compile"])
            _answer(problems)
        elif "most" in asked:
            _answer(spans(patterns[asked["pattern"]], asked["text"], asked["most"]))
        else:
            _answer(occurs(patterns[asked["pattern"]], asked["text"]))


def _answer(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
