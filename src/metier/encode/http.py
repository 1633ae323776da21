"""An encoder behind an address that speaks the OpenAI protocol (`POST …/embeddings`).

Standard library only: `metier which` loads no client of models for it.
"""

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from metier.core.encoders import LONGEST_TEXT, EncoderError, whole_vector
from metier.core.text import printable
from metier.errors import UsageError
from metier.safety.addresses import check_address, host_of, is_at, redirected, shown_host
from metier.values.settings import EncoderSettings

if TYPE_CHECKING:
    from urllib.request import Request

    from metier.core.word_table import Vector

LARGEST = 64 * 1024 * 1024
"""Bytes of an answer."""
_PATH = "/embeddings"


class HttpEncoder:
    """Asks the server for all texts of a call at once; follows no redirect."""

    def __init__(self, settings: EncoderSettings) -> None:
        try:
            check_address(
                settings.url, plain_http=settings.plain_http, what="the url of the encoder"
            )
        except UsageError as error:
            raise EncoderError(error.message) from None
        self._settings = settings
        self._url = f"{settings.url.rstrip('/').removesuffix(_PATH)}{_PATH}"
        self._key = _key(settings)

    def encode(self, texts: Sequence[str]) -> "list[Vector | None]":
        given = [text[:LONGEST_TEXT] or " " for text in texts]
        body = {"model": self._settings.model, "input": given, "encoding_format": "float"}
        return [whole_vector(row) for row in _rows(self._answer(body), len(texts))]

    def _answer(self, body: Mapping[str, Any]) -> Any:
        from http.client import HTTPException
        from urllib.error import HTTPError, URLError
        from urllib.request import Request

        headers = {"Content-Type": "application/json", "User-Agent": "metier"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = Request(self._url, json.dumps(body).encode(), headers, method="POST")
        host = shown_host(host_of(self._url))
        try:
            data = _sent(request, self._settings.refresh_timeout)
        except HTTPError as error:
            with error:
                raise EncoderError(_refused(host, self._url, error)) from None
        except (URLError, HTTPException, OSError, ValueError) as error:
            why = getattr(error, "reason", error)
            line = printable(" ".join(str(why).split()))[:200] or type(error).__name__
            raise EncoderError(f"{host} did not answer: {line}") from None
        if len(data) > LARGEST:
            raise EncoderError(f"{host} answered with more than {LARGEST:,} bytes")
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise EncoderError(f"{host} did not answer with JSON") from None


def _sent(request: "Request", seconds: float) -> bytes:
    """At most one byte more than an answer may have."""
    from urllib.request import HTTPRedirectHandler, build_opener

    class NoRedirect(HTTPRedirectHandler):
        def redirect_request(self, *_given: Any) -> None:
            return None

    with build_opener(NoRedirect).open(request, timeout=seconds) as response:
        return bytes(response.read(LARGEST + 1))


def _refused(host: str, url: str, error: Any) -> str:
    if location := error.headers.get("Location"):
        return f"{host} did not answer: {redirected(url, location)}"
    return f"{host} answered HTTP {error.code}"


def _rows(answer: Any, wanted: int) -> list[Any]:
    """The vectors in the order of the texts."""
    data = answer.get("data") if isinstance(answer, dict) else None
    rows = data if isinstance(data, list) else []
    try:
        by_place = {int(one.get("index", at)): one["embedding"] for at, one in enumerate(rows)}
        found = [by_place[place] for place in range(wanted)]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise EncoderError(f"the answer has no vector for each of {wanted:,} texts") from None
    if not all(isinstance(row, list) for row in found):
        raise EncoderError("the answer has vectors that are not lists of numbers")
    return found


def _key(settings: EncoderSettings) -> str:
    """The key, for the host that it is meant for. Raises `EncoderError`."""
    variable = settings.api_key_env
    if not variable:
        return ""
    if settings.key_host and not is_at(settings.url, settings.key_host):
        bound, used = shown_host(settings.key_host), shown_host(host_of(settings.url))
        raise EncoderError(f"the key in {variable} is for {bound}, so it is not sent to {used}")
    key = os.environ.get(variable, "")
    if not key.isascii() or not key.isprintable() or not key:
        what = "is not set" if not key else "is not a valid key"
        raise EncoderError(f"the key of the encoder is missing: {variable} {what}")
    return key
