"""`metier trust --skill`: review skills, and record what was reviewed."""

from collections.abc import Sequence

import click

from metier.catalog import Catalog
from metier.cli.layout import shortened
from metier.cli.refresh import prepare_hooks
from metier.cli.review import has_terminal
from metier.cli.review_view import review_json, show_review
from metier.cli.session import Session
from metier.errors import StoreError, TrustError, UsageError
from metier.flow.boundary import check_digest
from metier.flow.reviews import Reviewed, Reviews
from metier.values.trust import ALWAYS, NEVER


def show_skills(session: Session, names: Sequence[str]) -> int:
    """`metier trust --skill NAME --show`"""
    with session.catalog() as catalog:
        reviews, chosen = catalog.reviews, _chosen(catalog, names)
        if session.as_json:
            session.print_json([review_json(reviews, one) for one in chosen])
            return 0
        for one in chosen:
            show_review(reviews, one)
            if not one.now.problem:
                session.tell(f"  digest: {one.digest}")
    return 0


def accept_skill(session: Session, names: Sequence[str], digest: str) -> int:
    """`metier trust --skill NAME --accept DIGEST`"""
    message, shown_by = (
        "--accept takes a digest such as sha256:…",
        "metier trust --skill NAME --show",
    )
    check_digest(digest, message, shown_by)
    if len(names) != 1:
        raise UsageError("--accept takes the digest of one skill", hint="give one --skill")
    with session.catalog() as catalog:
        [one] = _chosen(catalog, names)
        if one.now.problem or one.digest != digest:
            raise UsageError(
                "the skill has another digest; nothing was recorded",
                code="TRUST_DIGEST_DIFFERS",
                where=one.now.problem or one.digest,
                hint=f"metier trust --skill {names[0]} --show says what is in it",
            )
        _record(session, catalog, [one])
    prepare_hooks(session, is_silent=True)
    return 0


def revoke_skills(session: Session, names: Sequence[str]) -> int:
    """`metier trust --skill NAME --revoke`"""
    with session.catalog() as catalog:
        chosen = _chosen(catalog, names)
        was_known = [one for one in chosen if catalog.reviews.revoke(one)]
        session.refresh(catalog)
    prepare_hooks(session, is_silent=True)
    for one in chosen:
        told = "is no longer reviewed" if one in was_known else "was not reviewed"
        still = f"; it is still used: its source is trusted '{ALWAYS}'"
        session.note(f"{one.handle} {told}{still if one.level == ALWAYS else ''}")
    return 0


def ask_about_skills(session: Session, names: Sequence[str]) -> int:
    """`metier trust --skill NAME`: show what changed, ask, record the answer."""
    if not has_terminal():
        raise TrustError(
            "a review needs a terminal to ask on; nothing was recorded",
            code="REVIEW_NEEDS_TERMINAL",
            hint="metier trust --skill NAME --show, then --accept DIGEST",
        )
    with session.catalog() as catalog:
        chosen = _chosen(catalog, names)
        accepted = _accepted(session, catalog.reviews, chosen)
        _record(session, catalog, accepted)
    prepare_hooks(session, is_silent=True)
    if len(accepted) < sum(one.state != "same" for one in chosen):
        raise TrustError("not accepted, nothing was recorded for the rest", hint="metier diff")
    return 0


def offer_locked(session: Session) -> None:
    """Offer skills that wait for a review and match the lock, for one answer."""
    with session.open_catalog() as catalog:
        session.refresh(catalog)
        reviews = catalog.reviews
        waiting = [one for one in reviews.all() if one.is_waiting and one.level != NEVER]
        matching = [one for one in waiting if reviews.matches_lock(one)]
        if matching:
            accepted = _accepted(session, reviews, matching)
            _record(session, catalog, accepted)
            waiting = [one for one in waiting if one not in accepted]
    if waiting:
        names = shortened([one.handle for one in waiting])
        session.note(f"waiting for your review: {names}; metier diff shows them")


def _chosen(catalog: Catalog, names: Sequence[str]) -> list[Reviewed]:
    reviews = catalog.reviews
    return [reviews.named(catalog.find_skills(name), name) for name in dict.fromkeys(names)]


def _accepted(session: Session, reviews: Reviews, chosen: Sequence[Reviewed]) -> list[Reviewed]:
    """Those that the user accepts: one question for all that match the lock, else one each."""
    due = [one for one in chosen if one.state != "same"]
    for one in chosen:
        if one not in due:
            session.note(f"{one.handle} is as you reviewed it")
    locked = [one for one in due if reviews.matches_lock(one)]
    accepted: list[Reviewed] = []
    for one in locked:
        show_review(reviews, one, err=True)
    if locked and _confirmed(_question(len(locked))):
        accepted += locked
    for one in due:
        if one in locked:
            continue
        show_review(reviews, one, err=True)
        if not one.now.problem and _confirmed(f"Accept '{one.handle}' as it is now?"):
            accepted.append(one)
    return accepted


def _question(matching: int) -> str:
    if matching == 1:
        return "This skill is as metier.lock has it. Accept it?"
    return f"These {matching:,} skills are as metier.lock has them. Accept them all?"


def _confirmed(question: str) -> bool:
    return click.confirm(click.unstyle(question), err=True)


def _record(session: Session, catalog: Catalog, accepted: Sequence[Reviewed]) -> None:
    if not accepted:
        return
    try:
        catalog.reviews.accept(accepted)
    except OSError as error:
        why = error.strerror or str(error)
        raise StoreError(f"the review cannot be recorded: {why}", where=error.filename) from None
    session.refresh(catalog)
    if session.as_json:
        session.print_json([review_json(catalog.reviews, one) for one in accepted])
    for one in accepted:
        session.note(f"accepted: {one.handle}")
        if one.level == ALWAYS:
            session.note(
                "its source is always trusted: the review only lets metier diff show changes"
            )
        if one.level == NEVER:
            session.note(f"it stays excluded: its source is trusted '{NEVER}'")
