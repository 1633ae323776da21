"""What reports say in the terms of the specification, in words."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

_NAMES = {
    "S_total_final_of_resolved": "final score",
    "S_contract_of_resolved": "contract score",
    "S_total_final": "final score",
    "S_contract": "contract score",
    "S_specificity": "specificity",
    "S_skill": "score of the skill",
    "required_coverage": "coverage of what is required",
    "unresolved_required": "number of requirements left open",
    "stable_hash": "hash of the id",
    "own_team": "own team",
    "min-contract-score": "the required contract score of",
    "min-total-score": "the required final score of",
    "min-required-coverage": "the required coverage of",
    "max-candidates": "the most candidates,",
}
_REJECTIONS = {
    "runtime-incompatible": "made for other runtimes: ",
    "contract-inflated": "",
    "probe-failed": "its probe failed: ",
    "dependency-unresolved": "what it requires is missing: ",
    "nothing-resolved": "",
    "beyond-max-candidates-hint": "",
    "own-team-first": "",
}
_OUTCOMES = {
    "not-needed": "resolved",
    "pending-decision": "decision needed",
    "continued-partial": "continued with a part",
}
_POLICIES = {
    "hard-fail": "it ends if something is missing",
    "offer-emulation": "what is missing may be emulated",
    "auto-emulate": "what is missing is emulated",
}
GATES = {
    "min-contract-score": "contract score",
    "min-total-score": "final score",
    "min-required-coverage": "coverage",
}
"""What a limit of the policy is compared with."""
_TERMS = re.compile("|".join(map(re.escape, [*_REJECTIONS, *_OUTCOMES, *_POLICIES, *_NAMES])))
_PHRASES: Sequence[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = (
    (re.compile(r"is below min-[a-z-]+ "), "is below the required "),
    (re.compile(r"the min-[a-z-]+ (?=\S+ that it sets)"), "the "),
    (re.compile(r"the max-candidates (?=\S+ that it sets)"), "the "),
    (re.compile(r"that max-candidates keeps"), "that are kept"),
    (re.compile(r"beyond max-candidates (\S+)"), r"beyond the first \1"),
    (re.compile(r"--policy ([a-z-]+)=(\S+?)(?=[);]|$)"), r"\1 = \2 under “Policy and limits”"),
    (re.compile(rf"({'|'.join(_REJECTIONS)}): "), lambda found: _REJECTIONS[found[1]]),
    (re.compile(rf"({'|'.join(_POLICIES)})"), lambda found: _POLICIES[found[1]]),
    (re.compile(rf"({'|'.join(_OUTCOMES)})"), lambda found: _OUTCOMES[found[1]]),
    (re.compile(rf"\b({'|'.join(_NAMES)})\b"), lambda found: _NAMES[found[1]]),
)


class Said(NamedTuple):
    text: str
    terms: str
    """Of the specification, for which the text has words."""


@lru_cache(maxsize=1_024)
def in_words(text: str) -> Said:
    terms = list(dict.fromkeys(_TERMS.findall(text)))
    if not terms and "--policy" not in text:
        return Said(text, "")
    for phrase, instead in _PHRASES:
        text = phrase.sub(instead, text)
    return Said(text, ", ".join(terms))


def said_outcome(outcome: str) -> str:
    return _OUTCOMES.get(outcome, outcome)
