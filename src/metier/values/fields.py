"""The fields of every document kind, one row each: parsing reads the keys, linting the limits."""

from collections.abc import Mapping

from metier.core.names import loose_key
from metier.hosts.key_table import HOST_KEYS, STANDARD_KEYS
from metier.values.checks import ANY, FLAG, Field, FieldType, integer, text, texts

VERSION = text(form="version")


def _field(
    kind: FieldType, choices: tuple[str, ...], or_number: bool, *, required: bool = False
) -> Field:
    return Field(type=kind, required=required, choices=choices, or_number=or_number)


SKILL = {
    **{
        name: _field(*key, required=name in ("name", "description"))
        for name, key in STANDARD_KEYS.items()
    },
    "capabilities": ANY,
    "version": ANY,
    "author": ANY,
    "tags": ANY,
    "entrypoint": text(),
    "examples": ANY,
    "enabled": FLAG,
    **{name: _field(*key) for name, key in HOST_KEYS.items()},
}
"""The format's keys, metier's, and those of every known host."""

ABILITY = {
    "abilityId": text(100, form="id", shortest=1),
    "displayName": text(200),
    "version": VERSION,
    "description": text(2000),
    "category": text(100),
    "tags": texts(20, 50),
    "author": text(100),
    "source": text(500),
    "lastUpdated": text(form="date"),
    "requires": texts(20, 100),
    "conflicts": texts(20, 100),
    "applicableTo": texts(50, 100),
    "excludeFrom": texts(50, 100),
    "priority": integer(1, 100),
    "enabled": FLAG,
}

CARD = {
    "id": text(64, required=True, form="kebab", shortest=1, other_names=("capability_id",)),
    "name": text(required=True, shortest=1),
    "description": text(required=True, shortest=1),
    "triggers": Field(
        type="mapping",
        required=True,
        fields={
            "keywords": Field(
                type="list", required=True, shortest=1, items=Field(type="text", shortest=1)
            ),
            "sessionTypes": Field(
                type="list", items=Field(type="text", choices=("main", "isolated"))
            ),
            "confidenceThreshold": Field(type="number", least=0, most=1),
            "timeOfDay": Field(
                type="list", items=text(choices=("morning", "afternoon", "evening", "night"))
            ),
            "userTier": texts(None, None),
            "environmentType": texts(None, None),
        },
    ),
    "match": text(choices=("substring", "word")),
    "priority": Field(type="number", least=0, most=100),
    "estimatedTokens": Field(type="integer", least=0, most=2000, other_names=("token_budget",)),
    "version": ANY,
    "enabled": FLAG,
}

SELECTION = {
    "exampleTasks": texts(10, 200),
    "notForTasks": texts(10, 200),
    "primaryIntents": texts(20, 100),
    "secondarySignals": texts(20, 100),
    "negativeIntents": texts(20, 100),
    "keywords": texts(50, 50),
    "antiKeywords": texts(50, 50),
    "redirectWhen": Field(
        type="list",
        longest=10,
        items=Field(
            type="mapping",
            fields={"phrase": text(required=True, shortest=1), "suggest": text(required=True)},
        ),
    ),
    "agentCategory": text(
        choices=("orchestrator", "implementer", "reviewer", "specialist", "generalist")
    ),
}

FAILURE_STRATEGY = text(choices=("failFast", "continueOnError", "rollback"))
STEPS = Field(type="list", items=Field(type="mapping"))

STEP = {
    "stepId": text(100, required=True, form="step-id", shortest=1),
    "name": text(200),
    "description": text(1000),
    "type": text(
        required=True,
        choices=("prompt", "tool", "delegate", "conditional", "loop", "parallel"),
    ),
    "dependencies": texts(20, 100),
    "condition": text(500),
    "timeoutMs": integer(1_000, 3_600_000),
    "retryPolicy": Field(
        type="mapping",
        fields={
            "maxAttempts": integer(1, 10),
            "backoffMs": integer(100, 60_000),
            "backoffMultiplier": Field(type="number", least=1, most=5),
            "retryOn": Field(
                type="list",
                items=text(choices=("timeout", "rateLimit", "serverError", "networkError")),
            ),
        },
    ),
    "outputs": texts(None, 100),
    "requires": texts(50, 100),
    "compensate": Field(type="mapping"),
    "checkpoint": FLAG,
    "config": Field(type="mapping", required=True),
}

STEP_CONFIG: dict[str, dict[str, Field]] = {
    "prompt": {
        "prompt": text(required=True, shortest=1),
        "tools": texts(None, 100),
        "outputSchema": Field(type="mapping"),
        "maxToolRounds": integer(0, 20),
    },
    "tool": {"tool": text(required=True, shortest=1), "input": ANY},
    "delegate": {
        "targetAgent": text(required=True, shortest=1),
        "task": text(),
        "input": ANY,
    },
    "conditional": {
        "condition": text(required=True, shortest=1),
        "then": Field(type="list", required=True, items=Field(type="mapping")),
        "else": STEPS,
    },
    "loop": {
        "over": text(shortest=1),
        "while": text(shortest=1),
        "as": text(shortest=1),
        "steps": Field(type="list", required=True, items=Field(type="mapping")),
        "maxIterations": integer(1, 1000),
    },
    "parallel": {
        "steps": Field(type="list", required=True, items=Field(type="mapping")),
        "maxConcurrency": integer(1, 10),
        "failureStrategy": FAILURE_STRATEGY,
    },
}

AGENT: dict[str, Field] = {
    "agentId": text(50, required=True, form="id", shortest=1, other_names=("name",)),
    "description": text(2000, required=True, shortest=1),
    "displayName": text(100),
    "version": VERSION,
    "role": text(200),
    "team": text(100),
    "tags": texts(20, 50),
    "priority": integer(1, 100),
    "enabled": FLAG,
    "expertise": texts(20, 100),
    "capabilities": texts(50, 100),
    "systemPrompt": text(10_000),
    "model": text(form="model"),
    "temperature": Field(type="number", least=0, most=2),
    "maxTokens": integer(1, 200_000),
    "abilities": Field(
        type="mapping",
        fields={"core": texts(50, 100), "maxTokens": Field(type="integer", least=1)},
    ),
    "tools": texts(None, 200),
    "skills": texts(None, 200),
    "requires": texts(50, 100),
    "workflow": Field(type="list", longest=100, items=Field(type="mapping")),
    "execution": text(choices=("sequential", "parallel")),
    "maxConcurrency": integer(1, 10),
    "failureStrategy": FAILURE_STRATEGY,
    "checkpoint": Field(
        type="mapping",
        fields={
            "enabled": FLAG,
            "interval": Field(type="integer", least=0),
            "retentionHours": integer(1, 720),
            "maximum": integer(1, 100),
        },
    ),
    "delegation": Field(
        type="mapping",
        fields={
            "maxDepth": integer(0, 10),
            "to": texts(None, 50),
            "timeoutMs": integer(1_000, 3_600_000),
        },
    ),
    "limits": Field(
        type="mapping",
        fields={
            "tokens": Field(type="integer", least=1),
            "cost": Field(type="number", least=0),
            "steps": Field(type="integer", least=1),
            "seconds": Field(type="number", least=0),
        },
    ),
    "metadata": Field(type="mapping"),
    "selectionMetadata": Field(type="mapping", fields=SELECTION),
}

AGENT_OF_HOST = {**AGENT, "systemPrompt": text()}
"""A sub-agent of a host, whose prompt may be of any length."""


def spellings(fields: Mapping[str, Field]) -> dict[str, str]:
    """Every loose spelling of the keys of `fields`, with ours."""
    known: dict[str, str] = {}
    for name, row in fields.items():
        for spelling in (name, *row.other_names):
            known[loose_key(spelling)] = name
    return known
