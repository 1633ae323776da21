"""The schema of the catalog. It is a cache: a new version drops all tables and creates them anew.

To change the schema, add an empty step before the last step and raise `CATALOG_VERSION`.
"""

from metier.storage.database import Migration

_TABLES = {
    "skill_capability": """(
        capability TEXT NOT NULL,
        key INTEGER NOT NULL REFERENCES document (key) ON DELETE CASCADE,
        PRIMARY KEY (capability, key)
    ) WITHOUT ROWID""",
    "skill_size": """(
        key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
        prose INTEGER NOT NULL,
        prose_distinct INTEGER NOT NULL,
        label_distinct INTEGER NOT NULL
    )""",
    "ranked": """(
        key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
        kind TEXT NOT NULL,
        safe INTEGER NOT NULL,
        name_terms TEXT NOT NULL,
        terms TEXT NOT NULL,
        vector BLOB,
        body TEXT NOT NULL,
        body_words INTEGER NOT NULL
    )""",
    "example": """(
        key INTEGER NOT NULL REFERENCES document (key) ON DELETE CASCADE,
        place INTEGER NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (key, place)
    ) WITHOUT ROWID""",
    "encoded": """(
        key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
        vector BLOB NOT NULL
    )""",
    "learned": """(
        kind TEXT PRIMARY KEY,
        digest TEXT NOT NULL,
        keys BLOB NOT NULL,
        mean BLOB NOT NULL,
        directions BLOB NOT NULL,
        unknown INTEGER NOT NULL,
        scale REAL NOT NULL,
        logistic INTEGER NOT NULL
    )""",
    "learned_word": """(
        kind TEXT NOT NULL,
        gram TEXT NOT NULL,
        weight INTEGER NOT NULL,
        speaks BLOB NOT NULL,
        PRIMARY KEY (kind, gram)
    ) WITHOUT ROWID""",
    "rank_pool": "(kind TEXT PRIMARY KEY, total INTEGER NOT NULL, sums BLOB NOT NULL)",
    "card": """(
        key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
        id TEXT NOT NULL,
        priority REAL NOT NULL,
        threshold REAL NOT NULL,
        facts TEXT NOT NULL,
        text TEXT NOT NULL
    )""",
    "card_keyword": "(start TEXT PRIMARY KEY, keywords TEXT NOT NULL) WITHOUT ROWID",
    "posting": """(
        number INTEGER PRIMARY KEY,
        field TEXT NOT NULL,
        term TEXT NOT NULL,
        found INTEGER NOT NULL,
        postings BLOB NOT NULL
    )""",
    "document": """(
        key INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        path TEXT NOT NULL,
        rank INTEGER NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('active', 'shadowed', 'excluded')),
        reason TEXT NOT NULL,
        shadowed_by TEXT NOT NULL DEFAULT '',
        source TEXT NOT NULL,
        file TEXT NOT NULL,
        sha256 TEXT NOT NULL,
        handle TEXT NOT NULL,
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        capabilities TEXT NOT NULL,
        data TEXT NOT NULL,
        issues TEXT NOT NULL,
        origin TEXT NOT NULL,
        plugin TEXT NOT NULL,
        team TEXT NOT NULL,
        owner TEXT NOT NULL,
        when_to_use TEXT NOT NULL,
        manual INTEGER NOT NULL,
        claims TEXT NOT NULL,
        also TEXT NOT NULL,
        hosts INTEGER NOT NULL,
        review TEXT NOT NULL,
        UNIQUE (path, kind)
    )""",
    "skill_columns": "(ids TEXT NOT NULL, sources TEXT NOT NULL, numbers BLOB NOT NULL)",
    "setting": "(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "listing": "(text TEXT NOT NULL)",
    "trail": """(
        key TEXT NOT NULL,
        found INTEGER NOT NULL,
        absent TEXT NOT NULL,
        links TEXT NOT NULL
    )""",
    "bundle": """(
        path TEXT PRIMARY KEY,
        stamps TEXT NOT NULL,
        steady INTEGER NOT NULL,
        name TEXT NOT NULL,
        contents TEXT NOT NULL,
        problem TEXT NOT NULL
    ) WITHOUT ROWID""",
    "trail_part": "(folder TEXT NOT NULL, paths BLOB NOT NULL, times BLOB NOT NULL)",
}
DOCUMENT_INDEXES = {
    "document_by_handle": "document (handle, kind)",
    "document_by_state": "document (kind, state, name, path, source, manual, reason)",
    "document_by_plugin": "document (plugin, team) WHERE plugin != ''",
    "document_by_team": "document (team, plugin) WHERE team != ''",
    "document_by_claims": "document (key) WHERE claims != ''",
}
_INDEXES = (
    *(f"CREATE INDEX {name} ON {columns}" for name, columns in DOCUMENT_INDEXES.items()),
    "CREATE INDEX skill_capability_by_key ON skill_capability (key)",
    "CREATE INDEX card_by_id ON card (id)",
    "CREATE INDEX card_by_threshold ON card (threshold)",
    "CREATE INDEX posting_by_term ON posting (field, term, found)",
)
_OLD_TABLES = ("skill_stem", "ability_word")
_EMPTY_STEPS = 15

MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "migrations",
        ("CREATE TABLE migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL)",),
    ),
    *(Migration(f"replaced {number}", ()) for number in range(2, 2 + _EMPTY_STEPS)),
    Migration(
        "documents, postings, cards and the listing",
        (
            *(f"DROP TABLE IF EXISTS {name}" for name in (*_OLD_TABLES, *_TABLES)),
            *(f"CREATE TABLE {name} {columns}" for name, columns in reversed(_TABLES.items())),
            *_INDEXES,
        ),
    ),
)
