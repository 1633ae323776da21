"""`metier trust`"""

import click

from metier.cli.refresh import prepare_hooks
from metier.cli.review import Review, has_terminal, show
from metier.cli.session import Session, complete_names, metier_command
from metier.cli.trust_mcp import trust_server
from metier.cli.trust_skill import (
    accept_skill,
    ask_about_skills,
    offer_locked,
    revoke_skills,
    show_skills,
)
from metier.config.owners import main_worktree
from metier.config.record import TrustRecord
from metier.errors import TrustError, UsageError
from metier.flow.boundary import check_digest, recorded

_HOOKS_OFF = "hooks do not use its text: that takes your answer to 'metier trust' on a terminal"


@metier_command("trust", catalog=False, for_host=True)
@click.option("--show", "only_show", is_flag=True, help="Show what it may do, and change nothing.")
@click.option(
    "--accept",
    metavar="DIGEST",
    help="Trust the workspace if its powers have this digest; asks nothing.",
)
@click.option("--revoke", is_flag=True, help="Stop trusting the workspace.")
@click.option(
    "--skill",
    "skills",
    metavar="SKILL",
    multiple=True,
    shell_complete=complete_names("skill"),
    help="Review this skill instead: show what changed, and accept it.",
)
@click.option(
    "--mcp",
    "server",
    metavar="NAME",
    help="Review this MCP server instead: connect, show its tools, and accept them.",
)
def command(
    session: Session,
    only_show: bool,
    accept: str | None,
    revoke: bool,
    skills: tuple[str, ...],
    server: str | None,
) -> int:
    """Review what a workspace may do, and trust it.

    Until you trust a workspace, metier reads its documents and ignores everything else in it:
    commands, servers, models, keys, probes, sources, agents. This command shows each of these and
    asks. Your answer is stored in your own configuration folder, with the digest of what was shown:
    after any change metier asks again, and shows what changed.

    --accept takes the digest that --show prints, for scripts; it does not let the workspace's text
    into prompts. In CI set METIER_TRUST to the digest instead. Exit code 3 without a terminal.

    With --skill you review a skill instead: what it asks for, and what changed since your last
    review. With --mcp you review a server of [mcp.NAME] in the settings, which metier starts for
    that: its command, and the names, descriptions and schemas of its tools. A tool that is new or
    changed is switched off until you accept it.
    """
    if sum((only_show, accept is not None, revoke)) > 1:
        raise UsageError("--show, --accept and --revoke cannot be combined")
    if session.config_file is not None:
        raise UsageError(
            "--config cannot be used with 'trust', which reviews the workspace's own files"
        )
    if server is not None:
        if skills:
            raise UsageError("--mcp and --skill cannot be combined")
        return trust_server(session, server, only_show=only_show, accept=accept, revoke=revoke)
    if skills:
        return _about_skills(session, skills, only_show, accept, revoke)
    if revoke:
        return _revoke(session)
    review = Review(session)
    if only_show:
        _show(session, review)
        return 0
    review.require_owner()
    if accept is not None:
        return _accept(session, review, accept)
    return _ask(session, review)


def _about_skills(
    session: Session, skills: tuple[str, ...], only_show: bool, accept: str | None, revoke: bool
) -> int:
    if only_show:
        return show_skills(session, skills)
    if accept is not None:
        return accept_skill(session, skills, accept)
    return revoke_skills(session, skills) if revoke else ask_about_skills(session, skills)


def _show(session: Session, review: Review) -> None:
    if session.as_json:
        session.print_json(review.to_json())
        return
    show(review)
    state = {"trusted": "trusted", "changed": "changed since it was trusted"}
    speaks = (
        f"; hooks may{'' if review.speaks else ' not'} use its text"
        if review.state == "trusted"
        else ""
    )
    session.note(f"state: {state.get(review.state, 'not trusted')}{speaks}")


def _accept(session: Session, review: Review, digest: str) -> int:
    check_digest(digest, "--accept takes a digest such as sha256:…")
    if digest != review.digest:
        raise UsageError(
            "the powers of this workspace have another digest; nothing was recorded",
            code="TRUST_DIGEST_DIFFERS",
            where=review.digest,
            hint="metier trust --show says what is in it",
        )
    review.record(speak=review.speaks)
    _tell(session, review)
    if not review.speaks:
        session.note(_HOOKS_OFF)
    return 0


def _ask(session: Session, review: Review) -> int:
    if not has_terminal():
        raise TrustError(
            "trusting a workspace needs a terminal to ask on; nothing was recorded",
            where=review.workspace,
            hint="metier trust --show, then metier trust --accept DIGEST; hooks stay off with that",
        )
    show(review)
    if review.speaks:
        session.note("you already trust this workspace; metier trust --revoke undoes that")
        offer_locked(session.reopened())
        return 0
    if not click.confirm("Trust this workspace?", err=True):
        raise TrustError("not trusted, nothing was recorded", where=review.workspace)
    review.record(speak=True)
    _tell(session, review)
    offer_locked(session.reopened())
    return 0


def _tell(session: Session, review: Review) -> None:
    prepare_hooks(session, is_silent=True)
    if session.as_json:
        session.print_json(Review(session).to_json())
    session.note(f"trusted: {review.workspace}")


def _revoke(session: Session) -> int:
    workspace = session.require_workspace()
    was_known = TrustRecord(workspace=workspace).drop(workspace)
    if not was_known and recorded(workspace) is not None:
        main = main_worktree(workspace)
        raise UsageError(
            f"it is trusted as a worktree of {main}", hint=f"metier trust --revoke --root {main}"
        )
    if was_known:
        prepare_hooks(session, is_silent=True)
    if session.as_json:
        session.print_json({"workspace": workspace, "revoked": was_known})
    session.note("no longer trusted" if was_known else "it was not trusted")
    return 0
