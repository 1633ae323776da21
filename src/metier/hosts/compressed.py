"""Transcripts that are compressed with Zstandard."""

import io
from typing import Any, BinaryIO, cast

from metier.errors import install_hint

ENDING = ".zst"
NOT_INSTALLED = f"to read compressed transcripts, {install_hint('zstd')}"
_LARGEST_WINDOW = 27
"""The binary logarithm of the most memory that a transcript may ask for."""


def decompressed(file: BinaryIO) -> BinaryIO:
    """The content of a compressed file. Reading it raises `OSError`."""
    return cast(BinaryIO, io.BufferedReader(_Content(file), 1 << 18))


class _Content(io.RawIOBase):
    """Reports every error of the decompressor as an `OSError`."""

    def __init__(self, file: BinaryIO) -> None:
        self._stream = _stream(file)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            content: bytes = self._stream.read(len(buffer))
        except Exception as error:  # each of the two packages has its own
            raise OSError(None, f"it cannot be decompressed: {error}") from None
        buffer[: len(content)] = content
        return len(content)


def _stream(file: BinaryIO) -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found]  # Python 3.14
    except ImportError:
        return _stream_of_package(file)
    options = {zstd.DecompressionParameter.window_log_max: _LARGEST_WINDOW}
    return zstd.ZstdFile(file, options=options)


def _stream_of_package(file: BinaryIO) -> Any:
    try:
        import zstandard  # an extra
    except ImportError:
        raise OSError(None, NOT_INSTALLED) from None
    decompressor = zstandard.ZstdDecompressor(max_window_size=1 << _LARGEST_WINDOW)
    return decompressor.stream_reader(file, read_across_frames=True)
