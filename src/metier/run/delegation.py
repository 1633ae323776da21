"""Delegation: how deep a chain of agents may be, without cycles."""

from typing import Any, NamedTuple

from metier.values.agents import DEFAULT_DEPTH, Limits
from metier.values.runs import Usage


class DelegationCheck(NamedTuple):
    allowed: bool
    code: str = ""
    message: str = ""


class DelegationChain(NamedTuple):
    """The agents from the root to the current agent."""

    agents: tuple[str, ...]
    max_depth: int = DEFAULT_DEPTH
    """Counted from the root."""

    @classmethod
    def root(cls, agent_id: str, max_depth: int = DEFAULT_DEPTH) -> "DelegationChain":
        return cls((agent_id,), max_depth)

    @property
    def depth(self) -> int:
        return len(self.agents) - 1

    def is_in_chain(self, agent_id: str) -> bool:
        return agent_id in self.agents

    def can_delegate(self, to: str) -> DelegationCheck:
        """Whether the current agent may delegate to `to`: depth first, then cycles."""
        if self.depth >= self.max_depth:
            message = f"'{to}' would be delegation {self.depth + 1}; the limit is {self.max_depth}"
            return DelegationCheck(False, "DELEGATION_MAX_DEPTH_EXCEEDED", message)
        if self.is_in_chain(to):
            trail = " → ".join((*self.agents, to))
            return DelegationCheck(False, "DELEGATION_CIRCULAR", f"the chain is circular: {trail}")
        return DelegationCheck(True)

    def extend(self, to: str, own_depth: int | None = None) -> "DelegationChain":
        """The chain of a delegate; `own_depth` bounds how deep it may go below itself."""
        limit = self.max_depth
        if own_depth is not None:
            limit = min(limit, self.depth + 1 + own_depth)
        return DelegationChain((*self.agents, to), limit)


class DelegationResult(NamedTuple):
    success: bool
    handled_by: str
    result: Any = None
    error: str = ""
    error_code: str = ""
    duration_ms: float = 0.0
    final_depth: int = 0
    run_id: str = ""
    retryable: bool = False
    tool: str = ""
    """The tool that lacks consent, if any."""
    hint: str = ""

    def to_json(self) -> dict[str, Any]:
        failure = {"error": self.error, "errorCode": self.error_code}
        return {
            "success": self.success,
            "handledBy": self.handled_by,
            **({"result": self.result} if self.success else failure),
            "durationMs": self.duration_ms,
            "finalDepth": self.final_depth,
        }


def refused(
    target: str,
    code: str,
    message: str,
    chain: DelegationChain,
    *,
    retryable: bool = False,
    hint: str = "",
) -> DelegationResult:
    return DelegationResult(
        False, target, error=message, error_code=code, final_depth=chain.depth,
        retryable=retryable, hint=hint,
    )  # fmt: skip


def within(limits: Limits, left: Limits, used: Usage) -> Limits:
    """A delegate's limits: its own, and what its caller has left."""
    return limits._replace(
        tokens=_least(limits.tokens, left.tokens, used.tokens),
        cost=_least(limits.cost, left.cost, used.cost),
    )


def _least(own: Any, limit: Any, used: Any) -> Any:
    left = None if limit is None else max(0, limit - used)
    return min((one for one in (own, left) if one is not None), default=None)
