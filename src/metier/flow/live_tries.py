"""One try of a live evaluation: a step in which a model gets a task and a host's listing."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from metier.errors import MetierError
from metier.evals.host_tools import HOST_TOOLS, Loading
from metier.run.live import LiveRun, Names
from metier.run.plan import ReadyStep
from metier.run.prompt import ask_model
from metier.run.services import StepFailedError
from metier.values.agents import ToolResult
from metier.values.documents import Document
from metier.values.rows import Row
from metier.values.runs import Usage

TRY = "try"
"""The kind of these steps."""
ROUNDS = 5
"""How often a model may call tools in one try."""
_ONE_CALL = Usage(tool_calls=1)
_MOST_TEXT = 50_000
_MOST_ANSWER = 500
_NO_OUTPUT = "No output: files and commands are not available in this session."


class SkillTexts(Protocol):
    """Where the texts of skills come from."""

    def find_skill(self, wanted: str) -> Row: ...
    def document(self, row: Row) -> Document: ...


async def live_try(
    catalog: SkillTexts, live: LiveRun, step: ReadyStep, _names: Names, suffix: str, _attempt: int
) -> dict[str, Any]:
    """Which skills the model loads for a task, and all its calls, in order.

    No command is run for it, and nothing is written.
    """
    key, given = step.id + suffix, live.run.request["input"]
    loading = loading_of(given)
    loaded: list[str] = []
    calls: list[dict[str, Any]] = []

    async def call(name: str, args: Any) -> ToolResult:
        live.ledger.add_usage(key, _ONE_CALL)
        found = loading.loaded(name, args)
        loaded.extend(found)
        calls.append({"tool": name, "args": args, "loads": found})
        return ToolResult(success=True, output=_answer(catalog, loading, name, args, found))

    answer = ""
    try:
        answer = await ask_model(
            live.services.model(live.run.request["model"]),
            live.profile,
            {"maxToolRounds": ROUNDS},
            live.profile.system_prompt,
            given["cases"][step.declared.config["case"]]["task"],
            loading.tools.specs,
            call=call,
            used=lambda usage: live.ledger.add_usage(key, usage),
            emit=lambda kind, **data: live.emit(kind, key, **data),
        )
    except StepFailedError as error:
        if error.failure.code != "MODEL_TOOL_ROUNDS_EXCEEDED":
            raise
    return {"loaded": list(dict.fromkeys(loaded)), "calls": calls, "answer": answer[:_MOST_ANSWER]}


def _answer(
    catalog: SkillTexts, loading: Loading, tool: str, args: Any, found: Sequence[str]
) -> str:
    """What a tool returns: the texts of the skills that it loads, or nothing."""
    if found:
        return "\n\n".join(_text(catalog, name) for name in found)
    if tool == loading.tools.loader:
        return (
            f"There is no text of a skill '{loading.requested_skill(args)[:100]}' in this session."
        )
    return _NO_OUTPUT


def _text(catalog: SkillTexts, name: str) -> str:
    try:
        return catalog.document(catalog.find_skill(name)).body[:_MOST_TEXT]
    except MetierError as error:  # it was deleted or broken since the evaluation began
        return f"The text of the skill cannot be read: {error.message}"


def loading_of(given: Mapping[str, Any]) -> Loading:
    """The tools of the host of an evaluation, and the skills that they load."""
    return Loading(HOST_TOOLS[given["host"]], given["names"], given["files"])
