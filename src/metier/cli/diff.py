"""`metier diff`"""

import click

from metier.cli.review_view import review_json, show_review
from metier.cli.session import Session, complete_names, metier_command
from metier.flow.entries import review_hint
from metier.flow.reviews import Reviewed


@metier_command("diff")
@click.argument("skill", required=False, shell_complete=complete_names("skill"))
def command(session: Session, skill: str | None) -> None:
    """Show what changed in a skill since you reviewed it.

    What it asks for comes first: capabilities, tools, commands, scripts; then its text; then its
    other files. SKILL is a name or a full id; without it, every skill that differs from its
    review is shown.
    """
    with session.catalog() as catalog:
        reviews = catalog.reviews
        if skill is not None:
            rows = catalog.find("skill", skill) or [catalog.skill_meant(skill)]
            shown = [reviews.named(rows, skill)]
        else:
            shown = [one for one in reviews.all() if one.state != "same"]
        if session.as_json:
            session.print_json([review_json(reviews, one) for one in shown])
            return
        for number, one in enumerate(shown):
            if number:
                click.echo()
            show_review(reviews, one)
            _note_next(session, one)
    if not shown:
        session.note("nothing changed since it was reviewed")


def _note_next(session: Session, reviewed: Reviewed) -> None:
    if reviewed.state == "same":
        return
    held = "it is not used until you accept it" if reviewed.row.is_held else "it is used"
    session.note(
        f"{held}; to accept it: {review_hint(reviewed.row.handle).partition(', then ')[2]}"
    )
