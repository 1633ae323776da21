"""A word table of the user's own as the encoder: no library, the same numbers on every machine."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from metier.core.encoders import LONGEST_TEXT, EncoderError
from metier.core.terms import plain_words
from metier.core.word_table import WordTable
from metier.storage.room import read_regular

if TYPE_CHECKING:
    from metier.core.word_table import Vector

LARGEST = 256 * 1024 * 1024


class StaticEncoder:
    """Sums of the vectors of words."""

    def __init__(self, file: str) -> None:
        try:
            self._table = WordTable(read_regular(file, LARGEST))
        except OSError as error:
            raise EncoderError(f"'{file}' cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise EncoderError(f"'{file}' is not a word table: {error}") from None

    def encode(self, texts: Sequence[str]) -> "list[Vector | None]":
        return [self._table.vector(plain_words(text[:LONGEST_TEXT])) for text in texts]
