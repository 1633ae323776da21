"""TOML: what is read, and what is refused before it costs anything."""

import tomllib

import pytest

from metier.core.toml import DEEPEST, MOST_PARTS, TomlError, toml_of

REFUSED = {
    "dotted key": ("a" + ".a" * 20_000 + " = 1", "a key of more than 50 parts"),
    "spaced key": ("a" + " . a" * 20_000 + " = 1", "a key of more than 50 parts"),
    "quoted key": ('"a"' + ".'a'" * 20_000 + " = 1", "a key of more than 50 parts"),
    "table": ("[a" + ".a" * 20_000 + "]", "a key of more than 50 parts"),
    "key in braces": ("x = {a" + ".a" * 20_000 + " = 1}", "a key of more than 50 parts"),
    "lists": ("x = " + "[" * 20_000, "nested deeper than 50 levels"),
    "tables": ("x = " + "{a = " * 20_000, "nested deeper than 50 levels"),
    "digits": ("x = " + "9" * 5_000, "a number with more digits than metier reads"),
    "negative": ("x = -" + "9" * 5_000, "a number with more digits than metier reads"),
    "hexadecimal": ("x = 0x" + "f" * 5_000, "a number with more digits than metier reads"),
}


@pytest.mark.parametrize(("text", "message"), REFUSED.values(), ids=REFUSED)
def test_what_takes_too_long_is_refused_with_its_line(
    text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tomllib, "loads", lambda *_, **__: pytest.fail("it was parsed"))
    with pytest.raises(TomlError) as caught:
        toml_of(f'# one\ntwo = """\n"""\n{text}\n')
    assert str(caught.value) == f"{message} (at line 4)"


SOUND = {
    "text": 'x = "' + "a." * 500 + "[" * 500 + "9" * 5_000 + '"',
    "escapes": r'x = "\"' + "." * 500 + r'\\" # "',
    "literal": "x = '" + "." * 500 + "\\'",
    "long text": 'x = """' + '""\\""".\n' * 500 + '"""""',
    "long literal": "x = '''" + "''.\n" * 500 + "'''''",
    "comment": "x = 1 # " + "." * 500 + "[" * 500 + '"',
    "numbers": "x = [" + "1.5, " * 500 + "]",
    "lines": "\n".join(f"a.b{number} = 1.5" for number in range(500)),
    "most parts": "a" + ".a" * (MOST_PARTS - 1) + " = 1",
    "deepest": "x = " + "[" * DEEPEST + "]" * DEEPEST,
    "tables": "\n".join(f"[[a]]\n[a.b{number}]" for number in range(500)),
    "line ends": "a = 1\r\nb = 2\r\n",
}


@pytest.mark.parametrize("text", SOUND.values(), ids=SOUND)
def test_what_is_sound_is_read_as_tomllib_does(text: str) -> None:
    assert toml_of(text) == tomllib.loads(text)


@pytest.mark.parametrize("text", ['x = """' + '\\"""' * 500, "x = '''", 'x = "\\', "x = ["])
def test_what_does_not_end_is_refused(text: str) -> None:
    with pytest.raises(TomlError):
        toml_of(text)
