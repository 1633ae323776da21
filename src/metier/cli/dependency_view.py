"""What people see of the requirements of providers."""

from typing import Any

from metier.cli.layout import one_line
from metier.cli.session import counted

Node = dict[str, Any]


def name_of(candidate: str) -> str:
    """The name in an id."""
    return one_line(candidate.partition("::")[0])


def dependency_lines(report: Node) -> list[str]:
    """What the chosen require, who provides it, and what stays open; as a tree."""
    return [line for one in report["dependencies"] for line in _tree(one, report)]


def disabled_provider(capability: str, report: Node) -> str:
    """`dep provides it, but is disabled (disable-model-invocation)`; nothing where nobody does."""
    every = report["diagnostics"].get("disabled_providers", ())
    found = [one for one in every if one["capability"] == capability]
    if not found:
        return ""
    names = ", ".join(dict.fromkeys(name_of(one["provider"]) for one in found))
    verbs = "provides it, but is" if len(found) == 1 else "provide it, but are"
    return f"{names} {verbs} disabled ({found[0]['reason']})"


def _tree(node: Node, report: Node) -> list[str]:
    texts: list[list[str]] = []
    for one in [] if node["beyond_depth"] else node["requires"]:
        texts.append([f"{one_line(one)} {_state(one, node, report)}"])
    if node["beyond_depth"]:
        texts.append(["not followed any further (--depth)"])
    if node["cycle"]:
        texts.append([f"circle: {' → '.join(name_of(one) for one in node['cycle'])}"])
    texts += [_tree(one, report) for one in node["dependencies"]]
    texts += [
        [f"{name_of(one)}: its requirements stand elsewhere"] for one in node.get("repeated", ())
    ]
    required = ", ".join(one_line(one) for one in node["requires"])
    lines = [f"{name_of(node['provider'])} requires {required}"]
    for place, (first, *others) in enumerate(texts, start=1):
        is_last = place == len(texts)
        lines.append(f"{'└' if is_last else '├'} {first}")
        lines += [f"{' ' if is_last else '│'} {other}" for other in others]
    return lines


def _state(capability: str, node: Node, report: Node) -> str:
    if capability in node["unresolved"]:
        why = _refusal(capability, node, report)
        return f"is open: {why}" if why else "is open"
    providers = node.get("providers", {}).get(capability, node["selected"])
    return f"← {', '.join(name_of(one) for one in providers)}"


def why_open(row: Node, report: Node) -> str:
    """Why the requirements of a rejected candidate stay open."""
    node = row.get("dependency")
    if node is None:  # an older report
        return _nobody(row.get("unresolved_dependencies", ()))
    refusals = {one: _refusal(one, node, report) for one in node["unresolved"]}
    texts = [_nobody([one for one, why in refusals.items() if not why])]
    texts += [f"{one_line(one)} is open: {why}" for one, why in refusals.items() if why]
    return "; ".join(filter(None, texts))


def _nobody(capabilities: Any) -> str:
    names = ", ".join(one_line(one) for one in capabilities)
    return f"nobody provides {names}" if names else ""


def _refusal(capability: str, node: Node, report: Node) -> str:
    """Who would provide it, and why that one was rejected; nothing where nobody would."""
    refused = [one for one in node.get("refused", ()) if one["capability"] == capability]
    if not refused:
        return disabled_provider(capability, report)
    first = refused[0]
    lacks = ", ".join(one_line(one) for one in first.get("unresolved_dependencies", ()))
    reasons = ", ".join(first["reasons"]) + (f" ({lacks})" if lacks else "")
    others = f", and so {_is_or_are(len(refused) - 1)}" if len(refused) > 1 else ""
    return f"{name_of(first['provider'])} would provide it, but is rejected: {reasons}{others}"


def _is_or_are(count: int) -> str:
    return f"{'is' if count == 1 else 'are'} {counted(count, 'other')}"
