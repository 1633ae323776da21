"""`agents/*.yaml`, `.json` or `.md` → `AgentProfile`."""

import json
import re
from collections.abc import Mapping
from typing import Any, NoReturn

from metier.core.coerce import text_of
from metier.core.paths import is_markdown
from metier.core.unread import TOO_MANY_DIGITS, has_too_many_digits, locate_digits
from metier.parse.frontmatter import HINTS, SplitText, no_front_matter, read_matter, read_yaml
from metier.parse.keys import Respelling
from metier.parse.yaml import DEEPEST
from metier.values.agents import NESTED_STEPS, AgentProfile
from metier.values.fields import AGENT, SELECTION, STEP, STEP_CONFIG
from metier.values.files import KeyPath, Matter, Parsed
from metier.values.outcomes import Issue

_IN_FOLDER_OF_HOST = re.compile(r"(?:^|/)\.[^/]+/agents?/[^/]+\Z")
"""A file in `.claude/agents`, `.github/agents` or such a folder of another host."""
_TOP_LEVEL = {**AGENT, **SELECTION, "coreAbilities": AGENT["skills"]}


def parse_agent(raw: bytes, path: str, *, file: str = "") -> Parsed:
    """The profile in `raw`; in Markdown the body is the system prompt.

    `file` is its full path.
    """
    split = _split_file(raw, path)
    if split.matter is None:
        return Parsed(document=None, matter=None, issues=split.issues)
    respelling = Respelling(split.matter, path)
    data = _respelled(respelling, split.matter.data)
    if is_markdown(path) and "workflow" not in data:
        _as_prompt_only(data, of_host=any(map(_IN_FOLDER_OF_HOST.search, (path, file))))
    if split.matter.body:
        data.setdefault("systemPrompt", split.matter.body)
    return Parsed(
        document=AgentProfile.of(data, path),
        matter=respelling.matter(data),
        issues=[*split.issues, *respelling.issues],
    )


def respelled(content: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a file in the spec's spelling, with each key where the spec has it."""
    matter = Matter(dict(content), "", 1, lambda _: (1, 1))
    return _respelled(Respelling(matter, ""), content)


def _respelled(respelling: Respelling, content: Mapping[str, Any]) -> dict[str, Any]:
    data = respelling.mapping(content, _TOP_LEVEL)
    _gather(data, {"coreAbilities": "core"}, "abilities", respelling)
    _gather(data, {key: key for key in SELECTION}, "selectionMetadata", respelling)
    if isinstance(data.get("workflow"), list):
        data["workflow"] = _steps(data["workflow"], respelling, ("workflow",))
    return data


def _as_prompt_only(data: dict[str, Any], *, of_host: bool) -> None:
    """Move the host's own keys of a sub-agent to `metadata.host`.

    Every file in a host's folder gets that key.
    """
    tools, model = data.get("tools"), data.get("model")
    foreign = [key for key in data if key not in _TOP_LEVEL and key not in AGENT]
    if isinstance(tools, str):
        foreign.append("tools")
    if isinstance(model, str) and model in _MODELS_OF_HOSTS:
        foreign.append("model")
    is_of_a_host = isinstance(tools, str) or (isinstance(model, str) and "model" in foreign)
    if not is_of_a_host and not _KEYS_OF_HOSTS.issuperset(foreign):
        return
    kept = {key: data.pop(key) for key in foreign}
    metadata = data.get("metadata")
    if (kept or of_host) and (metadata is None or isinstance(metadata, dict)):
        data["metadata"] = {**(metadata or {}), "host": kept}


_MODELS_OF_HOSTS = ("inherit", "default", "sonnet", "opus", "haiku")
_KEYS_OF_HOSTS = {"color", "permissionMode", "skills", "hooks", "disallowedTools", "memory"}


def _split_file(raw: bytes, path: str) -> SplitText:
    if path.endswith(".json"):
        return _split_json(raw, path)
    if not is_markdown(path):
        return read_yaml(raw, path)
    split = read_matter(raw, path)
    if split.matter is not None and not split.fenced:
        issue = no_front_matter(split.matter, path, "the profile")
        return SplitText(None, [*split.issues, issue], False)
    return split


def _split_json(raw: bytes, path: str) -> SplitText:
    """JSON by its own rules; lines and columns from reading it as YAML as well."""
    try:
        value = json.loads(
            raw.decode("utf-8-sig"),
            parse_constant=_no_constant,
            object_pairs_hook=_first_wins,
        )
        json.dumps(value, ensure_ascii=False).encode()  # half a surrogate pair is not text
    except RecursionError:
        return _too_deep(path)
    except ValueError as error:
        return SplitText(None, [_not_json(error, raw, path)], False)
    if _depth(value) > DEEPEST:
        return _too_deep(path)
    if not isinstance(value, dict):
        issue = Issue("FM109", "the profile is not an object", path, 1, 1, HINTS["FM109"])
        return SplitText(None, [issue], False)
    located = read_yaml(raw, path)
    if located.matter is None:
        return SplitText(Matter(value, "", 1, lambda _: (1, 1)), [], True)
    return located._replace(matter=located.matter._replace(data=value))


def _too_deep(path: str) -> SplitText:
    message = f"nested deeper than {DEEPEST} levels"
    return SplitText(None, [Issue("FM107", message, path, 1, 1, HINTS["FM107"])], False)


def _not_json(error: ValueError, raw: bytes, path: str) -> Issue:
    line, column = 1, 1
    if isinstance(error, json.JSONDecodeError):
        line, column, said = error.lineno, error.colno, error.msg.removesuffix(" at")
    elif isinstance(error, UnicodeError):
        said = "the text is not Unicode"
    elif has_too_many_digits(error):
        (line, column), said = locate_digits(raw), TOO_MANY_DIGITS
    else:
        said = str(error)
    hint = "check commas, quotes and brackets here"
    return Issue("FM115", f"not valid JSON: {said}", path, line, column, hint)


def _depth(value: Any) -> int:
    """How deep lists and mappings are nested, up to one more than allowed."""
    depth, level = 0, [value]
    while level := [one for one in level if isinstance(one, dict | list)]:
        depth += 1
        if depth > DEEPEST:
            break
        level = [
            inner for one in level for inner in (one.values() if isinstance(one, dict) else one)
        ]
    return depth


def _first_wins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return dict(reversed(dict(reversed(pairs)).items()))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _gather(
    data: dict[str, Any], names: Mapping[str, str], into: str, respelling: Respelling
) -> None:
    """Move keys that may also be at the top level to where the spec has them.

    A plain list under `abilities` is its `core`. The first of two values counts.
    """
    if into == "abilities" and isinstance(data.get(into), list):
        data[into] = {"core": data[into]}
        respelling.moved((into, "core"), (into,))
    order = list(data)
    for key, name in names.items():
        if key not in data:
            continue
        target = data.setdefault(into, {})
        if not isinstance(target, dict):
            return
        nested_first = into in order and order.index(into) < order.index(key)
        value = data.pop(key)
        if name in target:
            respelling.twice(f"{into}.{name}", key, (into, name) if not nested_first else (key,))
            if nested_first:
                continue
        target[name] = value
        respelling.moved((into, name), (key,))


def _steps(steps: list[Any], respelling: Respelling, at: KeyPath) -> list[Any]:
    return [
        _step(step, respelling, (*at, number)) if isinstance(step, dict) else step
        for number, step in enumerate(steps)
    ]


def _step(step: dict[str, Any], respelling: Respelling, at: KeyPath) -> dict[str, Any]:
    out = respelling.mapping(step, STEP, at)
    fields = STEP_CONFIG.get(text_of(out.get("type")))
    if fields is not None and isinstance(out.get("config"), dict):
        config = respelling.mapping(out["config"], fields, (*at, "config"))
        for name in NESTED_STEPS:
            if isinstance(config.get(name), list):
                config[name] = _steps(config[name], respelling, (*at, "config", name))
        out["config"] = config
    if isinstance(out.get("compensate"), dict):
        out["compensate"] = _step(out["compensate"], respelling, (*at, "compensate"))
    return out
