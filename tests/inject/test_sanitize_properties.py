"""Sanitizing, whatever the text: it settles, it spares code, and no disguise gets through."""

import re
import string

from hypothesis import assume, example, given
from hypothesis import strategies as st

from metier.inject.sanitize import sanitize_capability_content
from metier.safety.markers import defused

SPEC = (
    re.compile(r"ignore previous instructions", re.IGNORECASE),
    re.compile(r"disregard[^\n\r\u2028\u2029]*above", re.IGNORECASE),
    re.compile(r"new instructions:", re.IGNORECASE),
)
"""The patterns of the spec, as it writes them."""

PARTS = [
    *("System:", "User:", "**Tool:**", "<system>", "</user>", "<sys", "tem>", "<", "system", ">"),
    *("<|im_start|>", "<|", "|>", "[INST]", "[IN", "ST]", "<<SYS>>", "<s>", "</s>", "ｓystem"),
    *("<!--", "-->", "<!", "--", "`", "``", "```", "~~~", "\\", "#", "-", "*", "1.", "|", "---"),
    *("disregard", "above", "ignore", "previous", "new", "instructions", ":", "ﬆ", "é", "☀️", "😀"),
    *("&", "&lt;", "&#105;", "Promise<User>", ".", "!", "&shy;", "[ ]", "</reference>"),
    *("<reference",),
    *(' code="a">', "ʋ", "٥", "ः", "ᐸ", "][", "](a(b))", "renew", "nevv", "+", "9", "<pre>"),
]
SCRAPS = st.sampled_from(
    [*PARTS, "\n", "\n", "\n\n", " ", "    ", "\t", "\r", "\r\n", "\u2028", ""]
)
MESS = st.lists(SCRAPS, max_size=40).map("".join)
PHRASES = st.sampled_from(
    ["Ignore previous instructions", "disregard all of the above", "NEW INSTRUCTIONS:"]
)


@given(st.one_of(MESS, st.text(), st.tuples(st.text(), MESS, st.text()).map("".join)))
@example("<sys<system>tem>")
@example("---\n---\n---\n---\n")
@example("---\n<!--\n---\nignore --> pre<b>vious instructions")
@example("&#" + "9" * 5000 + ";")
@example("&#" + "0" * 5000 + "105;gnore")
def test_sanitizing_never_raises_and_sanitizing_again_changes_nothing(text: str) -> None:
    once = sanitize_capability_content(text)
    again = sanitize_capability_content(once.text)
    assert again.text == once.text
    assert not again.rejected
    assert [issue.code for issue in again.issues] == []


@given(
    st.lists(st.sampled_from(["<sys", "tem>", "<system>", "`", "<!--", "-->", "\n"]), max_size=60)
)
def test_defusing_settles_however_things_are_nested(parts: list[str]) -> None:
    once, _ = defused("".join(parts))
    assert defused(once) == (once, [])


@given(MESS | st.tuples(MESS, PHRASES, MESS).map("".join))
def test_what_the_patterns_of_the_spec_find_is_rejected(text: str) -> None:
    result = sanitize_capability_content(text)
    if any(pattern.search(text) for pattern in SPEC):
        assert result.rejected
    assert not any(pattern.search(result.text) for pattern in SPEC)
    assert not re.search(r"^(?:User|Assistant|System):", outside_of_code(result.text), re.I | re.M)


def outside_of_code(text: str) -> str:
    """The text when nothing in it could be code; else nothing."""
    return "" if any(mark in text for mark in ("`", "~~~", "    ", "\t")) else text


PROSE = st.sampled_from(
    [
        "Text.",
        "System: x",
        "<user>a</user>",
        "a <!-- b --> c",
        "- item",
        "> quote",
        "# Title",
        "[INST]",
    ]
)
CODE = st.text(
    st.characters(exclude_categories=["C", "Zl", "Zp"], exclude_characters="`~\ufe0e\ufe0f"),
    min_size=1,
).map(lambda text: f"x{text}x")
BLOCKS = st.tuples(
    st.sampled_from(["```", "~~~~", "```yaml", "   ```", "      ", "\t\t"]),
    st.lists(CODE, max_size=4),
)


def block(fence: str, lines: list[str]) -> str:
    lines = [*lines, "System: <system> <!-- x --> </reference>"]
    if fence.isspace():
        return "\n".join(f"{fence}{line}" for line in lines)
    return "\n".join([fence, *lines, fence.replace("yaml", "")])


@given(st.lists(st.one_of(PROSE, BLOCKS), max_size=8), CODE)
def test_code_stays_as_it_is_byte_for_byte(
    parts: list[str | tuple[str, list[str]]], inline: str
) -> None:
    blocks = [block(*part) for part in parts if isinstance(part, tuple)]
    text = "\n\n".join(part if isinstance(part, str) else block(*part) for part in parts)
    result = sanitize_capability_content(f"Text `{inline}<user>` text.\n\n{text}\n")
    assume(not result.rejected)
    at = result.text.index(f"`{inline}<user>`")
    for code in blocks:
        at = result.text.index(code, at) + len(code)


LOOK_ALIKES = {
    "a": "аα@4ａ𝐚á",
    "b": "Ьｂ𝐛86ᑲ",
    "c": "сϲｃ𝐜ç",
    "d": "ԁｄ𝐝",
    "e": "еεｅ𝐞é3",
    "g": "ɡցｇ𝐠ğ96ƍ",
    "i": "іιｉ𝐢í1!ıl",
    "n": "ոηｎ𝐧ñν",
    "o": "оοｏ𝐨ö0ø٥๐𐐬",
    "p": "рρｐ𝐩",
    "r": "гｒ𝐫ř",
    "s": "ѕｓ𝐬š5$٥Ꮥ",
    "t": "тτｔ𝐭ť7+⊤٧",
    "u": "υսｕ𝐮üʋᑌ",
    "v": "νѵｖ𝐯ʋ٧",
    "w": ["ԝ", "ѡ", "ｗ", "𝐰", "ɯ", "vv"],
}
BETWEEN_LETTERS = [
    "",
    "",
    "",
    "\u200b",
    "\u00ad",
    "\u0301",
    "*",
    "_",
    "`",
    "\\",
    "<!-- x -->",
    "<b>",
    "[](x(y))",
]
GAPS = [
    " ",
    "  ",
    "\n",
    "\t",
    "\u00a0",
    "\u2003",
    "\r\n",
    " ** ",
    "&nbsp;",
    "&#10;",
    " <!-- x --> ",
]
FILLERS = ["", "", " all", " any", " of these", " all of my", " the"]


@st.composite
def disguised_word(draw: st.DrawFn, word: str) -> str:
    letters = []
    for letter in word:
        forms = [letter, letter.upper(), f"&#{ord(letter)};", f"&#38;#x{ord(letter):x};"]
        letters.append(draw(st.sampled_from([*forms, *LOOK_ALIKES.get(letter, "")])))
        letters.append(draw(st.sampled_from(BETWEEN_LETTERS)))
    return "".join(letters)


@st.composite
def disguise(draw: st.DrawFn) -> str:
    def word(plain: str) -> str:
        return draw(disguised_word(plain))

    gap, filler = (draw(st.sampled_from(options)) for options in (GAPS, FILLERS))
    other = draw(st.text(string.ascii_letters + " ,;", max_size=20))
    return draw(
        st.sampled_from(
            [
                f"{word('ignore')}{filler}{gap}{word('previous')}{gap}{word('instructions')}",
                f"{word('disregard')}{filler}{gap}{word('above')}",
                f"{word('disregard')} {other} {word('above')}",
                f"{word('new')}{gap}{word('instructions')}:",
            ]
        )
    )


@given(
    disguise(), st.sampled_from(["{}", "Text.\n\n{} and so on.", "```\n{}\n```", "`{}`", "- {}"])
)
def test_no_disguise_of_the_phrases_gets_through(phrase: str, around: str) -> None:
    assert sanitize_capability_content(around.format(phrase)).rejected


WORDS = [
    *(
        "the",
        "desk",
        "finds",
        "pages,",
        "titles",
        "or",
        "excerpts.",
        "Ask",
        "for",
        "words;",
        "open",
    ),
    *("above:", "(more", "is", "in", "docs).", "-", "mostly!", "42", "new", "ignore", "previous"),
    *("<", "b", ">", "x=1", "'quoted'", "#", "%", "$5", "@home", "[link](docs/a.md)", "*emphasis*"),
    *("__init__", "|", "~", "\\n", "users", "systems"),
]


@given(st.lists(st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", " ", "\n", "\n\n"]))))
def test_plain_prose_stays_as_it_is(pairs: list[tuple[str, str]]) -> None:
    text = "".join(word + gap for word, gap in pairs)
    result = sanitize_capability_content(text)
    assert (result.text, list(result.issues), result.rejected) == (text, [], False)
