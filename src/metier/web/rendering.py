"""Templates: everything is escaped, and invisible characters are written out."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2
from markupsafe import Markup
from starlette.responses import HTMLResponse, JSONResponse

from metier import __version__
from metier.safety.escapes import escaped_json
from metier.web import pictures, run_pictures
from metier.web.candidates_html import candidates_html, said_html
from metier.web.injected_html import (
    abilities_html,
    gauge_html,
    issues_html,
    pieces_of_text_html,
)
from metier.web.markdown import rendered
from metier.web.marking import pieces_html
from metier.web.page import to_plain
from metier.web.query import address
from metier.web.rankings import ranking_html
from metier.web.table_html import filter_html, head_html, pager_html, table_html
from metier.web.words import (
    as_text,
    count,
    counted,
    cut,
    dollars,
    duration,
    in_browser,
    moment,
    shown,
    tone,
    without_filling,
)

_METHODS = frozenset({"get", "items", "keys", "values"})


class _Environment(jinja2.Environment):
    """Looks names up in mappings first: most values are, and an attribute that fails is slow."""

    def getattr(self, obj: Any, attribute: str) -> Any:
        if type(obj) is dict and attribute in obj and attribute not in _METHODS:
            return obj[attribute]
        return super().getattr(obj, attribute)


@cache
def environment() -> jinja2.Environment:
    made = _Environment(
        loader=jinja2.PackageLoader("metier.web"),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters.update(moment=moment, count=count, counted=counted, cut=cut, tone=tone)
    made.filters.update(markdown=rendered, as_text=as_text, in_browser=in_browser)
    made.filters.update(duration=duration, dollars=dollars, without_filling=without_filling)
    made.globals.update(
        abilities_html=abilities_html,
        address=address,
        bar=pictures.bar,
        candidates_html=candidates_html,
        columns=pictures.columns,
        filter_html=filter_html,
        gauge_html=gauge_html,
        head_html=head_html,
        issues_html=issues_html,
        pager_html=pager_html,
        part=pictures.Part,
        pieces_html=pieces_html,
        pieces_of_text_html=pieces_of_text_html,
        ranking_html=ranking_html,
        plan_picture=run_pictures.plan,
        said_html=said_html,
        run_axis=run_pictures.axis,
        run_bar=run_pictures.run_bar,
        stacked=pictures.stacked,
        table=table_html,
        version=__version__,
    )
    # importing a macro in each template takes time on each page
    made.globals.update(vars(made.get_template("command.html").module))
    return made


def html(template: str, values: Mapping[str, Any], status: int = 200) -> HTMLResponse:
    pieces = environment().get_template(template).generate(values)
    body = b"".join([piece.encode() for piece in pieces])  # ASCII apart is encoded at no cost
    return HTMLResponse(body, status)


class PlainJson(JSONResponse):
    """JSON in which invisible characters are escaped."""

    def render(self, content: Any) -> bytes:
        text = json.dumps(content, ensure_ascii=False, default=to_plain, allow_nan=False, indent=2)
        return escaped_json(text).encode("utf-8", "replace")


__all__ = ["Markup", "PlainJson", "environment", "html"]
