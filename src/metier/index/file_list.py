"""The files that the catalog was built from, one line each."""

import zlib
from collections.abc import Iterable, Sequence

from metier.index.store import Store
from metier.values.files import KINDS, Found, Kind

LINE_END = "\0"


def lines_of(found: Iterable[Found]) -> list[str]:
    """One line per file that changes with the file and ends with its path."""
    return [
        f"{file.kind} {file.rank} {file.size} {file.mtime_ns} {file.ctime_ns} {file.excluded}"
        f"{_links(file)}{_standing(file)} {file.plugin} {file.path}"
        for file in found
    ]


def _links(file: Found) -> str:
    """A mark that changes with the other paths of a file; empty without any."""
    return f"+{zlib.crc32(LINE_END.join(file.also).encode()):x}" if file.also else ""


def _standing(file: Found) -> str:
    """A mark that changes with what the review record says of a skill; empty without review."""
    if file.standing is None:
        return ""
    return f"~{zlib.crc32(LINE_END.join(file.standing).encode()):x}"


class Listing:
    """The lines as they were when the catalog was last written."""

    def __init__(self, store: Store, kinds: Sequence[Kind]) -> None:
        self.kinds = kinds
        self.reader = store.setting("reader")
        self.text = "".join(row[0] for row in store.rows("SELECT text FROM listing"))
        self.others: list[str] = []
        """Lines of other kinds."""
        if len(kinds) < len(KINDS):
            all_lines = self.lines()
            self.others = [line for line in all_lines if line.partition(" ")[0] not in kinds]
            own = [line for line in all_lines if line.partition(" ")[0] in kinds]
            self.text = LINE_END.join(own)

    def equals(self, reader: str, lines: Iterable[str]) -> bool:
        return self.reader == reader and self.text == LINE_END.join(lines)

    def lines(self) -> list[str]:
        return self.text.split(LINE_END) if self.text else []
