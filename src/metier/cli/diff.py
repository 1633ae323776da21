"""`metier diff`"""

import click

from metier.cli.review_view import review_json, show_locked, show_review
from metier.cli.session import Session, complete_names, metier_command
from metier.flow.entries import review_hint
from metier.flow.reviews import Reviewed, lock_key


@metier_command("diff")
@click.argument("skill", required=False, shell_complete=complete_names("skill"))
def command(session: Session, skill: str | None) -> None:
    """Show what changed in a skill since you reviewed it.

    What it asks for comes first: capabilities, tools, commands, scripts; then its text; then its
    other files. SKILL is a handle, a full id, or a name that only one skill has; without it, every
    skill that differs from its review is shown, then the files that differ from metier.lock in
    skills without a review.
    """
    with session.catalog() as catalog:
        reviews = catalog.reviews
        if skill is not None:
            known = [reviews.named(catalog.find_skills(skill), skill)]
        else:
            known = list(reviews.all())
        shown = [one for one in known if skill is not None or one.state != "same"]
        if session.as_json:
            session.print_json([review_json(reviews, one) for one in shown])
            return
        for number, one in enumerate(shown):
            if number:
                click.echo()
            show_review(reviews, one)
            _note_next(session, one)
        reviewed = {lock_key(one.row.path) for one in known if one.before is not None}
        since_lock = [] if skill is not None else reviews.changed_since_lock()
        changed = [one for one in since_lock if one.path not in reviewed]
        for mismatch in changed:
            show_locked(mismatch)
    if not reviewed and skill is None:
        session.note(_NEVER)
    elif not shown and not changed:
        session.note("nothing changed since it was reviewed")


_NEVER = (
    "nothing was reviewed yet, so no changed lines are known: metier trust --skill SKILL reviews "
    "one skill, metier lock all of a workspace that you trust"
)


def _note_next(session: Session, reviewed: Reviewed) -> None:
    if reviewed.state == "same":
        return
    if left_out := reviewed.now.left_out:
        use = f"metier does not use it, but a host may load it: {left_out}"
    else:
        use = "it is not used until you accept it" if reviewed.row.is_held else "it is used"
    session.note(f"{use}; to accept it: {_how_to_accept(reviewed)}")


def _how_to_accept(reviewed: Reviewed) -> str:
    if not reviewed.is_in_catalog:
        return "metier lock"
    return review_hint(reviewed.handle).partition(", then ")[2]
