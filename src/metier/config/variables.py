"""The environment variables that are settings. Light."""

VARIABLES = {
    "disabled": "METIER_DISABLED",
    "host-folders": "METIER_HOST_FOLDERS",
    "folders.abilities": "METIER_ABILITIES",
    "folders.cards": "METIER_CARDS",
    "folders.agents": "METIER_AGENTS",
    "lint.select": "METIER_LINT_SELECT",
    "lint.ignore": "METIER_LINT_IGNORE",
    "tokenizer": "METIER_TOKENIZER",
    "state.url": "METIER_STATE_URL",
    "state.namespace": "METIER_STATE_NAMESPACE",
}
"""Setting → its variable."""
