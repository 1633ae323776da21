"""Letting go of a run that cannot go on here, because its record cannot be written."""

import threading
import time
from contextlib import closing

from metier.errors import MetierError, RunLostError, StoreError
from metier.run.sqlite_store import RunStore
from metier.run.writes import Claim, Write, released
from metier.storage.database import IN_MEMORY
from metier.values.runs import Failure

RETRY_SECONDS = 1.0
_RETRIES = 60
"""By then the process has given no sign for so long that the run is free anyway."""


def release(store: RunStore, claim: Claim, error: Exception) -> None:
    """Let others go on with a run: now, or as soon as its record can be written again."""
    told = error if isinstance(error, MetierError) else None
    code, message = (told.code, told.message) if told else ("RUN_INTERRUPTED", str(error))
    write = released(Failure(code, message), claim)
    try:
        store.save_now([write])
    except RunLostError:
        return
    except StoreError:
        if store.path != IN_MEMORY:
            later = threading.Thread(target=_release_later, args=(store.path, write), daemon=True)
            later.start()


def _release_later(path: str, write: Write) -> None:
    """Try again for a while, with a connection of its own: the event loop may be closed."""
    for _ in range(_RETRIES):
        time.sleep(RETRY_SECONDS)
        try:
            with closing(RunStore.open(path, busy_seconds=RETRY_SECONDS)) as store:
                store.save_now([write])
            return
        except RunLostError:
            return
        except StoreError:
            continue
