"""Settings that are more than a text or a number."""

import re
from typing import NamedTuple

from metier.values.files import Origin

WORKER_LEASE_SECONDS = 15.0
"""After this long without a heartbeat a worker counts as dead."""
WORKER_STOP_SECONDS = 20.0
"""How long running runs may take to end when a worker stops: systemd waits 90 seconds, Kubernetes
30 before it kills the process, and returning what is left takes a few."""


class Mount(NamedTuple):
    """A folder of skills outside the workspace."""

    path: str
    label: str
    origin: Origin = "user"


class ProbeSetting(NamedTuple):
    """A command that checks whether candidates provide a capability."""

    capability: str
    argv: tuple[str, ...]
    timeout: float = 10.0
    is_users: bool = True
    """Whether the user's own settings name it, and not the workspace's."""


QUEUE_FORM = "up to 128 letters, digits and . _ : / @ + -, the first of them a letter or digit"
_QUEUE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@+-]{0,127}")


def is_queue_name(text: str) -> bool:
    """Whether a queue may be called so: names of models may be."""
    return _QUEUE_NAME.fullmatch(text) is not None


class QueueSetting(NamedTuple):
    """The limits of a queue of runs, over all workers."""

    concurrency: int | None = None
    """How many of its runs are executed at a time."""
    starts: int | None = None
    """How many of its runs may start within `seconds`."""
    seconds: float | None = None


class EncoderSettings(NamedTuple):
    """What gives texts their vectors in place of the word table; all of one settings file."""

    kind: str
    """`onnx`, `static` or `http`."""
    file: str = ""
    """The model, or the word table."""
    tokenizer: str = ""
    """The tokenizer of a model; by default the `tokenizer.json` beside it."""
    url: str = ""
    """The address of a server with the OpenAI protocol."""
    model: str = ""
    api_key_env: str = ""
    timeout: float = 5.0
    """Seconds for a task; then the word table is used."""
    refresh_timeout: float = 30.0
    """Seconds for the documents of a refresh; the next refresh continues."""
    key_host: str = ""
    """The only host that the key may be sent to; empty: that of `url`."""
    plain_http: bool = False
    """Whether http beyond this machine is allowed."""
    is_users: bool = True
    """Whether the user's own settings name it, and not the workspace's."""

    @property
    def name(self) -> str:
        """What output calls it."""
        return self.model if self.kind == "http" else self.file.rpartition("/")[2]
