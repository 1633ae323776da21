"""What is fuzzed: each target takes any bytes and fails if a promise does not hold."""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metier.config.lockfile import lock_path, lock_text, read_lock, write_lock
from metier.config.record import TrustRecord
from metier.errors import ConfigError, ContractError
from metier.hook.request import HookRequest
from metier.hook.serve import envelope
from metier.hosts.table import HOOKS
from metier.inject.sanitize import sanitize_capability_content
from metier.parse.contract import parse_contract, serialize_contract
from metier.parse.frontmatter import read_matter, read_yaml
from metier.parse.ordinary import ordinary_values
from metier.parse.yaml import YamlRejectedError, load_yaml
from metier.safety.disguise import find_overrides
from metier.safety.naming import may_be_named
from metier.storage.lightjson import parse
from metier.values.locks import compared

CORPUS = Path(__file__).parent / "corpus"
WORKSPACE = "/srv/project"
_PHRASES = re.compile(
    r"ignore previous instructions|disregard[^\n\r\u2028\u2029]*above|new instructions:",
    re.IGNORECASE,
)


def front_matter(data: bytes) -> None:
    """Reading never raises, and every key has a position."""
    for lenient in (False, True):
        matter = read_matter(data, "SKILL.md", lenient=lenient).matter
        for key in matter.data if matter is not None else ():
            line, column = matter.position((key,)) if matter is not None else (0, 0)
            assert line > 0
            assert column > 0
    read_yaml(data, "agent.yaml")
    _same_as_yaml(data.decode(errors="replace"))


def _same_as_yaml(text: str) -> None:
    """What the fast path reads is what YAML says."""
    values = ordinary_values(text)
    if values is None:
        return
    try:
        tree = load_yaml(text)
    except YamlRejectedError as error:
        raise AssertionError(f"YAML rejects it: {error.problem}") from error
    assert (tree.value or {}) == values


def contract(data: bytes) -> None:
    """A contract is unusable or survives being written and parsed again."""
    text = data.decode(errors="replace")
    with suppress(ContractError):
        parsed = parse_contract(text)
        again = parse_contract(serialize_contract(parsed))
        assert serialize_contract(again) == serialize_contract(parsed)
        assert (again.provides, again.requires) == (parsed.provides, parsed.requires)
    with suppress(ContractError):
        parse_contract(text, "strict")


def hook_input(data: bytes) -> None:
    """A request, and a transcript after a NUL byte, are read or refused with `ValueError`."""
    given, _, transcript = data.partition(b"\0")
    try:
        value = parse(given.removeprefix(b"\xef\xbb\xbf").decode(errors="replace"))
    except ValueError:
        return
    if isinstance(value, dict):
        _ask({**value, "transcript_path": "", "transcriptPath": ""})
        with _folder() as folder:
            file = Path(folder, "transcript")
            file.write_bytes(transcript)
            _ask({**value, "transcript_path": str(file), "messages": None})


def _ask(given: dict[str, object]) -> None:
    request = HookRequest(given)
    text = "\n".join(request.messages(5))
    text.encode()
    assert request.conversation_length() >= 0
    for host in HOOKS:
        with suppress(ValueError):
            request.check(host)
        answer = parse(envelope(host, request.event, text))
        assert text in (*answer.values(), *_inner(answer))


def _inner(answer: dict[str, object]) -> Iterator[object]:
    for value in answer.values():
        if isinstance(value, dict):
            yield from value.values()


def sanitizer(data: bytes) -> None:
    """Sanitizing settles, leaves no phrase, and agrees with the fast check of hooks."""
    text = data.decode(errors="replace")
    once = sanitize_capability_content(text)
    again = sanitize_capability_content(once.text)
    assert again.text == once.text
    assert not again.rejected
    assert not again.issues
    assert not _PHRASES.search(once.text)
    assert once.rejected or not _PHRASES.search(text)
    assert may_be_named(text) == (not find_overrides(text))


def trust_record(data: bytes) -> None:
    """A record is refused with `ConfigError`, or its entry survives being written and read."""
    with _folder() as folder:
        record = TrustRecord({"HOME": folder})
        own, shared = record.files(WORKSPACE)
        assert shared.startswith(folder)
        os.makedirs(os.path.dirname(own), mode=0o700, exist_ok=True)
        Path(shared).write_bytes(data)
        with suppress(ConfigError):
            entry = record.entry(WORKSPACE)
            if entry is not None:
                record.put(WORKSPACE, entry)
                assert record.entry(WORKSPACE) == entry
                assert not Path(shared).exists()


def lock(data: bytes) -> None:
    """A lock is refused with `ConfigError`, or says the same when it is written and read again."""
    with _folder() as folder, suppress(ConfigError):
        Path(lock_path(folder)).write_bytes(data)
        skills = read_lock(folder)
        text = lock_text(skills)
        assert write_lock(folder, skills) == (data != text.encode())
        again = read_lock(folder)
        assert lock_text(again) == text
        assert not compared(skills, again, {})
        assert len(compared(skills, {}, {})) == len(skills)


@contextmanager
def _folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="fuzz-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (front_matter, contract, hook_input, sanitizer, trust_record, lock)
}
