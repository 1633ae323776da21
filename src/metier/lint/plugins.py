"""Rules for `plugin.json` and `marketplace.json` of Claude Code: what they name is there."""

import json
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from metier.core.coerce import mapping_of, text_of, text_or_texts_of
from metier.values.outcomes import Issue

_PATHS = ("skills", "commands", "agents", "hooks", "mcpServers", "lspServers", "outputStyles")
"""Keys of a plugin that hold a path or a list of paths."""
Exists = Callable[[str], bool]
"""Whether a path, relative to the folder of the plugin or marketplace, is there."""


def lint_plugin(text: str, path: str, exists: Exists) -> list[Issue]:
    """What is wrong in a `plugin.json`."""
    data, issues = _parsed(text, path)
    return issues + [
        _issue("PL002", f"{key} names '{named[:80]}', which does not exist", text, path, named)
        for key, named in _missing(data, ".", exists)
    ]


def lint_marketplace(text: str, path: str, exists: Exists) -> list[Issue]:
    """What is wrong in a `marketplace.json`."""
    data, issues = _parsed(text, path)
    root = text_of(mapping_of(data.get("metadata")).get("pluginRoot"))
    listed = data.get("plugins")
    for entry in map(mapping_of, listed if isinstance(listed, list) else []):
        name, source = text_of(entry.get("name")), entry.get("source")
        if not isinstance(source, str) or "://" in source:
            continue
        if not _is_there(source, root or ".", exists):
            message = f"the plugin '{name[:80]}' is not in '{source[:80]}'"
            issues.append(_issue("PL003", message, text, path, source))
            continue
        for key, named in _missing(entry, posixpath.join(root, source), exists):
            message = f"{key} of '{name[:80]}' names '{named[:80]}', which does not exist"
            issues.append(_issue("PL003", message, text, path, named))
    return issues


def _parsed(text: str, path: str) -> tuple[Mapping[str, Any], list[Issue]]:
    try:
        return mapping_of(json.loads(text)), []
    except json.JSONDecodeError as error:
        hint = "compare commas and quotes around this line"
        message = f"not valid JSON: {error.msg}"
        return {}, [Issue("PL001", message, path, error.lineno, error.colno, hint)]
    except RecursionError:
        return {}, [Issue("PL001", "not valid JSON: nested too deeply", path)]


def _missing(data: Mapping[str, Any], folder: str, exists: Exists) -> Iterator[tuple[str, str]]:
    for key in _PATHS:
        for named in text_or_texts_of(data.get(key)):
            if not _is_there(named, folder, exists):
                yield key, named


def _is_there(named: str, folder: str, exists: Exists) -> bool:
    """Whether a path is there; one that leads out of the folder is not."""
    path = posixpath.normpath(posixpath.join(folder, named))
    return not path.startswith(("/", "../")) and path != ".." and exists(path)


def _issue(code: str, message: str, text: str, path: str, named: str) -> Issue:
    at = max(text.find(json.dumps(named)), 0)
    line = text.count("\n", 0, at) + 1
    hint = "correct the path, or add what it names"
    return Issue(code, message, path, line, at - text.rfind("\n", 0, at), hint)
