"""`docs/capabilities/*.md` → `Card`."""

import hashlib
from typing import Any

from metier.core.coerce import integer_of, mapping_of, number_of, scalar_text_of, texts_of
from metier.parse.frontmatter import no_front_matter, read_matter
from metier.parse.keys import Respelling
from metier.values.documents import Card
from metier.values.fields import CARD
from metier.values.files import Parsed


def parse_card(raw: bytes, path: str) -> Parsed:
    """The card in `raw`; linting says what is missing or wrong in it."""
    split = read_matter(raw, path)
    issues = split.issues
    if split.matter is None:
        return Parsed(document=None, matter=None, issues=issues)
    if not split.fenced:
        issues.append(no_front_matter(split.matter, path, "the card"))
        return Parsed(document=None, matter=None, issues=issues)
    respelling = Respelling(split.matter, path)
    data = respelling.mapping(split.matter.data, CARD)
    issues.extend(respelling.issues)
    card = _card_of(data, split.matter.body, path, hashlib.sha256(raw).hexdigest())
    return Parsed(document=card, matter=respelling.matter(data), issues=issues)


def _card_of(data: dict[str, Any], body: str, path: str, sha256: str) -> Card:
    triggers = mapping_of(data.get("triggers"))
    return Card(
        id=scalar_text_of(data.get("id")),
        name=scalar_text_of(data.get("name")),
        description=scalar_text_of(data.get("description")),
        keywords=texts_of(triggers.get("keywords")),
        session_types=texts_of(triggers.get("sessionTypes")),
        time_of_day=texts_of(triggers.get("timeOfDay")),
        user_tier=texts_of(triggers.get("userTier")),
        environment_type=texts_of(triggers.get("environmentType")),
        match=scalar_text_of(data.get("match")) or "substring",
        confidence_threshold=number_of(triggers.get("confidenceThreshold"), 0.6),
        priority=number_of(data.get("priority"), 10),
        estimated_tokens=integer_of(data.get("estimatedTokens"), 0),
        version=scalar_text_of(data.get("version")),
        enabled=data.get("enabled") is not False,
        path=path,
        sha256=sha256,
        data=data,
        body=body,
    )
