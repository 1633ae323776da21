"""The page of every code: why it matters, and what to do."""

from metier.findings.page import Page
from metier.findings.pages_others import (
    ABILITIES,
    AGENTS,
    CARDS,
    HANDED_OVER,
    SEVERAL_FILES,
    SOURCES,
)
from metier.findings.pages_runs import RUN_PAGES
from metier.findings.pages_skills import CONTRACTS, FILES, FRONT_MATTER, SKILLS

__all__ = ["ERROR_PAGES", "PAGES", "Page"]

PAGES: dict[str, Page] = {
    **FRONT_MATTER,
    **FILES,
    **SKILLS,
    **CONTRACTS,
    **ABILITIES,
    **CARDS,
    **AGENTS,
    **HANDED_OVER,
    **SEVERAL_FILES,
    **SOURCES,
}

ERROR_PAGES: dict[str, str] = {
    "SYSTEM": "The operating system refused something, for example to write a file. "
    "The line says what it said; check the path below it.",
    "INTERNAL": "metier met a case it was not made for. "
    "Run the command again with -v to see where, and report it with the input that caused it.",
    "USAGE": (
        "An argument is missing or wrong, and nothing was done. "
        "Add --help to the command to see what it takes."
    ),
    "CONFIG_INVALID": (
        "A setting is wrong, and nothing was done. The message names the setting and the file: "
        "metier.toml, pyproject.toml, your own metier.toml, or the environment. Correct it there."
    ),
    "WORKSPACE_UNTRUSTED": (
        "The workspace may not do that until you trust it. Commands, servers, models, keys, "
        "probes, sources and agents of a folder count only once you have seen them: 'metier trust' "
        "shows each and asks, and asks again after a change. In CI set METIER_TRUST to the digest "
        "that 'metier trust --show' prints."
    ),
    "TRUST_RECORD_INVALID": (
        "The file in which metier keeps what you trust cannot be read, so nothing is trusted. "
        "Move it away, and trust each workspace again with 'metier trust'."
    ),
    "TRUST_DIGEST_DIFFERS": (
        "What the workspace asks for is not what the digest stands for, so nothing was recorded. "
        "See with 'metier trust --show' what it asks for now, and accept that if you agree."
    ),
    "NOT_KEPT": (
        "An outcome cannot be kept, so nothing is recorded. There is no workspace ('metier init' "
        "makes one), it is not trusted ('metier trust'), the folder .dci/state is read-only, or "
        "the history in it makes no sense; such a file is never overwritten."
    ),
    "NOT_FOUND": (
        "No document has that id or name, its file is gone, or it was left out. Look at what "
        "there is with 'metier list', and at what was left out with 'metier lint'. "
        "After a change on disk run 'metier refresh'."
    ),
    "ABILITY_NOT_FOUND": (
        "No ability has that id. When a core ability does not exist, nothing is handed over: an "
        "agent must not work without what it cannot do without. Correct the id in the profile, "
        "or see with 'metier lint' why its file was left out."
    ),
    "ABILITY_VALIDATION_ERROR": (
        "An ability breaks the format and is left out. "
        "Run 'metier lint' to see the field, the line and what to change."
    ),
    "ABILITY_LOAD_FAILED": (
        "The file of an ability cannot be read any more, so the ability is left out. "
        "Check that it is there and that you may read it, then run 'metier refresh'."
    ),
    "ABILITY_CONFLICT": (
        "Two abilities exclude each other. The one with the better rank stays, the other is left "
        "out; two core abilities both stay. Keep one of them from this agent with applicableTo or "
        "excludeFrom, or take the id out of 'conflicts'."
    ),
    "ABILITY_DEPENDENCY_MISSING": (
        "An ability requires one that does not exist, is disabled or does not apply to the agent. "
        "It is left out, because it cannot be understood alone; a core ability stays. Add or "
        "enable what is missing, or take it out of 'requires'."
    ),
    "ABILITY_TOKEN_LIMIT_EXCEEDED": (
        "The core abilities alone are larger than the token limit, so nothing is handed over. "
        "Raise the limit (maxTokens under 'abilities' in the profile, or --max-tokens), shorten "
        "them, or make fewer of them core."
    ),
    "CARD_REJECTED": (
        "A card holds what must not be handed over: a phrase that overrides instructions, or "
        "invisible characters. It is left out, the others stay. 'metier lint' shows where."
    ),
    "CARD_SCORER_FAILED": (
        "A scorer that was registered or passed in raised, or gave no number, for a card. That "
        "card is left out, the others stay."
    ),
    "CARD_INJECTION_FAILED": (
        "Something in the card system failed. The agent starts without cards, and the files that "
        "were given come back as they were."
    ),
    "ABILITY_TRUNCATED": (
        "An ability did not fit into what was left of the token limit, so it and all that rank "
        "below it are left out. Raise the limit, shorten it, or read it in pages with "
        "'metier show ability ID --page 1 --max-tokens N'."
    ),
    "SKILL_TRUNCATED": (
        "A skill that provides what a step requires did not fit into what was left of the agent's "
        "token limit, so the step runs without its text. Raise abilities.maxTokens in the profile, "
        "or shorten the skill."
    ),
    "ABILITY_CORE_KEPT": (
        "A core ability is disabled, or not meant for this agent, and is used all the same: what "
        "is core cannot be filtered. Enable it, or take it out of the core abilities."
    ),
    "AGENT_INVALID": (
        "The profile of the agent has errors and was left out, so its core abilities and limits "
        "are not known. Nothing is handed over. Run 'metier lint' and correct what it says."
    ),
    "TOKENIZER_UNAVAILABLE": (
        "The setting 'tokenizer' names one that cannot be used: its name is unknown, tiktoken is "
        "not installed, or its ranks are not on disk. metier never downloads them. Put them into "
        "the folder that TIKTOKEN_CACHE_DIR names, or use the default, chars/4."
    ),
    "DOCUMENT_INVALID": (
        "A strict load met a document with errors and stopped. "
        "Run 'metier lint' to see them all, and correct what is marked as an error."
    ),
    "CONTRACT_INVALID": (
        "A contract cannot be read; the message gives the character at fault. "
        "A contract looks like this: DCI/1 P(what-it-offers) R(what-it-needs)."
    ),
    "METIER_ERROR": (
        "Something went wrong that has no code of its own. "
        "The message says what; if it makes no sense, please report it as a bug."
    ),
    "FIX_FAILED": (
        "A file could not be repaired, because it could not be read or written. "
        "It is as it was; check who owns it, and run 'metier lint --fix' again."
    ),
    "SOURCE_FAILED": (
        "A source of cards that the settings name cannot be read, or gave something else than "
        "what it is pinned to. Nothing was taken from it. The message says what is wrong; correct "
        "the setting, or what it points to, and run 'metier refresh'."
    ),
    "STORE_FAILED": (
        "The database behind the catalogue reported a problem that metier does not know. "
        "Run 'metier doctor'. Your documents are safe: the catalogue is only built from them."
    ),
    "STORE_LOCKED": (
        "Another process is writing to the catalogue and did not finish in time. "
        "Wait for it, or end it, and try again."
    ),
    "STORE_FULL": (
        "The catalogue could not be written, because the disk is full or failing. "
        "Free some space and try again; what was in the catalogue before is still there."
    ),
    "STORE_READ_ONLY": (
        "metier cannot open or write its state. The line below the message names the file, in "
        "your state folder ($XDG_STATE_HOME/metier, else ~/.local/state/metier): check who owns "
        "it and whether the disk is mounted read-only. METIER_STATE_DIR names another folder."
    ),
    "STORE_CORRUPT": (
        "A database of metier's state is damaged or is no database. A catalogue is built again "
        "from your documents by the next command. A record of runs is not: move the file "
        "away that is named, or bring back a copy of it; the runs in it are lost."
    ),
    "STORE_NEWER": (
        "A newer metier has written the catalogue, and this one cannot read it. "
        "Upgrade metier, or remove the file that is named: the next refresh builds it again."
    ),
    **RUN_PAGES,
}
