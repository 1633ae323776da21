"""Models of providers, through pydantic_ai, which is loaded when the first of them is asked."""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from metier.errors import ModelError
from metier.values.models import ModelReply, ModelRequest
from metier.values.running import ProviderSettings

if TYPE_CHECKING:
    from pydantic_ai.models import Model as Client

_LOADING = threading.Lock()
"""Two threads that import a large package at once may see it half made."""


class ProviderModel:
    """One model of one provider. It keeps no connection between two calls.

    `connect` makes the client; tests give their own. Nothing is tried twice: that is for the one
    who asks to decide, by the `kind` of the error.
    """

    def __init__(
        self,
        name: str,
        settings: ProviderSettings = ProviderSettings(),  # noqa: B008 (it cannot change)
        *,
        connect: "Callable[[], Client] | None" = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._connect = connect

    def ready(self) -> None:
        """Raise now the `ModelError` that a missing package or key would cause later."""
        self._connected()

    async def respond(self, request: ModelRequest) -> ModelReply:
        ask = await asyncio.to_thread(self._connected)  # it loads much, and reads certificates
        return await ask(request)

    def _connected(self) -> Callable[[ModelRequest], Awaitable[ModelReply]]:
        with _LOADING:
            try:
                from metier.run.models.ask import ask  # an extra
                from metier.run.models.connect import Connection, connect
            except ImportError:
                raise _missing(self.name) from None
            if self._connect:
                connection = Connection(self._connect())
            else:
                connection = connect(self.name, self._settings)
        key = os.environ.get(self._settings.api_key_env, "")
        return partial(ask, self.name, connection, hidden=key)


def _missing(name: str) -> ModelError:
    message = f"{name} needs pydantic_ai, and a recent one: pip install 'metier[models]'"
    return ModelError(message, code="MODEL_NO_PACKAGE")
