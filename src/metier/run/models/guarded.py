"""The HTTP client of a provider: what it does not follow, and what it does not send.

Loads pydantic_ai: import it inside functions only.
"""

import os
from functools import partial
from typing import Any

from pydantic_ai.models import create_async_http_client, create_async_httpx2_client

from metier.errors import ModelError
from metier.safety.addresses import redirected

NO_CLIENT = ("bedrock", "huggingface", "xai")
"""Their classes take no HTTP client of ours, so how they treat a redirect is up to their packages.

boto3 follows none, and gRPC (xai) has none. huggingface_hub follows them with httpx, which sends
the key to no other host.
"""
LEGACY = ("cohere", "groq")
"""Their packages take a client of httpx; all others that take one, a client of httpx2."""
_PLUMBING = ("accept", "content-length", "content-type", "host", "user-agent")
"""Headers that a request cannot do without."""


def guarded_client(name: str, *, legacy: bool = False) -> Any:
    """A client for the model `name` that follows no redirect: it raises `ModelError` instead."""
    http: Any = create_async_http_client() if legacy else create_async_httpx2_client()
    http.follow_redirects = False
    http.event_hooks = {**http.event_hooks, "response": [partial(_refuse_redirect, name)]}
    return http


def withhold_openai(http: Any, key: str) -> None:
    """Let the client send nothing that the environment holds for OpenAI alone.

    The package of OpenAI adds OPENAI_CUSTOM_HEADERS, OPENAI_ORG_ID and OPENAI_PROJECT_ID to what
    it sends to any server, and puts the first even in the place of the `key`.
    """
    hooks = [*http.event_hooks["request"], partial(_withhold, key)]
    http.event_hooks = {**http.event_hooks, "request": hooks}


async def _refuse_redirect(name: str, response: Any) -> None:
    if response.has_redirect_location:
        said = redirected(str(response.request.url), response.headers["location"])
        raise ModelError(f"{name} did not answer: {said}")


async def _withhold(key: str, request: Any) -> None:
    headers = request.headers
    headers.pop("openai-organization", None)
    headers.pop("openai-project", None)
    for name, text in _custom_headers():
        if name in _PLUMBING or headers.get(name) != text:
            continue
        del headers[name]
        if name == "authorization" and key:
            headers["authorization"] = f"Bearer {key}"


def _custom_headers() -> list[tuple[str, str]]:
    """Names and values in OPENAI_CUSTOM_HEADERS, one in each line."""
    lines = os.environ.get("OPENAI_CUSTOM_HEADERS", "").split("\n")
    parts = [line.partition(":") for line in lines if ":" in line]
    return [(name.strip().lower(), text.strip()) for name, _, text in parts]
