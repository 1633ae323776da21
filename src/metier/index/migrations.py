"""The schema of the catalogue, as named steps. A step that has shipped never changes."""

from metier.storage.database import Migration

MIGRATIONS: tuple[Migration, ...] = (
    Migration(
        "documents",
        (
            """
            CREATE TABLE migration (
                number INTEGER PRIMARY KEY,
                name TEXT NOT NULL
            )
            """,
            """
            CREATE TABLE setting (
                name TEXT PRIMARY KEY,
                value TEXT NOT NULL
            ) WITHOUT ROWID
            """,
            """
            CREATE TABLE document (
                key INTEGER PRIMARY KEY,
                kind TEXT NOT NULL,
                path TEXT NOT NULL,
                rank INTEGER NOT NULL,
                state TEXT NOT NULL CHECK (state IN ('active', 'shadowed', 'excluded')),
                reason TEXT NOT NULL,
                twin TEXT NOT NULL DEFAULT '',
                source TEXT NOT NULL,
                file TEXT NOT NULL,
                sha256 TEXT NOT NULL,
                handle TEXT NOT NULL,
                name TEXT NOT NULL,
                description TEXT NOT NULL,
                capabilities TEXT NOT NULL,
                data TEXT NOT NULL,
                issues TEXT NOT NULL,
                UNIQUE (path, kind)
            )
            """,
            "CREATE INDEX document_by_handle ON document (handle, kind)",
            "CREATE INDEX document_by_state ON document (kind, state)",
            """
            CREATE TABLE skill_capability (
                capability TEXT NOT NULL,
                key INTEGER NOT NULL REFERENCES document (key) ON DELETE CASCADE,
                PRIMARY KEY (capability, key)
            ) WITHOUT ROWID
            """,
            "CREATE INDEX skill_capability_by_key ON skill_capability (key)",
        ),
    ),
    Migration(
        "words of abilities",
        (
            """
            CREATE TABLE ability_word (
                word TEXT PRIMARY KEY,
                keys BLOB NOT NULL
            )
            """,
            "DELETE FROM setting WHERE name = 'counts'",  # not built any more: words are missing
        ),
    ),
    Migration(
        "stems of skills",
        (
            """
            CREATE TABLE skill_stem (
                field TEXT NOT NULL CHECK (field IN ('prose', 'label')),
                stem TEXT NOT NULL,
                postings BLOB NOT NULL,
                PRIMARY KEY (field, stem)
            ) WITHOUT ROWID
            """,
            """
            CREATE TABLE skill_size (
                key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
                prose INTEGER NOT NULL,
                prose_distinct INTEGER NOT NULL,
                label_distinct INTEGER NOT NULL
            )
            """,
            "DELETE FROM setting WHERE name = 'counts'",  # not built any more: stems are missing
        ),
    ),
    Migration(
        "cards, and lengths beside the stems of skills",
        (
            """
            CREATE TABLE card (
                key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
                id TEXT NOT NULL,
                priority REAL NOT NULL,
                threshold REAL NOT NULL,
                facts TEXT NOT NULL,
                text TEXT NOT NULL
            )
            """,
            "CREATE INDEX card_by_id ON card (id)",
            "CREATE INDEX card_by_threshold ON card (threshold)",
            """
            CREATE TABLE card_keyword (
                start TEXT PRIMARY KEY,
                keywords TEXT NOT NULL
            ) WITHOUT ROWID
            """,
            "CREATE TABLE listing (text TEXT NOT NULL)",  # as a setting it slowed down all others
            "DROP TABLE skill_stem",
            """
            CREATE TABLE skill_stem (
                number INTEGER PRIMARY KEY,
                field TEXT NOT NULL CHECK (field IN ('prose', 'label')),
                stem TEXT NOT NULL,
                found INTEGER NOT NULL,
                postings BLOB NOT NULL
            )
            """,
            "CREATE INDEX skill_stem_by_stem ON skill_stem (field, stem, found)",
            "DROP TABLE skill_size",
            """
            CREATE TABLE skill_size (
                key INTEGER PRIMARY KEY REFERENCES document (key) ON DELETE CASCADE,
                prose INTEGER NOT NULL,
                prose_distinct INTEGER NOT NULL,
                label_distinct INTEGER NOT NULL,
                safe INTEGER NOT NULL
            )
            """,
            "DELETE FROM setting",  # not built any more: all is read again
        ),
    ),
    Migration(
        "whose documents they are",
        (
            "ALTER TABLE document ADD COLUMN origin TEXT NOT NULL DEFAULT 'untrusted'",
            "DELETE FROM setting",  # not built any more: all is read again
        ),
    ),
    Migration(
        "when to use a skill, who may start it, and whose plugin it is in",
        (
            "ALTER TABLE document ADD COLUMN plugin TEXT NOT NULL DEFAULT ''",
            "CREATE INDEX document_by_plugin ON document (plugin) WHERE plugin != ''",
            "ALTER TABLE document ADD COLUMN when_to_use TEXT NOT NULL DEFAULT ''",
            "ALTER TABLE document ADD COLUMN manual INTEGER NOT NULL DEFAULT 0",
            "DELETE FROM setting",  # not built any more: all is read again
        ),
    ),
    Migration(
        "what a walk went by",
        (
            """
            CREATE TABLE trail (
                key TEXT NOT NULL,
                found INTEGER NOT NULL,
                paths TEXT NOT NULL,
                stamps BLOB NOT NULL,
                absent TEXT NOT NULL,
                links TEXT NOT NULL
            )
            """,
        ),
    ),
    Migration(
        "what a resolution asks of every skill, side by side",
        (
            "DROP INDEX document_by_state",
            """
            CREATE INDEX document_by_state
            ON document (kind, state, name, path, source, manual)
            """,
            """
            CREATE INDEX document_that_tells ON document (key)
            WHERE instr(data, '"capabilities"') OR instr(data, '"contract"')
                OR instr(data, '"compatibility"')
            """,
        ),
    ),
    Migration(
        "contracts, parsed once",
        (
            "ALTER TABLE document ADD COLUMN claims TEXT NOT NULL DEFAULT ''",
            "DROP INDEX document_that_tells",
            "CREATE INDEX document_by_claims ON document (key) WHERE claims != ''",
            "DELETE FROM setting",  # not built any more: all is read again
        ),
    ),
)
