"""User-defined rules that settings declare: a field check, or a regular expression."""

from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from metier.lint.timed_patterns import Patterns
from metier.values.checks import Field, check_value
from metier.values.files import KeyPath, Kind
from metier.values.own_rules import Rule, RuleFinding, RuleInput, RuleSetting


def applies(rule: Rule | RuleSetting, kind: Kind, path: str) -> bool:
    """Whether a rule is for documents of this kind, and for this file."""
    wanted = not rule.files or any(fnmatchcase(path, pattern) for pattern in rule.files)
    return wanted and kind in rule.kinds


def check_setting(rule: RuleSetting, given: RuleInput, patterns: Patterns) -> Iterator[RuleFinding]:
    """What a declared rule finds. Raises `PatternTimeoutError` and `PatternInvalidError`."""
    found = _in_field(rule, given, patterns) if rule.field else _in_text(rule, given, patterns)
    for one in found:
        yield one._replace(message=rule.message or one.message, hint=rule.hint)


def _in_text(rule: RuleSetting, given: RuleInput, patterns: Patterns) -> Iterator[RuleFinding]:
    text, first = _scope(rule.scope, given)
    if rule.must_match and not patterns.occurs(rule.must_match, text):
        yield RuleFinding(rule.title, first)
    if rule.regex:
        for start, _ in patterns.spans(rule.regex, text):
            line = text.count("\n", 0, start)
            column = start - (text.rfind("\n", 0, start) + 1)
            yield RuleFinding(rule.title, first + line, column + 1)


def _scope(scope: str, given: RuleInput) -> tuple[str, int]:
    """The text that a rule is about, and its first line."""
    if scope == "body":
        return given.body, given.body_line
    if scope == "front-matter" and given.body:
        return "".join(given.text.splitlines(keepends=True)[: given.body_line - 1]), 1
    return given.text, 1


def _in_field(rule: RuleSetting, given: RuleInput, patterns: Patterns) -> Iterator[RuleFinding]:
    at, value = _value(rule.field, given)
    if value is None:
        if rule.required:
            yield RuleFinding(f"'{rule.field}' is missing", *given.position(at))
        return
    if rule.forbidden:
        yield RuleFinding(f"'{rule.field}' must not be set", *given.position(at))
    field = _field(rule)
    for inner, one in _values(value, at, field):
        flaws = check_value(one, field, inner)
        yield from (RuleFinding(flaw.message, *given.position(flaw.at)) for flaw in flaws)
        if isinstance(one, str) and _is_wrong(rule, one, patterns):
            yield RuleFinding(rule.title, *given.position(inner))


def _value(field: str, given: RuleInput) -> tuple[KeyPath, Any]:
    """The value of a field, with its key path; None if it is missing."""
    at = tuple(field.split("."))
    value: Any = given.data
    for key in at:
        value = value.get(key) if isinstance(value, dict) else None
    return at, value


def _values(value: Any, at: KeyPath, field: Field) -> Iterator[tuple[KeyPath, Any]]:
    """A value, or each entry of a list, unless the rule is about the list."""
    if isinstance(value, list) and field.type not in ("list", "text-or-texts"):
        yield from (((*at, number), one) for number, one in enumerate(value))
    else:
        yield at, value


def _field(rule: RuleSetting) -> Field:
    return Field(
        type=rule.type,  # type: ignore[arg-type]  # the settings allow no other
        choices=rule.choices,
        shortest=rule.shortest,
        longest=rule.longest,
        least=rule.least,
        most=rule.most,
    )


def _is_wrong(rule: RuleSetting, text: str, patterns: Patterns) -> bool:
    if rule.regex and patterns.occurs(rule.regex, text):
        return True
    return bool(rule.must_match) and not patterns.occurs(rule.must_match, text)
