"""Cards as text for an agent (spec 5): sanitized, fenced, within the budget."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.budget import CountTokens, count_tokens, fit
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.inject.sanitize import sanitize_capability_content
from metier.storage.secret import temporary_secret
from metier.values.capabilities import BootstrapFile
from metier.values.documents import Card
from metier.values.outcomes import Issue
from metier.values.selection import Scored, Skipped
from metier.values.settings_tables import CapabilitiesConfig

AGENTS_FILE, CAPABILITIES_FILE = "AGENTS.md", "CAPABILITIES.md"
LOGGER = logging.getLogger("metier.capabilities")
_DEFAULTS = CapabilitiesConfig()


class CardPart(NamedTuple):
    """One card as it would be injected."""

    scored: Scored[Card]
    text: str


class CardResult(NamedTuple):
    """The cards that were injected."""

    injected: Sequence[Scored[Card]]
    text: str
    total_tokens_used: int
    truncated: bool
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
    sizes: Mapping[str, int] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        """In the spec's spelling."""
        return {
            "injectedCapabilities": [
                {"id": one.item.id, "version": one.item.version, "relevanceScore": one.score}
                for one in self.injected
            ],
            "totalTokensUsed": self.total_tokens_used,
            "truncated": self.truncated,
            "skipped": [one.to_json() for one in self.skipped],
            "issues": [issue.to_json() for issue in self.issues],
        }


NO_CARDS = CardResult((), "", 0, False, (), ())


class CapabilityInjection(NamedTuple):
    """The bootstrap files with the cards among them."""

    files: Sequence[BootstrapFile]
    result: CardResult


def inject_capabilities(
    bootstrap_files: Sequence[BootstrapFile],
    selected: Iterable[Scored[Card]],
    config: CapabilitiesConfig = _DEFAULTS,
    *,
    budget: int | None = None,
    session_type: str = "main",
    secret: bytes | None = None,
    count: CountTokens = count_tokens,
) -> CapabilityInjection:
    """Put the selected cards into a `CAPABILITIES.md` behind `AGENTS.md`, or first.

    A `CAPABILITIES.md` of an earlier call is replaced; other files are unchanged. Never raises: a
    card that cannot be injected is skipped. `secret` is the key of the fences; without it they
    change with every process.
    """
    files: list[BootstrapFile] = []
    try:
        files = list(bootstrap_files)
        if not config.enabled or config.mode == "off":
            return CapabilityInjection(files, NO_CARDS)
        parts, issues = card_parts(selected, temporary_secret() if secret is None else secret)
        limit = config.max_tokens if budget is None else budget
        result = fit_cards(parts, max(0, limit), config, count)
        rejected = [Skipped(one.path, "card", "rejected", detail=one.message) for one in issues]
        result = result._replace(issues=issues, skipped=[*rejected, *result.skipped])
        if is_silent(config, session_type):
            log_cards(result, config, "Would inject")
            return CapabilityInjection(
                files, result._replace(injected=(), text="", total_tokens_used=0)
            )
        made = _with_cards(files, result.text)
        log_cards(result, config, "Injected")
        return CapabilityInjection(made, result)
    except Exception as error:  # the agent must start without cards
        issue = Issue("CARD_INJECTION_FAILED", f"cards are skipped: {_message(error)}", "")
        LOGGER.warning("[capability-injection] %s", issue.message)
        return CapabilityInjection(files, CardResult((), "", 0, False, (), [issue]))


def _with_cards(files: list[BootstrapFile], text: str) -> list[BootstrapFile]:
    if not text:
        return files
    others = [
        file
        for file in files
        if file.name != CAPABILITIES_FILE or not file.content.startswith(REFERENCE_PREAMBLE)
    ]
    at = next((place + 1 for place, one in enumerate(others) if one.name == AGENTS_FILE), 0)
    return [*others[:at], BootstrapFile(CAPABILITIES_FILE, text), *others[at:]]


def is_silent(config: CapabilitiesConfig, session_type: str) -> bool:
    """Whether the rollout mode injects nothing in such a session."""
    if not config.enabled or config.mode in ("off", "monitor"):
        return True
    return config.mode == "soft" and session_type not in config.soft_session_types


def card_parts(
    selected: Iterable[Scored[Card]], secret: bytes
) -> tuple[list[CardPart], list[Issue]]:
    """The cards as they are injected; an issue for each that is rejected."""
    parts: list[CardPart] = []
    issues: list[Issue] = []
    for scored in selected:
        card = getattr(scored, "item", None)
        try:
            parts.append(CardPart(scored, _fenced(scored.item, secret)))
        except Exception as error:  # one bad card must not block the others
            name, path = getattr(card, "id", ""), getattr(card, "path", "")
            message = f"card '{name}' is rejected: {_message(error)}"
            issues.append(Issue("CARD_REJECTED", message, path, hint="metier lint"))
    return parts, issues


def _fenced(card: Card, secret: bytes) -> str:
    """A card between its fences. Raises `ValueError` if it is rejected."""
    clean = sanitize_capability_content(card.body, card.path)
    if clean.rejected:
        errors = (issue.message for issue in clean.issues if issue.is_error)
        raise ValueError(next(errors, "it is not allowed"))
    return as_reference(
        clean.text, kind="card", id=card.id, source=card.path, sha256=card.sha256, secret=secret
    )


def _message(error: Exception) -> str:
    try:
        return str(error)
    except Exception:  # a foreign error
        return type(error).__name__


def fit_cards(
    parts: Sequence[CardPart],
    limit: int,
    config: CapabilitiesConfig,
    count: CountTokens = count_tokens,
    fits: Callable[[str], bool] = lambda _: True,
) -> CardResult:
    """The cards, best first, that fit into `limit` with their fences, and that `fits` accepts."""
    fitted = fit(
        [part.text for part in parts],
        limit,
        separator=BETWEEN_REFERENCES,
        count=count,
        overflow=config.overflow,
        start=REFERENCE_PREAMBLE,
        fits=fits,
    )
    left = [
        Skipped(parts[place].scored.item.id, "card", "over-budget", count(parts[place].text))
        for place in fitted.left
    ]
    taken = [parts[place].scored for place in fitted.taken]
    sizes = {one.item.id: count(one.item.body) for one in taken}
    return CardResult(taken, fitted.text, fitted.tokens, bool(left), left, (), sizes)


def log_cards(result: CardResult, config: CapabilitiesConfig, verb: str) -> None:
    """The audit trail of spec 5."""
    if config.log_level == "none":
        return
    many = "capability" if len(result.injected) == 1 else "capabilities"
    lines = [f"{verb} {len(result.injected)} {many} ({result.total_tokens_used} tokens):"]
    for one in result.injected:
        tokens = result.sizes.get(one.item.id, 0)
        lines.append(f"  {one.item.id} (relevance: {one.score:.2f}, tokens: {tokens})")
    if config.log_level == "detailed":
        lines += [f"  skipped: {one.id} ({one.reason})" for one in result.skipped]
    LOGGER.info("[capability-injection] %s", "\n".join(lines))
