"""Injection: requests, and the settings and contexts of cards (spec 5)."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

from metier.core.arguments import described, wrong_argument
from metier.errors import UsageError
from metier.values.outcomes import Issue

DEFAULT_MAX_TOKENS = 10_000
"""For the abilities of a prompt, unless a profile or a request says otherwise."""
DEFAULT_ABILITIES = 10
SessionType = Literal["main", "isolated"]
SESSION_TYPES: tuple[SessionType, ...] = get_args(SessionType)


class InjectRequest(NamedTuple):
    """What a prompt is about, and what may be injected into it."""

    messages: Sequence[str]
    agent: str | None = None
    core: Sequence[str] = ()
    """Besides the core abilities of the agent's profile."""
    budget: int | None = None
    """For abilities and cards together; None: each has its own."""
    limit: int | None = DEFAULT_ABILITIES
    min_signal: float | None = None
    include_metadata: bool = False
    session_type: str = "main"
    include_untrusted: bool = True

    @property
    def task(self) -> str:
        return "\n".join(self.messages)


class SourceSetting(NamedTuple):
    """A source of cards."""

    type: str
    """`local`, `database` or `remote`."""
    location: str
    sha256: str = ""
    """Of a remote card."""


class SelectionContext(NamedTuple):
    recent_messages: Sequence[str] = ()
    session_type: str = "main"
    token_budget: int | None = None
    time_of_day: str = ""
    """morning · afternoon · evening · night"""
    user_tier: str = ""
    environment_type: str = ""
    conversation_length: int | None = None
    """In characters; None: of the messages."""


class Sanitized(NamedTuple):
    text: str
    issues: Sequence[Issue]
    rejected: bool


class BootstrapFile(NamedTuple):
    """A file of the context that an agent starts with."""

    name: str
    content: str


def messages_of(given: str | Sequence[str]) -> list[str]:
    """The messages of one text, or of a list. Raises `UsageError` for anything else."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable):
        raise wrong_argument("messages", "a string or a list of strings", given)
    messages = list(given)
    for one in messages:
        if not isinstance(one, str):
            message = (
                f"'messages' must be a string or a list of strings; it contains {described(one)}"
            )
            raise UsageError(message)
    return messages
