"""metier: the capability layer for AI agents.

Names are loaded when they are first used, so that importing metier costs next to nothing.
"""

TYPE_CHECKING = False  # a hook may not load `typing` for it

if TYPE_CHECKING:
    from metier.catalog import Catalog as Catalog
    from metier.config import Config as Config
    from metier.errors import ConfigError as ConfigError
    from metier.errors import ContractError as ContractError
    from metier.errors import InvalidDocumentError as InvalidDocumentError
    from metier.errors import MetierError as MetierError
    from metier.errors import ModelError as ModelError
    from metier.errors import NotFoundError as NotFoundError
    from metier.errors import StoreError as StoreError
    from metier.errors import TrustError as TrustError
    from metier.errors import UsageError as UsageError
    from metier.flow.agent import Agent as Agent
    from metier.inject.abilities import inject_abilities as inject_abilities
    from metier.load import load_abilities as load_abilities
    from metier.run.tool import ToolContext as ToolContext
    from metier.run.tool import ToolError as ToolError
    from metier.run.tool import tool as tool
    from metier.select.abilities import abilities_for_task as abilities_for_task
    from metier.values.agents import AgentProfile as AgentProfile
    from metier.values.contracts import Contract as Contract
    from metier.values.documents import Ability as Ability
    from metier.values.documents import Card as Card
    from metier.values.documents import Skill as Skill
    from metier.values.models import Model as Model
    from metier.values.models import ModelReply as ModelReply
    from metier.values.models import ModelRequest as ModelRequest
    from metier.values.outcomes import Issue as Issue
    from metier.values.runs import Event as Event
    from metier.values.runs import RunResult as RunResult

__version__ = "0.2.0"

_HOMES = {
    "Ability": "values.documents",
    "Agent": "flow.agent",
    "AgentProfile": "values.agents",
    "Card": "values.documents",
    "Catalog": "catalog",
    "Config": "config",
    "ConfigError": "errors",
    "Contract": "values.contracts",
    "ContractError": "errors",
    "Event": "values.runs",
    "InvalidDocumentError": "errors",
    "Issue": "values.outcomes",
    "MetierError": "errors",
    "Model": "values.models",
    "ModelError": "errors",
    "ModelReply": "values.models",
    "ModelRequest": "values.models",
    "NotFoundError": "errors",
    "RunResult": "values.runs",
    "Skill": "values.documents",
    "StoreError": "errors",
    "ToolContext": "run.tool",
    "ToolError": "run.tool",
    "TrustError": "errors",
    "UsageError": "errors",
    "abilities_for_task": "select.abilities",
    "inject_abilities": "inject.abilities",
    "load_abilities": "load",
    "tool": "run.tool",
}

__all__ = [
    "Ability",
    "Agent",
    "AgentProfile",
    "Card",
    "Catalog",
    "Config",
    "ConfigError",
    "Contract",
    "ContractError",
    "Event",
    "InvalidDocumentError",
    "Issue",
    "MetierError",
    "Model",
    "ModelError",
    "ModelReply",
    "ModelRequest",
    "NotFoundError",
    "RunResult",
    "Skill",
    "StoreError",
    "ToolContext",
    "ToolError",
    "TrustError",
    "UsageError",
    "__version__",
    "abilities_for_task",
    "inject_abilities",
    "load_abilities",
    "tool",
]


_MOVED = {
    "AbilityRegistry": "index.abilities",
    "SkillRepository": "index.skills",
    "Store": "index.store",
    "parse_contract": "parse.contract",
    "serialize_contract": "parse.contract",
}
"""Names that were here in 0.1."""


if not TYPE_CHECKING:  # so that a type checker finds names that do not exist

    def __getattr__(name: str) -> object:
        from importlib import import_module

        home = _HOMES.get(name)
        if name in _MOVED:
            from warnings import warn

            home = _MOVED[name]
            warn(f"import {name} from metier.{home}", DeprecationWarning, stacklevel=2)
        if home is None:
            raise AttributeError(f"module 'metier' has no attribute '{name}'")
        value: object = getattr(import_module(f"metier.{home}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return __all__
