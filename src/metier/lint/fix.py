"""Repairs: bytes → bytes. What a repair cannot be sure of, it leaves alone.

Each repair changes what its finding is about and nothing else, and drops no word.
"""

from collections.abc import Callable, Iterator, Sequence

from metier.core.indentation import with_spaces
from metier.lint.fix_description import with_description, with_short_description
from metier.lint.fix_lines import Context, decoded, encoded, front_matter
from metier.lint.fix_structure import (
    with_closed_code,
    with_closing_fence,
    with_front_matter,
    with_separate_fence,
)
from metier.lint.fix_values import (
    with_folder_name,
    with_meant_key,
    with_our_key,
    with_proper_name,
    with_quoted_scalar,
    with_quotes,
    with_text_metadata,
    with_text_values,
)
from metier.values.outcomes import Issue

Change = Callable[[bytes, Issue, Context], bytes]
_BOM = b"\xef\xbb\xbf"


def order_of(issue: Issue) -> int:
    """When to repair a finding: the front matter must be readable before its values are."""
    return _ORDER.get(issue.code, len(_ORDER))


def candidates(raw: bytes, issues: Sequence[Issue], context: Context) -> Iterator[bytes]:
    """Possible repairs of findings of one code, the best first; each differs from `raw`."""
    for repair in _REPAIRS.get(issues[0].code, ()):
        repaired = raw
        for issue in sorted(issues, key=lambda issue: -issue.line):
            repaired = repair(repaired, issue, context)
        if repaired != raw:
            yield repaired


def _without_bom(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    return raw.removeprefix(_BOM)


def _with_lf(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    return raw.replace(b"\r\n", b"\n")


def _with_spaces(raw: bytes, _issue: Issue, _context: Context) -> bytes:
    """Indent the front matter with spaces; in a file that is all YAML, all of it."""
    text = decoded(raw)
    start, end = front_matter(text) or (0, len(text))
    spaced = with_spaces(text[start:end])
    return raw if spaced is None else encoded(text[:start] + spaced + text[end:])


_REPAIRS: dict[str, tuple[Change, ...]] = {
    "FM117": (with_separate_fence,),
    "FM102": (with_closing_fence,),
    "FM101": (with_front_matter,),
    "FM116": (_with_spaces,),
    "FM104": (with_quotes, with_text_values, with_quoted_scalar),
    "FM103": (with_text_values, with_quoted_scalar),
    "SK318": (with_our_key,),
    "SK309": (with_meant_key,),
    "SK301": (with_folder_name,),
    "SK302": (with_proper_name,),
    "SK304": (with_description,),
    "SK319": (with_text_metadata,),
    "SK324": (with_closed_code,),
    "SK305": (with_short_description,),
    "FM112": (_with_lf,),
    "FM113": (_without_bom,),
}
"""By code: the repairs to try, in this order."""
_ORDER = {code: number for number, code in enumerate(_REPAIRS)}
