"""Inject: the exact text that a prompt would be given, its tokens, and what was left out."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from metier.catalog import Catalog
from metier.core.nearest import did_you_mean
from metier.errors import UsageError
from metier.flow.injected_parts import LeftOut, Piece, left_out, messages_of, pieces_of
from metier.values.capabilities import DEFAULT_ABILITIES, DEFAULT_MAX_TOKENS
from metier.values.selection import Injection, Scored
from metier.web.choices import Offered
from metier.web.page import Action, Data, Page, View
from metier.web.pasted import PASTED
from metier.web.query import Query, address
from metier.web.table import Column, Row, Table, table_of
from metier.web.words import in_browser

LONGEST_ADDRESS = 1_500
"""Characters of a conversation that an address holds; a longer one is kept in memory."""
SESSIONS = ("main", "isolated")
_PARTS = ("core", "tags", "category", "keywords", "priority")
_MOST_NAMES = 500
_MOST_SHOWN = 200_000
"""Characters of a text on the page; its JSON has all."""
_FIELDS = ("agent", "budget", "core", "limit", "min-signal", "session", "headings")


def _document(row: Row) -> str:
    return _address_of(row["kind"], row["id"])


@lru_cache(maxsize=1_024)
def _address_of(kind: str, name: str) -> str:
    return address("document", kind=kind, id=name)


_COLUMNS = [
    Column("id", "Document", "id", _document),
    Column("kind", "Kind"),
    Column("reason", "Why", "badge"),
    Column("detail", "More"),
    Column("score", "Score", "number"),
    Column("threshold", "Threshold", "number"),
    Column("tokens", "Tokens", "number"),
]


class Asked(NamedTuple):
    """What the address asks."""

    text: str = ""
    pasted: str = ""
    agent: str = ""
    budget: int | None = None
    core: tuple[str, ...] = ()
    limit: int = DEFAULT_ABILITIES
    min_signal: float | None = None
    session: str = "main"
    headings: bool = False

    @classmethod
    def of(cls, query: Query) -> "Asked":
        """Raises `UsageError`, and `NotFoundError` for a text that was forgotten."""
        pasted = query.text("pasted")
        core = [name.strip() for some in query.all("core") for name in some.split(",")]
        return cls(
            text=PASTED.find(pasted) if pasted else query.text("task"),
            pasted=pasted,
            agent=query.text("agent"),
            budget=query.number("budget", 0) if query.text("budget") else None,
            core=tuple(name for name in core if name),
            limit=query.number("limit", DEFAULT_ABILITIES, most=1_000),
            min_signal=_signal(query.text("min-signal")),
            session=query.choice("session", SESSIONS, "main"),
            headings=query.flag("headings"),
        )

    def inject(self, catalog: Catalog) -> Injection:
        return catalog.inject(
            messages_of(self.text),
            agent=self.agent or None,
            core=self.core,
            budget=self.budget,
            limit=self.limit,
            min_signal=self.min_signal,
            include_metadata=self.headings,
            session_type="isolated" if self.session == "isolated" else "main",
        )

    def command(self) -> list[str]:
        named: list[tuple[str, object]] = [("agent", self.agent), ("max-tokens", self.budget)]
        named += [("core", one) for one in self.core]
        named += [("limit", self.limit if self.limit != DEFAULT_ABILITIES else None)]
        named += [("min-signal", self.min_signal)]
        named += [("session", self.session if self.session != "main" else None)]
        options = [f"--{name}={value}" for name, value in named if value not in (None, "")]
        options += ["--headings"] if self.headings else []
        return ["inject", *options, "--task=-" if self.pasted else f"--task={self.text}"]


def _signal(text: str) -> float | None:
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise UsageError(f"'{text[:40]}' is not a number of at least 0", hint="min-signal=1")
    return value


def build(view: View) -> Data:
    asked = Asked.of(view.query)
    offered, excluded = view.cached("known", lambda: _known(view.catalog))
    shown = {**asked._asdict(), "core": list(asked.core)}
    data = {"asked": shown, "offered": offered, "sessions": list(SESSIONS)}
    usual = {"limit": DEFAULT_ABILITIES, "budget": DEFAULT_MAX_TOKENS}
    if not asked.text:
        return {**data, "usual": usual, "answer": None, "command": []}
    answer = view.latest(asked, lambda: _answer(view.catalog, asked, excluded))
    return {
        **data,
        "usual": usual,
        "command": asked.command(),
        "answer": {**answer, "leftOut": _table(view, answer["leftOut"])},
    }


def _known(catalog: Catalog) -> tuple[dict[str, Offered], list[tuple[str, str]]]:
    """The names that the fields offer, and the excluded cards with the reasons."""
    offered = {
        "agents": Offered(catalog.names("agent")[:_MOST_NAMES]),
        "abilities": Offered(catalog.names("ability")[:_MOST_NAMES]),
    }
    return offered, _excluded_cards(catalog)


def _answer(catalog: Catalog, asked: Asked, excluded: Sequence[tuple[str, str]]) -> dict[str, Any]:
    injection = asked.inject(catalog)
    pieces, count = pieces_of(injection), catalog.count_tokens
    sizes = [count(piece.text) for piece in pieces]
    config = catalog.config.capabilities
    return {
        "messages": messages_of(asked.text),
        "recent": config.recent_messages,
        "text": injection.text,
        "isFailed": injection.failed,
        "isTruncated": injection.truncated,
        "tokens": injection.tokens,
        "budget": injection.max_tokens,
        "isShared": asked.budget is not None,
        "cardBudget": config.max_tokens,
        "parts": _gauge(pieces, sizes, injection.tokens),
        "pieces": _shown(pieces, sizes),
        "documents": len([piece for piece in pieces if piece.id]),
        "abilities": _ranking(injection),
        "cards": [
            {"id": one.item.id, "score": one.score, "threshold": one.item.confidence_threshold}
            for one in injection.injected_cards
        ],
        "leftOut": [_left(row) for row in left_out(injection, excluded)],
        "more": injection.selection.passed_over,
        "issues": [
            {**issue.to_json(), "isError": issue.is_error, "hint": in_browser(issue.hint)}
            for issue in injection.issues
        ],
        "notes": _notes(catalog, asked),
    }


def _notes(catalog: Catalog, asked: Asked) -> list[str]:
    """An agent without a profile may be another host's, or a typo."""
    if not asked.agent or catalog.excluded_path("agent", asked.agent):
        return []
    names = catalog.names("agent")
    if asked.agent in names:
        return []
    text = f"no agent here is called '{asked.agent}'"
    return ["; ".join(filter(None, [text, did_you_mean(asked.agent, names)]))]


def _excluded_cards(catalog: Catalog) -> list[tuple[str, str]]:
    rows = []
    for row in catalog.excluded_rows("card"):
        why = next((issue for issue in catalog.issues_of(row) if issue.is_error), None)
        rows.append((row.handle or row.path, f"{why.code}: {why.message}" if why else row.reason))
    return rows


def _gauge(pieces: Sequence[Piece], sizes: Sequence[int], total: int) -> list[dict[str, Any]]:
    """The tokens of abilities, of cards, and of what is around them."""
    by_kind = {"ability": 0, "card": 0}
    for piece, size in zip(pieces, sizes, strict=True):
        if piece.kind in by_kind:
            by_kind[piece.kind] += size
    rest = max(0, total - sum(by_kind.values()))
    return [
        {"label": "abilities", "tokens": by_kind["ability"]},
        {"label": "cards", "tokens": by_kind["card"]},
        {"label": "frames and separators", "tokens": rest},
    ]


def _shown(pieces: Sequence[Piece], sizes: Sequence[int]) -> list[dict[str, Any]]:
    shown, left = [], _MOST_SHOWN
    for piece, size in zip(pieces, sizes, strict=True):
        shown.append(
            {
                "kind": piece.kind,
                "id": piece.id,
                "text": piece.text[:left],
                "tokens": size,
                "isCut": len(piece.text) > left,
            }
        )
        left = max(0, left - len(piece.text))
    return shown


def _ranking(injection: Injection) -> dict[str, Any]:
    inside = set(injection.injected_abilities)
    rows = [_ability(one, injection, one.item.id in inside) for one in injection.selection.ranked]
    most = max([sum(one["parts"].values()) for one in rows] or [1])
    return {"rows": rows, "most": most}


def _ability(scored: Scored[Any], injection: Injection, is_inside: bool) -> dict[str, Any]:
    by = injection.selection.required_by.get(scored.item.id, "")
    return {
        "id": scored.item.id,
        "score": scored.score,
        "parts": {part: max(0.0, scored.parts.get(part, 0.0)) for part in _PARTS},
        "isInjected": is_inside,
        "requiredBy": by if not scored.parts.get("core") else "",
    }


def _left(left: LeftOut) -> Row:
    shown = dict(zip(LeftOut._fields, left, strict=True))
    shown["score"] = None if left.score is None else round(left.score, 3)
    return shown


def _table(view: View, rows: Sequence[Row]) -> Table:
    return table_of(
        view,
        _COLUMNS,
        rows,
        name="left",
        sort="kind",
        size=10,
        noun="document",
        empty="no ability and no card was left out",
    )


def _paste(_: Catalog, fields: Mapping[str, str]) -> str:
    """The address of the answer: it holds a short conversation, or the key of a long one."""
    text = fields.get("task", "").replace("\r\n", "\n").strip()
    kept = {name: fields[name] for name in _FIELDS if fields.get(name, "").strip()}
    if len(text) <= LONGEST_ADDRESS:
        return address("inject", Query([]), task=text, **kept)
    return address("inject", Query([]), pasted=PASTED.keep(text), **kept)


PAGES = [
    Page(
        name="inject",
        title="Inject",
        build=build,
        command=lambda data: data["command"],
        group="Look",
        order=64,
        computes=True,
    )
]
ACTIONS = [Action(name="inject", do=_paste)]
