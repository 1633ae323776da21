"""Rules for abilities (spec 1)."""

from collections.abc import Iterator, Mapping
from typing import Any

from metier.core.names import loose_key
from metier.values.checks import Field, Flaw, check_mapping, check_value
from metier.values.documents import Ability
from metier.values.fields import ABILITY, spellings
from metier.values.files import Matter
from metier.values.outcomes import Issue

LONGEST_CONTENT = 50_000
_SPELLINGS = spellings(ABILITY)
_CONTENT = Field(type="text", required=True, longest=LONGEST_CONTENT)


def lint_ability(ability: Ability, matter: Matter) -> list[Issue]:
    """Every finding in one ability; an error excludes it."""
    issues = []
    for flaw in _flaws(matter.data):
        line, column = matter.position(flaw.at)
        issues.append(Issue(_code(flaw), flaw.message, ability.path, line, column, flaw.hint))
    issues.extend(_content_issues(ability.content, ability.path, matter.body_line))
    return issues


def validate_ability(data: Mapping[str, Any]) -> list[Issue]:
    """The findings in an ability given as data, `content` included, in any spelling."""
    if not isinstance(data, Mapping):
        return [Issue("AB502", "an ability is a mapping of fields", "")]
    fields: dict[str, Any] = {}
    for key, value in data.items():
        fields.setdefault(_SPELLINGS.get(loose_key(str(key)), str(key)), value)
    content = fields.pop("content", None)
    flaws = list(_flaws(fields))
    if fields.get("abilityId") is None:
        flaws.append(Flaw(("abilityId",), "missing", "'abilityId' is missing"))
    if content is None:
        flaws.append(Flaw(("content",), "missing", "'content' is missing"))
    issues = [Issue(_code(flaw), flaw.message, "", hint=flaw.hint) for flaw in flaws]
    if isinstance(content, str):
        issues.extend(_content_issues(content, "", 1))
    elif content is not None:
        issues.extend(
            Issue("AB502", flaw.message, "")
            for flaw in check_value(content, _CONTENT, ("content",))
        )
    return issues


def _flaws(data: Mapping[str, Any]) -> Iterator[Flaw]:
    for flaw in check_mapping(data, ABILITY):
        if flaw.at != ("abilityId",):
            yield flaw
        elif data["abilityId"] == "":
            yield flaw._replace(message="the file's name gives no id", hint="set abilityId")
        else:
            yield flaw._replace(hint="set abilityId, or rename the file")


def _code(flaw: Flaw) -> str:
    if flaw.at == ("abilityId",):
        return "AB501"
    return "AB503" if flaw.problem == "unknown" else "AB502"


def _content_issues(content: str, path: str, line: int) -> list[Issue]:
    if len(content) <= LONGEST_CONTENT:
        return []
    message = f"the content has {len(content)} characters, the limit is {LONGEST_CONTENT}"
    return [Issue("AB504", message, path, line, 1, "split it into several abilities")]
