"""Every requirement of the five specs, as data.

A test wears the id of what it proves: ``@pytest.mark.invariant(id="INV-IDX-3")``. Each requirement
needs at least one such test. The order is that of the specs. A sentence
says what holds once the decisions on the specs are applied.
"""

from typing import NamedTuple


class Invariant(NamedTuple):
    """One requirement: what must hold, where the spec asks for it, who answers for it."""

    id: str
    """Stable id, unique in the manifest; what tests and reports refer to."""
    sentence: str
    """What must hold, in one sentence of at most 140 characters."""
    spec: int
    """Number of the spec, 1 to 5."""
    home: str
    """Dotted name of the module or package that owns the rule."""
    stage: str
    """discover, parse, lint, index, select, resolve, inject, run, report, hooks or mcp."""


INVARIANTS: tuple[Invariant, ...] = (
    # Spec 1: abilities
    Invariant(
        "INV-ABL-001",
        "Registering a known ability id replaces the old entry in its place, so a registry never "
        "holds two abilities of one id.",
        1,
        "metier.index.abilities",
        "index",
    ),
    Invariant(
        "INV-ABL-002",
        "Listed abilities come by falling priority (50 when unset), and equal priorities keep the "
        "order of registration.",
        1,
        "metier.index.abilities",
        "index",
    ),
    Invariant(
        "INV-ABL-003",
        "The rendered ability text stays within the token limit, and truncated is true exactly "
        "when one was skipped for size.",
        1,
        "metier.inject.abilities",
        "inject",
    ),
    Invariant(
        "INV-ABL-004",
        "An agent in excludeFrom is refused first; then an empty, absent or `*` applicableTo "
        "admits all, any other only those it names.",
        1,
        "metier.values.documents",
        "index",
    ),
    Invariant(
        "INV-ABL-005",
        "A disabled ability is not listed as enabled nor chosen for a task (core ones excepted), "
        "yet get still returns it by id.",
        1,
        "metier.index.abilities",
        "index",
    ),
    Invariant(
        "INV-ABL-SCR-001",
        "A core ability scores 100 more and stands before all others, in the profile's order, "
        "whatever their scores.",
        1,
        "metier.select.abilities",
        "select",
    ),
    Invariant(
        "INV-ABL-SCR-002",
        "Equal inputs score equally: 10 a tag, 15 the category, 2 a content word up to 20, a "
        "tenth of the priority, 100 for core.",
        1,
        "metier.select.abilities",
        "select",
    ),
    Invariant(
        "INV-ABL-LDR-001",
        "An ability is loaded only if it passes validation; an invalid file is excluded with its "
        "issues and the others still load.",
        1,
        "metier.load",
        "lint",
    ),
    Invariant(
        "INV-ABL-LDR-002",
        "Without abilityId the file name gives it: .md dropped, lower case, each run of other "
        "characters one dash, edges trimmed.",
        1,
        "metier.core.names",
        "parse",
    ),
    Invariant(
        "INV-ABL-LDR-003",
        "Front matter between --- fences yields typed strings, true/false, plain decimal numbers "
        "and lists, and the body apart.",
        1,
        "metier.parse.frontmatter",
        "parse",
    ),
    # Spec 2: agents
    Invariant(
        "INV-AGT-001",
        "A profile that breaks the schema is never registered, not even in part, and the refusal "
        "names what is wrong.",
        2,
        "metier.index.agents",
        "index",
    ),
    Invariant(
        "INV-AGT-002",
        "Registering an agent id twice raises, changes go through update, and ids are lower-case "
        "letters, digits and hyphens.",
        2,
        "metier.index.agents",
        "index",
    ),
    Invariant(
        "INV-AGT-003",
        "Steps run one by one in the order of the profile unless the profile or the call asks for "
        "parallel execution.",
        2,
        "metier.run.runner",
        "run",
    ),
    Invariant(
        "INV-CP-001",
        "A checkpoint is validated before it is saved and holds all five parts, so a run can be "
        "resumed from it alone.",
        2,
        "metier.run.checkpoints",
        "run",
    ),
    Invariant(
        "INV-CP-002",
        "A resumed run goes on after the checkpoint's stepIndex, with stored outputs restored and "
        "no finished step run again.",
        2,
        "metier.run.checkpoints",
        "run",
    ),
    Invariant(
        "INV-DT-001",
        "Delegating deeper than maxDepth (default 5, root at 0) returns the error value "
        "DELEGATION_MAX_DEPTH_EXCEEDED.",
        2,
        "metier.run.delegation",
        "run",
    ),
    Invariant(
        "INV-DT-002",
        "Delegating to oneself or to any ancestor returns the error value DELEGATION_CIRCULAR and "
        "raises nothing.",
        2,
        "metier.run.delegation",
        "run",
    ),
    Invariant(
        "INV-TOOL-001",
        "Arguments are checked against the tool's schema first; bad ones give "
        "TOOL_VALIDATION_ERROR and the tool is not called.",
        2,
        "metier.run.tools",
        "run",
    ),
    Invariant(
        "INV-TOOL-002",
        "A tool result, and everything inside it, cannot be changed after it was made.",
        2,
        "metier.values.agents",
        "run",
    ),
    Invariant(
        "INV-TOOL-003",
        "Executing an unknown tool returns a failed result with TOOL_NOT_FOUND and the tool's "
        "name, never an exception.",
        2,
        "metier.run.tools",
        "run",
    ),
    Invariant(
        "INV-PE-001",
        "In parallel mode independent steps run at the same time, at most maxConcurrency (default "
        "5) of them.",
        2,
        "metier.run.runner",
        "run",
    ),
    Invariant(
        "INV-PE-002",
        "A step starts only when everything it depends on is done, and a circle of dependencies "
        "is rejected and printed.",
        2,
        "metier.run.plan",
        "run",
    ),
    Invariant(
        "INV-PE-003",
        "After a failure failFast stops the rest, continueOnError finishes it and adds up errors, "
        "rollback compensates what was done.",
        2,
        "metier.run.runner",
        "run",
    ),
    Invariant(
        "INV-AGT-ABL-001",
        "Ability text is put before the system prompt while the prompt is prepared; nothing is "
        "added once it has been sent.",
        2,
        "metier.flow.running",
        "run",
    ),
    Invariant(
        "INV-AGT-ABL-002",
        "A profile's core abilities are always injected, before the matched ones; if they "
        "cannot be, the step fails unsent.",
        2,
        "metier.inject.abilities",
        "inject",
    ),
    Invariant(
        "INV-AGT-ABL-003",
        "Abilities in a run stay within its token limit (default 10,000), best ones first, and "
        "leaving one out is reported.",
        2,
        "metier.inject.abilities",
        "inject",
    ),
    Invariant(
        "INV-AGT-SEL-001",
        "Equal task, profiles and options give equal agent matches, with equal confidences "
        "settled by agentId.",
        2,
        "metier.select.agents",
        "select",
    ),
    Invariant(
        "INV-AGT-SEL-002",
        "Every confidence is clamped to 0..1 inclusive, and the raw sum stands beside it.",
        2,
        "metier.select.agents",
        "select",
    ),
    Invariant(
        "INV-AGT-SEL-003",
        "Agent matches are returned by falling confidence.",
        2,
        "metier.select.agents",
        "select",
    ),
    Invariant(
        "INV-AGT-SEL-004",
        "If no agent is kept, standard is returned with 0.5; it always exists and cannot be "
        "removed, disabled or excluded.",
        2,
        "metier.select.agents",
        "select",
    ),
    Invariant(
        "INV-AGT-SEL-005",
        "The best example task counts: +0.6 when equal to the task, else +0.4 when one contains "
        "the other as whole words.",
        2,
        "metier.select.agents",
        "select",
    ),
    Invariant(
        "INV-AGT-SEL-006",
        "A matched not-for task takes 0.5 off, once and never below 0; an agent with strong other "
        "signals stays selectable.",
        2,
        "metier.select.agents",
        "select",
    ),
    # Spec 3: capability index
    Invariant(
        "INV-IDX-1",
        "A skill with several capabilities is found under each one of them and under no combined "
        "key.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    Invariant(
        "INV-IDX-2",
        "A skill's name stands at most once under a capability, however often the skill repeats "
        "that capability.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    Invariant(
        "INV-IDX-3",
        "The providers of a capability are returned as a list in ascending code-point order of "
        "their names.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    Invariant(
        "INV-IDX-4",
        "An unknown capability gives a new empty list; changing a returned list leaves the index "
        "as it was.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    Invariant(
        "INV-IDX-5",
        "Building and asking the index touch no file or database, log nothing, change no argument "
        "and raise on no valid input.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    Invariant(
        "INV-IDX-6",
        "The index is empty before the first load of a process; each later load replaces it and "
        "mutates none handed out before.",
        3,
        "metier.index.skills",
        "index",
    ),
    Invariant(
        "INV-IDX-7",
        "Index and SQL filter name the same skills for every capability, known or not, by exact "
        "case-sensitive equality.",
        3,
        "metier.index.skills",
        "index",
    ),
    Invariant(
        "INV-IDX-8",
        "A load builds the index exactly once, after its transaction has committed; no request, "
        "getter or watcher builds it.",
        3,
        "metier.index.skills",
        "index",
    ),
    Invariant(
        "INV-IDX-9",
        "The index module starts no process, calls no git, exports no agent name and imports "
        "nothing of agents or runs.",
        3,
        "metier.index.capabilities",
        "index",
    ),
    # Spec 4: dependent capabilities
    Invariant(
        "DCI-DSC-001",
        "Sources are walked in a fixed order: skills of the workspace, then those installed for a "
        "host, then mounted roots.",
        4,
        "metier.discover",
        "discover",
    ),
    Invariant(
        "DCI-DSC-002",
        "Only a skill file that can be read and whose front matter yields a valid skill becomes a "
        "candidate.",
        4,
        "metier.load",
        "discover",
    ),
    Invariant(
        "DCI-DSC-003",
        "A skill that the configuration disables, by name or by id, is never a candidate and is "
        "recorded as disabled.",
        4,
        "metier.load",
        "discover",
    ),
    Invariant(
        "DCI-DSC-004",
        "A file that cannot be read or parsed is excluded with its reason on record, and the "
        "other files still load.",
        4,
        "metier.load",
        "discover",
    ),
    Invariant(
        "DCI-DSC-005",
        "Candidates are unique by canonical id name::path; of two with one id the first in source "
        "order is kept.",
        4,
        "metier.discover",
        "discover",
    ),
    Invariant(
        "DCI-DSC-006",
        "The workspace root is the first folder upwards that holds .git, else the explicit root, "
        "else the current folder.",
        4,
        "metier.config",
        "discover",
    ),
    Invariant(
        "DCI-TOK-001",
        "A capability name is 1 to 64 of a-z, 0-9 and hyphen, with no hyphen at either edge and "
        "no two in a row.",
        4,
        "metier.core.names",
        "parse",
    ),
    Invariant(
        "DCI-TOK-002",
        "Every value of P, E, R and O is held to the capability-name rule; one that breaks it is "
        "marked as an invalid token.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-TOK-003",
        "A capability value has its escapes decoded and its surrounding white space trimmed "
        "before it is judged.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-TOK-004",
        "Beyond decoding and trimming no character is dropped, rewritten or folded, so an illegal "
        "value is never repaired.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-TOK-005",
        "In strict an invalid token of a candidate matches nothing, counts as unresolved and "
        "costs no penalty.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TOK-006",
        "In best-effort a candidate with invalid tokens stays a candidate and carries the "
        "invalid-token penalty.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TOK-007",
        "The invalid-token penalty is 0.02 for each bad value of the candidate's P, E, R and O, "
        "repeats counted, at most 0.20.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TOK-008",
        "A required token that is no legal capability name is unresolved in both modes and "
        "reported as it was written.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-001",
        "An alias table maps each canonical name to a list of aliases, and two tokens of one "
        "canonical name match either way.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-002",
        "Every canonical name and every alias in a table is a legal capability name.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-003",
        "For each token the first table that knows it decides: runtime, then workspace "
        ".dci/aliases.v1.json, then built-in.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-004",
        "Within one table a token that is itself a canonical key stays canonical, even where "
        "another key lists it as alias.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-005",
        "An alias table states its alias_table_version, and one without it is refused.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-006",
        "The versions of the alias tables in force are part of every cache key that depends on "
        "matching.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-007",
        "A circle of aliases is flattened when the table is loaded, to the smallest key of the "
        "circle.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-ALS-008",
        "An alias file is checked against aliases.v1.schema.json before any of its entries counts.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-001",
        "The top-level compatibility field is read as runtime tokens separated by commas, or as a "
        "list of them.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-002",
        "Runtime tokens are trimmed and lower-cased before they are compared.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-003",
        "A skill whose compatibility is absent, empty or prose fits every runtime.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-004",
        "The runtime token all makes a skill fit every runtime, whatever stands beside it.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-005",
        "Unknown runtime tokens do not count and are named in the report; with no known token "
        "left the skill fits every runtime.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-006",
        "S_runtime is 1.0 if the skill fits every runtime, lists the host or no host is given, "
        "and 0.0 otherwise.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-RUN-007",
        "In strict a candidate that does not fit the host is removed before the final selection, "
        "as runtime-incompatible.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-001",
        "Signals are weighed, not required in turn: a candidate without an exact match is still "
        "scored on all components.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-002",
        "S_contract, S_desc, S_namepath and S_runtime each lie between 0.0 and 1.0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-003",
        "A skill that names no capability, in a list or with P, gets provisional ones from the "
        "stems of its name and description.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-004",
        "A provisional match needs all stems of the requirement in the prose and never counts as "
        "exact, alias or fuzzy.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-005",
        "A provisional match scores 0.25 and therefore less than any explicit match.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-006",
        "An exact match of a required capability scores 1.0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-007",
        "A match through the alias tables scores 0.8.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-008",
        "A fuzzy match of an explicit capability scores 0.33.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-009",
        "A required capability that nothing of the candidate matches scores 0.0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-010",
        "S_contract is the mean, over all required capabilities, of the best match that the "
        "candidate has for each.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-011",
        "Two names match fuzzily from a Jaro-Winkler similarity of 0.90 on, decided exactly at "
        "the border.",
        4,
        "metier.resolve.matching",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-012",
        "Jaro-Winkler uses prefix scale 0.10, a prefix of at most 4 and the ordinary count of "
        "transpositions.",
        4,
        "metier.resolve.matching",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-013",
        "A fuzzy match weighs 0.198 in the total, just under the 0.20 of a full description match.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-014",
        "S_desc compares the query (else the capabilities joined by spaces) with the candidate's "
        "name and description.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-015",
        "Text is case-folded and split at all that is no letter, mark or digit, so also at "
        "hyphen, underscore and slash.",
        4,
        "metier.core.text",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-016",
        "Exactly the words of the shipped english-stopwords.v1.txt are removed.",
        4,
        "metier.core.text",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-017",
        "The words that remain are stemmed with the original Porter algorithm; words of one or "
        "two letters stay as they are.",
        4,
        "metier.core.text",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-018",
        "Relevance is BM25 with k1 1.2 and b 0.75 over unique query terms, its statistics taken "
        "over all included candidates.",
        4,
        "metier.resolve.scoring",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-019",
        "S_desc is a candidate's BM25 divided by the highest BM25 among the candidates.",
        4,
        "metier.resolve.scoring",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-020",
        "When the highest BM25 is 0, S_desc is 0.0 for every candidate.",
        4,
        "metier.resolve.scoring",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-021",
        "S_namepath takes the tokens of the skill's name and path with the same tokenizer as "
        "S_desc.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-022",
        "S_namepath is the Jaccard overlap of the query's tokens and the tokens of name and path.",
        4,
        "metier.core.text",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-023",
        "When neither side has a token, S_namepath is 0.0.",
        4,
        "metier.core.text",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-024",
        "S_total is 0.60 of S_contract plus 0.20 of S_desc plus 0.10 of S_namepath plus 0.10 of "
        "S_runtime.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-025",
        "The penalties for invalid tokens, over-claiming, inflation and unknown clauses add up to "
        "one sum.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-026",
        "The sum of the penalties is taken off S_total, and the result never falls below 0.0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SCO-027",
        "S_total_final is the penalised total times the history multiplier, which is applied last.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-001",
        "MinTotalScore is 0.45 unless overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-002",
        "MinContractScore is 0.30 unless overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-003",
        "MinRequiredCoverage is 1.00 in strict and 0.60 in best-effort unless overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-004",
        "MaxCandidates is 5 unless overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-005",
        "SelectionMode is single unless overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-006",
        "MaxProviders is 3 unless overridden, and counts only in cover.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-007",
        "OnMissingRequired is hard-fail in strict and offer-emulation in best-effort unless "
        "overridden.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-008",
        "Pol accepts seven keys; any other key and any value out of range is ignored with a "
        "warning, in both modes.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-009",
        "The key selection-mode takes single or cover and nothing else.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-010",
        "The key max-providers takes an integer of at least 1.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-011",
        "The key on-missing-required takes hard-fail, offer-emulation or auto-emulate and nothing "
        "else.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-012",
        "Each policy key is taken from the runtime if given there, else from the consumer's Pol, "
        "else from the defaults.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-013",
        "A provider's hint never makes the effective policy looser than it was without the hint.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-014",
        "A provider's hint may raise the minimum thresholds, and only for that provider's own "
        "gates.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-015",
        "A provider's max-candidates hint may only lower the number: that provider must then rank "
        "within it.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-016",
        "A provider's on-missing-required hint moves only to stricter values; the strictest among "
        "the selected applies.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-POL-017",
        "By strictness hard-fail comes before offer-emulation, and offer-emulation before "
        "auto-emulate.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GATE-001",
        "A candidate with S_total_final below MinTotalScore is rejected; one that equals it "
        "passes.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GATE-002",
        "A candidate with S_contract below MinContractScore is rejected; in cover the mean is "
        "over what it resolves.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GATE-003",
        "A candidate below MinRequiredCoverage is rejected; in cover the union of the selected "
        "set is held to it.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GATE-004",
        "Coverage counts exact and alias matches in strict, and fuzzy and provisional ones too in "
        "best-effort.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GATE-005",
        "At most MaxCandidates stay, cut after the full sort; in cover the best one of each "
        "required capability keeps its place.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-001",
        "In single the first candidate of the ranking is selected and no other.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-002",
        "In cover a set of providers is selected that together resolve the required capabilities.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-003",
        "Cover is greedy: the one that resolves most of what is still open comes next, "
        "S_total_final deciding between equals.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-004",
        "Cover ends as soon as every required capability is resolved or MaxProviders are selected.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-005",
        "Required capabilities that cover leaves open go to the on-missing-required policy.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-001",
        "hard-fail ends the run with an error status and selects nothing.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-002",
        "After hard-fail the report names the unresolved capabilities and keeps the diagnostics "
        "of the top candidates.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-003",
        "offer-emulation waits for a decision with exactly three options: emulate, "
        "continue-with-partial, abort.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-004",
        "The decision that was made after offer-emulation is recorded in the report.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-005",
        "auto-emulate goes on with emulation and asks nobody.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MISS-006",
        "auto-emulate sets degraded_mode to true and lists the emulated capabilities in the "
        "report.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-001",
        "Of two equal final scores the one with the higher S_contract ranks first.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-002",
        "If still equal, the higher coverage of required capabilities ranks first.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-003",
        "If still equal, the one with fewer unresolved required capabilities ranks first.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-004",
        "If still equal, the higher specificity ranks first: resolved requirements over provided "
        "capabilities, divisor at least 1.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-005",
        "If still equal, the higher S_skill ranks first, that is 0.7 of S_desc plus 0.3 of "
        "S_namepath.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-006",
        "If still equal, the lower hash of the canonical id ranks first, so the ranking is a "
        "total order.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-007",
        "The text that is hashed is the canonical id name::path, lower-cased and in UTF-8.",
        4,
        "metier.core.names",
        "resolve",
    ),
    Invariant(
        "DCI-TIE-008",
        "The hash is SHA-256, compared as hexadecimal text.",
        4,
        "metier.core.names",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-006",
        "Requirements are the explicit ones and the consumer's R together, and the consumer is "
        "never its own candidate.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-007",
        "The order is fixed: parse contracts, score, settle policy, apply hints, gate, rank, "
        "select, handle what is missing.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-008",
        "An empty selection, or one that leaves a required capability open, always goes to the "
        "on-missing-required policy.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-SEL-009",
        "The ranking depends on the candidates alone: shuffling the input changes neither order "
        "nor selection.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-001",
        "p_count counts a candidate's P values as written, bad and repeated ones too; p_median is "
        "over all included candidates.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-002",
        "Over-claiming begins where p_count exceeds both 20 and three times p_median; up to there "
        "it costs nothing.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-003",
        "The over-claim penalty is 0.05 for each begun group of five values above that limit, at "
        "most 0.25.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-004",
        "For the divergence check S_skill is 0.7 description plus 0.3 name and path, both "
        "measured on the claimed tokens.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-005",
        "delta is S_contract over the explicitly matched requirements minus that S_skill.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-006",
        "With fewer than five candidates that match explicitly, a delta above 0.35 flags one as "
        "contract-inflated.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-007",
        "With five or more and no spread, a delta more than 0.15 above the mean flags one as "
        "contract-inflated.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-008",
        "A candidate that is the only one with an explicit match is never flagged as "
        "contract-inflated.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-009",
        "With five or more and a spread, a delta above the mean plus two standard deviations "
        "flags one as contract-inflated.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-010",
        "In strict a contract-inflated candidate is excluded unless its probe passes.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-MAN-011",
        "In best-effort a contract-inflated candidate carries a penalty of 0.15 unless its probe "
        "passes.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-PRB-001",
        "In strict the top candidate is probed whenever a required capability has a probe; a "
        "failing one drops out for the next.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-PRB-002",
        "In best-effort a probe is offered for a flagged top candidate, and only named in a hint "
        "when nobody can be asked.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-PRB-003",
        "A probe exists only where the user's configuration defines one, runs without a shell, "
        "and passes on exit code 0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-001",
        "success_rate_last_20 is the share of successes among a candidate's last 20 outcomes, "
        "within 0.0 to 1.0.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-002",
        "The history multiplier is 0.70 plus 0.30 of the success rate, kept within 0.70 to 1.00, "
        "and 1.0 without samples.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-CACHE-001",
        "A cached and a fresh run give the same report apart from run_id and generated_at; totals "
        "are never cached.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-CACHE-002",
        "A cache key names the query capabilities, candidate id, parser version, alias versions "
        "and metadata hash.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-CACHE-003",
        "A cache entry is no longer used once the parser version, an alias version or the "
        "candidate's metadata hash changes.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-003",
        "Success rates are kept in a local file from one run to the next.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-004",
        "That file is .dci/state/reliability.v1.json under the workspace root, found by the order "
        "of DCI-DSC-006, by default.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-005",
        "The path of the history is relative to the workspace root and never to the folder of a "
        "skill.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-006",
        "When the history is only in memory, the report says history_state=ephemeral.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REL-007",
        "The history follows reliability.v1.schema.json; a corrupt file is never overwritten and "
        "the run goes on as ephemeral.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-REP-001",
        "Each run of the resolver yields a capability_resolution_report, failed and aborted runs "
        "included.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-002",
        "A candidate's row shows S_contract, S_desc, S_namepath and S_runtime.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-003",
        "A candidate's row shows S_total, every penalty by name, history_multiplier and "
        "S_total_final.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-004",
        "A candidate's row shows its tie-break values and which step decided against the next "
        "row, if one was needed.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-005",
        "The report names the sources scanned and the counts, and what was discovered equals "
        "included plus excluded.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-006",
        "The report shows the selection-mode and the limit of providers that were in effect.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-007",
        "The report lists every required capability that stayed unresolved.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-008",
        "The report says which on-missing-required action was taken.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-009",
        "degraded_mode is true whenever the run goes on without a required capability, with the "
        "emulated ones listed.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-010",
        "user_decision is in the report when offer-emulation led to a decision, and absent "
        "otherwise.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-REP-011",
        "Every report is valid against capability-resolution-report.v1.schema.json.",
        4,
        "metier.resolve.report",
        "report",
    ),
    Invariant(
        "DCI-GRM-001",
        "metadata.contract is optional: a skill without it stays a candidate through its "
        "capabilities list or its prose.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-002",
        "A contract begins with DCI/ and a version in digits; any version but 1 and a lower-case "
        "prefix are unusable.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-003",
        "A mode after ^ is strict or best-effort; any other makes the contract unusable.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-004",
        "One clause or more follow the head after spaces; none, or text that is no clause, makes "
        "the contract unusable.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-005",
        "Clauses are P, E, A, R, O and Pol; an unknown one fails in strict and costs 0.05, at "
        "most 0.20, in best-effort.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-006",
        "P, E, R and O hold one or more capability names separated by commas; an empty list is "
        "unusable.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-007",
        "A and Pol hold one or more key=value pairs separated by commas; a missing = or an empty "
        "value is unusable.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-008",
        "A key consists of letters, digits, hyphens and underscores; another key fails in strict "
        "and is kept in best-effort.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-009",
        "A value has one or more safe or escaped characters; a bare other one fails in strict and "
        "warns in best-effort.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-010",
        "A backslash escapes comma, parentheses, equals, backslash and space; any other escape "
        "fails in strict, else warns.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-011",
        "Without a stated mode a contract is best-effort; for a run the runtime's mode wins over "
        "the consumer's.",
        4,
        "metier.resolve",
        "resolve",
    ),
    Invariant(
        "DCI-GRM-012",
        "An escaped comma, parenthesis, equals or backslash stands for itself and ends no value, "
        "pair or clause.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-013",
        "A space inside a value is written escaped, and the serializer always escapes it.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-014",
        "Pairs of A and Pol are split at the first = that is not escaped.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-015",
        "Canonical output uses the short clause names, in the order P E A R O Pol, with ^strict "
        "only when strict.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-016",
        "The long clause names are accepted as well, Required and Requires both.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-017",
        "Long clause names become short ones before validation and matching, so both spellings "
        "give equal contracts.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-018",
        "Serializing a contract and parsing the result gives an equal contract.",
        4,
        "metier.parse.contract",
        "parse",
    ),
    Invariant(
        "DCI-GRM-019",
        "An unusable contract counts as no contract in best-effort and as S_contract 0 in strict, "
        "each with an issue.",
        4,
        "metier.resolve",
        "resolve",
    ),
    # Spec 5: capability awareness
    Invariant(
        "CARD-TIER-001",
        "AGENTS.md is the part that is always loaded; over 500 characters it gets a lint note.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-TIER-002",
        "The text of a card has 200 to 800 characters; outside of that it gets a lint warning.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-TIER-003",
        "SYSTEM_ARCHITECTURE.md and other deep references are never injected by themselves.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-TIER-004",
        "A card reaches the context only when it was selected for the conversation or forced by "
        "the configuration.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-REG-001",
        "A card's id is kebab-case of at most 64 characters and unique in the registry.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-REG-002",
        "A card without id, name or description is invalid and is excluded with an issue.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-REG-003",
        "A card keeps the path of its file, relative to the workspace root.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-REG-004",
        "A card names one trigger keyword or more, none of them empty.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-REG-005",
        "A card's sessionTypes are among main and isolated, and an empty list means every type.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-REG-006",
        "A card's confidenceThreshold lies in 0 to 1 and is 0.6 when unset.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-REG-007",
        "A card's priority is 10 when unset, and the higher one goes first.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-REG-008",
        "estimatedTokens is the author's claim; sizes are measured, and lint warns when it is off "
        "by more than 25 percent.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-REG-009",
        "The registry is built from the front matter of the card files and from nothing else.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-SEL-001",
        "Only the last N messages that are not blank are looked at, 5 by default.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-002",
        "A session is main or isolated, and a card whose sessionTypes leave out the session's "
        "type is not selected.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-003",
        "Each selected card comes with its metadata, its relevance score and its content.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-004",
        "Unless forced, a card is selected only from its threshold on, compared after rounding to "
        "12 decimals.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-005",
        "After the forced ones, selected cards stand by falling priority, then falling score, "
        "then id.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-006",
        "The rendered text of the selected cards never exceeds the token budget.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SEL-007",
        "The order is fixed: exclude, session type, score, threshold, sort, budget.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-001",
        "Without any message a card scores its priority divided by 100.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-002",
        "Messages are joined by a space, and text and keywords are case-folded before comparing.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-003",
        "By default a keyword is matched when it occurs in the text as a substring.",
        5,
        "metier.core.keywords",
        "select",
    ),
    Invariant(
        "CARD-SCO-004",
        "A card none of whose keywords is matched scores 0.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-005",
        "The keyword ratio is the number of matched keywords divided by the number of the card's "
        "keywords.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-006",
        "The match count is the sum of the non-overlapping occurrences of all the card's keywords.",
        5,
        "metier.core.keywords",
        "select",
    ),
    Invariant(
        "CARD-SCO-007",
        "Density is the match count divided by 100, at most 1.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-008",
        "The score is 0.7 of the keyword ratio plus 0.3 of the density, and so lies in 0 to 1.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-SCO-009",
        "Scoring is by keywords alone: it calls no model, and equal inputs give equal scores.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-INJ-001",
        "The selected cards are put into one generated file, CAPABILITIES.md.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-INJ-002",
        "CAPABILITIES.md stands directly after AGENTS.md in the bootstrap files.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-INJ-003",
        "The given bootstrap files come back unchanged and in their order, and the caller's list "
        "is not touched.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-INJ-004",
        "The result names the injected cards, the tokens used, and whether one was left out for "
        "size.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-INJ-005",
        "The hook passes on the recent messages, the session type and the configured budget.",
        5,
        "metier.hook",
        "hooks",
    ),
    Invariant(
        "CARD-INJ-006",
        "Injection happens after the bootstrap files are loaded and before the context is built "
        "from them.",
        5,
        "metier.hook",
        "hooks",
    ),
    Invariant(
        "CARD-SEC-001",
        "Cards are read only from inside the workspace root.",
        5,
        "metier.discover",
        "discover",
    ),
    Invariant(
        "CARD-SEC-002",
        "A card path is resolved first and refused when it leaves the root by .., symlink or a "
        "sibling of similar name.",
        5,
        "metier.discover",
        "discover",
    ),
    Invariant(
        "CARD-SEC-003",
        "Front matter is stripped before a card is injected.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-004",
        "User:, Assistant: and System: at the start of a line are defused into [User]: and so on, "
        "in any case.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-005",
        "Opening and closing user, assistant and system tags are removed, to a fixed point, while "
        "code stays whole.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-006",
        "A card with `ignore previous instructions` is rejected, in any case and disguise.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-007",
        "A card with `disregard` and `above` after it on a line is rejected, by a check of linear "
        "time.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-008",
        "A card with `new instructions:` is rejected, in any case and disguise.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-009",
        "A card with a token_budget above 2000 is rejected.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-SEC-010",
        "A card whose triggers.keywords is no list is rejected.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-SEC-011",
        "A card with a priority outside 0 to 100 is rejected.",
        5,
        "metier.lint",
        "lint",
    ),
    Invariant(
        "CARD-SEC-012",
        "Card text is fenced and labelled as reference data, with a keyed nonce that its content "
        "cannot guess.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-SEC-013",
        "Cards come from the repository: a folder of the user outside it is no source of cards.",
        5,
        "metier.discover",
        "discover",
    ),
    Invariant(
        "CARD-LOG-001",
        "Every injection is logged with the number of cards and the tokens they took.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-LOG-002",
        "The log gives the id, the relevance and the tokens of each injected card.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-CFG-001",
        "capabilities.enabled is true by default, and false switches injection off altogether.",
        5,
        "metier.config",
        "inject",
    ),
    Invariant(
        "CARD-CFG-002",
        "capabilities.maxTokens is the budget of an injection, 1500 by default.",
        5,
        "metier.config",
        "inject",
    ),
    Invariant(
        "CARD-CFG-003",
        "capabilities.confidenceThreshold replaces every card's own; when unset each card's own "
        "applies.",
        5,
        "metier.config",
        "select",
    ),
    Invariant(
        "CARD-CFG-004",
        "Cards in forceInclude skip threshold and session type and go first, in its order, "
        "sanitized and within the budget.",
        5,
        "metier.config",
        "select",
    ),
    Invariant(
        "CARD-CFG-005",
        "Cards in exclude are never injected, not even when forceInclude names them.",
        5,
        "metier.config",
        "select",
    ),
    Invariant(
        "CARD-CFG-006",
        "capabilities.logLevel is none, summary or detailed, and summary by default.",
        5,
        "metier.config",
        "inject",
    ),
    Invariant(
        "CARD-EXT-001",
        "A custom scorer, when given, decides the relevance in place of the formula.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-EXT-002",
        "A card with timeOfDay is selected only at one of the times that it lists.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-EXT-003",
        "A card with userTier is selected only for a user of one of the tiers that it lists.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-EXT-004",
        "A card with environmentType is selected only in one of the environments that it lists.",
        5,
        "metier.select.cards",
        "select",
    ),
    Invariant(
        "CARD-EXT-005",
        "Cards may come from local, remote or database sources behind one interface of type, "
        "location and load.",
        5,
        "metier.discover.sources",
        "discover",
    ),
    Invariant(
        "CARD-EXT-006",
        "Remote and database sources are off unless configured, and remote cards are pinned by "
        "sha256.",
        5,
        "metier.discover.sources",
        "discover",
    ),
    Invariant(
        "CARD-EXT-007",
        "Named profiles of card settings can be configured and chosen for each agent.",
        5,
        "metier.config",
        "select",
    ),
    Invariant(
        "CARD-EXT-008",
        "A card's version is kept and shown.",
        5,
        "metier.index.cards",
        "index",
    ),
    Invariant(
        "CARD-FAIL-001",
        "When no card is relevant nothing is injected and the bootstrap files stay exactly as "
        "they were.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-FAIL-002",
        "Beyond the budget cards are taken in priority order; one that does not fit is skipped "
        "and the next are tried.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-FAIL-003",
        "Every card left out for the budget is listed with the reason.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-FAIL-004",
        "A card file that is missing or unreadable is skipped with a warning, and the others go "
        "on.",
        5,
        "metier.load",
        "discover",
    ),
    Invariant(
        "CARD-FAIL-005",
        "A card with malformed front matter is rejected at load with an error issue, and the "
        "others go on.",
        5,
        "metier.load",
        "parse",
    ),
    Invariant(
        "CARD-FAIL-006",
        "The injector never raises: whatever fails in the card system, the agent starts without "
        "the card concerned.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-ROLL-001",
        "In monitor mode cards are selected and logged, and nothing is injected.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-ROLL-002",
        "In soft mode cards are injected only in the session types of softSessionTypes.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-ROLL-003",
        "In mode on, the default, cards are injected in every session that their own sessionTypes "
        "admit.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-ROLL-004",
        "The log suffices to count injections, tokens, errors and time spent.",
        5,
        "metier.inject",
        "inject",
    ),
    Invariant(
        "CARD-ROLL-005",
        "Selecting and injecting cards takes less than 50 ms.",
        5,
        "metier.hook",
        "hooks",
    ),
)
