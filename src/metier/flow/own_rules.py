"""User-defined rules: which apply, and what they find in a document.

They apply in a trusted workspace only, and never exclude a document.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint
from typing import Self

from metier.config import Config
from metier.core.arguments import described
from metier.core.nearest import did_you_mean
from metier.errors import ConfigError
from metier.findings import Finding
from metier.flow.entries import read_bytes, read_text
from metier.lint.own_rules import applies, check_setting
from metier.lint.timed_patterns import (
    TIME_LIMIT,
    PatternInvalidError,
    Patterns,
    PatternTimeoutError,
)
from metier.values.files import KINDS, Found, Kind, Parsed
from metier.values.outcomes import Issue
from metier.values.own_rules import (
    CODE_FORM,
    Rule,
    RuleFinding,
    RuleInput,
    RuleSetting,
    is_own_code,
)

GROUP = "metier.rules"
"""The group of entry points."""


def rules_of(config: Config) -> "OwnRules":
    """The rules that the settings declare or enable; none in an untrusted workspace.

    Raises `ConfigError` for a rule that cannot be used.
    """
    if not config.is_trusted:
        return OwnRules((), ())
    return OwnRules(config.lint_rules, _of_plugins(config.lint_plugins, config.sources))


def check_own_rules(config: Config) -> None:
    """Raise `ConfigError` for a rule that cannot be used, which stops `metier lint`."""
    with rules_of(config) as rules:
        rules.check()


def own_findings(
    config: Config, found: Iterable[Found], inside: Callable[[str], str]
) -> list[Issue]:
    """What user-defined rules find in files; `inside` gives the path in the workspace of each.

    Raises `ConfigError` for a rule that cannot be used.
    """
    with rules_of(config) as rules:
        usable = [one for one in found if rules and not one.excluded]
        try:
            return [issue for one in usable for issue in _findings_in(one, rules, inside(one.path))]
        except ConfigError as error:
            error.where = error.where or ", ".join(config.sources)
            raise


def _findings_in(found: Found, rules: "OwnRules", inside: str) -> list[Issue]:
    try:
        raw = read_bytes(found)
    except OSError:
        return []
    return rules.findings(found, raw, read_text(found, raw), inside)


class OwnRules:
    """Checks documents with user-defined rules; ends its process when it is closed."""

    def __init__(
        self,
        declared: Iterable[RuleSetting],
        programmed: Iterable[Rule],
        time_limit: float = TIME_LIMIT,
    ) -> None:
        self._declared = tuple(declared)
        self._programmed = tuple(programmed)
        self._time_limit = time_limit
        self._stopped: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._declared or self._programmed)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if "_patterns" in self.__dict__:
            self._patterns.close()
            del self._patterns

    @cached_property
    def pages(self) -> Mapping[str, Finding]:
        """The page of every rule by its code."""
        declared = {rule.code: rule.finding for rule in self._declared}
        return {**declared, **{rule.code: rule.finding for rule in self._programmed}}

    @cached_property
    def _patterns(self) -> Patterns:
        written = [one for rule in self._declared for one in rule.patterns]
        return Patterns(list(dict.fromkeys(written)), time_limit=self._time_limit)

    def findings(self, found: Found, raw: bytes, parsed: Parsed, inside: str) -> list[Issue]:
        """What the rules find in a document; nothing in one that cannot be used.

        `inside` is its path in the workspace. The workspace's rules are not for the user's own
        documents. Raises `ConfigError` for a pattern that is not a regular expression.
        """
        given = _input(found.kind, inside, raw, parsed)
        if given is None:
            return []
        issues: list[Issue] = []
        for rule in self._declared:
            is_its = rule.is_users or found.origin != "user"
            if is_its and rule.code not in self._stopped and applies(rule, found.kind, inside):
                issues += self._declared_findings(rule, given)
        for one in self._programmed:
            if applies(one, found.kind, inside):
                issues += self._programmed_findings(one, given)
        return [issue._replace(path=found.path) for issue in issues]

    def check(self) -> None:
        """Raise `ConfigError` for the first pattern that is not a regular expression."""
        for rule in self._declared:
            for pattern in rule.patterns:
                self._check(rule, pattern)

    def _check(self, rule: RuleSetting, pattern: str) -> None:
        try:
            problem = self._patterns.problem(pattern)
        except PatternTimeoutError:
            problem = "it is too large"
        if problem:
            raise _invalid(rule, problem)

    def _declared_findings(self, rule: RuleSetting, given: RuleInput) -> list[Issue]:
        try:
            found = list(check_setting(rule, given, self._patterns))
        except PatternTimeoutError:
            self._stopped.add(rule.code)
            message = f"rule {rule.code} needs more than {self._time_limit:g} s and is stopped"
            return [Issue("RU951", message, given.path, hint="simplify its regular expression")]
        except PatternInvalidError as error:
            raise _invalid(rule, str(error)) from None
        return list(_issues(rule, found, given.path))

    def _programmed_findings(self, rule: Rule, given: RuleInput) -> list[Issue]:
        try:
            return list(_issues(rule, rule.check(given), given.path))
        except Exception as error:  # other people's code may raise anything
            message = f"rule {rule.code} failed: {type(error).__name__}: {str(error)[:200]}"
            return [Issue("RU952", message, given.path, hint="correct the rule, or ignore it")]


def _invalid(rule: RuleSetting, problem: str) -> ConfigError:
    setting = f"lint.rules.{rule.code}"
    message = f"'{setting}' has no valid regular expression: {problem}"
    return ConfigError(message, setting=setting, hint="correct it in the settings")


def _input(kind: Kind, path: str, raw: bytes, parsed: Parsed) -> RuleInput | None:
    document, matter = parsed.document, parsed.matter
    if document is None or matter is None:
        return None
    text = raw.decode(errors="replace")
    return RuleInput(
        kind, path, text, document, matter.data, matter.body, matter.body_line, matter.position
    )


def _issues(rule: Rule | RuleSetting, found: Iterable[RuleFinding], path: str) -> Iterator[Issue]:
    page = rule.finding
    for one in found:
        if not isinstance(one, RuleFinding):
            raise TypeError(f"yield RuleFinding('…'), not {described(one)}")
        message, line, column, hint = one
        yield Issue(rule.code, str(message), path, int(line), int(column), str(hint), own=page)


# Entry points


def _of_plugins(names: Iterable[str], sources: Iterable[str]) -> list[Rule]:
    """The rules of the entry points with these names; no other is loaded."""
    wanted = list(names)
    if not wanted:
        return []
    from importlib.metadata import entry_points  # slow, and few workspaces name any

    known = entry_points(group=GROUP)
    where = ", ".join(sources)
    rules = [rule for name in wanted for rule in _loaded(_chosen(name, known, where), where)]
    codes = [rule.code for rule in rules]
    twice = next((code for code in codes if codes.count(code) > 1), "")
    if twice:
        raise ConfigError(f"two enabled rules have the code {twice}", where=where)
    return rules


def _chosen(name: str, known: Iterable[EntryPoint], where: str) -> EntryPoint:
    found = [one for one in known if one.name == name]
    if not found:
        names = sorted({one.name for one in known})
        other = f"installed: {', '.join(names)}" if names else "install the package that has it"
        message = f"no installed package has lint rules called '{name}'"
        raise ConfigError(message, where=where, hint=did_you_mean(name, names, other))
    if len({one.value for one in found}) > 1:
        values = " and ".join(sorted({one.value for one in found}))
        raise ConfigError(f"two packages have lint rules called '{name}': {values}", where=where)
    return found[0]


def _loaded(entry: EntryPoint, where: str) -> list[Rule]:
    """The rules of an entry point: a list of `Rule`."""
    try:
        rules = list(entry.load())
    except Exception as error:  # other people's code may raise anything
        message = f"the lint rules '{entry.name}' ({entry.value}) cannot be loaded: {error}"
        raise ConfigError(message, where=where, hint="correct or remove the package") from None
    for rule in rules:
        problem = _problem(rule)
        if problem:
            message = f"the lint rules '{entry.name}' ({entry.value}) are wrong: {problem}"
            raise ConfigError(message, where=where)
    return rules


def _problem(rule: object) -> str:
    """What is wrong with a rule; empty if nothing is."""
    if not isinstance(rule, Rule):
        return f"{type(rule).__name__} is not a metier.rules.Rule"
    if not is_own_code(rule.code):
        return f"the code '{rule.code}' is not {CODE_FORM}"
    if rule.severity not in ("error", "warning", "info"):
        return f"{rule.code} has the severity '{rule.severity}'; known: error, warning, info"
    if not rule.title or not callable(rule.check) or not set(rule.kinds) <= set(KINDS):
        return f"{rule.code} needs a title, a function and known kinds"
    return ""
