"""`metier verify`"""

import click

from metier.cli.session import Session, counted, metier_command
from metier.core.text import one_line
from metier.values.locks import Mismatch


@metier_command("verify", catalog=False)
@click.option(
    "--frozen",
    is_flag=True,
    help="Also fail if a locked skill is missing, or a skill is not locked.",
)
def command(session: Session, frozen: bool) -> int:
    """Compare the skills of this workspace with metier.lock.

    Reads every file, also of skills that metier cannot use and a host may load. Exit code 1 if a
    locked skill differs; with --frozen, for CI, also if one is missing, not locked, or not checked,
    since its mount needs trust. Exit code 2 without a lock.
    """
    workspace = session.require_workspace()
    with session.catalog() as catalog:
        found = catalog.reviews.mismatches()
    wrong = [one for one in found if frozen or one.is_change]
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
        click.echo(session.redactor.text(_line(one, is_wrong=one in wrong)))
    unchecked = [one for one in found if one.kind == "unchecked"]
    if differing := [one for one in wrong if one not in unchecked]:
        differ = "differs" if len(differing) == 1 else "differ"
        skills = counted(len(differing), "skill")
        how = "metier diff shows how, " if any(one.is_change for one in differing) else ""
        session.note(f"{skills} {differ} from the lock: {how}metier lock accepts")
    elif found and not unchecked:
        session.note(
            "no locked skill that is here differs from the lock: --frozen fails for the rest"
        )
    elif not found:
        session.note("no skill differs from the lock")
    if unchecked:
        session.note(f"{counted(len(unchecked), 'skill')} not checked: {_TRUST}")
    return int(bool(wrong))


_TRUST = "give METIER_TRUST the digest that metier trust --show prints"


def _line(mismatch: Mismatch, *, is_wrong: bool) -> str:
    kind = "not checked" if mismatch.kind == "unchecked" else mismatch.kind
    mark = kind if is_wrong else f"{kind} (allowed without --frozen)"
    return one_line(f"{mark}: {mismatch.path}: {mismatch.detail}")
