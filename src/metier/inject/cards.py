"""Cards as text for an agent (spec 5): sanitized, between marks, within the budget."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from metier.core.budget import CountTokens, count_tokens, fit
from metier.core.render import BETWEEN_REFERENCES, REFERENCE_PREAMBLE, as_reference
from metier.inject.sanitize import sanitize_capability_content
from metier.storage.secret import temporary_secret
from metier.values.capabilities import BootstrapFile, CapabilitiesConfig
from metier.values.documents import Card
from metier.values.outcomes import Issue
from metier.values.selection import Scored, Skipped

AGENTS_FILE, CAPABILITIES_FILE = "AGENTS.md", "CAPABILITIES.md"
LOGGER = logging.getLogger("metier.capabilities")
_DEFAULTS = CapabilitiesConfig()


class CardPart(NamedTuple):
    """One card as it would be handed over."""

    scored: Scored[Card]
    text: str


class CardResult(NamedTuple):
    """What was handed over of the cards."""

    injected: Sequence[Scored[Card]]
    text: str
    total_tokens_used: int
    truncated: bool
    """Whether any was left out for its size."""
    skipped: Sequence[Skipped]
    issues: Sequence[Issue]
    sizes: Mapping[str, int] = MappingProxyType({})
    """The tokens of the text of each card that is in, by its id."""

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
    """The bootstrap files with the cards among them, and how that came about."""

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
    """Put the selected cards into a `CAPABILITIES.md` behind `AGENTS.md`, or first without one.

    The given files come back as they were, except that a `CAPABILITIES.md` made by an earlier
    call gives way to the new one. Never raises: a card that cannot be handed over is left out,
    and if all fails nothing is added. `secret` is what the marks are made with; without one they
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
        result = with_rejected(result, issues)
        if is_silent(config, session_type):
            log_cards(result, config, "Would inject")
            return CapabilityInjection(
                files, result._replace(injected=(), text="", total_tokens_used=0)
            )
        made = _with_cards(files, result.text)
        log_cards(result, config, "Injected")
        return CapabilityInjection(made, result)
    except Exception as error:  # the agent must start, whatever is wrong with the cards
        issue = Issue("CARD_INJECTION_FAILED", f"cards are left out: {_told(error)}", "")
        LOGGER.warning("[capability-injection] %s", issue.message)
        return CapabilityInjection(files, CardResult((), "", 0, False, (), [issue]))


def _with_cards(files: list[BootstrapFile], text: str) -> list[BootstrapFile]:
    if not text:
        return files
    others = [one for one in files if not _is_made(one)]
    at = next((place + 1 for place, one in enumerate(others) if one.name == AGENTS_FILE), 0)
    return [*others[:at], BootstrapFile(CAPABILITIES_FILE, text), *others[at:]]


def _is_made(file: BootstrapFile) -> bool:
    """Whether an earlier call has made it; a file that only has its name was not made here."""
    return file.name == CAPABILITIES_FILE and file.content.startswith(REFERENCE_PREAMBLE)


def is_silent(config: CapabilitiesConfig, session_type: str) -> bool:
    """Whether the rollout lets nothing be handed over in such a session."""
    if not config.enabled or config.mode in ("off", "monitor"):
        return True
    return config.mode == "soft" and session_type not in config.soft_session_types


def card_parts(
    selected: Iterable[Scored[Card]], secret: bytes
) -> tuple[list[CardPart], list[Issue]]:
    """The cards as they may be handed over; those that may not be become issues."""
    parts: list[CardPart] = []
    issues: list[Issue] = []
    for scored in selected:
        card = getattr(scored, "item", None)
        try:
            parts.append(CardPart(scored, _handed(scored.item, secret)))
        except Exception as error:  # one bad card must not keep the others out
            name, path = getattr(card, "id", ""), getattr(card, "path", "")
            message = f"card '{name}' is not handed over: {_told(error)}"
            issues.append(Issue("CARD_REJECTED", message, path, hint="metier lint"))
    return parts, issues


def with_rejected(result: CardResult, issues: Sequence[Issue]) -> CardResult:
    """The result with the cards that could not be handed over among those that were left out."""
    rejected = [Skipped(one.path, "card", "rejected", detail=one.message) for one in issues]
    return result._replace(issues=[*issues, *result.issues], skipped=[*rejected, *result.skipped])


def _handed(card: Card, secret: bytes) -> str:
    """A card between its marks. Raises `ValueError` when it must not be handed over."""
    clean = sanitize_capability_content(card.body, card.path)
    if clean.rejected:
        errors = (issue.message for issue in clean.issues if issue.is_error)
        raise ValueError(next(errors, "it is not allowed"))
    return as_reference(
        clean.text, kind="card", id=card.id, source=card.path, sha256=card.sha256, secret=secret
    )


def _told(error: Exception) -> str:
    """What an error says, even if it cannot say it."""
    try:
        return str(error)
    except Exception:  # a stranger's error
        return type(error).__name__


def fit_cards(
    parts: Sequence[CardPart],
    limit: int,
    config: CapabilitiesConfig,
    count: CountTokens = count_tokens,
    may_stand: Callable[[str], bool] = lambda _: True,
) -> CardResult:
    """As many cards, best first, as fit into `limit` together with what stands around them.

    `may_stand` says whether a text may stand where the cards are wanted.
    """
    fitted = fit(
        [part.text for part in parts],
        limit,
        separator=BETWEEN_REFERENCES,
        count=lambda text: count(text) if may_stand(text) else limit + 1,
        overflow=config.overflow,
        start=REFERENCE_PREAMBLE,
    )
    left = [
        Skipped(parts[place].scored.item.id, "card", "over-budget", count(parts[place].text))
        for place in fitted.left
    ]
    taken = [parts[place].scored for place in fitted.taken]
    sizes = {
        parts[place].scored.item.id: count(parts[place].scored.item.body) for place in fitted.taken
    }
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
        lines += [f"  left out: {one.id} ({one.reason})" for one in result.skipped]
    LOGGER.info("[capability-injection] %s", "\n".join(lines))
