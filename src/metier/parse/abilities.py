"""`abilities/*.md` → `Ability`."""

from typing import Any

from metier.core.names import ability_id_from_filename
from metier.parse.coerce import integer_of, text_of, texts_of
from metier.parse.frontmatter import read_matter
from metier.parse.keys import Respelling
from metier.values.documents import Ability
from metier.values.fields import ABILITY
from metier.values.files import Parsed


def parse_ability(raw: bytes, path: str) -> Parsed:
    """The ability in `raw`. A file without front matter is all content.

    Fields of a wrong type are left at their default: linting says so and the file is left out.
    """
    taken = read_matter(raw, path)
    if taken.matter is None:
        return Parsed(document=None, matter=None, issues=taken.issues)
    respelling = Respelling(taken.matter, path)
    data = respelling.mapping(taken.matter.data, ABILITY)
    if data.get("abilityId") is None:
        data["abilityId"] = ability_id_from_filename(path)
    matter = respelling.matter(data)
    issues = taken.issues + respelling.issues
    return Parsed(document=ability_of(data, taken.matter.body, path), matter=matter, issues=issues)


def ability_of(data: dict[str, Any], content: str, path: str = "") -> Ability:
    """The typed value of an ability's fields, in the spec's spelling."""
    return Ability(
        ability_id=text_of(data.get("abilityId")),
        content=content,
        display_name=text_of(data.get("displayName")),
        version=text_of(data.get("version")),
        description=text_of(data.get("description")),
        category=text_of(data.get("category")),
        tags=texts_of(data.get("tags")),
        author=text_of(data.get("author")),
        source=text_of(data.get("source")),
        last_updated=text_of(data.get("lastUpdated")),
        requires=texts_of(data.get("requires")),
        conflicts=texts_of(data.get("conflicts")),
        applicable_to=texts_of(data.get("applicableTo")),
        exclude_from=texts_of(data.get("excludeFrom")),
        priority=integer_of(data.get("priority"), 50),
        enabled=data.get("enabled") is not False,
        path=path,
        data=data,
    )
