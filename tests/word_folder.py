"""A folder of texts about four things, and an encoder that knows which words mean the same."""

from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import numpy as np
from tools.words.encoder import Floats
from tools.words.texts import split_words

SAME = (("car", "automobile"), ("doctor", "physician"), ("soup", "broth"), ("violin", "fiddle"))
ABOUT = (
    ("drive", "road", "wheel", "engine"),
    ("hospital", "patient", "fever", "bandage"),
    ("kitchen", "spoon", "onion", "boil"),
    ("concert", "bow", "string", "melody"),
)
DIMENSIONS = 48


def write_folder(folder: Path, *, backwards: bool = False) -> Path:
    """The same documents, created in one order or the other."""
    folder.mkdir()
    documents = list(_documents())
    for path, text in reversed(documents) if backwards else documents:
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return folder


def _documents() -> Iterable[tuple[str, str]]:
    for pair, about in zip(SAME, ABOUT, strict=True):
        for word in pair:
            yield f"{word}/SKILL.md", _skill(word, about)
        yield f"{pair[0]}/notes/{about[0]}.txt", _notes(pair, about)


def _skill(word: str, about: tuple[str, ...]) -> str:
    first, second, third, fourth = about
    return f"""\
---
name: {word}-guide
description: Ask the {word} about the {first}. Then take the {second} and the {third} with you.
---
# The {word}

A {word} needs a {first}, a {second} and a {third}. Without a {fourth} no {word} is complete.
<!-- hiddenremark hiddenremark hiddenremark -->

```sh
codeonly codeonly codeonly
```

## More of the {word}

- The {word} and the {fourth} go together.
- Give the {word} a {second}.
"""


def _notes(pair: tuple[str, ...], about: tuple[str, ...]) -> str:
    return "".join(f"The {word} has a {thing}.\n\n" for word in pair for thing in about)


def encode(texts: list[str]) -> Floats:
    """The sum of fixed directions, one for each meaning; filler has nearly none."""
    vectors = [
        np.sum([_direction(word) for word in split_words(text)], axis=0, initial=0.0)
        for text in texts
    ]
    return np.array(vectors, np.float32)


def _direction(word: str) -> Floats:
    meaning = next((pair[0] for pair in SAME if word in pair), word)
    digest = blake2b(meaning.encode(), digest_size=DIMENSIONS).digest()
    known = meaning in {pair[0] for pair in SAME} or any(word in about for about in ABOUT)
    return (np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5) * (1 if known else 0.1)
