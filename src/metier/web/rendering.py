"""Templates: everything is escaped, and characters that nobody sees are written out."""

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
from metier.web.markdown import rendered
from metier.web.marking import pieces_html
from metier.web.page import to_plain
from metier.web.pictures_resolve import score_bar
from metier.web.query import address
from metier.web.rankings import ranking_html
from metier.web.rows import rows_html
from metier.web.words import as_text, count, counted, cut, dollars, duration, moment, shown, tone


@cache
def environment() -> jinja2.Environment:
    made = jinja2.Environment(
        loader=jinja2.PackageLoader("metier.web"),
        autoescape=True,
        finalize=shown,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(moment=moment, count=count, counted=counted, cut=cut, tone=tone)
    made.filters.update(markdown=rendered, address=address, as_text=as_text)
    made.filters.update(duration=duration, dollars=dollars)
    made.globals.update(
        address=address,
        bar=pictures.bar,
        columns=pictures.columns,
        part=pictures.Part,
        pieces_html=pieces_html,
        ranking_html=ranking_html,
        plan_picture=run_pictures.plan,
        rows_html=rows_html,
        run_bar=run_pictures.run_bar,
        score_bar=score_bar,
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
