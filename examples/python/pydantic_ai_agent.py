"""An agent of metier, run by pydantic-ai: the same instructions, injected text and tools."""

import pydantic_ai
from pydantic_ai.models import Model

from metier import Agent, Catalog


def order_status(number: int) -> str:
    """The state of an order."""
    return {7: "shipped"}.get(number, "unknown")


SUPPORT = Agent(
    "support",
    "Answers questions about orders.",
    instructions="Be brief. Look orders up before you answer.",
    tools=[order_status],
)


async def answer(catalog: Catalog, task: str, model: Model | str) -> str:
    """What the agent answers; metier chooses the text that the task needs."""
    catalog.add(SUPPORT)
    injection = catalog.inject(task, agent=SUPPORT.id, min_signal=catalog.config.ability_signal)
    agent = pydantic_ai.Agent(
        model,
        instructions=[injection.text, SUPPORT.instructions],
        tools=[order_status],
    )
    return (await agent.run(task)).output


if __name__ == "__main__":
    import asyncio
    import sys

    if len(sys.argv) != 2:
        raise SystemExit("usage: python pydantic_ai_agent.py MODEL, such as openai:gpt-5")
    with Catalog.open("examples/workspace") as catalog:
        catalog.refresh()
        print(asyncio.run(answer(catalog, "where is order 7?", sys.argv[1])))
