"""Pages of the findings in the file itself, its front matter, skills and contracts."""

from metier.findings.page import Page, fenced

_NAME = "name: example"
_ABOUT = "description: Draws a chart from a table. Use when numbers should be seen."


def _skill(*front: str, body: str = "Read the table, then draw one chart.") -> str:
    return fenced(*front, body=body)


_GOOD = _skill(_NAME, _ABOUT)

FRONT_MATTER = {
    "FM101": Page(
        "Without front matter nobody knows what the file is for, so it is left out. "
        "An ability may do without; a skill, a card and a profile may not.",
        bad="# Charts\n\nRead the table, then draw one chart.\n",
        good=_GOOD,
    ),
    "FM102": Page(
        "Nothing says where the front matter ends and the text begins. The file is left out.",
        bad=f"---\n{_NAME}\n{_ABOUT}\n\nRead the table, then draw one chart.\n",
        good=_GOOD,
    ),
    "FM103": Page(
        "Many hosts drop such a skill without a word. metier keeps what it can read of a skill, "
        "which may be less than you wrote. Any other document is left out.",
        bad=_skill(_NAME, 'description: "Draws a chart from a table.'),
        good=_skill(_NAME, 'description: "Draws a chart from a table."'),
    ),
    "FM104": Page(
        "YAML takes the second ': ' for another key, so the front matter cannot be read. "
        "Many hosts drop the skill without a word. metier keeps a skill; "
        "it leaves out an ability, card or agent.",
        bad=_skill(_NAME, "description: Draws a chart. Use when: numbers should be seen."),
        good=_skill(_NAME, 'description: "Draws a chart. Use when: numbers should be seen."'),
    ),
    "FM105": Page(
        "metier takes the first of the two, other programs take the last. "
        "You may be editing the one that nobody reads.",
        bad=_skill(_NAME, _ABOUT, "license: MIT", "license: Apache-2.0"),
        good=_skill(_NAME, _ABOUT, "license: Apache-2.0"),
    ),
    "FM106": Page(
        "A few aliases can make a small file fill the whole memory, and in some programs a tag "
        "runs code. metier does not read such a file at all.",
        bad=_skill(_NAME, _ABOUT, "author: &who Ada", "metadata:", "  owner: *who"),
        good=_skill(_NAME, _ABOUT, "author: Ada", "metadata:", "  owner: Ada"),
    ),
    "FM107": Page(
        "Front matter this deep is almost always an accident or an attack. The file is left out.",
        bad=_skill(_NAME, _ABOUT, f"tags: {'[' * 20}charts{']' * 20}"),
        good=_skill(_NAME, _ABOUT, "tags: [charts]"),
    ),
    "FM108": Page(
        "Hosts read all front matter at every start, so a huge one makes everything slow. "
        "Above 64 KiB the file is left out.",
        bad="SKILL.md\n  front matter  82,000 bytes\n  body             400 bytes\n",
        good="SKILL.md\n  front matter     400 bytes\n  body          82,000 bytes\n",
    ),
    "FM109": Page(
        "Front matter is a set of keys with values. Anything else says neither name nor "
        "description, and the file is left out.",
        bad=_skill(f"- {_NAME}", f"- {_ABOUT}"),
        good=_GOOD,
    ),
    "FM110": Page(
        "Letters such as é turn into � or stop the reader. A skill with a few such letters is "
        "kept, every other document is left out.",
        bad="$ file SKILL.md\nSKILL.md: ISO-8859 text\n",
        good="$ file SKILL.md\nSKILL.md: Unicode text, UTF-8 text\n",
    ),
    "FM111": Page(
        "The name says text, the bytes say otherwise: an image, an archive or a damaged file. "
        "It is left out.",
        bad="$ file SKILL.md\nSKILL.md: PNG image data, 640 x 480\n",
        good="$ file SKILL.md\nSKILL.md: ASCII text\n",
    ),
    "FM112": Page(
        "metier reads it, but some hosts take '---' with a carriage return for no fence at all "
        "and find no front matter.",
        bad="$ file SKILL.md\nSKILL.md: ASCII text, with CRLF line terminators\n",
        good="$ file SKILL.md\nSKILL.md: ASCII text\n",
    ),
    "FM113": Page(
        "metier skips it, but some hosts see it before the first '---' and find no front matter.",
        bad="$ file SKILL.md\nSKILL.md: Unicode text, UTF-8 (with BOM) text\n",
        good="$ file SKILL.md\nSKILL.md: Unicode text, UTF-8 text\n",
    ),
    "FM114": Page(
        "There is nothing to load, so the file is left out. Perhaps a save or a copy went wrong.",
        bad="$ file SKILL.md\nSKILL.md: empty\n",
        good="$ file SKILL.md\nSKILL.md: ASCII text\n",
    ),
    "FM115": Page(
        "The profile cannot be read, so the agent does not exist for metier. "
        "The usual cause is a comma too many or a missing quote.",
        bad='{"agentId": "example", "description": "Draws charts.",}\n',
        good='{"agentId": "example", "description": "Draws charts."}\n',
    ),
    "FM116": Page(
        "YAML takes only spaces for indentation, so the front matter cannot be read. "
        "Many hosts drop the skill without a word. metier keeps a skill; "
        "it leaves out an ability, card or agent.",
        bad=_skill(_NAME, _ABOUT, "metadata:", "\tauthor: Ada"),
        good=_skill(_NAME, _ABOUT, "metadata:", "  author: Ada"),
    ),
    "FM117": Page(
        "Front matter begins with a line that is '---' and nothing else. Here a line break got "
        "lost, so the keys count as text and the file is left out.",
        bad=f"---# Charts\n{_NAME}\n{_ABOUT}\n---\n\nRead the table, then draw one chart.\n",
        good=_skill(_NAME, _ABOUT, body="# Charts\n\nRead the table, then draw one chart."),
    ),
}

FILES = {
    "IO201": Page(
        "What stands in it is missing from the catalogue, and agents will not see it.",
        bad="$ ls -l skills/example\nlrwxrwxrwx SKILL.md -> deleted.md\n",
        good="$ ls -l skills/example\n-rw-r--r-- SKILL.md\n",
    ),
    "IO202": Page(
        "A link could bring in any file of the machine, so metier does not follow it out of the "
        "folder. Name the other folder in metier.toml if you trust it. In your own folders of a "
        "host, such as ~/.claude/skills, a link to another skill folder of yours is followed; so "
        "is one directly in a skill folder of a workspace, once 'metier trust' has shown it.",
        bad="skills/example -> /home/ada/shared/example\n",
        good='# metier.toml\n[[mounts]]\npath = "/home/ada/shared"\n',
    ),
    "IO203": Page(
        "The file is left out: 1 MiB is the limit, 50 KiB for a card. "
        "A text this long would not fit into an agent's context anyway.",
        bad="skills/example/SKILL.md      3,400,000 bytes\n",
        good=(
            "skills/example/SKILL.md          9,000 bytes\n"
            "skills/example/reference.md  3,391,000 bytes\n"
        ),
    ),
    "IO204": Page(
        "A folder, pipe or device has the name of a document. Reading it could hang, so it is "
        "left out.",
        bad="skills/example/SKILL.md/\nskills/example/SKILL.md/notes.txt\n",
        good="skills/example/SKILL.md\nskills/example/notes.txt\n",
    ),
    "IO205": Page(
        "The name cannot be shown, stored or typed reliably, so the file is left out.",
        bad="abilities/caf\\xe9.md\n",
        good="abilities/café.md\n",
    ),
    "IO206": Page(
        "A folder is one skill. With two files in it hosts disagree which one is meant; metier "
        "takes SKILL.md.",
        bad="skills/example/SKILL.md\nskills/example/skill.md\n",
        good="skills/example/SKILL.md\n",
    ),
    "IO207": Page(
        "Nothing is read for it, so the documents that you meant are not there. Often a part of "
        "the path is misspelt, or the pattern matches files and no folder. The folders that are "
        "read without settings may be missing.",
        bad='[folders]\nagents = ["team/*/agents"]      # the folder is called teams\n',
        good='[folders]\nagents = ["teams/*/agents"]\n',
    ),
}

SKILLS = {
    "SK301": Page(
        "metier uses the folder's name, but many hosts refuse a skill without a name. "
        "If the folder is renamed, the skill changes its name too.",
        bad=_skill(_ABOUT),
        good=_GOOD,
    ),
    "SK302": Page(
        "Hosts that follow the format refuse the name, and it is hard to type as a command.",
        bad=_skill("name: Chart Tools", _ABOUT),
        good=_GOOD,
    ),
    "SK303": Page(
        "Some hosts show the folder and load by name, others refuse the skill. "
        "People look for one and find the other.",
        bad=_skill("name: charts  # in the folder skills/example", _ABOUT),
        good=_skill("name: example  # in the folder skills/example", _ABOUT),
    ),
    "SK304": Page(
        "Agents choose a skill by its description alone. Like Claude Code, metier takes the first "
        "paragraph of the text instead; Codex, Gemini CLI and most others drop the skill. "
        "With no paragraph either it is left out.",
        bad=_skill(_NAME),
        good=_GOOD,
    ),
    "SK305": Page(
        "Hosts cut the description at 1,024 characters or drop the skill. "
        "The part that says when to use it is often what gets lost.",
        bad=_skill(_NAME, "description: Draws a chart. It can also ... (1,400 characters)"),
        good=_GOOD,
    ),
    "SK306": Page(
        "An agent cannot tell when to use it, so it picks another skill or none.",
        bad=_skill(_NAME, "description: Charts."),
        good=_GOOD,
    ),
    "SK307": Page(
        "Programs that read this key ignore the value, or stop at it.",
        bad=_skill(_NAME, _ABOUT, "metadata: owned by the docs team"),
        good=_skill(_NAME, _ABOUT, "metadata:", "  owner: docs team"),
    ),
    "SK308": Page(
        "The format allows 500 characters here. Hosts may cut the rest or refuse the skill.",
        bad=_skill(_NAME, _ABOUT, "compatibility: Needs Python, and ... (600 characters)"),
        good=_skill(_NAME, _ABOUT, "compatibility: claude-code, codex"),
    ),
    "SK309": Page(
        "Most hosts ignore the key, a few refuse the skill. If it is a slip of the pen, "
        "the setting that you meant is not in force. The keys that hosts document, such as "
        "user-invocable, are known; a key that your host reads may stay where it is.",
        bad=_skill(_NAME, _ABOUT, "user-invokable: false", "priority: 5"),
        good=_skill(_NAME, _ABOUT, "user-invocable: false", "metadata:", "  priority: 5"),
    ),
    "SK310": Page(
        "The entry is left out, so nobody who asks for that capability finds this skill.",
        bad=_skill(_NAME, _ABOUT, "capabilities: [chart-drawing, 42]"),
        good=_skill(_NAME, _ABOUT, "capabilities: [chart-drawing]"),
    ),
    "SK311": Page(
        "A name outside the rule never matches a requirement. The skill offers something that "
        "nobody can ask for.",
        bad=_skill(_NAME, _ABOUT, "capabilities: [Chart Drawing]"),
        good=_skill(_NAME, _ABOUT, "capabilities: [chart-drawing]"),
    ),
    "SK312": Page(
        "The agent chooses the skill, opens it and learns nothing. It wastes a turn and guesses.",
        bad=_skill(_NAME, _ABOUT, body=""),
        good=_GOOD,
    ),
    "SK313": Page(
        "All of it goes into the context each time, which costs money and pushes other text out. "
        "Put details into files beside SKILL.md, to be read when needed.",
        bad="skills/example/SKILL.md      1,200 lines\n",
        good=(
            "skills/example/SKILL.md         80 lines\nskills/example/reference.md  1,120 lines\n"
        ),
    ),
    "SK314": Page(
        "Hosts put descriptions between tags of their own. A tag inside can break that, "
        "so some hosts refuse the skill.",
        bad=_skill(_NAME, "description: Draws a <chart> from a table of numbers."),
        good=_skill(_NAME, "description: Draws a chart from a table of numbers."),
    ),
    "SK315": Page(
        "Where upper and lower case differ, most hosts look only for SKILL.md and do not see it.",
        bad="skills/example/skill.md\n",
        good="skills/example/SKILL.md\n",
    ),
    "SK316": Page(
        "A host ignores a value that it does not know, so the setting that you meant is probably "
        "not in force. If your host knows it, leave it.",
        bad=_skill(_NAME, _ABOUT, "effort: maximum"),
        good=_skill(_NAME, _ABOUT, "effort: max"),
    ),
    "SK317": Page(
        "The skill says disable-model-invocation: true, so that only you start it. A host that "
        "reads this folder ignores the key and offers the skill to the model. Codex has a switch "
        "of its own, in a file beside SKILL.md.",
        bad=".agents/skills/example/SKILL.md    disable-model-invocation: true\n",
        good=(
            ".claude/skills/example/SKILL.md    disable-model-invocation: true\n\n"
            ".codex/skills/example/SKILL.md     disable-model-invocation: true\n"
            ".codex/skills/example/agents/openai.yaml\n"
            "    policy:\n      allow_implicit_invocation: false\n"
        ),
    ),
}

_MANY = ",".join("abcdefghijklmnopqrstu")
CONTRACTS = {
    "DC401": Page(
        "What the contract offers and needs is lost. The skill counts as one without a contract "
        "and can be found by its words only.",
        bad=_skill(_NAME, _ABOUT, "metadata:", "  contract: P(chart-drawing)"),
        good=_skill(_NAME, _ABOUT, "metadata:", "  contract: DCI/1 P(chart-drawing)"),
    ),
    "DC402": Page(
        "It works in best-effort runs, perhaps at a lower score. A strict run refuses it.",
        bad=_skill(_NAME, _ABOUT, "metadata:", "  contract: DCI/1 P(chart-drawing) Cost(low)"),
        good=_skill(_NAME, _ABOUT, "metadata:", "  contract: DCI/1 P(chart-drawing)"),
    ),
    "DC403": Page(
        "None of the names in the table count, so requirements that rely on one stay open. "
        "The other tables are used as before.",
        bad='{"aliases": {"Web Search": ["internet-search"]}}',
        good="""{
  "schema_version": "1",
  "alias_table_version": "1",
  "aliases": {"web-search": ["internet-search"]}
}""",
    ),
    "DC404": Page(
        "In double quotes YAML reads the backslash itself, so the contract that is read is not "
        "the one that you wrote. Single quotes leave it alone.",
        bad=_skill(
            _NAME, _ABOUT, "metadata:", '  contract: "DCI/1 P(chart-drawing) A(title=My\\ chart)"'
        ),
        good=_skill(
            _NAME, _ABOUT, "metadata:", "  contract: 'DCI/1 P(chart-drawing) A(title=My\\ chart)'"
        ),
    ),
    "DC405": Page(
        "Beyond 20 capabilities, or three times what others claim, every five more cost points, "
        "and the skill loses against one that does just what is asked.",
        bad=_skill(_NAME, _ABOUT, "metadata:", f"  contract: DCI/1 P({_MANY})"),
        good=_skill(_NAME, _ABOUT, "metadata:", "  contract: DCI/1 P(chart-drawing)"),
    ),
    "DC406": Page(
        "The key or its value is not known, so the policy that you meant is not in force.",
        bad=_skill(_NAME, _ABOUT, "metadata:", "  contract: DCI/1 R(sql-query) Pol(min-total=0.5)"),
        good=_skill(
            _NAME, _ABOUT, "metadata:", "  contract: DCI/1 R(sql-query) Pol(min-total-score=0.5)"
        ),
    ),
}
