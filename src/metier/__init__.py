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
    from metier.errors import NotFoundError as NotFoundError
    from metier.errors import StoreError as StoreError
    from metier.errors import UsageError as UsageError
    from metier.index.abilities import AbilityRegistry as AbilityRegistry
    from metier.index.skills import SkillRepository as SkillRepository
    from metier.index.store import Store as Store
    from metier.inject.abilities import inject_abilities as inject_abilities
    from metier.load import load_abilities as load_abilities
    from metier.parse.contract import parse_contract as parse_contract
    from metier.parse.contract import serialize_contract as serialize_contract
    from metier.select.abilities import abilities_for_task as abilities_for_task
    from metier.values.agents import AgentProfile as AgentProfile
    from metier.values.contracts import Contract as Contract
    from metier.values.documents import Ability as Ability
    from metier.values.documents import Card as Card
    from metier.values.documents import Skill as Skill
    from metier.values.outcomes import Issue as Issue
    from metier.values.own_rules import Rule as Rule
    from metier.values.own_rules import RuleFinding as RuleFinding
    from metier.values.own_rules import RuleInput as RuleInput

__version__ = "0.1.0"

_HOMES = {
    "Ability": "values.documents",
    "AbilityRegistry": "index.abilities",
    "AgentProfile": "values.agents",
    "Card": "values.documents",
    "Catalog": "catalog",
    "Config": "config",
    "ConfigError": "errors",
    "Contract": "values.contracts",
    "ContractError": "errors",
    "InvalidDocumentError": "errors",
    "Issue": "values.outcomes",
    "MetierError": "errors",
    "NotFoundError": "errors",
    "Rule": "values.own_rules",
    "RuleFinding": "values.own_rules",
    "RuleInput": "values.own_rules",
    "Skill": "values.documents",
    "SkillRepository": "index.skills",
    "Store": "index.store",
    "StoreError": "errors",
    "UsageError": "errors",
    "abilities_for_task": "select.abilities",
    "inject_abilities": "inject.abilities",
    "load_abilities": "load",
    "parse_contract": "parse.contract",
    "serialize_contract": "parse.contract",
}

__all__ = [
    "Ability",
    "AbilityRegistry",
    "AgentProfile",
    "Card",
    "Catalog",
    "Config",
    "ConfigError",
    "Contract",
    "ContractError",
    "InvalidDocumentError",
    "Issue",
    "MetierError",
    "NotFoundError",
    "Rule",
    "RuleFinding",
    "RuleInput",
    "Skill",
    "SkillRepository",
    "Store",
    "StoreError",
    "UsageError",
    "__version__",
    "abilities_for_task",
    "inject_abilities",
    "load_abilities",
    "parse_contract",
    "serialize_contract",
]


def __getattr__(name: str) -> object:
    from importlib import import_module

    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'metier' has no attribute '{name}'")
    value: object = getattr(import_module(f"metier.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
