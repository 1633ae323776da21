"""SKILL.md → `Skill`. Lenient: a skill needs a description or a paragraph, all else is an issue."""

import re
from typing import TYPE_CHECKING, Any

from metier.core.coerce import capability_names, mapping_of, scalar_text_of
from metier.core.names import plugin_name
from metier.errors import ContractError
from metier.parse.frontmatter import no_front_matter, read_matter
from metier.values.files import KeyPath, Matter, Parsed
from metier.values.outcomes import Issue, has_errors
from metier.values.skills import Skill, has_usual_keys

if TYPE_CHECKING:
    from metier.values.contracts import Contract

_MOST_COMPARED = 20
"""Unknown keys that may be a typo."""
_CODE_FENCE = r"(?m)^ {0,3}(?:```|~~~)"
_LATE_FRONT_MATTER = r"\n---[ \t]*\r?\n(?:name|description)[ \t]*:"


def parse_skill(
    raw: bytes, path: str, *, strict: bool = False, folder: str = "", plugin: str = ""
) -> Parsed:
    """The skill in `raw`; `strict` rejects what `metier lint` calls an error.

    `folder` is the name of the file's folder if the path does not give it; `plugin` the skill's.
    """
    folder = folder or path.rpartition("/")[0].rpartition("/")[2]
    split = read_matter(raw, path, lenient=not strict)
    issues = split.issues
    if split.matter is None:
        return Parsed(document=None, matter=None, issues=issues)
    if not split.fenced:
        issues.append(_no_front_matter(split.matter, path))
        return Parsed(document=None, matter=None, issues=issues)
    matter = split.matter
    if not has_usual_keys(matter.data):
        from metier.parse.spelling import in_our_spelling  # loads what is known about every key

        matter = in_our_spelling(matter, path, issues)
    description = scalar_text_of(matter.data.get("description"))
    if not description:
        from metier.core.paragraph import first_paragraph  # most skills have a description

        description = first_paragraph(matter.body)
        if not _lost(matter, "description", issues):
            issues.append(_no_description(matter, path, instead=description))
    if not description or (strict and has_errors(issues)):
        return Parsed(document=None, matter=matter, issues=issues)
    name = _name(matter, path, folder, issues)
    metadata = mapping_of(matter.data.get("metadata"))
    listed = _listed(matter, matter.data, ("capabilities",), path, issues)
    listed += _listed(matter, metadata, ("metadata", "capabilities"), path, issues)
    contract, problem = _contract(matter, metadata.get("contract"), path, raw, issues)
    provided = contract.provides if contract is not None else ()
    skill = Skill(
        name=plugin_name(plugin, name),
        description=description,
        path=path,
        plugin=plugin,
        folder_name=folder,
        capabilities=tuple(dict.fromkeys([*listed, *filter(None, provided)])),
        contract=contract,
        contract_problem=problem,
        data=matter.data,
        body=matter.body,
    )
    return Parsed(document=skill, matter=matter, issues=issues)


def _no_front_matter(matter: Matter, path: str) -> Issue:
    if "\r" in matter.body and "\n" not in matter.body:
        message = "the lines end with CR alone, so the file is one line to its readers"
        return Issue("FM101", message, path, 1, 1, "save it with LF line ends")
    late = re.search(_LATE_FRONT_MATTER, f"\n{matter.body}")
    if late is None or re.search(_CODE_FENCE, matter.body[: late.start()]):
        return no_front_matter(matter, path, "the file")
    line = matter.body_line + matter.body.count("\n", 0, late.start())
    message = f"the front matter starts on line {line}; hosts look for it on line 1"
    return Issue("FM101", message, path, line, 1, "remove the text before it")


def _lost(matter: Matter, key: str, issues: list[Issue]) -> bool:
    """Whether a key may be missing only because the front matter is no YAML, as a finding says."""
    return key not in matter.data and any(issue.code in ("FM103", "FM116") for issue in issues)


def _no_description(matter: Matter, path: str, *, instead: str) -> Issue:
    line, column = matter.position(("description",))
    written = matter.data.get("description")
    if "description" not in matter.data:
        what = "is missing"
    else:
        what = "is empty" if written is None or isinstance(written, str) else "is not text"
    hint = "add 'description: what the skill does and when to use it'"
    if misspelt := _misspelt_description(matter):
        hint = f"write 'description' instead of '{misspelt[:40]}'"
    if instead:
        from metier.hosts.loading import droppers  # loads what is known about every host

        what += "; the first paragraph of the text is used"
        hint += f": {', '.join(host.title for host in droppers())} drop the skill without it"
    return Issue("SK304", f"the description {what}", path, line, column, hint)


def _misspelt_description(matter: Matter) -> str:
    """The key that is a typo of `description`, if that is missing; else empty."""
    if "description" in matter.data:
        return ""
    from metier.core.nearest import nearest  # few skills need it
    from metier.values.fields import SKILL  # few skills need it

    unknown = [key for key in matter.data if key not in SKILL]
    return nearest("description", unknown[:_MOST_COMPARED], likeness=0.8)


def _name(matter: Matter, path: str, folder: str, issues: list[Issue]) -> str:
    name = scalar_text_of(matter.data.get("name"))
    if name:
        return name
    folder = folder or "skill"
    if _lost(matter, "name", issues):
        return folder
    line, column = matter.position(("name",))
    message = f"the skill has no name; its folder's name '{folder}' is used"
    issues.append(Issue("SK301", message, path, line, column, f"add 'name: {folder}'"))
    return folder


def _listed(
    matter: Matter, around: dict[str, Any], at: KeyPath, path: str, issues: list[Issue]
) -> list[str]:
    """The capabilities in the list at `at`; `around` is the mapping that has it."""
    value = around.get("capabilities")
    if value is None:
        return []
    kept: list[str] = []
    for number, name in enumerate(capability_names(value)):
        if name is not None:
            kept.append(name)
            continue
        line, column = matter.position((*at, number) if isinstance(value, list) else at)
        message = f"entry {number + 1} of '{at[-1]}' is not a name and is ignored"
        issues.append(
            Issue("SK310", message, path, line, column, "write a name such as web-search")
        )
    return kept


def _contract(
    matter: Matter, text: Any, path: str, raw: bytes, issues: list[Issue]
) -> tuple["Contract | None", str]:
    """The contract in `text`, and why it cannot be used."""
    if text is None:
        return None, ""
    line, column = matter.position(("metadata", "contract"))
    if not isinstance(text, str):
        message = "metadata.contract is not text"
        issues.append(Issue("DC401", message, path, line, column, "write 'DCI/1 P(...)'"))
        return None, "it is not text"
    if _loses_escapes(raw, line, column):
        message = "contract: in double quotes YAML takes the backslash out of '\\ '"
        hint = "write the contract in single quotes"
        issues.append(Issue("DC404", message, path, line, column, hint))
    from metier.parse.contract import parse_contract  # few skills have one

    try:
        contract = parse_contract(text, "best-effort")
    except ContractError as error:
        problem = f"{error.message} ({error.where})"
        hint = error.hint or "write contracts as DCI/1 P(a-capability) R(another)"
        issues.append(Issue("DC401", f"contract: {problem}", path, line, column, hint))
        return None, problem
    for doubt in contract.doubts:
        message = f"contract: {doubt.message} (character {doubt.position + 1})"
        issues.append(Issue("DC402", message, path, line, column, "strict runs reject this"))
    return contract, ""


def _loses_escapes(raw: bytes, line: int, column: int) -> bool:
    """Whether the value at that position is in double quotes and escapes a space."""
    lines = raw.decode("utf-8", errors="replace").splitlines()
    written = lines[line - 1][column - 1 :] if line <= len(lines) else ""
    written = written.partition(":")[2].lstrip() if written.startswith("contract") else written
    return written.startswith('"') and "\\ " in written
