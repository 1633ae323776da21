"""Several threads over one catalog: in parallel, and always of the latest refresh."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from conftest import Workspace
from mcp_served import refreshed
from metier import Catalog
from metier.flow.boundary import Boundary
from metier.serving.catalog_pool import THREADS, CatalogPool

ENOUGH = 60.0


@pytest.fixture
def pool(workspace: Workspace) -> Iterator[CatalogPool]:
    workspace.skill("one")
    with closing(CatalogPool(lambda: refreshed(workspace.root))) as made:
        made.start()
        yield made


def skills(catalog: Catalog) -> int:
    return len(catalog.names("skill"))


async def in_every_thread(pool: CatalogPool) -> list[tuple[int, int]]:
    """What each thread answers, with its number: no question ends before all have begun."""
    together = threading.Barrier(THREADS)

    def answer(catalog: Catalog) -> tuple[int, int]:
        together.wait(ENOUGH)
        return skills(catalog), threading.get_ident()

    return await asyncio.gather(*(pool.ask(answer) for _ in range(THREADS)))


def test_questions_are_answered_in_parallel(pool: CatalogPool) -> None:
    answers = asyncio.run(in_every_thread(pool))
    assert len({thread for _, thread in answers}) == THREADS


def test_every_thread_sees_what_another_connection_refreshed(
    pool: CatalogPool, workspace: Workspace
) -> None:
    assert {count for count, _ in asyncio.run(in_every_thread(pool))} == {1}
    workspace.skill("two")
    with refreshed(workspace.root):
        assert {count for count, _ in asyncio.run(in_every_thread(pool))} == {2}


def test_every_thread_resolves_after_a_refresh_that_made_no_stems(
    pool: CatalogPool, workspace: Workspace
) -> None:
    asyncio.run(in_every_thread(pool))
    workspace.skill("searcher", extra="capabilities: [web-search]")
    with refreshed(workspace.root):
        pass
    together = threading.Barrier(THREADS)

    def resolved(catalog: Catalog) -> list[str]:
        together.wait(ENOUGH)
        return list(catalog.resolve(["web-search"], "search the web").selected)

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(pool.ask(resolved) for _ in range(THREADS)))

    assert asyncio.run(main()) == [["searcher::skills/searcher"]] * THREADS


def test_a_catalog_that_was_removed_is_built_again_for_every_thread(
    pool: CatalogPool, workspace: Workspace
) -> None:
    asyncio.run(in_every_thread(pool))
    for file in workspace.state.glob("catalog*"):
        file.unlink()
    assert {count for count, _ in asyncio.run(in_every_thread(pool))} == {1}


def test_more_questions_than_threads_wait_for_their_turn(pool: CatalogPool) -> None:
    async def main() -> list[int]:
        free = threading.Event()
        held = [
            asyncio.ensure_future(pool.ask(lambda _: free.wait(ENOUGH))) for _ in range(THREADS)
        ]
        late = [asyncio.ensure_future(pool.ask(skills)) for _ in range(10)]
        while pool.waiting < len(late):
            await asyncio.sleep(0)
        late[0].cancel()
        free.set()
        await asyncio.gather(*held)
        return await asyncio.gather(*late[1:])

    assert asyncio.run(main()) == [1] * 9
    assert pool.waiting == 0
    assert len({thread for _, thread in asyncio.run(in_every_thread(pool))}) == THREADS


def test_a_catalog_in_memory_has_one_thread(workspace: Workspace) -> None:
    workspace.skill("one")

    @contextmanager
    def in_memory() -> Iterator[Catalog]:
        with refreshed(workspace.root) as kept:
            boundary = Boundary(kept.workspace, kept.trust, kept.config)
        with Catalog.in_memory(boundary) as catalog:
            catalog.refresh()
            yield catalog

    async def main(pool: CatalogPool) -> list[tuple[int, int]]:
        ask = pool.ask
        return await asyncio.gather(
            *(ask(lambda catalog: (skills(catalog), threading.get_ident())) for _ in range(8))
        )

    with closing(CatalogPool(in_memory)) as pool:
        pool.start()
        assert len(set(asyncio.run(main(pool)))) == 1
