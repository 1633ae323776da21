"""The numbers of spec 4."""

from metier.core import bm25

WEIGHTS = {"S_contract": 0.60, "S_desc": 0.20, "S_namepath": 0.10, "S_runtime": 0.10}
SKILL_WEIGHTS = {"S_desc": 0.7, "S_namepath": 0.3}
"""S_skill: what the skill says of itself in words."""
MATCH_SCORES = {"exact": 1.0, "alias": 0.8, "fuzzy": 0.33, "provisional": 0.25, "none": 0.0}
BM25 = {"k1": bm25.K1, "b": bm25.B}
INVALID_TOKEN = {"each": 0.02, "most": 0.20}
UNKNOWN_CLAUSE = {"each": 0.05, "most": 0.20}
OVERCLAIM = {"free": 20, "medians": 3, "step": 5, "each": 0.05, "most": 0.25}
INFLATION = 0.15
DIVERGENCE = {"few": 5, "absolute": 0.35, "without_spread": 0.15, "sigmas": 2}
HISTORY = {"least": 0.70, "most": 1.00, "slope": 0.30}
DECIMALS = 12
