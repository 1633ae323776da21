"""Questions to git: only in a workspace that is the user's own, and with nothing of it running."""

import os
import subprocess

_SAFE = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "diff.external=",
    "-c", "core.attributesFile=/dev/null", "-c", "protocol.allow=never",
)  # fmt: skip
_ENVIRONMENT = {
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_NOSYSTEM": "1",
}
_SECONDS = 10


def is_tracked(workspace: str, path: str) -> bool:
    """Whether git tracks a path of a workspace, or anything below it; False where git is missing.

    Listing the index runs no filter, no hook and no external diff.
    """
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    try:
        listed = subprocess.run(
            ["git", *_SAFE, "ls-files", "--cached", "-z", "--", path],
            cwd=workspace,
            env={**kept, **_ENVIRONMENT},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return bool(listed.stdout)
