"""`metier init`"""

import os

from metier.cli.refresh import summary
from metier.cli.review import Review
from metier.cli.session import Session, metier_command
from metier.config import FILE_NAME
from metier.flow.state_settings import suggested_namespace

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
# select = []                            # codes or prefixes of codes: ["FM", "SK304"]
# ignore = []

[lint.per-file-ignores]
# "skills/vendor/*" = ["SK"]

[state]                                  # share runs with your team: docs/scale.md
# url = "postgresql://HOST/DATABASE"     # no password in it: ~/.pgpass or METIER_STATE_URL
# namespace = "{namespace}"
"""

_MAY_NOT_SPEAK = "hooks may not use its text yet: metier trust"


@metier_command("init", catalog=False)
def command(session: Session) -> None:
    """Set up this folder as a workspace: metier.toml and a first catalog.

    A workspace without commands, servers and agents is trusted from now on. With any of
    these it is not trusted until you have reviewed them: metier trust.
    """
    session.workspace()
    root = os.path.realpath(session.root or os.getcwd())
    made = [FILE_NAME] if _write_new(os.path.join(root, FILE_NAME), _template(root)) else []
    session.root = root
    _trust_if_harmless(session)
    with session.open_catalog() as catalog:
        refreshed = session.refresh(catalog)
        if session.as_json:
            session.print_json({"root": root, "made": made, **refreshed.changes.to_json()})
            return
        session.note(f"workspace {root}: " + (f"wrote {', '.join(made)}" if made else "unchanged"))
        for line in summary(refreshed, catalog):
            session.tell(line)
        session.note("next: metier list, metier lint")


def _template(root: str) -> str:
    return _TEMPLATE.replace("{namespace}", suggested_namespace(root))


def _write_new(path: str, text: str) -> bool:
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        return False
    return True


def _trust_if_harmless(session: Session) -> None:
    review = Review(session)
    if review.foreign or review.state == "trusted":
        return
    if review.entry is None and review.powers.is_empty:
        review.record(speak=False)
        session.note(f"this workspace is trusted: nothing in it needs a review; {_MAY_NOT_SPEAK}")
    else:
        session.note("this workspace is not trusted; to review what it may do: metier trust")
