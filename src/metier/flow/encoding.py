"""The user's encoder: the vectors of skills, made at refresh, and those of tasks.

What fails or is slow never stops a command: the built-in word table is used, and output says so.
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from metier.config import Config
from metier.core.encoders import Encoder, EncoderError
from metier.core.ranking import Task
from metier.errors import StoreError, TrustError
from metier.flow.examples import Examples
from metier.index.store import Store
from metier.storage.places import user_room
from metier.storage.room import Room
from metier.storage.workspace import ENCODED_BY
from metier.values.which import BUILT_IN

if TYPE_CHECKING:
    from metier.core.word_table import Vector
    from metier.encode.cache import VectorCache
    from metier.values.settings import EncoderSettings

    Vectors = Mapping[str, Vector | None]

OnEncoded = Callable[[int, int], None]
"""Called with the number of texts encoded and to encode."""
MOST_TEXTS = 40_000
_BATCH = 32
_MOST_TASKS = 2_000
"""Vectors of tasks in memory."""


class EncodedTask(Task):
    """A task with the vector of the user's encoder."""

    encoded = True

    def __init__(self, text: str, vector: "Vector | None") -> None:
        super().__init__(text)
        self._vectors = [vector]


class Encoding:
    """The encoder of a catalog. Nothing is loaded unless the settings name one."""

    def __init__(
        self,
        store: Store,
        room: Room | None,
        workspace: str,
        config: Config,
        examples: Examples,
        check: "Callable[[EncoderSettings], None]",
    ) -> None:
        """`check` raises `TrustError` if a file of the workspace's encoder has changed."""
        self._store = store
        self._room = room
        self._settings = _resolved(config.encoder, workspace)
        self._examples = examples
        self._check = check
        self._tasks: dict[str, Vector | None] = {}
        self.problem = ""
        """Why the word table is used instead."""

    @property
    def is_set(self) -> bool:
        return self._settings is not None

    @property
    def meaning(self) -> str:
        """What gave the last vectors: the encoder, or the built-in words and why."""
        if self._settings is None:
            return BUILT_IN
        name = self._settings.name
        return f"{BUILT_IN} (the encoder {name} failed: {self.problem})" if self.problem else name

    @property
    def warning(self) -> str:
        """A line if the encoder is not used; else empty."""
        return f"warning: meaning comes from {self.meaning}" if self.problem else ""

    # At refresh

    def retry(self) -> None:
        """Forget failures: else an encoder that failed is left alone for some minutes."""
        with _Failing(self):
            self._cache.forget_failures()

    def refresh(self, on_encoded: OnEncoded | None = None) -> None:
        """Encode what has no vector yet; quick if nothing has changed."""
        if self._settings is None:
            return
        with _Failing(self):
            state = f"{self._id} {self._examples.state()}"
            if self._store.setting(ENCODED_BY) == state:
                return
            self._raise_failure()
            version = self._store.data_version()
            self._encode(on_encoded)
            if self._store.data_version() == version:  # else another process changed documents
                self._store.remember(ENCODED_BY, state)
            self._cache.forget_oldest(self._id)

    def _encode(self, on_encoded: OnEncoded | None) -> None:
        from metier.index.encoded import encoded_texts, write_encoded  # few have an encoder
        from metier.index.learned import Meaning, learn

        assert self._settings is not None
        deadline = time.monotonic() + self._settings.refresh_timeout

        def vectors(texts: Sequence[str]) -> "list[Vector | None]":
            known = self._vectors(texts, deadline, on_encoded)
            return [known[text] for text in texts]

        texts = encoded_texts(self._store)
        write_encoded(self._store, dict(zip(texts, vectors(list(texts.values())), strict=True)))
        taught = [one for one in self._examples.taught() if one.kind == "skill"]
        learn(self._store, "skill", taught, meaning=Meaning(self._id, vectors, is_encoder=True))

    def _vectors(
        self, texts: Sequence[str], deadline: float, on_encoded: OnEncoded | None
    ) -> "Vectors":
        """Text → its vector; only those that no refresh has made yet are encoded."""
        known = self._cache.known(self._id, texts)
        missing = sorted(set(texts).difference(known))
        if len(missing) > MOST_TEXTS:
            raise EncoderError(
                f"there are {len(missing):,} texts; at most {MOST_TEXTS:,} are encoded"
            )
        for start in range(0, len(missing), _BATCH):
            some = missing[start : start + _BATCH]
            left = deadline - time.monotonic()
            done = f"{len(known):,} of {len(known) + len(missing) - start:,} texts are encoded"
            late = f"{done} in the time allowed; metier refresh continues" if start else ""
            found = self._encoded(some, left, late)
            known.update(found)
            self._cache.keep(self._id, found)
            if on_encoded is not None:
                on_encoded(start + len(some), len(missing))
        _check_sizes(known)
        return known

    # For a task

    def task(self, text: str) -> Task:
        """A task with the encoder's vector; with that of the word table if there is none."""
        plain = Task(text)
        if self._settings is None or not plain.counts:
            return plain
        with _Failing(self):
            return EncodedTask(text, self.vector(text))
        return plain

    def vector(self, text: str) -> "Vector | None":
        """The vector of a text; cached in memory. Raises `EncoderError`."""
        from metier.index.encoded import encoded_by, encoded_dimensions  # few have an encoder

        assert self._settings is not None
        if encoded_by(self._store) != self._id:
            raise EncoderError(self._cache.failure(self._id) or "metier refresh makes its vectors")
        if text not in self._tasks:
            self._raise_failure()
            if len(self._tasks) >= _MOST_TASKS:
                self._tasks.clear()
            self._tasks.update(self._encoded([text], self._settings.timeout))
        vector = self._tasks[text]
        size = encoded_dimensions(self._store)
        if vector is not None and size and len(vector) != size:
            raise EncoderError(f"a vector has {len(vector):,} numbers, those of skills {size:,}")
        return vector

    # The encoder

    def _encoded(self, texts: Sequence[str], seconds: float, late: str = "") -> "Vectors":
        """`late` is what to say when the time is over."""
        from metier.encode.time_limit import LateError, within  # few have an encoder

        try:
            found = within(seconds, lambda: self._encoder.encode(texts))
            if len(found) != len(texts):
                raise EncoderError(f"it gave {len(found):,} vectors for {len(texts):,} texts")
        except EncoderError as error:
            why = late if late and isinstance(error, LateError) else str(error)
            self._cache.note_failure(self._id, why)
            raise EncoderError(why) from None
        return dict(zip(texts, found, strict=True))

    def _raise_failure(self) -> None:
        if why := self._cache.failure(self._id):
            raise EncoderError(why)

    @cached_property
    def _encoder(self) -> Encoder:
        from metier.encode.opening import open_encoder  # few have an encoder

        assert self._settings is not None
        return open_encoder(self._settings)

    @cached_property
    def _id(self) -> str:
        from metier.encode.opening import encoder_id  # few have an encoder

        settings = self._settings
        assert settings is not None
        if settings.file and not os.path.isabs(settings.file):
            raise EncoderError("in your own settings, 'file' is an absolute path or starts with ~")
        if not settings.is_users:
            self._check(settings)
        return encoder_id(settings, self._cache.digest_of)

    @cached_property
    def _cache(self) -> "VectorCache":
        from metier.encode.cache import VectorCache  # few have an encoder

        return VectorCache.within(self._room or user_room())

    def is_of_cache(self, error: object) -> bool:
        """Whether an error is about the file of vectors, and not about the catalog."""
        return isinstance(error, StoreError) and error.where != self._store.path

    def close(self) -> None:
        if "_cache" in self.__dict__:
            self._cache.close()


class _Failing:
    """Makes a failure in its block the problem of an encoding, and a success the end of it."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding

    def __enter__(self) -> None:
        self._encoding.problem = ""

    def __exit__(self, _kind: object, error: object, _trace: object) -> bool:
        is_ours = isinstance(error, EncoderError | TrustError)
        if is_ours or self._encoding.is_of_cache(error):
            self._encoding.problem = str(error)
        return bool(self._encoding.problem)


def _resolved(settings: "EncoderSettings | None", workspace: str) -> "EncoderSettings | None":
    """With whole paths; those of a workspace's settings start at the workspace."""
    if settings is None or settings.kind == "http":
        return settings
    base = "" if settings.is_users else workspace

    def whole(path: str) -> str:
        if not path:
            return path
        return os.path.join(base, os.path.expanduser(path) if settings.is_users else path)

    return settings._replace(file=whole(settings.file), tokenizer=whole(settings.tokenizer))


def _check_sizes(vectors: "Vectors") -> None:
    sizes = {len(one) for one in vectors.values() if one is not None}
    if len(sizes) > 1:
        raise EncoderError(
            f"its vectors have different sizes: {', '.join(map(str, sorted(sizes)))}"
        )
