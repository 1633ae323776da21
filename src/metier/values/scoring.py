"""The constants of scoring, ranking and rejecting in spec 4."""

WEIGHTS = {"S_contract": 0.60, "S_desc": 0.20, "S_namepath": 0.10, "S_runtime": 0.10}
SKILL_WEIGHTS = {"S_desc": 0.7, "S_namepath": 0.3}
"""S_skill: what the skill says of itself in words."""
MATCH_SCORES = {"exact": 1.0, "alias": 0.8, "fuzzy": 0.33, "provisional": 0.25, "none": 0.0}
INVALID_TOKEN = {"each": 0.02, "most": 0.20}
UNKNOWN_CLAUSE = {"each": 0.05, "most": 0.20}
OVERCLAIM = {"free": 20, "medians": 3, "step": 5, "each": 0.05, "most": 0.25}
INFLATION = 0.15
DIVERGENCE = {"few": 5, "absolute": 0.35, "without_spread": 0.15, "sigmas": 2}
HISTORY = {"least": 0.70, "most": 1.00, "slope": 0.30}
REASONS = (
    "runtime-incompatible",
    "contract-inflated",
    "probe-failed",
    "dependency-unresolved",
    "nothing-resolved",
    "below-min-contract-score",
    "below-min-required-coverage",
    "below-min-total-score",
    "beyond-max-candidates-hint",
    "beyond-max-candidates",
)
"""Why a candidate is rejected, in the order in which reasons are named."""
TIE_BREAKS = (
    "S_total_final",
    "S_contract",
    "required_coverage",
    "unresolved_required",
    "S_specificity",
    "S_skill",
    "stable_hash",
)
"""What ranks candidates: the final score, then the six tie-breakers as steps 1 to 6."""
