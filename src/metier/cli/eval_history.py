"""`metier eval history`"""

from collections.abc import Sequence
from datetime import datetime

import click

from metier.cli.eval_formats import percent
from metier.cli.session import Session, metier_command
from metier.flow.eval_history import Remembered
from metier.flow.eval_history import history as stored
from metier.storage.places import state_room

_FIGURES = ("recall", "falseFires", "hit1", "recall5", "ndcg10", "silent", "speaksWrongly")
_COLUMNS = (
    *("when", "commit", "host", "cases", "failed"),
    *("recall", "false fires", "hit@1", "recall@5", "nDCG@10", "silent", "speaks wrongly", "files"),
)


@metier_command("history", catalog=False)
@click.option("--limit", type=click.IntRange(min=1), default=20, show_default=True, metavar="N",
              help="The latest N evaluations.")  # fmt: skip
def command(session: Session, limit: int) -> None:
    """Show the figures of earlier evaluations, the latest last.

    Figures are stored in your state folder, with the commit that was checked out; tasks are not. An
    asterisk means that the cases differ from those of the previous evaluation, a plus that the
    skills differed from the commit. The last column shows the given files, if any.
    """
    kept = stored(state_room(session.require_workspace()))
    shown = kept[-limit:]
    if session.as_json:
        session.print_json([one.to_json() for one in shown])
        return
    if not kept:
        session.note("no evaluation is stored yet: run metier eval")
        return
    session.print_list(_COLUMNS, _rows(shown), "evaluation", total=len(kept))


def _rows(shown: Sequence[Remembered]) -> list[list[str]]:
    rows, before = [], ""
    for one in shown:
        when = datetime.fromtimestamp(one.at).strftime("%Y-%m-%d %H:%M")
        mark = "*" if before and one.digest != before else ""
        figures = [percent(one.figures[name]) if name in one.figures else "-" for name in _FIGURES]
        commit = f"{one.commit[:12]}{'+' if one.changed else ''}" or "-"
        facts = [commit, one.host or "-", f"{one.cases}{mark}", str(one.failed)]
        rows.append([when, *facts, *figures, _files(one.files)])
        before = one.digest
    return rows


def _files(given: Sequence[str]) -> str:
    more = f" and {len(given) - 1} more" if len(given) > 1 else ""
    return f"{given[0]}{more}" if given else "-"
