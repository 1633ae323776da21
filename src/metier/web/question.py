"""What the address of a resolution asks, as the catalog and the command line understand it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

from metier.catalog import Catalog
from metier.values.contracts import Mode
from metier.values.policy import PRESETS, STRICTNESS, Policy
from metier.values.resolution import DECISIONS, DEPTH, Decision, Report
from metier.web.query import Query

MODES: Sequence[Mode] = ("best-effort", "strict")
POLICY_KEYS = tuple(Policy().to_json())
CHOICES: Mapping[str, Sequence[str]] = {
    "selection-mode": ("single", "cover"),
    "on-missing-required": STRICTNESS,
}
"""The keys of a policy that have a few values; the others are numbers."""
_ASKED = ("require", "query", "for", "mode", "host", "preset", "decision", "depth")
NAMES = (*_ASKED, "no-divergence", "full", *POLICY_KEYS)
_MOST_DEPTH = 4
_MOST_REQUIRED = 100


class Question(NamedTuple):
    """A resolution as `metier resolve` could ask it."""

    requires: tuple[str, ...] = ()
    query: str = ""
    consumer: str = ""
    mode: str = ""
    host: str = ""
    preset: str = ""
    policy: tuple[tuple[str, str], ...] = ()
    """The values that override the preset, and those of the consumer and the mode."""
    decision: str = ""
    depth: int = DEPTH
    divergence: bool = True
    full: bool = False
    """Whether every candidate gets a row."""

    @classmethod
    def of(cls, query: Query) -> "Question":
        """Raises `UsageError` for a value that a choice does not have."""
        names = (one.split(",") for one in query.all("require"))
        requires = [name.strip() for some in names for name in some if name.strip()]
        return cls(
            requires=tuple(dict.fromkeys(requires))[:_MOST_REQUIRED],
            query=query.text("query"),
            consumer=query.text("for"),
            mode=query.choice("mode", MODES),
            host=query.text("host"),
            preset=query.choice("preset", tuple(PRESETS)),
            policy=tuple((key, query.text(key)) for key in POLICY_KEYS if query.text(key)),
            decision=query.choice("decision", DECISIONS),
            depth=query.number("depth", DEPTH, most=_MOST_DEPTH),
            divergence=not query.flag("no-divergence"),
            full=query.flag("full"),
        )

    @classmethod
    def from_text(cls, text: str) -> "Question":
        """The question of an address, from what follows its `?`."""
        return cls.of(Query(parse_qsl(text, max_num_fields=500)))

    @property
    def is_empty(self) -> bool:
        return not self.requires and not self.consumer

    @property
    def overrides(self) -> dict[str, str]:
        return {**PRESETS.get(self.preset, {}), **dict(self.policy)}

    def report(self, catalog: Catalog) -> Report:
        """Raises `UsageError` for a policy, `NotFoundError` for a consumer."""
        decision = cast(Decision | None, self.decision or None)
        found = catalog.resolve(
            self.requires,
            self.query,
            consumer=self.consumer or None,
            mode=cast(Mode | None, self.mode or None),
            policy=self.overrides,
            host=self.host or None,
            decide=lambda _: decision,
            divergence=self.divergence,
            depth=self.depth,
        )
        return found.full_report() if self.full else found.report

    def command(self) -> list[str]:
        """The arguments of the command that answers the same."""
        named = (("for", self.consumer), ("mode", self.mode), ("host", self.host))
        options = [f"--{name}={value}" for name, value in named if value]
        options += [f"--policy={self.preset}"] if self.preset else []
        options += [f"--policy={key}={value}" for key, value in self.policy]
        options += [f"--decision={self.decision}"] if self.decision else []
        options += [f"--depth={self.depth}"] if self.depth != DEPTH else []
        options += ["--no-divergence"] if not self.divergence else []
        options += ["--full-report"] if self.full else []
        words = [f"--require={name}" for name in self.requires]
        return ["resolve", *words, *options, *(["--", self.query] if self.query else [])]

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "requires": list(self.requires), "policy": dict(self.policy)}


def asked_alone(query: Query) -> Query:
    """The part of an address that is a question, without empty fields."""
    return Query(item for item in query.items if item[0] in NAMES and item[1].strip())
