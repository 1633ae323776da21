"""What runs need of a catalog."""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from metier.config import Config
from metier.core.budget import CountTokens
from metier.index.store import Store
from metier.safety.redactor import Redactor
from metier.storage.room import Room
from metier.values.documents import Document
from metier.values.files import Kind
from metier.values.rows import Row
from metier.values.selection import Injection
from metier.values.trust import Trust

if TYPE_CHECKING:
    from metier.resolve import Resolution


class RunCatalog(Protocol):
    """The parts of a catalog that runs use."""

    workspace: str
    config: Config
    store: Store
    trust: Trust
    room: Room | None

    @property
    def redactor(self) -> Redactor: ...
    def require_trust(self, what: str) -> None: ...
    def check_files(self, argv: Sequence[str], folder: str) -> None: ...
    @property
    def is_kept(self) -> bool: ...
    @property
    def count_tokens(self) -> CountTokens: ...
    def resolve(
        self,
        requires: Sequence[str],
        query: str,
        *,
        policy: Mapping[str, str],
        only: Collection[str] | None,
        team: str,
    ) -> "Resolution": ...
    def keep_report(self, resolution: "Resolution") -> str: ...
    def record_outcome(self, candidate: str, *, success: bool) -> object: ...
    def inject(
        self,
        messages: str | Sequence[str],
        *,
        agent: str | None,
        core: Sequence[str],
        budget: int,
        min_signal: float,
        include_untrusted: bool,
    ) -> Injection: ...
    def row(self, kind: Kind, wanted: str) -> Row: ...
    def find_skill(self, wanted: str) -> Row: ...
    def document(self, row: Row) -> Document: ...
    def excluded_path(self, kind: Kind, wanted: str) -> str: ...
    def documents_digest(self) -> str: ...
