"""Cards and hooks: choosing among 10,000 cards, and a whole hook process, cold."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random

from benchmarks.corpus import unpack
from benchmarks.measure import Bar, alternate, least
from metier.catalog import Catalog
from metier.config import read_settings
from metier.config.record import Entry, TrustRecord
from metier.core import ranking
from metier.core.relevance import SCORERS
from metier.flow.boundary import power_set, read_boundary, workspace_of
from metier.flow.hook_log import read_decisions
from metier.hook import skills
from metier.hook.catalog_file import ReadOnlyCatalog
from metier.select.cards import CardIndex
from metier.storage.places import state_room
from metier.values.capabilities import SelectionContext
from metier.values.documents import Card

PYTHON = sys.executable
METIER = str(Path(PYTHON).with_name("metier"))
CARDS, KEYWORDS = 10_000, 8
FASTER_THAN_COUNTING = 100.0
WITH_CARDS, WITHOUT_CARDS = 4.5, 4.0
FLAT = 1.25
SAME_FIRST_HIT = 0.9
_CARDS_IN_A_HOOK = 1_000
_PASSAGES, _PASSAGE = 200, 60
"""Passages of the skills' own texts, and their words."""
_COUNTED = 200
"""Cards whose keywords the baseline counts; the rest would take as long each."""


def bars(scratch: Path) -> Iterator[Bar]:
    yield from _choosing()
    root, what = unpack(scratch / "hooks")
    (root / "metier.toml").write_text("host-folders = false\n")
    prompts = _prompts(root)
    with _own_home(scratch / "home-of-hooks"):
        yield from _process(root, prompts, "without cards", WITHOUT_CARDS, what)
        yield _bound(root)
        folder = root / "docs" / "capabilities"
        folder.mkdir(parents=True)
        for number, card in enumerate(_cards(_CARDS_IN_A_HOOK)):
            (folder / f"{number}.md").write_text(_as_file(card))
        yield from _process(root, prompts, "with 1,000 cards", WITH_CARDS, what)
    shutil.rmtree(root, ignore_errors=True)


@contextmanager
def _own_home(folder: Path) -> Iterator[None]:
    """Settings, trust and state in a folder of the benchmark, here and in what it starts."""
    folder.mkdir()
    before = dict(os.environ)
    for name in list(os.environ):
        if name.startswith(("METIER_", "XDG_")):
            del os.environ[name]
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _let_speak(root: Path) -> None:
    """Have hooks use the text of a workspace as it is now: record its trust, and refresh."""
    workspace = workspace_of(root)
    powers = power_set(read_settings(workspace))
    TrustRecord(workspace=workspace).put(workspace, Entry.of(powers, speak=True))
    Catalog.for_hooks(read_boundary(workspace, for_host=True)).close()


def _choosing() -> Iterator[Bar]:
    cards = _cards(CARDS)
    index = CardIndex(cards)
    messages = _messages(100_000)
    context = SelectionContext(recent_messages=messages)
    index.choose(context)
    text = " ".join(messages).casefold()

    def ours() -> float:
        start = time.process_time()
        index.choose(context)
        return time.process_time() - start

    def counting() -> float:
        start = time.process_time()
        for card in cards[:_COUNTED]:
            SCORERS["spec"]([text.count(keyword) for keyword in card.keywords])
        return (time.process_time() - start) * CARDS / _COUNTED

    rounds = alternate(7, counting, ours)
    counted, chosen = least(rounds)
    what = f"{CARDS:,} cards of {KEYWORDS} keywords, 100 KB of messages"
    yield Bar(
        "choosing cards, speed",
        counted / chosen,
        FASTER_THAN_COUNTING,
        "× counting each keyword",
        f"{chosen * 1e3:.0f} ms against {counted * 1e3:.0f} ms; {what}",
        at_least=True,
    )


def _process(
    root: Path, prompts: dict[str, str], which: str, limit: float, what: str
) -> Iterator[Bar]:
    _let_speak(root)
    asked = {size: _request(root, prompt) for size, prompt in prompts.items()}
    calls = [partial(_cpu, [METIER, "hook", "claude-code"], one) for one in asked.values()]
    rounds = alternate(15, partial(_cpu, [PYTHON, "-c", "pass"], b""), *calls)
    _check_decisions(root)
    bare, *costs = least(rounds)
    unit = "× bare Python of the same environment"
    for size, cost in zip(asked, costs, strict=True):
        detail = f"{cost * 1e3:.0f} ms CPU against {bare * 1e3:.0f} ms; {what}"
        yield Bar(f"hook {which}, prompt of {size}", cost / bare, limit, unit, detail)
    short, long = costs[1], costs[-1]
    yield Bar(
        f"hook {which}, 100 KB against 5 KB", long / short, FLAT, "×", "flat in the prompt's length"
    )


def _check_decisions(root: Path) -> None:
    """Raise unless every hook has looked at the skills of the workspace: silence costs little."""
    decisions = list(read_decisions(state_room(workspace_of(root))))
    failed = [one for one in decisions if one.error or not one.skills]
    if failed or not decisions:
        why = failed[0].error if failed else "no decision was logged"
        raise RuntimeError(f"{len(failed)} hooks came to nothing: {why or 'no skills'}")


def _bound(root: Path) -> Bar:
    """How often the bounds on terms and postings leave the first hit as it is."""
    catalog = ReadOnlyCatalog(state_room(workspace_of(root)))
    passages = [
        " ".join(file.read_text(errors="replace").split()[-_PASSAGE:])
        for file in sorted(root.rglob("SKILL.md"))[:: max(1, 10_000 // _PASSAGES)]
    ]
    same = sum(
        _first(skills.suggest(catalog, [one], 1, 0.0)) == _first(_without_bounds(catalog, [one]))
        for one in passages
    )
    catalog.close()
    return Bar(
        "hook, first skill the same as without bounds",
        same / len(passages),
        SAME_FIRST_HIT,
        "of prompts",
        f"{len(passages)} passages of {_PASSAGE} words; {ranking.MOST_TERMS} terms, "
        f"{ranking.MOST_POSTINGS:,} postings",
        at_least=True,
    )


def _first(suggestions: Sequence[skills.Suggestion]) -> str:
    return suggestions[0].path if suggestions else ""


def _without_bounds(catalog: ReadOnlyCatalog, messages: Sequence[str]) -> list[skills.Suggestion]:
    terms, postings = ranking.MOST_TERMS, ranking.MOST_POSTINGS
    ranking.MOST_TERMS, ranking.MOST_POSTINGS = 10**9, 10**9
    try:
        return skills.suggest(catalog, messages, 1, 0.0)
    finally:
        ranking.MOST_TERMS, ranking.MOST_POSTINGS = terms, postings


def _prompts(root: Path) -> dict[str, str]:
    """Prompts of three sizes, out of the words of the skills themselves."""
    rng = Random(5)
    files = sorted(root.rglob("SKILL.md"))[::7][:300]
    words = [word for file in files for word in file.read_text(errors="replace").split()]
    return {
        "one sentence": " ".join(rng.choices(words, k=16)),
        "5 KB": " ".join(rng.choices(words, k=2_000))[:5_000],
        "100 KB": " ".join(rng.choices(words, k=40_000))[:100_000],
    }


def _request(root: Path, prompt: str) -> bytes:
    given = {
        "session_id": "0b6c9d52",
        "cwd": str(root),
        "hook_event_name": "UserPromptSubmit",
        "prompt": prompt,
    }
    return json.dumps(given).encode()


def _cpu(command: Sequence[str], given: bytes) -> float:
    """CPU seconds of one process that is given something on stdin."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, input=given, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _vocabulary(size: int, seed: int) -> list[str]:
    rng = Random(seed)
    letters = "abcdefghijklmnopqrstuvwxyz"
    return ["".join(rng.choices(letters, k=rng.randint(3, 9))) for _ in range(size)]


def _cards(count: int) -> list[Card]:
    rng = Random(11)
    words = _vocabulary(20_000, 1)
    return [
        Card(
            id=f"card-{number}",
            name=f"Card {number}",
            description="About something.",
            keywords=tuple(rng.sample(words, KEYWORDS)),
            confidence_threshold=0.25,
            path=f"docs/capabilities/{number}.md",
            body="What exists, where it lies, and where to read more about it. " * 5,
        )
        for number in range(count)
    ]


def _as_file(card: Card) -> str:
    return (
        f"---\nid: {card.id}\nname: {card.name}\ndescription: {card.description}\n"
        f"triggers:\n  keywords: [{', '.join(card.keywords)}]\n"
        f"  confidenceThreshold: {card.confidence_threshold}\n---\n{card.body}\n"
    )


def _messages(size: int) -> list[str]:
    """Five messages; three words of ten are keywords of some card."""
    rng = Random(12)
    words = [*_vocabulary(8_000, 2), *_vocabulary(20_000, 1)[:3_000]]
    text = " ".join(rng.choices(words, k=size // 3))[:size]
    return [text[start : start + size // 5] for start in range(0, size, size // 5)]
