"""The vectors that the user's encoder gives to skills; hooks never read them."""

from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING

from metier.core.text import routing_text
from metier.index.rank_index import meant_text
from metier.index.store import Store
from metier.storage.rank_pool import ENCODED
from metier.storage.workspace import ENCODED_BY, ENCODED_SCALE

if TYPE_CHECKING:
    from metier.core.word_table import Vector

_NAME = f"skill {ENCODED}"
_MOST_COMPARED = 300
"""Documents whose cosines tell how far apart vectors are."""
_SCALES = (0.25, 4.0)


def encoded_texts(store: Store) -> dict[int, str]:
    """Key → the text to encode, of every skill that may be a candidate."""
    rows = store.rows(
        "SELECT key, name, description, when_to_use FROM document JOIN ranked USING (key)"
        " WHERE document.kind = 'skill' AND (state = 'active' OR shadowed_by != '') ORDER BY path"
    )
    return {key: meant_text(name, routing_text(about, when)) for key, name, about, when in rows}


def write_encoded(store: Store, vectors: "Mapping[int, Vector | None]") -> None:
    """Replace the vectors of all skills; in the order of their paths."""
    known = {key: array("h", vector) for key, vector in vectors.items() if vector is not None}
    sums = array("q", map(sum, zip(*known.values(), strict=True)))
    scale = _scale(store, known)
    with store.transaction() as connection:
        connection.execute("DELETE FROM encoded")
        rows = [(vector.tobytes(), key) for key, vector in known.items()]
        connection.executemany(
            "INSERT INTO encoded SELECT key, ? FROM document WHERE key = ?", rows
        )
        pool = (_NAME, len(known), sums.tobytes())
        connection.execute("INSERT OR REPLACE INTO rank_pool VALUES (?, ?, ?)", pool)
        setting = "INSERT OR REPLACE INTO setting VALUES (?, ?)"
        connection.execute(setting, (ENCODED_SCALE, f"{scale:.3f}"))


def encoded_by(store: Store) -> str:
    """The id of the encoder whose vectors these are; empty if they are not complete."""
    return store.setting(ENCODED_BY).partition(" ")[0]


def encoded_dimensions(store: Store) -> int:
    """How many numbers a vector has; 0 if there is none."""
    rows = store.rows("SELECT length(sums) / 8 FROM rank_pool WHERE kind = ?", (_NAME,))
    return int(rows[0][0]) if rows else 0


def _scale(store: Store, known: "Mapping[int, array[int]]") -> float:
    """How much farther apart the word table puts the same skills than the encoder does."""
    own, table = [], []
    step = max(1, len(known) // _MOST_COMPARED)
    for key in list(known)[::step]:
        for (vector,) in store.rows("SELECT vector FROM ranked WHERE key = ?", (key,)):
            if vector:
                table.append(array("h", vector))
                own.append(known[key])
    before, after = _spread(table), _spread(own)
    return min(_SCALES[1], max(_SCALES[0], before / after)) if before and after else 1.0


def _spread(vectors: "list[array[int]]") -> float:
    """The root mean square of the cosines between vectors, seen from their mean."""
    import numpy as np  # needed only with an encoder

    if len(vectors) < 3:
        return 0.0
    rows = np.array(vectors, dtype=np.float64)
    rows -= rows.mean(axis=0)
    lengths = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    lengths[lengths == 0] = 1.0
    rows /= lengths
    products = rows @ rows.T
    np.fill_diagonal(products, 0.0)
    count = len(vectors) * (len(vectors) - 1)
    return float(np.sqrt((products * products).sum() / count))
