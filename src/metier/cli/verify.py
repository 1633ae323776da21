"""`metier verify`"""

import click

from metier.cli.session import Session, counted, metier_command
from metier.values.locks import Mismatch

_ALWAYS_WRONG = ("changed", "unreadable")


@metier_command("verify", catalog=False)
@click.option(
    "--frozen",
    is_flag=True,
    help="Also fail if a locked skill is missing, or a skill is not locked.",
)
def command(session: Session, frozen: bool) -> int:
    """Compare the skills of this workspace with metier.lock.

    Reads every file. Exit code 1 if a locked skill differs; with --frozen also if one is missing
    or not locked. Exit code 2 without a lock.
    """
    workspace = session.require_workspace()
    with session.catalog() as catalog:
        found = catalog.reviews.mismatches()
    wrong = [one for one in found if frozen or one.kind in _ALWAYS_WRONG]
    if session.as_json:
        session.print_json(
            {
                "workspace": workspace,
                "frozen": frozen,
                "ok": not wrong,
                "differences": [one.to_json() for one in found],
            }
        )
        return int(bool(wrong))
    for one in found:
        session.tell(_line(one, is_wrong=one in wrong))
    if wrong:
        differ = "differs" if len(wrong) == 1 else "differ"
        skills = counted(len(wrong), "skill")
        session.note(f"{skills} {differ} from the lock: metier diff shows how, metier lock accepts")
    elif found:
        session.note(
            "no locked skill that is here differs from the lock: --frozen fails for the rest"
        )
    else:
        session.note("no skill differs from the lock")
    return int(bool(wrong))


def _line(mismatch: Mismatch, *, is_wrong: bool) -> str:
    mark = mismatch.kind if is_wrong else f"{mismatch.kind} (allowed without --frozen)"
    return f"{mark}: {mismatch.path}: {mismatch.detail}"
