"""Opens the encoder that the settings name."""

import os
from collections.abc import Callable
from hashlib import sha256

from metier.core.encoders import Encoder, EncoderError
from metier.values.settings import EncoderSettings

_VERSION = 1
"""Raised when equal encoders give other vectors."""
DigestOf = Callable[[str], str]
"""The sha256 of a file. Raises `OSError`."""
TOKENIZER = "tokenizer.json"


def open_encoder(settings: EncoderSettings) -> Encoder:
    """Loads what the kind of encoder needs. Raises `EncoderError`."""
    if settings.kind == "http":
        from metier.encode.http import HttpEncoder

        return HttpEncoder(settings)
    if settings.kind == "static":
        from metier.encode.static import StaticEncoder

        return StaticEncoder(settings.file)
    from metier.encode.onnx import OnnxEncoder

    return OnnxEncoder(settings.file, tokenizer_of(settings))


def encoder_id(settings: EncoderSettings, digest_of: DigestOf) -> str:
    """Encoders with the same id give the same vectors. Raises `EncoderError`."""
    try:
        parts = [digest_of(path) for path in encoder_files(settings)]
    except OSError as error:
        raise EncoderError(f"'{error.filename}' cannot be read: {error.strerror}") from None
    if settings.kind == "http":
        parts = [settings.url.rstrip("/"), settings.model]
    return sha256(repr((_VERSION, settings.kind, parts)).encode()).hexdigest()[:32]


def encoder_files(settings: EncoderSettings) -> list[str]:
    """The files that it reads."""
    if settings.kind == "http":
        return []
    return [settings.file, *([tokenizer_of(settings)] if settings.kind == "onnx" else [])]


def tokenizer_of(settings: EncoderSettings) -> str:
    return settings.tokenizer or os.path.join(os.path.dirname(settings.file), TOKENIZER)
