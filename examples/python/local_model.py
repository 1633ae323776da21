"""An agent with Python tools, on a server with the OpenAI protocol such as llama.cpp or vLLM.

python local_model.py http://127.0.0.1:8080/v1 small "where is order 7?"
"""

import asyncio
import sys

from metier import Agent, Catalog, ToolError, tool
from metier.run.models import ProviderSettings, model_for

ORDERS = {7: "shipped", 8: "in the warehouse"}


@tool
def order_status(number: int) -> str:
    """The state of an order.

    Args:
        number: As printed on the invoice.
    """
    if number not in ORDERS:
        raise ToolError(f"there is no order {number}")
    return ORDERS[number]


@tool(needs_consent=False, timeout=5)
async def shipping_days(country: str) -> dict[str, int]:
    """How long a parcel takes, in days."""
    return {"least": 2, "most": 4 if country == "DE" else 9}


SUPPORT = Agent(
    "support",
    "Answers questions about orders.",
    instructions="Be brief. Look orders up before you answer.",
    tools=[order_status, shipping_days],
    more={"limits": {"tokens": 20_000, "seconds": 300}},
)


async def answer(catalog: Catalog, url: str, name: str, task: str) -> str:
    """Print the answer as it comes; all of it."""
    settings = {"local": ProviderSettings(url, retries=2, timeout=120)}
    model = model_for(f"local:{name}", settings=settings)
    async with catalog.stream(SUPPORT, task, model=model) as stream:
        async for event in stream:
            if event.kind == "model.text":
                print(event.data["text"], end="", flush=True)
    print()
    if not stream.result.success:
        raise SystemExit(stream.result.errors[0].message)
    return str(stream.result.output)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        raise SystemExit("usage: python local_model.py URL MODEL TASK")
    with Catalog.open("examples/workspace") as catalog:
        catalog.refresh()
        asyncio.run(answer(catalog, *sys.argv[1:4]))
