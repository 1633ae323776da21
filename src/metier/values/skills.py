"""Skills. Light: other kinds of document and contracts are not loaded."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from metier.core.coerce import is_manual, scalar_text_of
from metier.core.names import canonical_id, name_in_plugin
from metier.core.text import routing_text
from metier.values.trust import NOTHING

if TYPE_CHECKING:  # most skills have none
    from metier.values.contracts import Contract


_USUAL = frozenset({"name", "description"})


def has_usual_keys(data: Mapping[str, Any]) -> bool:
    """Whether front matter has no other key than most skills have, and a name that is a text."""
    return data.keys() <= _USUAL and isinstance(data.get("name", ""), str)


class Skill(NamedTuple):
    """One SKILL.md."""

    name: str
    description: str
    path: str
    """As it is shown to people."""
    plugin: str = ""
    folder_name: str = ""
    """Empty at the root of a workspace."""
    capabilities: tuple[str, ...] = ()
    """Its `capabilities` list, then the `P(...)` of its contract; as written, each once."""
    contract: "Contract | None" = None
    """None if it has none, or an unusable contract."""
    contract_problem: str = ""
    data: Mapping[str, Any] = NOTHING
    """The whole front matter."""
    body: str = ""

    @property
    def own_name(self) -> str:
        """Its name without that of its plugin."""
        return name_in_plugin(self.name, self.plugin)

    @property
    def when_to_use(self) -> str:
        """Its key `when_to_use`, which some hosts show with the description; else empty."""
        return scalar_text_of(self.data.get("when_to_use"))

    @property
    def routing_text(self) -> str:
        """The text by which it is found."""
        return routing_text(self.description, self.when_to_use)

    @property
    def is_manual(self) -> bool:
        """Whether only the user starts it: hosts do not offer it to the model."""
        return is_manual(self.data)

    @property
    def folder(self) -> str:
        """The folder of its file, as ids name it; `.` for the root of a workspace."""
        return self.path.rpartition("/")[0] or "."

    @property
    def id(self) -> str:
        """Name and folder, as in `searx-search::skills/searx-search`."""
        return canonical_id(self.name, self.folder)
