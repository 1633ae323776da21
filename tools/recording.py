"""A recording of a terminal for the README: `metier lint` in a copy of examples/workspace.

`make screenshots` and `make docs` write it. The same program gives the same bytes. The picture is
an SVG with an animation; a viewer that does not animate shows the last frame.
"""

import io
import os
import pty
import shutil
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from benchmarks.folders import own_folders, trust
from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

REPOSITORY = Path(__file__).resolve().parents[1]
RECORDING = REPOSITORY / "docs" / "pictures" / "lint.svg"
COMMANDS = (("lint",), ("lint", "--fix"))
COLUMNS, LINES = 92, 200
PAUSE, TYPING = 1.6, 0.5
"""Seconds before each command, and before its output."""
THEME = TerminalTheme(
    (24, 26, 31),
    (222, 224, 228),
    [
        (36, 39, 46),
        (244, 112, 103),
        (126, 200, 120),
        (229, 181, 103),
        (108, 166, 245),
        (200, 140, 235),
        (94, 196, 208),
        (222, 224, 228),
    ],
)
_TEMPLATE = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{
  font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px;
  line-height: {line_height}px;
}}
.{unique_id}-title {{ font: bold 18px system-ui, sans-serif; }}
{styles}
MOTION
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own template loads a font from a server; this one uses the fonts of the reader."""
_ID = "recording"


def on_terminal(arguments: tuple[str, ...], folder: Path) -> str:
    """What a terminal gets from `metier ARGUMENTS` in `folder`, with its escape sequences."""
    ours, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "metier", *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": str(COLUMNS), "LINES": str(LINES), "TERM": "xterm-256color"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    shown = b""
    with suppress(OSError):  # the other end of the terminal is closed
        while part := os.read(ours, 65_536):
            shown += part
    os.close(ours)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def seen(scratch: Path) -> list[tuple[str, str]]:
    """Each command as it is typed, and its output."""
    root = scratch / "workspace"
    shutil.copytree(REPOSITORY / "examples" / "workspace", root)
    with own_folders(scratch):
        trust(root)
        return [(f"metier {' '.join(one)}", on_terminal(one, root)) for one in COMMANDS]


def picture(session: list[tuple[str, str]]) -> str:
    """The session as an SVG in which the lines appear one command after the other."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    delays: list[float] = []
    for number, (command, output) in enumerate(session):
        shown = Text.from_ansi(output.rstrip())
        text = Text.assemble(("$ ", "cyan"), (command, "bold"), "\n", shown, "\n")
        lines = len(console.render_lines(text))
        console.print(text)
        start = number * (PAUSE + TYPING)
        delays += [start] + [start + TYPING] * (lines - 1)
    motion = ["@keyframes appear { from { opacity: 0 } to { opacity: 1 } }"]
    motion += [
        f'text[clip-path="url(#{_ID}-line-{line})"]'
        f" {{ animation: appear 0.1s {delay:g}s backwards }}"
        for line, delay in enumerate(delays)
        if delay
    ]
    template = _TEMPLATE.replace("MOTION", "\n".join(motion).replace("{", "{{").replace("}", "}}"))
    svg = console.export_svg(
        title="examples/workspace", theme=THEME, code_format=template, unique_id=_ID
    )
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"


def recording() -> str:
    with tempfile.TemporaryDirectory() as name:
        return picture(seen(Path(name)))


def main() -> None:
    RECORDING.write_text(recording(), encoding="utf-8")
    print(f"{RECORDING.relative_to(REPOSITORY)}  {RECORDING.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
