"""Lint of real skills against other linters, and of one changed file against `metier --help`."""

import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from pathlib import Path

from benchmarks.corpus import unpack
from benchmarks.measure import Bar, alternate, cpu_of_process, least

METIER = str(Path(sys.executable).with_name("metier"))
AGNIX, SKILLSAW = "agnix==0.59.*", "skillsaw==0.22.*"
SKILLS = 1_000
AGNIX_BAR, SKILLSAW_BAR, CHANGED_BAR = 1.0, 10.0, 1.5


def bars(scratch: Path) -> Iterator[Bar]:
    folder, made_of = _some_skills(scratch)
    peers = _peers(scratch / "peers")
    if peers is None:
        print(f"skipped: lint against {AGNIX} and {SKILLSAW} (they cannot be installed)")
    else:
        yield from _against_peers(peers, folder, made_of)
    if shutil.which("git") is None:
        print("skipped: lint --changed (there is no git)")
    else:
        yield _changed(folder)


def _some_skills(scratch: Path) -> tuple[Path, str]:
    """A workspace with every n-th skill of the corpus, whole folders, 1,000 of them."""
    everything, made_of = unpack(scratch / "lint", SKILLS)
    files = sorted(everything.rglob("SKILL.md"))
    chosen = files[:: max(1, len(files) // SKILLS)][:SKILLS]
    folder = scratch / "lint-some"
    for number, file in enumerate(chosen):
        shutil.copytree(file.parent, folder / "skills" / f"{number:04}" / file.parent.name)
    shutil.rmtree(everything)
    (folder / "metier.toml").write_text("")
    return folder, f"{len(chosen):,} of {made_of}"


def _peers(folder: Path) -> Path | None:
    """Where the programs of the other linters are; None if they cannot be installed."""
    venv.create(folder, with_pip=True)
    install = [str(folder / "bin/pip"), "install", "--quiet", AGNIX, SKILLSAW]
    done = subprocess.run(install, capture_output=True, check=False)
    return folder / "bin" if done.returncode == 0 else None


def _against_peers(peers: Path, folder: Path, made_of: str) -> Iterator[Bar]:
    own = [METIER, "lint", "--root", str(folder)]
    rounds = alternate(
        7,
        lambda: cpu_of_process([str(peers / "agnix"), str(folder)], check=False),
        lambda: cpu_of_process(own, check=False),
    )
    agnix, ours = least(rounds)
    (skillsaw,) = least(
        alternate(
            2, lambda: cpu_of_process([str(peers / "skillsaw"), "lint", str(folder)], check=False)
        )
    )
    yield Bar(
        "metier lint, against agnix", ours / agnix, AGNIX_BAR, f"× {AGNIX}",
        f"{ours:.2f} s against {agnix:.2f} s CPU; {made_of}",
    )  # fmt: skip
    yield Bar(
        "metier lint, against skillsaw", skillsaw / ours, SKILLSAW_BAR, "× as fast as skillsaw",
        f"{ours:.2f} s against {skillsaw:.2f} s CPU; {made_of}", at_least=True,
    )  # fmt: skip


def _changed(folder: Path) -> Bar:
    """One changed file of a small repository, as in a commit; git's own time counts."""
    small = folder.parent / "lint-changed"
    (small / "skills").mkdir(parents=True)
    for one in sorted((folder / "skills").iterdir())[:20]:
        shutil.copytree(one, small / "skills" / one.name)
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        subprocess.run(["git", *who, *arguments], cwd=small, check=True)
    file = next((small / "skills").rglob("SKILL.md"))
    file.write_text(
        "---\nname: changed\ndescription: Charts numbers. Use it for reports.\n---\n\nDraw.\n"
    )
    shown = [METIER, "trust", "--show", "--root", str(small)]
    printed = subprocess.run(shown, capture_output=True, text=True, check=False).stdout
    digest = (re.search("sha256:[0-9a-f]{64}", printed) or [""])[0]
    command = [METIER, "lint", "--changed", "--exit-zero", "--root", str(small)]
    rounds = alternate(
        15,
        lambda: cpu_of_process([METIER, "--help"]),
        lambda: cpu_of_process(command, METIER_TRUST=digest),
    )
    helped, changed = least(rounds)
    return Bar(
        "metier lint --changed, one file", changed / helped, CHANGED_BAR, "× metier --help",
        f"{changed * 1000:.0f} ms against {helped * 1000:.0f} ms CPU, git's included",
    )  # fmt: skip
