"""The alias table that ships with metier: few names, because a wrong alias is worse than none."""

from functools import cache

from metier.resolve.aliases import AliasTable, AliasTables

VERSION = "1"
ALIASES: dict[str, tuple[str, ...]] = {
    "audio-transcription": ("speech-to-text", "speech-transcription"),
    "calendar-management": ("calendar-scheduling",),
    "code-generation": ("code-writing",),
    "code-review": ("pull-request-review",),
    "code-search": ("codebase-search", "source-code-search"),
    "data-analysis": ("data-analytics",),
    "data-visualization": ("chart-creation", "data-visualisation"),
    "document-summarization": ("document-summary",),
    "email-sending": ("email-delivery", "send-email"),
    "file-conversion": ("document-conversion",),
    "file-search": ("file-lookup",),
    "image-editing": ("photo-editing",),
    "image-generation": ("image-creation", "text-to-image"),
    "issue-tracking": ("ticket-tracking",),
    "knowledge-search": ("knowledge-base-search",),
    "log-analysis": ("log-inspection",),
    "pdf-creation": ("pdf-generation",),
    "pdf-extraction": ("pdf-parsing", "pdf-text-extraction"),
    "release-notes": ("changelog-writing",),
    "speech-synthesis": ("text-to-speech",),
    "sql-query": ("database-query",),
    "summarization": ("summarisation", "text-summarization"),
    "test-generation": ("test-writing", "unit-test-generation"),
    "translation": ("language-translation", "text-translation"),
    "web-scraping": ("web-crawling",),
    "web-search": ("internet-search", "online-search"),
}


@cache
def builtin_aliases() -> AliasTable:
    return AliasTable.of("built-in", VERSION, ALIASES)


@cache
def only_builtin() -> AliasTables:
    return AliasTables([builtin_aliases()])
