"""Cards from configured sources: a folder, a database, an address.

They are copied into the state folder as plain files, each source as a whole or not at all.
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
