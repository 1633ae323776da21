"""The tools that only read. Order, names and texts are constant: nothing of a skill is in them."""

from typing import Any

from metier.catalog import Catalog
from metier.errors import MetierError
from metier.hosts import HOOKED
from metier.mcp.answers import cursor_after, handle_of
from metier.mcp.resolving import POLICY, answer_resolve
from metier.mcp.tool_calls import Args, ServedTool, cached, from_catalog
from metier.mcp.uris import skill_uri
from metier.values.documents import Card
from metier.values.policy import PRESETS
from metier.values.resolution import DECISIONS

PAGE = 50
LARGEST_PAGE = 200
FOUND = 5
_TEXT = {"type": "string", "maxLength": 10_000}
_NAME = {"type": "string", "minLength": 1, "maxLength": 1_000}
_LIMIT = {
    "type": "integer",
    "minimum": 1,
    "maximum": LARGEST_PAGE,
    "default": PAGE,
    "description": "The most rows on a page.",
}
_MESSAGE = {"type": "string", "maxLength": 200_000}
_MESSAGE_OF_A_ROLE = {
    "type": "object",
    "properties": {
        "role": {"enum": ["user", "assistant", "system", "tool"]},
        "content": _MESSAGE,
    },
    "required": ["role", "content"],
    "additionalProperties": False,
}
_CURSOR = {
    "type": "string",
    "maxLength": 10_000,
    "description": "nextCursor of the previous page; without it, the first page.",
}


def _skill_list(catalog: Catalog, args: Args) -> dict[str, Any]:
    page = catalog.page(
        "skill",
        limit=args.get("limit", PAGE),
        after=handle_of(args.get("cursor", "")),
        search=args.get("search"),
        capability=args.get("capability"),
    )
    rows = [{**row.to_json(), "uri": skill_uri(row)} for row in page.rows]
    return {"skills": rows, "total": page.total, **_next(page.last)}


def _capability_list(catalog: Catalog, args: Args) -> dict[str, Any]:
    wanted = args.get("search", "").casefold()
    found = [card for card in catalog.cards() if wanted in _searched(card)]
    after, limit = handle_of(args.get("cursor", "")), args.get("limit", PAGE)
    rest = [one for one in found if one.id > after]
    last = rest[limit - 1].id if len(rest) > limit else ""
    rows = [_card(one) for one in rest[:limit]]
    return {"capabilities": rows, "total": len(found), **_next(last)}


def _searched(card: Card) -> str:
    return "\n".join((card.name, card.description, *card.keywords)).casefold()


def _card(card: Card) -> dict[str, Any]:
    return {
        "id": card.id,
        "name": card.name,
        "description": card.description,
        "version": card.version,
        "path": card.path,
        "enabled": card.enabled,
        "priority": card.priority,
        "estimatedTokens": card.estimated_tokens,
        "triggers": {
            "keywords": list(card.keywords),
            "match": card.match,
            "confidenceThreshold": card.confidence_threshold,
            "sessionTypes": list(card.session_types),
            "timeOfDay": list(card.time_of_day),
            "userTier": list(card.user_tier),
            "environmentType": list(card.environment_type),
        },
    }


def _next(last: str) -> dict[str, str]:
    return {"nextCursor": cursor_after(last)} if last else {}


def _context_find(catalog: Catalog, args: Args) -> dict[str, Any]:
    found = catalog.which(
        args["task"],
        host=args.get("host"),
        limit=args.get("limit", FOUND),
        include_untrusted=False,  # it goes into a prompt without a review
    )
    return found.to_json()


def _context_inject(catalog: Catalog, args: Args) -> dict[str, Any]:
    texts = [one if isinstance(one, str) else one["content"] for one in args["messages"]]
    injection = catalog.inject(
        texts,
        agent=args.get("agent"),
        core=args.get("core", ()),
        budget=args.get("budget"),
        limit=args.get("limit", 10),
        session_type=args.get("sessionType", "main"),
        include_untrusted=False,  # it goes into a prompt without a review
    )
    errors = [issue for issue in injection.issues if issue.is_error]
    if errors:
        first, message = errors[0], "; ".join(issue.message for issue in errors)
        raise MetierError(message, code=first.code, where=first.path, hint=first.hint)
    return {**injection.to_json(), "skills": _skills_for(catalog, args["messages"])}


def _skills_for(catalog: Catalog, messages: list[Any]) -> list[dict[str, Any]]:
    """The skills that fit the last message of the user, as a hook would name them."""
    said = [one if isinstance(one, str) else one["content"] for one in messages if _is_users(one)]
    if not said:
        return []
    found = catalog.which(said[-1], everything=False, include_untrusted=False)
    rows = [(one, catalog.row("skill", one.id)) for one in found.named]
    return [
        {
            "name": one.name,
            "description": one.description,
            "uri": skill_uri(row),
            "evidence": one.evidence,
        }
        for one, row in rows
    ]


def _is_users(message: Any) -> bool:
    return isinstance(message, str) or message["role"] == "user"


READING: tuple[ServedTool, ...] = (
    ServedTool(
        "skill_list",
        "List skills",
        "Lists the skills of this workspace by name, or those that fit a search, one page at a"
        " time: name, description, what they provide, and the address (uri) of the resource that"
        " holds their text.",
        takes={
            "search": {
                **_TEXT,
                "description": "A name or a task in words: skills with this text come first, then"
                " those that fit it, best first.",
            },
            "capability": {**_NAME, "description": "Only those that provide this capability."},
            "limit": _LIMIT,
            "cursor": _CURSOR,
        },
        gives="skill-list",
        answer=cached(_skill_list),
    ),
    ServedTool(
        "capability_resolve",
        "Resolve capabilities",
        "Says which skill provides the capabilities that are required, and why: a report with the"
        " scores of all candidates, what is unresolved, and what was decided about it. Give"
        " 'requires', or the name of a skill as 'consumer', or both.",
        takes={
            "requires": {
                "type": "array",
                "items": _NAME,
                "maxItems": 100,
                "description": "Names of capabilities as skills provide them, such as web-search;"
                " not the ids of cards.",
            },
            "query": {**_TEXT, "description": "The task in words."},
            "consumer": {**_NAME, "description": "A skill whose requirements are resolved."},
            "mode": {"enum": ["strict", "best-effort"]},
            "policy": POLICY,
            "preset": {
                "enum": list(PRESETS),
                "description": "prose: also skills that match by their words alone.",
            },
            "host": {**_NAME, "description": "The host that providers must work in."},
            "decision": {
                "enum": list(DECISIONS),
                "description": "What to do when a required capability is unresolved.",
            },
            "fullReport": {"type": "boolean", "description": "Include a row for every candidate."},
        },
        gives="capability-resolution-report",
        answer=answer_resolve,
    ),
    ServedTool(
        "capability_list",
        "List capability cards",
        "Lists the capability cards of this workspace by id, one page at a time: what each is"
        " about, and the keywords and the threshold by which context_inject chooses it."
        " What skills provide is in skill_list.",
        takes={
            "search": {
                **_TEXT,
                "description": "Only those with this text in name, description or keywords.",
            },
            "limit": _LIMIT,
            "cursor": _CURSOR,
        },
        gives="capability-list",
        answer=cached(_capability_list),
    ),
    ServedTool(
        "context_find",
        "Find what fits a task",
        "Says which skills, capability cards, abilities and agents fit a task in words, and why:"
        " evidence, matched words, thresholds. A skill that does not fire is listed too, so that"
        " nothing has to be guessed. Nothing is injected.",
        takes={
            "task": {
                "type": "string",
                "minLength": 1,
                "maxLength": 200_000,
                "description": "The task as the user said it.",
            },
            "host": {"enum": list(HOOKED), "description": "Only skills that this host loads."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 50,
                "default": FOUND,
                "description": "The most skills.",
            },
        },
        needs=("task",),
        gives="which",
        answer=from_catalog(_context_find),
    ),
    ServedTool(
        "context_inject",
        "Choose context",
        "Returns the text to put before a prompt about these messages: abilities and capability"
        " cards, selected by written rules within a token budget, with everything that was"
        " excluded and why; and the skills that fit the last message of the user.",
        takes={
            "messages": {
                "type": "array",
                "items": {"anyOf": [_MESSAGE, _MESSAGE_OF_A_ROLE]},
                "minItems": 1,
                "maxItems": 1_000,
                "description": "The conversation, the latest message last: texts, or objects with"
                " role and content.",
            },
            "agent": {
                **_NAME,
                "description": "The agent that acts: its core abilities and limit. An agent that"
                " is not known here gets what applies to its name.",
            },
            "core": {
                "type": "array",
                "items": _NAME,
                "maxItems": 50,
                "description": "Abilities that must be injected.",
            },
            "budget": {
                "type": "integer",
                "minimum": 0,
                "maximum": 1_000_000,
                "description": "The most tokens of the whole text.",
            },
            "limit": {
                "type": "integer",
                "minimum": 0,
                "maximum": 100,
                "default": 10,
                "description": "The most abilities, dependencies not counted.",
            },
            "sessionType": {"enum": ["main", "isolated"], "default": "main"},
        },
        needs=("messages",),
        gives="context-injection",
        answer=from_catalog(_context_inject),
    ),
)
