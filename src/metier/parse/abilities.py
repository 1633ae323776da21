"""`abilities/*.md` → `Ability`."""

from metier.core.names import ability_id_from_filename
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
    return Parsed(document=Ability.of(data, taken.matter.body, path), matter=matter, issues=issues)
