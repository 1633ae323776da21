"""Paths as text."""

import os


def is_inside(path: str, folder: str) -> bool:
    """Whether the resolved `path` is `folder` or below it; `/repo-evil` is not in `/repo`."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def is_inside_text(folder: str, workspace: str) -> bool:
    """Whether a folder, as settings write it, is inside the workspace; links are not followed."""
    if folder.startswith("~"):
        return False
    return is_inside(os.path.normpath(os.path.join(workspace, folder)), workspace)


def is_markdown(path: str) -> bool:
    return path[-3:].lower() == ".md"


def without_md(name: str) -> str:
    return name[:-3] if is_markdown(name) else name


def is_utf8(path: str) -> bool:
    """Whether a path from the system is valid text; POSIX paths may be any bytes."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True
