"""Which: who fires for a prompt, who lost and why, and what would make another win."""

from collections.abc import Mapping, Sequence
from typing import Any

from metier.catalog import Catalog
from metier.errors import NotFoundError, UsageError
from metier.flow.eval_add import add_case
from metier.hosts import HOOKED
from metier.values.evals import EvalCase
from metier.values.which import RankedDocument, Which
from metier.web.choices import near_names, offered_skills
from metier.web.marking import marked_words, stems
from metier.web.page import Action, Data, Page, View
from metier.web.query import address
from metier.web.words import in_browser

LONGEST_TASK = 10_000
NOTHING = "nothing"
"""What should fire, if no skill should."""
_LIMIT = 5
_MOST_TEXT = 240


def build(view: View) -> Data:
    task = view.query.text("task")[:LONGEST_TASK]
    host = view.query.choice("host", HOOKED)
    expect = view.query.text("expect")
    limit = view.query.number("limit", _LIMIT, least=1, most=100)
    asked = {
        "added": view.query.text("added"),
        "task": task,
        "host": host,
        "expect": expect,
        "limit": limit,
        "hosts": list(HOOKED),
        "offered": offered_skills(view),
    }
    if not task:
        return {**asked, "answer": None, "skills": [], "unknown": None}
    found, unknown = _found(view, task, host, expect, limit)
    return {
        **asked,
        "unknown": unknown,
        "answer": found.to_json(),
        "most": max([one.evidence for one in found.skills] + [2 * found.threshold]),
        "skills": [_skill(one, found) for one in found.skills if one.evidence > 0],
        "taskWords": _task_words(found),
    }


def _found(
    view: View, task: str, host: str, expect: str, limit: int
) -> tuple[Which, dict[str, Any] | None]:
    """The answer, and why it is without the expected skill."""
    catalog = view.catalog
    try:
        found = catalog.which(task, host=host or None, expect=expect or None, limit=limit)
    except NotFoundError as error:
        near = near_names(expect, catalog.names("skill"))
        hint = "" if near else in_browser(error.hint)
        unknown = {"message": error.message, "hint": hint, "near": near}
        return catalog.which(task, host=host or None, limit=limit), unknown
    return found, None


def _skill(ranked: RankedDocument, found: Which) -> dict[str, Any]:
    text = ranked.description[:_MOST_TEXT]
    words = [word for words in ranked.matched.values() for word in words]
    return {
        "name": found.label(ranked),
        "id": ranked.id,
        "path": ranked.path,
        "evidence": ranked.evidence,
        "parts": dict(ranked.parts),
        "isNamed": found.is_named(ranked),
        "why": _why(ranked, found, found.is_named(ranked)),
        "matched": {
            field: ranked.beside(words) if field == "body" else list(words)
            for field, words in ranked.matched.items()
        },
        "related": list(ranked.related),
        "against": list(ranked.against),
        "text": marked_words(text, _stems(words), _stems(ranked.related)),
        "isCut": len(ranked.description) > len(text),
        "origin": ranked.origin,
    }


def _why(ranked: RankedDocument, found: Which, is_named: bool) -> str:
    """Why it does not fire; empty if it does."""
    if is_named:
        return ""
    if ranked.fires:
        return f"only the first {found.most} are named"
    if ranked.evidence >= found.threshold:
        return "one matching word is too little"
    return f"{found.threshold - ranked.evidence:.2f} below the threshold"


def _task_words(found: Which) -> list[dict[str, str]]:
    """The prompt in pieces; those that some skill which fires has are marked."""
    words = [word for one in found.named for words in one.matched.values() for word in words]
    return marked_words(found.task, _stems(words), frozenset())


def _stems(words: Sequence[str]) -> frozenset[str]:
    return frozenset(stem for word in words for stem in stems(word))


def _command(data: Data) -> list[str]:
    named = ("host",) if data["unknown"] else ("host", "expect")
    options = [f"--{name}={data[name]}" for name in named if data[name]]
    return ["which", *options, "--", data["task"]]


def add(catalog: Catalog, fields: Mapping[str, str]) -> str:
    """Add the prompt to the workspace's evaluation cases, with the skill that should fire."""
    catalog.require_trust("an evaluation case")
    task, skill = fields.get("task", "").strip()[:LONGEST_TASK], fields.get("skill", "").strip()
    if not task:
        raise UsageError("the prompt is empty", hint="type one first")
    if skill:
        skill = catalog.find_skill(skill).handle
    expected = {"skills": [skill]} if skill else {"nothing": True}
    add_case(catalog.workspace, EvalCase(task=task, **expected))
    return f"{address('which', task=task, expect=skill, added=skill or NOTHING)}#case"


ACTIONS = [Action(name="case", do=add)]
PAGES = [
    Page(
        name="which",
        title="Which",
        build=build,
        command=_command,
        group="Look",
        order=20,
        is_cached=True,
        computes=True,
    )
]
