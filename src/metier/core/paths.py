"""Paths as text."""


def is_inside(path: str, folder: str) -> bool:
    """Whether the resolved `path` is `folder` or below it; `/repo-evil` is not below `/repo`."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")
