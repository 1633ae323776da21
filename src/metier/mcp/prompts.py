"""Prompts: one for each agent, with the context that its task needs."""

from mcp.types import (
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    PaginatedRequestParams,
    Prompt,
    PromptArgument,
    PromptMessage,
    TextContent,
)

from metier.catalog import Catalog
from metier.core.nearest import did_you_mean
from metier.errors import MetierError, NotFoundError, UsageError
from metier.mcp.answers import CatalogPool
from metier.mcp.tool_calls import Context
from metier.values.agents import AgentProfile

TASK = PromptArgument(name="task", description="What to do.", required=True)


class Prompts:
    def __init__(self, catalog: CatalogPool) -> None:
        self._catalog = catalog

    async def list(self, _: Context, _params: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=await self._catalog.answer(_prompts))

    async def get(self, _: Context, params: GetPromptRequestParams) -> GetPromptResult:
        task = (params.arguments or {}).get("task", "")
        return await self._catalog.answer(
            lambda catalog: _prompt(catalog, params.name, task), name=params.name
        )


def _enabled(catalog: Catalog) -> list[AgentProfile]:
    return [agent for agent in catalog.agents() if agent.enabled]


def _prompts(catalog: Catalog) -> list[Prompt]:
    return [
        Prompt(
            name=one.agent_id,
            title=one.display_name or None,
            description=one.description,
            arguments=[TASK],
        )
        for one in sorted(_enabled(catalog), key=lambda one: one.agent_id)
    ]


def _prompt(catalog: Catalog, name: str, task: str) -> GetPromptResult:
    """Abilities and cards for the task, the system prompt, and the task."""
    profiles = {one.agent_id: one for one in _enabled(catalog)}
    if name not in profiles:
        hint = did_you_mean(name, profiles, "see prompts/list")
        raise NotFoundError(f"no agent '{name[:200]}'", hint=hint)
    if not task.strip():
        raise UsageError("the task is empty", hint="give the argument 'task'")
    profile = profiles[name]
    injection = catalog.inject(task, agent=name, include_untrusted=_is_untrusted(catalog, profile))
    errors = [issue for issue in injection.issues if issue.is_error]
    if errors:
        first = errors[0]
        raise MetierError(first.message, code=first.code, where=first.path, hint=first.hint)
    parts = [part for part in (injection.text, profile.system_prompt) if part]
    context = [_message("\n\n".join(parts))] if parts else []
    return GetPromptResult(description=profile.description, messages=[*context, _message(task)])


def _is_untrusted(catalog: Catalog, profile: AgentProfile) -> bool:
    """An untrusted agent, asked for by name, gets untrusted abilities and cards."""
    return bool(profile.path) and catalog.row("agent", profile.agent_id).origin == "untrusted"


def _message(text: str) -> PromptMessage:
    return PromptMessage(role="user", content=TextContent(text=text))
