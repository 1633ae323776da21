"""What a step of a run is handed: resolve → select → inject, within the agent's budget."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from metier.config import Config
from metier.core.budget import CountTokens, fit
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.errors import MetierError
from metier.index.store import Store
from metier.inject.sanitize import sanitize_capability_content
from metier.run.services import Prepared
from metier.storage.room import Room
from metier.values.agents import AgentProfile, WorkflowStep
from metier.values.documents import Document
from metier.values.files import Kind
from metier.values.outcomes import Issue
from metier.values.rows import Row
from metier.values.runs import Failure
from metier.values.selection import Injection
from metier.values.trust import Trust

if TYPE_CHECKING:
    from metier.resolve import Resolution

_BETWEEN = "\n\n"


class Knowledge(Protocol):
    """What a catalogue is asked while agents run."""

    workspace: str
    config: Config
    store: Store
    trust: Trust
    room: Room | None

    def require_trust(self, what: str) -> None: ...
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
    def document(self, row: Row) -> Document: ...
    def left_out(self, kind: Kind, wanted: str) -> str: ...


class Bodies(NamedTuple):
    """The texts of skills, between marks."""

    text: str = ""
    left_out: Sequence[str] = ()
    """Skills that are not in the text."""
    warnings: Sequence[Mapping[str, str]] = ()


class StepPreparing:
    """Prepares steps from what one catalogue knows."""

    def __init__(self, catalog: Knowledge, secret: Callable[[], bytes]) -> None:
        """`secret` makes the marks around what is handed over."""
        self._catalog = catalog
        self._secret = secret

    def prepare(self, agent: AgentProfile, step: WorkflowStep, text: str, task: str) -> Prepared:
        """Providers of what the step requires, within the agent's budget, then its abilities.

        `text` is what the step asks, `task` that of the run: abilities fit both together.
        """
        requires = tuple(dict.fromkeys((*agent.requires, *step.requires)))
        record: dict[str, Any] = {}
        bodies = Bodies()
        providers: Sequence[str] = ()
        told = [text] if task in text else [task, text]
        if requires:
            policy = {"selection-mode": "cover"} if len(requires) > 1 else {}
            resolution = self._catalog.resolve(requires, text, policy=policy, only=agent.skills)
            self._catalog.keep_report(resolution)
            record["report"] = resolution.facts.run_id
            if resolution.unresolved or not resolution.selected:
                lacking = ", ".join(resolution.unresolved or requires)
                message = f"nobody provides {lacking} (report {resolution.facts.run_id})"
                failure = Failure("CAPABILITY_UNRESOLVED", message)
                return Prepared(record=record, failure=failure)
            providers = resolution.selected
            bodies = self._bodies(providers, agent.ability_tokens, self._core_tokens(agent, told))
            record |= {"providers": list(providers), "providersLeftOut": list(bodies.left_out)}
        if step.type != "prompt":
            return Prepared(record=record, providers=providers)
        return self._with_abilities(agent, told, record, bodies, providers)

    def _with_abilities(
        self,
        agent: AgentProfile,
        told: Sequence[str],
        record: dict[str, Any],
        bodies: Bodies,
        providers: Sequence[str],
    ) -> Prepared:
        count, least = self._catalog.count_tokens, self._catalog.config.ability_signal
        taken = count(_BETWEEN + bodies.text) if bodies.text else 0
        injection = self._catalog.inject(
            told,
            agent=agent.agent_id if agent.path else None,
            core=agent.core_abilities,
            budget=max(0, agent.ability_tokens - taken),
            min_signal=least,
            include_untrusted=False,
        )
        errors = [one for one in injection.issues if one.is_error]
        issues = [_warning(one) for one in injection.issues if one.severity == "warning"]
        record |= {"minSignal": least, "warnings": [*bodies.warnings, *issues]}
        if injection.failed:
            return Prepared(record=record, failure=Failure(errors[0].code, errors[0].message))
        if injection.injected_abilities or injection.injected_cards or injection.skipped:
            record["abilities"] = list(injection.injected_abilities)
            record["cards"] = [one.item.id for one in injection.injected_cards]
            record["skipped"] = [one.to_json() for one in injection.skipped]
        whole = _BETWEEN.join(part for part in (injection.text, bodies.text) if part)
        if whole:
            record["tokens"] = count(whole)
        return Prepared(whole, record, providers)

    def _core_tokens(self, agent: AgentProfile, told: Sequence[str]) -> int:
        """What the core abilities take: they come before everything else."""
        if not agent.core_abilities:
            return 0
        alone = self._catalog.inject(
            told,
            agent=agent.agent_id,
            core=agent.core_abilities,
            budget=agent.ability_tokens,
            min_signal=math.inf,
            include_untrusted=False,
        )
        return self._catalog.count_tokens(alone.text + _BETWEEN) if alone.text else 0

    def _bodies(self, providers: Sequence[str], limit: int, taken: int) -> Bodies:
        """The texts of skills between marks, in what is left of the limit."""
        parts: dict[str, str] = {}
        warnings: list[Mapping[str, str]] = []
        for provider in providers:
            try:
                row = self._catalog.row("skill", provider)
                body = self._catalog.document(row).body
            except MetierError as error:
                warnings.append(_entry(error.code, error.message, error.where, error.hint))
                continue
            clean = sanitize_capability_content(body, row.path)
            warnings += [_warning(one) for one in clean.issues if one.severity != "info"]
            if not clean.rejected:
                parts[provider] = as_reference(
                    clean.text, kind="skill", id=row.name, source=row.path,
                    sha256=row.sha256, secret=self._secret(),
                )  # fmt: skip
        fitted = fit(
            list(parts.values()),
            max(0, limit - taken),
            separator=BETWEEN_REFERENCES,
            count=self._catalog.count_tokens,
            overflow="skip",
            start=REFERENCE_PREAMBLE,
        )
        names = list(parts)
        warnings += [_too_long(names[place], limit) for place in fitted.left]
        handed = {names[place] for place in fitted.taken}
        return Bodies(fitted.text, [one for one in providers if one not in handed], warnings)


def _warning(issue: Issue) -> dict[str, str]:
    return _entry(issue.code, issue.message, issue.path, issue.hint)


def _too_long(provider: str, limit: int) -> dict[str, str]:
    message = f"skill '{provider}' does not fit into what is left of the limit of {limit} tokens"
    return _entry("SKILL_TRUNCATED", message, "", "raise abilities.maxTokens of the agent")


def _entry(code: str, message: str, path: str, hint: str) -> dict[str, str]:
    return {"code": code, "message": message, "path": path, "hint": hint}
