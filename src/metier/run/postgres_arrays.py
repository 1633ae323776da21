"""Array literals of PostgreSQL: many rows are sent as one text for each column."""

from collections.abc import Iterable


def numbers(values: Iterable[float | None]) -> str:
    return f"{{{','.join(['NULL' if one is None else repr(one) for one in values])}}}"


def texts(values: Iterable[str | None]) -> str:
    return f"{{{','.join(['NULL' if one is None else _quoted(one) for one in values])}}}"


def blobs(values: Iterable[bytes | None]) -> str:
    return texts(None if one is None else rf"\x{one.hex()}" for one in values)


def _quoted(text: str) -> str:
    if "\\" in text or '"' in text:
        text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{text}"'
