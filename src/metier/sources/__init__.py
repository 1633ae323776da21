"""Cards from elsewhere: one more folder of the workspace, a database, an address.

They are brought into the state room, so that all later stages see plain files. A source is
taken whole or not at all, and none is asked unless the settings name it.
"""

from metier.sources.cards import CardSource, SourcedCard
from metier.sources.database import DatabaseSource
from metier.sources.local import LocalSource
from metier.sources.remote import RemoteSource
from metier.sources.sync import source_folders, source_of, sync_sources

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
