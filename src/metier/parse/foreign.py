"""Documents of other tools as documents of metier: what is mapped, and what is not."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from metier.core.coerce import scalar_text_of, texts_of
from metier.core.names import LONGEST_NAME, slug
from metier.parse.frontmatter import read_matter

ForeignKind = Literal["claude-commands", "claude-agents", "cursor-rules", "agents-md", "skillport"]
_LONGEST_PROMPT = 10_000
"""Of an agent's profile."""
_MOST_TAGS = 5
_PLAIN = re.compile(r"[A-Za-z][\w .,()/+-]*[\w.)]\Z|[A-Za-z]\Z")
_HEADING = re.compile(r"##[ \t]+(.+?)[ \t#]*\Z")
_FENCE = re.compile(r" {0,3}(```+|~~~+)")
_WORD = re.compile(r"[^\W_]{3,}")
_TITLE = re.compile(r"#{1,6}[ \t]+")
_NOT_PLAIN = frozenset({"true", "false", "null", "yes", "no", "on", "off"})


class Imported(NamedTuple):
    """One document to write."""

    target: str
    """Below the workspace."""
    text: str
    mapped: tuple[tuple[str, str], ...] = ()
    """Keys whose values the document keeps, and what they are called there."""
    unmapped: tuple[tuple[str, str], ...] = ()
    """Keys, or parts, that it does not keep, and why."""
    notes: tuple[str, ...] = ()


class NotImported(NamedTuple):
    reason: str


class _Source(NamedTuple):
    name: str
    """The path without folder and suffix: `frontend/component`."""
    data: Mapping[str, Any]
    body: str
    raw: bytes
    folder: str
    """For skills, below the workspace."""

    @property
    def skill_file(self) -> str:
        return f"{self.folder}/{self.slug}/SKILL.md"

    @property
    def slug(self) -> str:
        return slug(self.name)[:LONGEST_NAME].strip("-")

    @property
    def opening(self) -> str:
        """The first line of the body that says something, without the marks of a heading."""
        lines = (_TITLE.sub("", line).strip() for line in self.body.splitlines())
        return next(filter(None, lines), "")

    @property
    def description(self) -> str:
        return scalar_text_of(self.data.get("description")) or self.opening


def imported(
    kind: ForeignKind, name: str, raw: bytes, folder: str = ""
) -> list[Imported | NotImported]:
    """The documents for one file of another tool; `name` is its path without suffix.

    Skills are for `folder`; without one, for a folder that the host of the file reads.
    """
    if b"\0" in raw:
        return [NotImported("it is not a text file")]
    if kind != "skillport" and not _is_utf8(raw):
        return [NotImported("it is not UTF-8: save it as UTF-8 first")]
    read = read_matter(raw, name, lenient=True)
    if read.matter is None and kind in _WITH_FRONT_MATTER:
        return [NotImported(issue.message) for issue in read.issues[:1]]
    data = read.matter.data if read.matter is not None else {}
    text = read.matter.body if read.matter is not None else raw.decode(errors="replace")
    folder = folder or _SKILL_FOLDERS.get(kind, "skills")
    source = _Source(name, data, text.strip("\n"), raw, folder)
    return list(_IMPORTERS[kind](source))


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _command(source: _Source) -> Iterator[Imported | NotImported]:
    """A command is a skill that only its user starts."""
    if reason := _unusable(source, source.description):
        yield NotImported(reason)
        return
    kept = {key: source.data[key] for key in _OF_COMMANDS if source.data.get(key) is not None}
    head = {"name": source.slug, "description": source.description, **kept}
    yield Imported(
        source.skill_file,
        _document({**head, _MANUAL: True}, source.body),
        _same(key for key in source.data if key in head),
        _others(source.data, {*_OF_COMMANDS, *head, _MANUAL}, "skills do not have this key"),
        (f"only the user starts it, with /{source.slug}",),
    )


def _same(keys: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Keys that keep their names."""
    return tuple((key, key) for key in keys)


_OF_COMMANDS = ("argument-hint", "allowed-tools", "model")
_MANUAL = "disable-model-invocation"


def _unusable(source: _Source, text: str) -> str:
    """Why a file cannot become a document; empty if it can."""
    if not text:
        return "it has no text"
    return "" if source.slug else "its name has none of a-z and 0-9: rename it"


def _agent(source: _Source) -> Iterator[Imported | NotImported]:
    name = scalar_text_of(source.data.get("name")) or source.name
    agent_id = slug(name)[:LONGEST_NAME].strip("-")
    if not agent_id or not source.description:
        yield NotImported("it has no name or no description")
    elif len(source.body) > _LONGEST_PROMPT:
        count = f"{len(source.body):,} characters"
        yield NotImported(f"its prompt has {count}; a profile takes {_LONGEST_PROMPT:,}")
    else:
        known, called = ("name", "description", "skills"), {"name": "agentId"}
        head: dict[str, Any] = {"agentId": agent_id, "description": source.description}
        skills = texts_of(source.data.get("skills"))
        reasons = {
            "tools": "they are tools of Claude Code; name tools of your settings",
            "model": "write it as provider:model",
        }
        yield Imported(
            f"agents/{agent_id}.md",
            _document(head | ({"skills": list(skills)} if skills else {}), source.body),
            tuple((key, called.get(key, key)) for key in source.data if key in known),
            _others(source.data, known, "profiles do not have this key", reasons),
        )


def _rule(source: _Source) -> Iterator[Imported | NotImported]:
    """A rule that always applies is an ability, every other a skill."""
    if reason := _unusable(source, source.body):
        yield NotImported(reason)
        return
    data = source.data
    told = _same(["description"] if data.get("description") else [])
    others = _others(data, _OF_RULES, "neither skills nor abilities have this key")
    globs = _globs(data.get("globs"))
    if data.get("alwaysApply") is True or source.name == ".cursorrules":
        name = source.slug or "cursor-rules"
        head = {"abilityId": name, "description": source.description[:2000], "priority": 90}
        left = [("globs", "an ability cannot be limited to some files")] if globs else []
        left += (
            [("alwaysApply", "agents say what they always need")] if "alwaysApply" in data else []
        )
        note = f"agents that always need it list it under abilities.core: {name}"
        text = _document(head, source.body)
        yield Imported(f"abilities/{name}.md", text, told, (*left, *others), (note,))
        return
    is_manual = not globs and not data.get("description")
    head = {"name": source.slug, "description": source.description}
    head |= {"paths": globs} if globs else {}
    head |= {_MANUAL: True} if is_manual else {}
    notes = (f"only the user starts it, with /{source.slug}",) if is_manual else ()
    left = [("alwaysApply", "no skill always applies")] if "alwaysApply" in data else []
    mapped = (*told, *((("globs", "paths"),) if globs else ()))
    text = _document(head, source.body)
    yield Imported(source.skill_file, text, mapped, (*left, *others), notes)


_NUMBERING = re.compile(r"^(?:[0-9]+-)+")
"""As in "2.1 Tests": an id begins with a letter."""
_OF_RULES = ("description", "globs", "alwaysApply")


def _globs(value: Any) -> list[str]:
    """Patterns of files, written as a list or with commas between them."""
    given = value if isinstance(value, list) else scalar_text_of(value).split(",")
    return [text for one in given if (text := scalar_text_of(one).strip())]


def _sections(source: _Source) -> Iterator[Imported | NotImported]:
    """Each section of an AGENTS.md is an ability."""
    before, *sections = _split(source.body)
    for title, text in sections:
        name = _NUMBERING.sub("", slug(title))[:LONGEST_NAME].strip("-")
        if not text:
            yield NotImported(f"section '{title}' has no text")
            continue
        if not name or not name[0].isalpha():
            yield NotImported(f"section '{title}' gives no id: begin its heading with a-z")
            continue
        tags = list(dict.fromkeys(word.lower() for word in _WORD.findall(title)))[:_MOST_TAGS]
        head: dict[str, Any] = {"abilityId": name, "displayName": title[:200]}
        head |= {"tags": tags} if tags else {}
        mapped = tuple(("heading", key) for key in ("displayName", "tags") if key in head)
        yield Imported(f"abilities/{name}.md", _document(head, text), mapped)
    if before[1] or not sections:
        yield NotImported("the text before its first section stays where it is")


def _split(text: str) -> list[tuple[str, str]]:
    """The sections of the second level, with their titles; first what is before them."""
    parts: list[tuple[str, list[str]]] = [("", [])]
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        heading = None if fence else _HEADING.match(line)
        if heading:
            parts.append((heading[1], []))
        else:
            parts[-1][1].append(line)
    return [(title, "\n".join(lines).strip("\n")) for title, lines in parts]


def _skillport(source: _Source) -> Iterator[Imported | NotImported]:
    """The category and the tags of skillport become the skill's own tags."""
    metadata = source.data.get("metadata")
    own = metadata.get("skillport") if isinstance(metadata, Mapping) else None
    if not isinstance(own, Mapping):
        return
    category = scalar_text_of(own.get("category"))
    tags = [*filter(None, [category]), *texts_of(own.get("tags"))]
    if not tags or "tags" in source.data:
        yield NotImported("it already has tags" if tags else "its metadata has no tags")
        return
    first, newline, rest = source.raw.partition(b"\n")
    line = f"tags: {_value(list(dict.fromkeys(tags)))}".encode()
    end = b"\r" if first.endswith(b"\r") else b""
    yield Imported(
        f"{source.name}.md",
        (first + newline + line + end + newline + rest).decode(errors="surrogateescape"),
        tuple((f"skillport.{key}", "tags") for key in ("category", "tags") if own.get(key)),
        _others(own, ("category", "tags"), "skills do not have this key"),
    )


_IMPORTERS: dict[ForeignKind, Callable[[_Source], Iterator[Imported | NotImported]]] = {
    "claude-commands": _command,
    "claude-agents": _agent,
    "cursor-rules": _rule,
    "agents-md": _sections,
    "skillport": _skillport,
}
_WITH_FRONT_MATTER = ("claude-commands", "claude-agents", "cursor-rules")
FOREIGN_KINDS = tuple(_IMPORTERS)
_SKILL_FOLDERS: dict[ForeignKind, str] = {
    "claude-commands": ".claude/skills",
    "cursor-rules": ".cursor/skills",
}
"""Folders for skills that the host of a file reads."""


def _others(
    data: Mapping[str, Any], known: Any, why: str, reasons: Mapping[str, str] | None = None
) -> tuple[tuple[str, str], ...]:
    return tuple((key, (reasons or {}).get(key, why)) for key in data if key not in known)


def _document(head: Mapping[str, Any], body: str) -> str:
    lines = "".join(f"{key}: {_value(value)}\n" for key, value in head.items())
    return f"---\n{lines}---\n\n{body}\n"


def _value(value: Any) -> str:
    """A value as YAML; what is more than plain words is written as JSON, which is YAML, too."""
    if isinstance(value, str) and _PLAIN.match(value) and value.lower() not in _NOT_PLAIN:
        return value
    return json.dumps(value, ensure_ascii=False)
