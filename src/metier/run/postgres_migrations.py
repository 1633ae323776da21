"""All migrations of the schema `metier`, in their order. New ones go to the end."""

from metier.run import postgres_tables, worker_tables
from metier.storage import record_tables

MIGRATIONS = (
    postgres_tables.TABLES,
    record_tables.TABLES,
    worker_tables.TABLES,
    postgres_tables.LOOKUPS,
)
