"""For packages that bring lint rules: what the entry points of the group `metier.rules` are."""

from metier.values.own_rules import Rule, RuleFinding, RuleInput

__all__ = ["Rule", "RuleFinding", "RuleInput"]
