"""`metier init`"""

import os

from metier.cli.refresh import summary
from metier.cli.session import Session, metier_command
from metier.config import FILE_NAME, STATE_FOLDER

_TEMPLATE = """\
# Settings of metier. Every line shows a default: remove the '#' to change it.

# disabled = []                          # names or ids of skills that are never used
# host-folders = true                    # also read skills that agent hosts have installed
# tokenizer = "chars/4"                  # or an encoding of tiktoken whose ranks are on disk
# mounts = [{ path = "../shared-skills", label = "shared" }]

[folders]
# abilities = ["abilities"]
# cards = ["docs/capabilities"]
# agents = ["agents", ".claude/agents"]

[lint]
# select = []                            # codes or beginnings of codes: ["FM", "SK304"]
# ignore = []

[lint.per-file-ignores]
# "skills/vendor/*" = ["SK"]
"""


@metier_command("init", catalog=False)
def command(session: Session) -> None:
    """Set up this folder as a workspace: metier.toml, .gitignore, a first catalogue."""
    session.workspace()
    root = os.path.realpath(session.root or os.getcwd())
    made = []
    if _write_new(os.path.join(root, FILE_NAME), _TEMPLATE):
        made.append(FILE_NAME)
    if _is_in_git(root) and _ignore_state(root):
        made.append(".gitignore")
    with session.open_catalog() as catalog:
        refreshed = session.refresh(catalog)
        if session.as_json:
            session.print_json({"root": root, "made": made, **refreshed.changes.to_json()})
            return
        session.note(f"workspace {root}: " + (f"wrote {', '.join(made)}" if made else "as it was"))
        for line in summary(refreshed):
            session.tell(line)
        session.note("next: metier list, metier lint")


def _write_new(path: str, text: str) -> bool:
    """Write a file that does not exist yet; never overwrite one."""
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _is_in_git(folder: str) -> bool:
    while not os.path.lexists(os.path.join(folder, ".git")):
        folder, child = os.path.dirname(folder), folder
        if folder == child:
            return False
    return True


def _ignore_state(root: str) -> bool:
    path = os.path.join(root, ".gitignore")
    entry = f"{STATE_FOLDER}/"
    text = ""
    if os.path.exists(path):
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            text = file.read()
    if any(line.strip().strip("/") == STATE_FOLDER for line in text.splitlines()):
        return False
    with open(path, "a", encoding="utf-8") as file:
        file.write(f"{entry}\n" if not text or text.endswith("\n") else f"\n{entry}\n")
    return True
