"""Templates: everything is escaped, and characters that nobody sees are written out."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse, JSONResponse

from metier import __version__
from metier.safety.escapes import escaped_json, visible
from metier.web import pictures
from metier.web.markdown import rendered
from metier.web.page import to_plain
from metier.web.query import address


def _shown(value: Any) -> Any:
    """Called with every value that a template prints, before it is escaped."""
    if value is None:
        return ""
    if type(value) is not str:
        return value
    shown = visible(value)
    return shown if shown.isascii() else shown.encode("utf-8", "backslashreplace").decode()


def _moment(seconds: float | None) -> str:
    """A time of day as people read it, in UTC."""
    if seconds is None:
        return ""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M")


def _count(value: float) -> str:
    return f"{value:,}"


def _counted(value: int, noun: str, plural: str = "") -> str:
    """`1 skill`, `2 skills`."""
    return f"{value:,} {noun if value == 1 else plural or f'{noun}s'}"


def _cut(text: str, most: int = 200) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


_TONES = {
    "good": ("active", "loads", "succeeded", "right", "whole", "fires", "trusted"),
    "warn": ("warning", "shadowed", "cut", "pending", "running", "hidden", "no-text", "untrusted"),
    "bad": ("error", "excluded", "failed", "invisible", "wrong", "rollback_incomplete"),
}
"""The tone of a badge → the words that have it."""


def _tone(word: object) -> str:
    return next((tone for tone, words in _TONES.items() if word in words), "")


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("metier.web"),
        autoescape=True,
        finalize=_shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(moment=_moment, count=_count, counted=_counted, cut=_cut, tone=_tone)
    made.filters.update(markdown=rendered, address=address)
    made.globals.update(
        address=address,
        bar=pictures.bar,
        columns=pictures.columns,
        part=pictures.Part,
        sparkline=pictures.sparkline,
        stacked=pictures.stacked,
        version=__version__,
    )
    return made


def html(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    return HTMLResponse(environment().get_template(template).render(values), status)


class PlainJson(JSONResponse):
    """JSON in which characters that nobody sees are escaped."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, default=to_plain, allow_nan=False, indent=2)
        return escaped_json(text).encode("utf-8", "replace")


__all__ = ["Markup", "PlainJson", "environment", "html"]
