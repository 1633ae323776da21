"""Remove what must not leave the machine from a text: secrets, addresses, home folders.

Patterns find known forms; a secret without any form, such as a name, stays. So the result needs
a person's eye before it is published.
"""

import re

from metier.safety.redactor import SECRET as SECRET

ADDRESS, HOME = "[e-mail]", "~"
_KEY_BLOCK = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_USER_IN_URL = re.compile(r"\b([a-zA-Z][\w+.-]{0,20}://)[^\s/@]{1,500}@")
_TOKEN = re.compile(
    r"\b(?:(?:sk|pk|rk)[-_][\w-]{12,}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{12,}"
    r"|xox[a-z]-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{24,}|ya29\.[\w.-]{16,}"
    r"|(?:npm|hf|dop_v1|pypi)[-_]\w{16,}|SG\.[\w-]{12,}\.[\w-]{12,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_AUTHORIZATION = re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]{8,}", re.I)
_ASSIGNED = re.compile(
    r"((?:passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|credentials?)"
    r"[\w-]{0,20}[\"']?\s{0,3}(?:=>|[:=]|\bis\b)\s{0,3}[\"']?)[^\s\"',;]{3,}",
    re.I,
)
_ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HOME = re.compile(r"(?:/home/|/Users/|\b[A-Za-z]:\\{1,2}Users\\{1,2})[^/\\\s\"':,;)]{1,100}")
_LONG_WORD = re.compile(r"[A-Za-z0-9_+=-]{32,}")


def without_tokens(text: str) -> str:
    """A message without private keys, and without tokens: their forms, with a digit."""
    text = _KEY_BLOCK.sub(SECRET, text)
    return _TOKEN.sub(_random, text)


def redacted(text: str, home: str = "") -> str:
    """`text` without what looks like a secret, an e-mail address or a home folder."""
    text = _KEY_BLOCK.sub(SECRET, text)
    text = _USER_IN_URL.sub(rf"\1{SECRET}@", text)
    text = _TOKEN.sub(SECRET, text)
    text = _AUTHORIZATION.sub(rf"\1 {SECRET}", text)
    text = _ASSIGNED.sub(rf"\1{SECRET}", text)
    text = _ADDRESS.sub(ADDRESS, text)
    if len(home) > 1:
        text = text.replace(home, HOME)
    text = _HOME.sub(HOME, text)
    return _LONG_WORD.sub(_random, text)


def _random(found: re.Match[str]) -> str:
    """A long word with letters and digits is a key or a hash, not a word."""
    word = found[0]
    has_both = any(map(str.isdigit, word)) and any(map(str.isalpha, word))
    return SECRET if has_both else word
