"""`metier which`"""

import sys
from collections.abc import Sequence

import click

from metier.cli.layout import one_line, packed, paged, terminal_width, wrapped
from metier.cli.session import Session, complete_names, metier_command
from metier.errors import UsageError
from metier.hosts import HOOKED
from metier.values.agents import AgentMatch
from metier.values.trust import NOT_IN_PROMPTS
from metier.values.which import Chosen, Expectation, RankedDocument, Which

_SHOWN_WORDS = 8
_SHOWN_SKILLS, _SHOWN_BESIDE_EXPECTED = 5, 2
_WORTH_SAYING = 0.5
_BELOW = "      "
"""The indent of what follows a name."""
_LISTED = (
    "this is for what the model of {0} sees in its listing; what its hook would say:"
    " metier hook try {0} PROMPT"
)


@metier_command("which", repeats=True)
@click.argument("task", required=False)
@click.option(
    "--host",
    metavar="HOST",
    type=click.Choice(HOOKED),
    help="Only skills that this host loads and shows the model: " + ", ".join(HOOKED) + ".",
)
@click.option(
    "--expect",
    metavar="SKILL",
    shell_complete=complete_names("skill"),
    help="Explain why SKILL is not first, and which words would change that.",
)
@click.option("--each", is_flag=True, help="Take each line of standard input as a task.")
@click.option(
    "--limit",
    type=click.IntRange(1, 100),
    show_default="5, with --expect 2",
    metavar="N",
    help="The most skills to show, whether or not they fire.",
)
def command(
    session: Session,
    task: str | None,
    host: str | None,
    expect: str | None,
    each: bool,
    limit: int | None,
) -> int:
    """Show which skills, cards, abilities and agents fit a task, and why.

    TASK is the prompt as you would type it; without it, standard input is read. Skills are ranked
    by the rule that hooks use. Exits with 1 if nothing fits.
    """
    tasks = _tasks(session, task, each)
    if each and expect:
        raise UsageError("--each and --expect cannot be combined", hint="metier which --help")
    most = limit or (_SHOWN_BESIDE_EXPECTED if expect else _SHOWN_SKILLS)
    with session.catalog() as catalog:
        answers = [catalog.which(one, host=host, expect=expect, limit=most) for one in tasks]
        encoding = catalog.encoding if catalog.config.encoder is not None else None
        has_skills = bool(catalog.names("skill"))
        may_speak = not catalog.trust.is_trusted or catalog.trust.speak
    if encoding is not None:
        session.note(encoding.warning or f"meaning: {answers[0].meaning}")
    if session.as_json:
        session.print_json([one.to_json() for one in answers] if each else answers[0].to_json())
    elif each:
        rows = [[one.task, ", ".join(_names(one)) or "-"] for one in answers]
        session.print_list(("task", "skills"), rows, "task", answer=1)
    elif sys.stdout.isatty():
        paged(_view(answers[0], terminal_width()))
    else:
        for row in _rows(answers[0]):
            click.echo("\t".join(map(one_line, row)))
    if host is not None:
        session.note(_LISTED.format(host))
    notes = [] if each else answers[0].notes
    for note in notes:
        session.note(note)
    if not may_speak and (silenced := _of_workspace(answers)):
        session.note(f"{NOT_IN_PROMPTS}, so they do not name {', '.join(silenced)}: metier trust")
    if any(map(_fits, answers)):
        return 0
    session.note("nothing fits" if not each else "nothing fits any of the tasks")
    if not has_skills:
        session.note("hint: there is no skill here: metier list")
    elif not each and not expect:
        session.note("hint: --expect SKILL says why a skill does not fire")
    return 1


def _tasks(session: Session, task: str | None, each: bool) -> list[str]:
    """The tasks of the command line or of standard input. Raises `UsageError` if there is none."""
    if each and task is not None:
        raise UsageError("--each reads standard input", hint="metier which --each < FILE")
    if task is None and sys.stdin.isatty() and not each:
        raise UsageError("no task is given", hint="metier which 'review this pull request'")
    text = session.standard_input if task in (None, "-") else task
    tasks = [line for line in text.splitlines() if line.strip()] if each else [text.strip()]
    if not any(tasks):
        raise UsageError("the task is empty", hint="metier which 'review this pull request'")
    return tasks


def _names(answer: Which) -> list[str]:
    return list(map(answer.label, answer.named))


def _of_workspace(answers: Sequence[Which]) -> list[str]:
    """The skills of the workspace that fire, in quotes, each once."""
    found = [
        f"'{answer.label(one)}'" for answer in answers for one in answer.named
        if one.origin != "user"
    ]  # fmt: skip
    return list(dict.fromkeys(found))


def _fits(answer: Which) -> bool:
    """Whether anything fits: a skill, a card, an ability or an agent."""
    others = [*answer.cards, *answer.abilities]
    return (
        answer.fires
        or any(one.is_injected for one in others)
        or any(one.parts for one in answer.agents)
    )


# For programs


def _rows(answer: Which) -> list[list[str]]:
    """Kind, name, whether it fires or is injected, its figure, and why."""
    rows = [
        [
            "skill",
            answer.label(one),
            _yes(answer.is_named(one)),
            f"{one.evidence:.2f}",
            "; ".join([*_taught(one), *_why(one, answer)]),
        ]
        for one in answer.skills
    ]
    rows += [
        [one.kind, one.id, _yes(one.is_injected), f"{one.score:.2f}", one.reason]
        for one in [*answer.cards, *answer.abilities]
    ]
    rows += [
        [
            "agent",
            one.agent_id,
            _yes(bool(one.parts)),
            f"{one.confidence:.2f}",
            _reasons(one),
        ]
        for one in answer.agents
    ]
    if answer.expectation is not None:
        rows += [["expected", answer.expectation.name, line, "", ""] for line in _explained(answer)]
    return rows


def _taught(ranked: RankedDocument) -> list[str]:
    """What examples add, if it is worth a word."""
    added = ranked.parts.get("examples", 0.0)
    return [f"what examples teach: {added:.2f}"] if added >= _WORTH_SAYING else []


def _reasons(match: AgentMatch) -> str:
    return "; ".join(match.reasons)


def _yes(value: bool) -> str:
    return "yes" if value else "no"


# For people


def _view(answer: Which, width: int) -> list[str]:
    where = f" in {answer.host}" if answer.host else ""
    lines = [_title(f"skills{where}", f"evidence of {answer.threshold:g} or more fires")]
    shown = [one for one in answer.skills if one.evidence > 0]
    for one in shown:
        lines += _skill_lines(one, answer.is_named(one), answer, width)
    if not shown:
        lines.append("  none has a word of the task")
    if answer.expectation is None:
        return lines + _other_lines(answer, width)
    name = answer.expectation.name
    heading = name if _is_first(answer.expectation) else f"why not {name}?"
    lines += ["", _title(heading, "")]
    return lines + [
        line for text in _explained(answer) for line in wrapped(text, width, "    ", "  - ")
    ]


def _other_lines(answer: Which, width: int) -> list[str]:
    """Cards, abilities and agents. A question about one skill is answered without them."""
    lines = [
        *_chosen_lines("cards", answer.cards, width),
        *_chosen_lines("abilities", answer.abilities, width),
    ]
    if answer.agents:
        lines += ["", _title("agents", "")]
    for match in answer.agents:
        parts = [one_line(match.agent_id), f"{match.confidence:.2f}"]
        lines += packed(parts, width, _BELOW, f"  {_mark(bool(match.parts))} ")
        lines += wrapped(_reasons(match), width, _BELOW)
    return lines


def _title(text: str, rest: str) -> str:
    return click.style(text, bold=True) + (f"  {rest}" if rest else "")


def _mark(is_chosen: bool) -> str:
    return click.style("●", fg="green") if is_chosen else "○"


def _skill_lines(ranked: RankedDocument, fires: bool, answer: Which, width: int) -> list[str]:
    shown = {name: round(value, 2) for name, value in ranked.parts.items()}
    parts = [f"{name} {value:.2f}" for name, value in shown.items() if value]
    figure = f"{ranked.evidence:.2f} {_gauge(ranked.evidence, answer.threshold)}"
    name = click.style(one_line(answer.label(ranked)), bold=fires)
    lines = packed([name, figure, *parts], width, _BELOW, f"  {_mark(fires)} ")
    for text in _why(ranked, answer):
        lines += wrapped(text, width, _BELOW)
    return lines


def _gauge(evidence: float, threshold: float) -> str:
    """Ten cells; the five before the threshold are full only if it is reached."""
    full = min(10, max(0, int(5 * (evidence / threshold)))) if threshold > 0 else 10
    cells = "█" * full + "░" * (10 - full)
    return f"{cells[:5]}│{cells[5:]}"


def _why(ranked: RankedDocument, answer: Which) -> list[str]:
    lines = [
        f"{field}: {', '.join(_beside(ranked, field)[:_SHOWN_WORDS])}" for field in ranked.matched
    ]
    if ranked.related:
        lines.append(f"related: {', '.join(ranked.related[:_SHOWN_WORDS])}")
    if ranked.against:
        lines.append(f"says it is not for: {', '.join(ranked.against)}")
    if ranked.shown is not None and ranked.shown.why:
        lines.append(f"{answer.host} shows {ranked.shown.extent}: {ranked.shown.why}")
    if ranked.evidence >= answer.threshold and not ranked.fires:
        lines.append("one matching word is too little")
    elif ranked.fires and not answer.is_named(ranked):
        lines.append(f"only the first {answer.most} are named")
    if (behind := _behind(ranked, answer)) is not None:
        lines.append(f"above '{answer.label(behind)}' by a higher score, with less evidence")
    return lines


def _beside(ranked: RankedDocument, field: str) -> list[str]:
    """The words of the task in a field; the body may have others that start alike."""
    words = ranked.matched[field]
    return ranked.beside(words) if field == "body" else list(words)


def _behind(ranked: RankedDocument, answer: Which) -> RankedDocument | None:
    """The first skill below that has more evidence, as far as figures show it."""
    below = answer.skills[answer.skills.index(ranked) + 1 :]
    return next((one for one in below if round(one.evidence - ranked.evidence, 2) > 0), None)


def _chosen_lines(title: str, found: Sequence[Chosen], width: int) -> list[str]:
    lines = ["", _title(title, "")] if found else []
    for one in found:
        limit = f" of {one.threshold:g}" if one.threshold is not None else ""
        parts = [one_line(one.id), f"{one.score:.2f}{limit}", one_line(one.reason)]
        lines += packed([*filter(None, parts)], width, _BELOW, f"  {_mark(one.is_injected)} ")
    return lines


def _explained(answer: Which) -> list[str]:
    expectation = answer.expectation
    assert expectation is not None
    if _is_first(expectation):
        return ["it is first, and it fires"]
    return [*expectation.reasons, *_advice(expectation)]


def _is_first(expectation: Expectation) -> bool:
    return expectation.place == 1 and expectation.fires


def _advice(expectation: Expectation) -> list[str]:
    lines, own = [], expectation.own
    if expectation.misspelt:
        pairs = [f"{word} ({meant})" for word, meant in expectation.misspelt.items()]
        lines.append(f"probably misspelt, so they match no description: {', '.join(pairs)}")
    if expectation.missing:
        lines.append(f"words of the task that it lacks: {', '.join(expectation.missing[:12])}")
    if expectation.only_in_body and own is not None:
        words = ", ".join(own.beside(expectation.only_in_body)[:12])
        lines.append(f"words of the task that only its body has: {words}")
    if expectation.would_win:
        words = ", ".join(expectation.would_win)
        lines.append(f"it would be first and fire with these in its description: {words}")
    elif _lacks(expectation) and own is not None and expectation.is_in_reach:
        gain = "make it first" if expectation.place != 1 else "let it fire"
        lines.append(f"these words in its description would not {gain}")
        if expectation.lost_to is not None:
            first = expectation.lost_to.label([own])
            lines.append(f"if the task is not for '{first}', narrow that skill's description")
    return lines


def _lacks(expectation: Expectation) -> bool:
    return bool(expectation.missing or expectation.only_in_body)
