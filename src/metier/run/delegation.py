"""Who has delegated to whom: how deep a chain may be, and that it never comes round."""

from typing import NamedTuple

from metier.values.agents import DEFAULT_DEPTH


class DelegationCheck(NamedTuple):
    """Whether an agent may delegate; if not, the code and the reason."""

    allowed: bool
    code: str = ""
    message: str = ""


class DelegationChain(NamedTuple):
    """The agents from the root to the one at work."""

    agents: tuple[str, ...]
    max_depth: int = DEFAULT_DEPTH
    """How many delegations may follow each other, counted from the root."""

    @classmethod
    def root(cls, agent_id: str, max_depth: int = DEFAULT_DEPTH) -> "DelegationChain":
        return cls((agent_id,), max_depth)

    @property
    def depth(self) -> int:
        """How many delegations lead here; 0 at the root."""
        return len(self.agents) - 1

    @property
    def initiator(self) -> str:
        return self.agents[0]

    def is_in_chain(self, agent_id: str) -> bool:
        return agent_id in self.agents

    def can_delegate(self, to: str) -> DelegationCheck:
        """Whether the agent at work may delegate to `to`: depth first, then circles."""
        if self.depth >= self.max_depth:
            message = f"'{to}' would be delegation {self.depth + 1}; the limit is {self.max_depth}"
            return DelegationCheck(False, "DELEGATION_MAX_DEPTH_EXCEEDED", message)
        if self.is_in_chain(to):
            way = " → ".join((*self.agents, to))
            return DelegationCheck(False, "DELEGATION_CIRCULAR", f"the chain comes round: {way}")
        return DelegationCheck(True)

    def extend(self, to: str, own_depth: int | None = None) -> "DelegationChain":
        """The chain of a delegate; `own_depth` bounds how deep it may go below itself."""
        limit = self.max_depth
        if own_depth is not None:
            limit = min(limit, self.depth + 1 + own_depth)
        return DelegationChain((*self.agents, to), limit)
