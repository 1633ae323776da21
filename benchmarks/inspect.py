"""Inspecting: how often attacks and honest texts are noteworthy, and what a skill costs.

The patterns were written with one half of the texts at hand, chosen by their digest; the figures
are those of the other half.
"""

import hashlib
import sys
import tarfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from benchmarks.corpus import real_corpus
from benchmarks.measure import Bar, alternate, cpu, least
from benchmarks.sanitize import FOLDER, _texts
from metier.findings import severity_of
from metier.inject.sanitize import sanitize_capability_content
from metier.inspection.code import touches
from metier.inspection.wording import wordings

ATTACKS_BAR, BENIGN_BAR, CORPUS_BAR, COST_BAR = 50.0, 5.0, 10.0, 20.0
MOST_SKILLS = 2_000
ROUNDS = 3


def bars(_scratch: Path) -> Iterator[Bar]:
    attacks, benign = (_unseen(_texts(name)) for name in ("attacks", "benign"))
    if attacks and benign:
        found, flagged = (sum(map(_is_noteworthy, texts)) for texts in (attacks, benign))
        share = 100 * found / len(attacks)
        detail = f"{found} of {len(attacks)} texts"
        yield Bar("attacks that are noteworthy", share, ATTACKS_BAR, "%", detail, at_least=True)
        detail = f"{flagged} of {len(benign)} texts"
        share = 100 * flagged / len(benign)
        yield Bar("honest texts that are noteworthy", share, BENIGN_BAR, "%", detail)
    else:
        print(f"no texts in {FOLDER}", file=sys.stderr)
    skills = list(islice(_skills(), MOST_SKILLS))
    if skills:
        flagged = sum(map(_is_noteworthy, skills))
        detail = f"{flagged} of {len(skills):,} skills"
        share = 100 * flagged / len(skills)
        yield Bar("real skills that are noteworthy", share, CORPUS_BAR, "%", detail)
        yield _cost(skills[:200])
    else:
        print("no folder or archive of real skills", file=sys.stderr)


def _unseen(texts: list[str]) -> list[str]:
    return [text for text in texts if hashlib.sha256(text.encode()).digest()[-1] % 2]


def _is_noteworthy(text: str) -> bool:
    """Whether a text, as a SKILL.md, would have an error or a warning."""
    codes = {one.code for one in wordings(text, is_markdown=True)}
    codes |= {one.rule.code for one in touches(text, is_program=False)}
    return any(severity_of(code) != "info" for code in codes)


def _skills() -> Iterator[str]:
    """Every fifth skill of the corpus."""
    corpus = real_corpus()
    if corpus is None or corpus.is_dir():
        return
    with tarfile.open(corpus, "r|gz") as archive:
        for number, member in enumerate(one for one in archive if one.isfile()):
            file = archive.extractfile(member) if number % 5 == 0 else None
            if file is not None:
                yield file.read().decode(errors="replace")


def _cost(skills: list[str]) -> Bar:
    rounds = alternate(
        ROUNDS,
        lambda: cpu(lambda: [sanitize_capability_content(one) for one in skills]),
        lambda: cpu(lambda: [_is_noteworthy(one) for one in skills]),
    )
    sanitized, inspected = least(rounds)
    detail = f"{inspected / len(skills) * 1e3:.1f} ms a skill"
    return Bar("inspecting a skill", inspected / sanitized, COST_BAR, "× sanitizing it", detail)
