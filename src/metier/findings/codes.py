"""Every finding that a document can get: its code, severity and title.

Families: FM front matter · IO the file itself · SK skills · DC contracts · AB abilities ·
CD cards · AG agents · SZ what is handed over · XF several files together · SRC sources of
cards. A code never changes its meaning. The page of each (why, a bad and a good example) stands
in `lint/pages.py`.
"""

from typing import Literal, NamedTuple

Severity = Literal["error", "warning", "info"]


class Code(NamedTuple):
    severity: Severity
    title: str
    fixable: bool = False


CODES: dict[str, Code] = {
    "FM101": Code("error", "no front matter"),
    "FM102": Code("error", "front matter is not closed"),
    "FM103": Code("error", "front matter is not valid YAML"),
    "FM104": Code("error", "unquoted value holds ': '", fixable=True),
    "FM105": Code("warning", "key appears twice"),
    "FM106": Code("error", "anchor, alias or tag in front matter"),
    "FM107": Code("error", "front matter is nested too deeply"),
    "FM108": Code("error", "front matter is too large"),
    "FM109": Code("error", "front matter is not a mapping"),
    "FM110": Code("error", "file is not UTF-8"),
    "FM111": Code("error", "file is binary"),
    "FM112": Code("info", "line ends are CRLF", fixable=True),
    "FM113": Code("info", "file starts with a byte order mark", fixable=True),
    "FM114": Code("error", "file is empty"),
    "FM115": Code("error", "file is not valid JSON"),
    "FM116": Code("error", "front matter is indented with tabs", fixable=True),
    "FM117": Code("error", "first line goes on after '---'"),
    "IO201": Code("error", "file or folder cannot be read"),
    "IO202": Code("error", "path leaves its root"),
    "IO203": Code("error", "file is too large"),
    "IO204": Code("error", "not a regular file"),
    "IO205": Code("warning", "file name is not UTF-8"),
    "IO206": Code("warning", "another file of the folder counts"),
    "IO207": Code("warning", "a folder in the settings is not there"),
    "SK301": Code("warning", "skill has no name", fixable=True),
    "SK302": Code("warning", "skill name breaks the name rule"),
    "SK303": Code("warning", "skill name differs from its folder"),
    "SK304": Code("error", "skill has no description"),
    "SK305": Code("warning", "description is too long"),
    "SK306": Code("info", "description says too little"),
    "SK307": Code("warning", "value has the wrong type"),
    "SK308": Code("info", "compatibility is too long"),
    "SK309": Code("info", "key is not in the Agent Skills format, nor known of a host"),
    "SK310": Code("warning", "capability entry is not a name"),
    "SK311": Code("warning", "capability breaks the name rule"),
    "SK312": Code("warning", "skill has no instructions"),
    "SK313": Code("info", "instructions are very long"),
    "SK314": Code("warning", "description holds a tag"),
    "SK315": Code("warning", "file is not called SKILL.md"),
    "SK316": Code("info", "value is none that a host is known to take"),
    "SK317": Code("warning", "host ignores that only the user starts the skill"),
    "DC401": Code("warning", "contract cannot be used"),
    "DC402": Code("info", "contract has doubtful parts"),
    "DC403": Code("error", "alias table cannot be used"),
    "DC404": Code("warning", "contract loses its escapes to YAML"),
    "DC405": Code("warning", "contract claims very much"),
    "DC406": Code("warning", "policy of a contract has no effect"),
    "AB501": Code("error", "ability has an illegal id"),
    "AB502": Code("error", "field of an ability is invalid"),
    "AB503": Code("info", "key is not in the ability format"),
    "AB504": Code("error", "ability content is too long"),
    "CD601": Code("error", "required field of a card is missing"),
    "CD602": Code("error", "field of a card is invalid"),
    "CD603": Code("info", "key is not in the card format"),
    "CD604": Code("warning", "one sentence cannot reach the card's threshold"),
    "CD605": Code("warning", "card is injected whenever there are no messages"),
    "CD606": Code("warning", "estimatedTokens is far from the measured size"),
    "CD607": Code("warning", "card is shorter or longer than advised"),
    "CD608": Code("info", "AGENTS.md is longer than 500 characters"),
    "CD609": Code("info", "AGENTS.md does not point to the capability cards"),
    "CD610": Code("warning", "the settings name a scorer that is not there"),
    "CD611": Code("warning", "the settings name a card that is not there"),
    "CD612": Code("warning", "the settings compare a scorer with itself"),
    "AG701": Code("error", "required field of a profile is missing"),
    "AG702": Code("error", "field of a profile is invalid"),
    "AG703": Code("error", "key is not in the profile format"),
    "AG704": Code("error", "step id is used twice"),
    "AG705": Code("error", "step depends on an unknown step"),
    "AG706": Code("error", "steps depend on each other in a circle"),
    "AG707": Code("error", "template or condition cannot be used"),
    "AG708": Code("warning", "agent 'standard' cannot be disabled"),
    "SZ801": Code("error", "text holds a phrase that overrides instructions"),
    "SZ802": Code("error", "text holds invisible characters"),
    "SZ803": Code("warning", "role marker or chat token was defused"),
    "SZ804": Code("info", "HTML comment is not handed over"),
    "XF901": Code("warning", "several skills have one name"),
    "XF902": Code("warning", "exact copy of another skill"),
    "XF903": Code("error", "several documents have one id"),
    "XF904": Code("info", "descriptions are nearly the same"),
    "XF905": Code("info", "no skill provides what this one relies on"),
    "SRC901": Code("warning", "a source of cards cannot be read"),
}

OUTCOME_CODES: dict[str, Code] = {
    "ABILITY_NOT_FOUND": Code("error", "ability does not exist"),
    "ABILITY_VALIDATION_ERROR": Code("warning", "ability is invalid"),
    "ABILITY_LOAD_FAILED": Code("warning", "ability cannot be read"),
    "ABILITY_CONFLICT": Code("warning", "ability conflicts with one that is in already"),
    "ABILITY_DEPENDENCY_MISSING": Code("warning", "ability requires one that is not there"),
    "ABILITY_TOKEN_LIMIT_EXCEEDED": Code("error", "core abilities exceed the token limit"),
    "ABILITY_TRUNCATED": Code("warning", "abilities were left out for their size"),
    "SKILL_TRUNCATED": Code("warning", "skill was left out for its size"),
    "CARD_REJECTED": Code("warning", "card must not be handed over"),
    "CARD_SCORER_FAILED": Code("warning", "scorer failed for a card"),
    "CARD_INJECTION_FAILED": Code("warning", "cards cannot be handed over"),
    "AGENT_INVALID": Code("error", "agent's profile has errors"),
    "ABILITY_CORE_KEPT": Code("warning", "core ability is used although it is off for this agent"),
}
"""What can go wrong while documents are chosen and handed over. After an error nothing is."""

SEVERITIES: dict[str, Severity] = {
    code: rule.severity for code, rule in {**CODES, **OUTCOME_CODES}.items()
}

RUN_CODES = frozenset(
    """
    CAPABILITY_UNRESOLVED CHECKPOINT_EXPIRED CHECKPOINT_INVALID CHECKPOINT_NOT_FOUND
    CHECKPOINT_SAVE_FAILED DELEGATION_CIRCULAR DELEGATION_FAILED DELEGATION_MAX_DEPTH_EXCEEDED
    DELEGATION_NOT_ALLOWED DELEGATION_TARGET_NOT_FOUND DELEGATION_TIMEOUT EXPRESSION_FAILED
    LOOP_LIMIT_EXCEEDED MODEL_ERROR MODEL_NO_PACKAGE MODEL_NOT_SET_UP MODEL_OUTPUT_INVALID
    MODEL_OUTPUT_SCHEMA MODEL_SCRIPT_ENDED MODEL_TOOL_ROUNDS_EXCEEDED RUN_BUSY RUN_CANCELLED
    RUN_INTERRUPTED RUN_LIMIT_EXCEEDED RUN_LOST RUN_NOT_RESUMABLE RUN_TIMEOUT STEP_FAILED
    STEP_OUTPUT_MISSING STEP_TIMEOUT TOOL_EXECUTION_ERROR TOOL_NOT_FOUND TOOL_PERMISSION_DENIED
    TOOL_SERVER_FAILED TOOL_TIMEOUT TOOL_VALIDATION_ERROR
    """.split()  # noqa: SIM905  # reads better than as many quoted words
)
"""What can go wrong while an agent runs: errors of a step or of the whole run."""
