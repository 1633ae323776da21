"""Usage and evals: what fired and when, what hooks decided, how evaluations and providers did."""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl

from metier.catalog import Catalog
from metier.errors import MetierError, UsageError
from metier.flow.eval_history import Remembered, history
from metier.flow.hook_log import INJECTED, Considered, Decision, kill_switch, label, read_decisions
from metier.flow.usage import FEW_SESSIONS, Question
from metier.flow.usage_kept import stored_stamp
from metier.flow.usage_seen import DAY, UsageSeen, firings_by_day, outcomes_of, usage_seen
from metier.hosts import HOOKED
from metier.web.page import Action, Data, Page, View
from metier.web.pictures_lines import LinePicture
from metier.web.query import Query, address
from metier.web.table import Column, Row, Table, table_of

_DAYS = 30
_MOST_DECISIONS = 5_000
_MOST_EVALUATIONS = 40
_LONGEST_PROMPT = 10_000
_MOST_MISSED = 100
USED = ("fired", "never", "missed")
VERDICTS = ("right", "wrong", "none")
FIGURES = {
    "recall": "recall",
    "falseFires": "false fires",
    "hit1": "hit@1",
    "recall5": "recall@5",
    "ndcg10": "nDCG@10",
    "silent": "silent",
    "speaksWrongly": "speaks wrongly",
}
_DRAWN = ("recall", "falseFires", "hit1", "ndcg10")


def build(view: View) -> Data:
    reads, prompts = view.query.flag("read"), view.query.flag("prompts")
    return {
        "read": reads,
        "prompts": prompts,
        "isRestricted": view.is_restricted,
        **_usage(view, reads, prompts),
        "decisions": _decisions(view),
        "evals": _evals(view),
        "reliability": _reliability(view),
    }


# Skills


def _usage(view: View, reads: bool, prompts: bool) -> dict[str, Any]:
    try:
        found = _seen(view, reads, prompts)
    except OSError as error:
        found, problem = UsageSeen([], [], None), error.strerror or str(error)
    else:
        problem = ""
    sessions = len(found.sessions)
    return {
        "sessions": sessions,
        "isTooLittle": sessions < FEW_SESSIONS,
        "days": firings_by_day(found.sessions, _DAYS),
        "used": view.query.choice("used", USED),
        "counts": {used: sum(_is_used(one, used) for one in found.skills) for used in USED},
        "skills": _skills(view, found),
        "missed": _missed(found) if prompts else [],
        "transcripts": found.reading.transcripts if found.reading is not None else None,
        "ranked": found.reading.ranked if found.reading is not None else None,
        "problem": problem,
    }


def _seen(view: View, reads: bool, prompts: bool) -> UsageSeen:
    catalog = view.catalog
    room = catalog.room
    stamp = stored_stamp(room) if room is not None else 0
    rows = catalog.documents("skill")
    if not reads:
        return view.cached(("stored", stamp), lambda: usage_seen(rows, room))
    since = time.time() - _DAYS * DAY
    question = Question(catalog.workspace, since=since, keeps_prompts=prompts)
    key = ("read", stamp, prompts)
    return view.briefly(key, lambda: usage_seen(rows, room, question, _ranker(catalog)))


def _ranker(catalog: Catalog) -> Any:
    """The skill that a hook would name first for a prompt."""

    def rank(host: str, prompt: str) -> str:
        found = catalog.which(
            prompt[:_LONGEST_PROMPT],
            host=host if host in HOOKED else None,
            limit=1,
            everything=False,
            include_untrusted=False,
        )
        return found.named[0].path if found.named else ""

    return rank


def _is_used(skill: Any, used: str) -> bool:
    return bool({"fired": skill.fired, "never": not skill.fired, "missed": skill.missed}[used])


def _skills(view: View, found: UsageSeen) -> Table:
    used = view.query.choice("used", USED)
    knows_missed = found.reading is not None
    rows = [
        {**one._asdict(), "last": one.last or None, "missed": one.missed if knows_missed else None}
        for one in found.skills
        if not used or _is_used(one, used)
    ]
    columns = [
        Column("name", "Skill", "id", href=lambda row: _document(row["name"])),
        Column("fired", "Fired", "number", hint="by the model or the user"),
        Column("sessions", "Sessions", "number", hint="in which it fired"),
        Column("model", "Model", "number", hint="times the model chose it"),
        Column("user", "User", "number", hint="times the user typed its name"),
        Column("read", "Read", "number", hint="times only its file was read"),
        Column(
            "missed",
            "Missed",
            "number",
            hint="prompts that looked like its job while nothing fired",
        ),
        Column("lost", "Lost", "number", hint="sessions that lost it in a compaction"),
        Column("last", "Last fired", "time"),
    ]
    return table_of(
        view, columns, rows, name="s", sort="-fired", noun="skill", size=20, empty="no such skill"
    )


def _document(name: str) -> str:
    return address("document", kind="skill", id=name)


def _missed(found: UsageSeen) -> list[dict[str, Any]]:
    cases = found.reading.cases if found.reading is not None else ()
    missed = [one for one in cases if one.is_missed][-_MOST_MISSED:]
    return [{"skill": one.skills[0], "prompt": one.prompt} for one in reversed(missed)]


# Hooks


def _decisions(view: View) -> dict[str, Any]:
    """What hooks decided, the latest first, with the verdicts that were given."""
    verdict = view.query.choice("verdict", VERDICTS)
    room = view.catalog.room
    rows: list[Row] = []
    problem = ""
    if room is not None:
        try:
            decisions = read_decisions(room)
            latest = deque(decisions, maxlen=_MOST_DECISIONS)
            rows = [_decision(one, decisions.labels.get(one.id)) for one in reversed(latest)]
        except OSError as error:
            problem = error.strerror or str(error)
    labelled = [row for row in rows if row["verdict"]]
    right = sum(row["verdict"] == "right" for row in labelled)
    return {
        "verdict": verdict,
        "total": len(rows),
        "labelled": len(labelled),
        "right": right,
        "table": _decision_table(view, [row for row in rows if _has(row, verdict)]),
        "killSwitch": kill_switch(room) if room is not None else "",
        "problem": problem,
    }


def _has(row: Row, verdict: str) -> bool:
    return not verdict or (row["verdict"] or "none") == verdict


def _decision(decision: Decision, is_right: bool | None) -> Row:
    names = [
        other.name for other in (*decision.cards, *decision.skills) if other.outcome == INJECTED
    ]
    left = _best_left(decision.cards) or _best_left(decision.skills)
    return {
        "id": decision.id,
        "at": decision.at,
        "host": decision.host,
        "milliseconds": round(decision.milliseconds, 1),
        "injected": ", ".join(names) if decision.injected else "",
        "left": f"{left.name} ({left.outcome}, {left.score:.2f})" if left else "",
        "error": decision.error,
        "verdict": "" if is_right is None else "right" if is_right else "wrong",
    }


def _best_left(considered: Sequence[Considered]) -> Considered | None:
    """The best that was not injected."""
    left = [one for one in considered if one.outcome != INJECTED]
    return min(left, key=lambda one: (-one.score, one.name), default=None)


def _decision_table(view: View, rows: Sequence[Row]) -> Table:
    columns = [
        Column("at", "When", "time"),
        Column("host", "Host"),
        Column("injected", "Named", "long"),
        Column("left", "Best of the others", "long", hint="what was not named, and why"),
        Column("milliseconds", "ms", "number"),
        Column("verdict", "Verdict", "badge"),
    ]
    return table_of(
        view, columns, rows, name="d", sort="-at", noun="decision", size=20, empty="no decision"
    )


def give_verdict(catalog: Catalog, fields: Mapping[str, str]) -> str:
    """As `metier hook stats label ID right|wrong`."""
    verdict, wanted = fields.get("verdict", ""), fields.get("id", "")
    if verdict not in ("right", "wrong") or not wanted:
        raise UsageError("a verdict is right or wrong, on a decision")
    if catalog.room is None:
        raise UsageError("there is no workspace here, so no decision is kept")
    label(catalog.room, wanted, verdict == "right")
    back = parse_qsl(fields.get("back", ""), keep_blank_values=False)
    return f"{address('usage', Query(back))}#decisions"


# Evaluations and providers


def _evals(view: View) -> dict[str, Any]:
    room = view.catalog.room
    try:
        kept = history(room) if room is not None else []
    except OSError:
        kept = []
    shown = kept[-_MOST_EVALUATIONS:]
    series = {FIGURES[name]: [one.figures.get(name) for one in shown] for name in _DRAWN}
    breaks = [at for at in range(1, len(shown)) if shown[at].digest != shown[at - 1].digest]
    picture = LinePicture(
        label="Figures of evaluations",
        series={name: some for name, some in series.items() if any(x is not None for x in some)},
        moments=[f"{one.commit[:7] or '–'} {_day(one.at)}" for one in shown],
        breaks=breaks,
    )
    rows = [_evaluation(kept, at) for at in range(len(kept))]
    columns = [
        Column("at", "When", "time"),
        Column("commit", "Commit", "id"),
        *([Column("host", "Host")] if any(one.host for one in kept) else []),
        Column("cases", "Cases", "number"),
        Column("failed", "Failed", "number"),
        *(
            Column(name, title, "share")
            for name, title in FIGURES.items()
            if any(name in one.figures for one in kept)
        ),
        Column("note", "Note", sorts=False),
    ]
    return {
        "total": len(kept),
        "picture": picture,
        "table": table_of(
            view, columns, rows, name="e", sort="-at", noun="evaluation", size=10, empty="none"
        ),
    }


def _evaluation(kept: Sequence[Remembered], at: int) -> Row:
    one = kept[at]
    has_changed = at > 0 and kept[at - 1].digest != one.digest
    return {
        "at": one.at,
        "commit": f"{one.commit[:12]}{'+' if one.changed else ''}",
        "host": one.host,
        "cases": one.cases,
        "failed": one.failed,
        **{name: _share(one.figures.get(name)) for name in FIGURES},
        "note": "other cases than before" if has_changed else "",
    }


def _share(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _day(moment: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(moment))


def _reliability(view: View) -> dict[str, Any]:
    """How providers did; a workspace that is not trusted keeps no history."""
    catalog, problem = view.catalog, ""
    try:
        found = outcomes_of(catalog.workspace, catalog.config, catalog.shared)
    except MetierError as error:
        found, problem = {}, error.message
    rows = [
        {
            "candidate": candidate,
            "rate": round(sum(outcomes) / len(outcomes), 2),
            "samples": len(outcomes),
            "outcomes": "".join("✓" if one else "✗" for one in outcomes),
        }
        for candidate, outcomes in found.items()
        if outcomes
    ]
    columns = [
        Column("candidate", "Provider", "id", href=lambda row: _document(row["candidate"])),
        Column("rate", "Succeeded", "share", hint="the share of its last 20 outcomes"),
        Column("samples", "Of", "number"),
        Column("outcomes", "Outcomes, the latest last", "id", sorts=False),
    ]
    made = table_of(
        view, columns, rows, name="r", sort="rate", noun="provider", size=10, empty="none"
    )
    return {"total": len(rows), "table": made, "problem": problem}


ACTIONS = [Action(name="label", do=give_verdict)]
PAGES = [
    Page(
        name="usage",
        title="Usage and evals",
        build=build,
        command=lambda data: ["usage", *(["--prompts"] if data["prompts"] else [])],
        group="Look",
        order=66,
        computes=True,
    )
]
