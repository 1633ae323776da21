"""The catalog in its threads, for MCP."""

from collections.abc import Callable
from typing import TypeVar

from metier.catalog import Catalog
from metier.mcp.answers import protocol_error
from metier.serving import catalog_pool

T = TypeVar("T")


class CatalogPool(catalog_pool.CatalogPool):
    """Raises protocol errors for everything but tools."""

    async def answer(self, question: Callable[[Catalog], T], **about: str) -> T:
        try:
            return await self.ask(question)
        except Exception as error:
            raise protocol_error(error, **about) from None
