"""Token counters by name: four characters a token, or tiktoken with ranks on disk."""

import hashlib
import os
from functools import cache
from types import ModuleType

from metier.core.budget import CountTokens, count_tokens
from metier.core.nearest import did_you_mean
from metier.errors import ConfigError, install_hint

DEFAULT_TOKENIZER = "chars/4"
_USE_DEFAULT = 'set tokenizer = "chars/4"'
_FOLDER_VARIABLES = ("TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR")


_O200K = (
    "fb374d419588a4632f3f557e76b4b70aebbca790",
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
)
_CL100K = (
    "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
)
_RANKS = {"o200k_base": _O200K, "o200k_harmony": _O200K, "cl100k_base": _CL100K}
"""File name in tiktoken's cache, and sha256."""


@cache
def token_counter(name: str) -> CountTokens:
    """A counter by name, without downloads. Raises `ConfigError` if it is unavailable."""
    if name == DEFAULT_TOKENIZER:
        return count_tokens
    tiktoken = _tiktoken(name)
    if name in _RANKS:
        _check_ranks(name, *_RANKS[name])
    try:
        known = [DEFAULT_TOKENIZER, *_RANKS, *_from_plugins(tiktoken)]
        encoding = tiktoken.get_encoding(name) if name in known else None
    except Exception as error:  # a plugin of tiktoken may raise anything
        raise _error(f"tokenizer '{name}' cannot be loaded: {error}", _USE_DEFAULT) from error
    if encoding is None:
        hint = did_you_mean(name, known, f"known: {', '.join(known)}")
        raise _error(f"no tokenizer is called '{name}'", hint)
    return lambda text: len(encoding.encode_ordinary(text))


def _tiktoken(name: str) -> ModuleType:
    try:
        import tiktoken  # an extra
    except ImportError:
        known = [] if name in _RANKS else [DEFAULT_TOKENIZER, *_RANKS]
        install = f"{install_hint('tokens')}, or {_USE_DEFAULT}"
        hint = did_you_mean(name, known, install)
        raise _error(f"tokenizer '{name}' needs tiktoken, which is not installed", hint) from None
    module: ModuleType = tiktoken
    return module


def _from_plugins(tiktoken: ModuleType) -> list[str]:
    """Encodings of plugins; tiktoken would download its own."""
    names: list[str] = tiktoken.list_encoding_names()
    constructors = tiktoken.registry.ENCODING_CONSTRUCTORS
    own = "tiktoken_ext.openai_public"
    return [name for name in names if constructors[name].__module__ != own]


def _check_ranks(name: str, file_name: str, sha256: str) -> None:
    import tempfile  # it loads much, and most need no tokenizer

    default = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    set_variables = (os.environ[key] for key in _FOLDER_VARIABLES if key in os.environ)
    folder = next(set_variables, default)
    file = os.path.join(folder, file_name) if folder else ""
    hint = f"put its ranks there and set {_FOLDER_VARIABLES[0]}, or {_USE_DEFAULT}"
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError as error:
        message = f"the ranks of '{name}' are not on disk: {error.strerror}"
        raise _error(message, hint, file) from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise _error(f"the ranks of '{name}' are damaged", hint, file)


def _error(message: str, hint: str, where: str = "") -> ConfigError:
    return ConfigError(message, code="TOKENIZER_UNAVAILABLE", where=where, hint=hint)
