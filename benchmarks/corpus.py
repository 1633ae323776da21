"""Files to measure on: a folder of real skills where there is one, else a seeded synthetic one.

Set METIER_CORPUS to a folder or a .tar.gz of SKILL.md files to name your own.
"""

import os
import random
import shutil
import tarfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SIBLING = REPOSITORY.parent / "shared" / "corpora" / "skills-10k.tar.gz"
WORDS = [
    "search",
    "index",
    "report",
    "build",
    "test",
    "deploy",
    "release",
    "review",
    "invoice",
    "export",
    "import",
    "parse",
    "render",
    "check",
    "plan",
    "write",
    "read",
    "query",
    "table",
    "chart",
    "image",
    "video",
    "audio",
    "mail",
    "calendar",
    "ticket",
    "branch",
    "merge",
    "cache",
    "queue",
    "worker",
    "schema",
    "migrate",
    "translate",
    "summarize",
    "extract",
    "convert",
    "compress",
    "encrypt",
]


def real_corpus() -> Path | None:
    """The folder or archive of real files, if one is at hand."""
    named = os.environ.get("METIER_CORPUS")
    if named:
        return Path(named)
    return SIBLING if SIBLING.exists() else None


def unpack(into: Path, count: int = 10_000) -> tuple[Path, str]:
    """A workspace of about `count` skills below `into`, and what it is made of."""
    source = real_corpus()
    if source is None:
        return synthetic(into / "synthetic", count), f"{count} synthetic skills, seed 7"
    if source.is_dir():
        copied = into / source.name  # suites write into it, and remove it
        shutil.copytree(source, copied)
        return copied, f"the files of {source.name}"
    with tarfile.open(source) as archive:
        archive.extractall(into, filter="data")
    folder = next(path for path in into.iterdir() if path.is_dir())
    return folder, f"{sum(1 for _ in folder.rglob('SKILL.md'))} real SKILL.md files"


def synthetic(into: Path, count: int, seed: int = 7) -> Path:
    """`count` skills with two or three capabilities each, the same ones for the same seed."""
    rng = random.Random(seed)
    for number in range(count):
        name = f"{rng.choice(WORDS)}-{rng.choice(WORDS)}-{number}"
        folder = into / "skills" / f"{number // 100:04}" / name
        folder.mkdir(parents=True)
        capabilities = "\n".join(
            f"  - {rng.choice(WORDS)}-{rng.randrange(count // 5 + 1)}"
            for _ in range(rng.randint(2, 3))
        )
        description = " ".join(rng.choices(WORDS, k=24))
        body = "\n\n".join(" ".join(rng.choices(WORDS, k=60)) for _ in range(12))
        (folder / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: {description}\n"
            f"capabilities:\n{capabilities}\n---\n\n{body}\n"
        )
    return into
