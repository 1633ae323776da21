"""Cards from elsewhere: one more folder of the workspace, a database, an address.

They are brought into the state room, so that all later stages see plain files. A source is
taken whole or not at all, and none is asked unless the settings name it.
"""

from metier.discover.sources.cards import CardSource, SourcedCard
from metier.discover.sources.database import DatabaseSource
from metier.discover.sources.local import LocalSource
from metier.discover.sources.remote import RemoteSource
from metier.discover.sources.sync import source_folders, source_of, sync_sources

__all__ = [
    "CardSource",
    "DatabaseSource",
    "LocalSource",
    "RemoteSource",
    "SourcedCard",
    "source_folders",
    "source_of",
    "sync_sources",
]
