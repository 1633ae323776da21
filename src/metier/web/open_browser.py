"""Brings the address with its token to the browser without anyone else seeing it.

Every user can read the arguments of a process, so a browser is given a file that only this user
can read, and the file leads on to the address.
"""

import os
import secrets
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from html import escape
from pathlib import Path

from metier.storage.places import user_room
from metier.storage.room import Room

_PAGE = """<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url={url}">
<title>metier</title>
<p><a href="{url}">Open the inspector</a>
"""


@contextmanager
def way_in(url: str, room: Room | None = None) -> Iterator[Path]:
    """A file of this user alone that leads to `url`, until the end of the block."""
    room = room or user_room()
    name = f"open-{secrets.token_hex(8)}.html"
    room.write(name, _PAGE.format(url=escape(url)).encode())
    try:
        yield Path(room.file(name))
    finally:
        with suppress(OSError):
            room.remove(name)


def has_browser(environ: Mapping[str, str] = os.environ) -> bool:
    """Whether there is a screen to open a browser on."""
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY") or environ.get("BROWSER"))


def open_browser(file: Path) -> bool:
    """Open the file in the user's browser; False if there is none."""
    try:
        return webbrowser.open(file.as_uri())
    except webbrowser.Error:
        return False
