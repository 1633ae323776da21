"""Replaces the values of secrets in everything that people are shown: texts, JSON, records.

The values are known, so nothing is guessed. What is stored keeps them: a resume needs them.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

T = TypeVar("T")
SECRET = "[secret]"
SHORTEST = 8
"""Shorter values are too often parts of ordinary words."""


class Redactor:
    """Replaces each of some values by `[secret]`."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        self._values = frozenset(one for one in values if len(one) >= SHORTEST)
        forms = {form for value in self._values for form in _forms(value)}
        self._forms = sorted(forms, key=lambda form: (-len(form), form))

    def __bool__(self) -> bool:
        """Whether there is anything to replace."""
        return bool(self._forms)

    def text(self, text: str) -> str:
        """`text` without the values, also as listings, JSON, HTML and addresses write them."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, SECRET)
        return text

    def value(self, value: T) -> T:
        """A copy of a value, with every text in it redacted; records keep their type.

        A number that is a secret becomes a text. Objects of other kinds stay as they are.
        """
        return self._copy(value) if self._forms else value

    def _copy(self, value: Any) -> Any:
        if isinstance(value, str):
            redacted = self.text(value)
            return value if redacted == value else type(value)(redacted)
        if isinstance(value, Mapping):
            return self._mapping(value)
        if isinstance(value, (list, tuple, set, frozenset)):
            items = map(self._copy, value)
            return type(value)._make(items) if hasattr(value, "_make") else type(value)(items)
        if type(value) in (int, float):
            return SECRET if str(value) in self._values else value
        from dataclasses import fields, is_dataclass, replace  # few settings pass a secret on

        if is_dataclass(value) and not isinstance(value, type):
            copies = {
                one.name: self._copy(getattr(value, one.name)) for one in fields(value) if one.init
            }
            return replace(value, **copies)
        return value

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        made = {self._copy(key): self._copy(one) for key, one in value.items()}
        if not isinstance(value, dict) or type(value) is dict:
            return made
        from copy import copy

        like = copy(value)
        like.clear()
        like.update(made)
        return like

    def waiting(self, text: str) -> int:
        """How many characters at the end of a text may be the beginning of a value."""
        return max((_overlap(form, text) for form in self._forms), default=0)


NOTHING = Redactor()


def _forms(value: str) -> set[str]:
    """How a value is written in plain text, in listings, in JSON, in HTML and in addresses."""
    from urllib.parse import quote  # few settings pass a secret on

    forms = {quote(value, safe="", errors="replace")}
    for listed in _listed(value):
        forms |= _quoted(listed)
    return forms | _words(value)


def _words(value: str) -> set[str]:
    """What is left of a value among the words of a task, unless it may be an ordinary word."""
    import re

    words = [one for one in re.split(r"[\W_]+", value) if len(one) >= SHORTEST]
    telling = [one for one in words if one == value or any(map(str.isdigit, one))]
    return {form for one in telling for form in (one, one.lower())}


def _listed(value: str) -> set[str]:
    """A value as the hosts write it into their listings, and as it is."""
    angles = value.replace("<", "&lt;").replace(">", "&gt;")
    xml = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    quotes = xml.replace('"', "&quot;").replace("'", "&apos;")
    return {value, angles, xml, quotes}


def _quoted(text: str) -> set[str]:
    import html
    import json

    escaped = html.escape(text)
    by_templates = escaped.replace("&#x27;", "&#39;").replace("&quot;", "&#34;")
    in_json = {json.dumps(text, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False)}
    return {text, *in_json, escaped, by_templates}


def _overlap(form: str, text: str) -> int:
    """The length of the longest end of `text` that begins `form`, but is not all of it."""
    tail = text[-(len(form) - 1) :]
    table, matched = _failures(form), 0
    for char in tail:
        while matched and form[matched] != char:
            matched = table[matched - 1]
        matched += form[matched] == char
    return matched


def _failures(form: str) -> list[int]:
    """For each beginning of `form`: how long its longest end is that begins `form`, too."""
    table, matched = [0], 0
    for char in form[1:]:
        while matched and form[matched] != char:
            matched = table[matched - 1]
        matched += form[matched] == char
        table.append(matched)
    return table
