"""What went wrong at a provider, in our words and without secrets.

Loads pydantic_ai: import it inside functions only.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

from pydantic_ai.exceptions import (
    ContentFilterError,
    ModelAPIError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelRequestTimeout,
    ModelTimeoutError,
    UnexpectedModelBehavior,
)

from metier.core.text import printable
from metier.errors import MetierError, ModelError

_LONGEST = 200
_SHORTEST_SECRET = 8
_SECRET_NAMES = re.compile(r"KEY|TOKEN|SECRET|PASSWORD", re.IGNORECASE)
_LIKE_A_KEY = re.compile(r"\bsk-[\w*-]{4,}|\bBearer\s+\S+", re.IGNORECASE)
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


@contextmanager
def failures_of(name: str, hidden: str = "") -> Iterator[None]:
    """Raise as `ModelError` whatever goes wrong inside, without the text to be hidden."""
    try:
        yield
    except Exception as error:  # every provider's library has exceptions of its own
        ours = _ours(error)
        raise ours or ModelError(_message(name, error, hidden), kind=_kind(error)) from None


def _ours(error: BaseException | None) -> MetierError | None:
    """The error that we raised, also when a library has wrapped it in its own; None for others."""
    while error is not None and not isinstance(error, MetierError):
        error = error.__cause__
    return error


def _kind(error: Exception) -> str:
    """Say why, as far as it helps to try again."""
    if isinstance(error, ModelTimeoutError | ModelRequestTimeout | TimeoutError):
        return "timeout"
    if isinstance(error, ModelConnectionError | OSError):
        return "networkError"
    if isinstance(error, ModelQuotaExceededError):  # it comes as 429, but waiting is vain
        return ""
    if isinstance(error, ModelHTTPError):
        return _kind_of_status(error.status_code)
    if isinstance(error, ModelRequestRejectedError | ContentFilterError):
        return ""
    if isinstance(error, ModelRateLimitError):
        return "rateLimit"
    # Of theirs, an error in a stream is left, or an answer that cannot be read.
    return "serverError" if isinstance(error, ModelAPIError | UnexpectedModelBehavior) else ""


def _kind_of_status(status: int) -> str:
    if status == HTTPStatus.REQUEST_TIMEOUT:
        return "timeout"
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return "rateLimit"
    return "serverError" if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ""


def _message(name: str, error: Exception, hidden: str) -> str:
    if isinstance(error, ModelHTTPError):
        status = f"HTTP {error.status_code}"
        if error.status_code in _REFUSED:
            # What a provider says about a key shows parts of it.
            return f"{name} refuses the key, or what it is used for ({status})"
        detail = one_line(_detail(error.body), hidden)
        return f"{name} answered {status}: {detail}" if detail else f"{name} answered {status}"
    if isinstance(error, ContentFilterError):
        return f"{name} was stopped by its content filter"
    return f"{name} did not answer: {one_line(str(error), hidden) or type(error).__name__}"


def _detail(body: Any) -> str:
    """What the body of an error says for people."""
    if isinstance(body, Mapping):
        inner = body.get("error", body)
        message = inner.get("message", "") if isinstance(inner, Mapping) else inner
        return str(message or "")
    return str(body or "")


def one_line(text: str, hidden: str = "") -> str:
    """`text` in one line of bounded length, with nothing in it that looks like a key."""
    for name, value in [("KEY", hidden), *os.environ.items()]:
        if len(value) >= _SHORTEST_SECRET and _SECRET_NAMES.search(name):
            text = text.replace(value, "***")
    line = printable(" ".join(_LIKE_A_KEY.sub("***", text).split()))
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
