"""The skills that can be named for a task, with the words by which they are compared."""

from typing import NamedTuple

from metier.core.coerce import texts_of
from metier.core.overlap import Text
from metier.index.documents import select_rows
from metier.index.rank_index import MOST_EXAMPLES, RankText, rank_weights
from metier.index.store import Store
from metier.storage.rank_pool import RANK_FIELD
from metier.values.rows import Row


class Competitor(NamedTuple):
    """A skill that can be named for a task."""

    row: Row
    hosts: int
    """The hosts that load it, as bits."""
    said: str
    """Its description and examples: two skills with the same say the same."""
    text: Text
    """The words of its description and examples: a name tells no two skills apart."""


def competitors(store: Store, condition: str) -> list[Competitor]:
    """The skills that meet a condition in SQL, by name."""
    where = f"kind = 'skill' AND {condition}"
    rows = select_rows(store, "kind = 'skill' AND state = 'active' ORDER BY handle, path", [])
    facts = {
        path: (hosts, vector)
        for path, hosts, vector in store.rows(
            f"SELECT path, hosts, vector FROM document JOIN ranked USING (key) WHERE ranked.{where}"
        )
    }
    return [_competitor(row, *facts[row.path]) for row in rows if row.path in facts]


def _competitor(row: Row, hosts: int, vector: bytes | None) -> Competitor:
    about = row.routing_text
    examples = texts_of(row.data.get("examples"))[:MOST_EXAMPLES]
    weights = rank_weights(RankText("", about, examples))
    said = "\n".join(" ".join(text.split()) for text in (about, *examples))
    return Competitor(row, hosts, said, Text(weights, _numbers(vector)))


def _numbers(vector: bytes | None) -> "memoryview | None":
    return memoryview(vector).cast("h") if vector else None


def document_counts(store: Store) -> dict[str, int]:
    """How many skills have each term outside their body."""
    sql = f"SELECT term, found FROM posting WHERE field = '{RANK_FIELD['skill']}'"
    return dict(store.rows(sql))
