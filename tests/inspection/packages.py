"""Packages to inspect: honest, and with one thing wrong."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

SKILL = "---\nname: {0}\ndescription: {1}\n---\n{2}\n"
HONEST = {
    "skills/report/SKILL.md": SKILL.format(
        "report", "Writes weekly reports from tickets.", "Count the tickets, then write."
    ),
    "skills/report/scripts/count.py": "print(sum(1 for _ in open('tickets.csv')))\n",
    "README.md": "# Reports\n\nA skill that writes reports.\n",
}


def folder(path: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        file = path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return path


def zipped(path: Path, files: Mapping[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def tarred(path: Path, files: Mapping[str, str | bytes], *others: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            content = text.encode() if isinstance(text, str) else text
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in others:
            archive.addfile(info)
    return path


def link(name: str, target: str) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = tarfile.SYMTYPE, target
    return info
