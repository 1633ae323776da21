"""What pages cache: a large answer is kept for the last question alone."""

from functools import partial

from conftest import Workspace
from metier.catalog import Catalog
from metier.config import Config
from metier.web.page import View
from metier.web.query import Query


def test_only_the_last_answer_is_kept(workspace: Workspace) -> None:
    made: list[str] = []

    def answer(key: str) -> str:
        made.append(key)
        return key.upper()

    with Catalog.open(workspace.root, config=Config()) as catalog:
        view = View(catalog=catalog, query=Query(), page="inject")
        for key in ("a", "a", "b", "a"):
            assert view.latest(key, partial(answer, key)) == key.upper()
        kept: dict[object, str] = view.cached("latest", dict)
    assert made.count("a") >= 2  # asked again after "b"
    assert list(kept.values()) == ["A"]
