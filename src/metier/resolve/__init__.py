"""Stage 5: who provides what is required (spec 4)."""

from metier.resolve.aliases import AliasTable, AliasTables
from metier.resolve.engine import resolve
from metier.resolve.pool import Pool
from metier.resolve.report import Resolution
from metier.values.policy import Policy

__all__ = ["AliasTable", "AliasTables", "Policy", "Pool", "Resolution", "resolve"]
