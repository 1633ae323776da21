"""`abilities/*.md` → `Ability`."""

from metier.core.names import ability_id_from_filename
from metier.parse.frontmatter import read_matter
from metier.parse.keys import Respelling
from metier.values.documents import Ability
from metier.values.fields import ABILITY
from metier.values.files import Parsed


def parse_ability(raw: bytes, path: str) -> Parsed:
    """The ability in `raw`. A file without front matter is all content.

    Fields of a wrong type keep their default: linting reports them and the file is excluded.
    """
    split = read_matter(raw, path)
    if split.matter is None:
        return Parsed(document=None, matter=None, issues=split.issues)
    respelling = Respelling(split.matter, path)
    data = respelling.mapping(split.matter.data, ABILITY)
    if data.get("abilityId") is None:
        data["abilityId"] = ability_id_from_filename(path)
    matter = respelling.matter(data)
    issues = split.issues + respelling.issues
    return Parsed(document=Ability.of(data, split.matter.body, path), matter=matter, issues=issues)
