"""Rules for all files together: names, ids, copies; and what hooks do not name."""

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from math import ceil
from typing import NamedTuple

from metier.core.text import is_cjk, words
from metier.safety.plain import is_plain
from metier.values.files import Kind
from metier.values.outcomes import Issue, exact_copy, same_id, same_name

NEARLY_THE_SAME = 0.75
"""The least share of words at which two descriptions are hard to tell apart."""
FEWEST_WORDS = 5


class Subject(NamedTuple):
    kind: Kind
    group: str
    """A skill's name, after its team's if it has one; the id of any other document."""
    path: str
    sha256: str = ""
    description: str = ""
    provides: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    name: str = ""
    """A skill's name, without its team's."""


def lint_collisions(subjects: Iterable[Subject], shown: Callable[[str], str] = str) -> list[Issue]:
    """The findings among documents in source order; `shown` writes the path of another one."""
    issues: list[Issue] = []
    first_of: dict[tuple[str, str], Subject] = {}
    first_with_content: dict[tuple[str, str], Subject] = {}
    distinct: list[Subject] = []
    for subject in subjects:
        first = first_of.setdefault((subject.kind, subject.group), subject)
        content = (subject.group, subject.sha256)
        if subject.kind != "skill":
            if first is not subject:
                issues.append(same_id(subject.group, subject.path, shown(first.path)))
        elif (original := first_with_content.setdefault(content, subject)) is not subject:
            issues.append(exact_copy(subject.path, original.path, shown(original.path)))
        else:
            distinct.append(subject)
            if first is not subject:
                where = shown(first.path)
                issues.append(same_name(subject.group, subject.path, first.path, where))
    issues.extend(_near_duplicates(distinct, shown))
    issues.extend(_unprovided(distinct))
    issues.extend(_not_named(distinct))
    return issues


def _not_named(skills: list[Subject]) -> Iterator[Issue]:
    """What makes hooks pass over a skill: its name, description and path as they show them."""
    for skill in skills:
        yield from lint_shown(skill.group, skill.description, skill.path)


def lint_shown(name: str, description: str, path: str) -> Iterator[Issue]:
    """What hooks would not show of a skill."""
    text = f"{name} {description} {path}"
    if is_plain(text):
        return
    from metier.safety.disguise import find_overrides  # loads what characters look like

    for one in find_overrides(text):
        hint = "hooks do not name this skill: change its name, description or folder"
        yield Issue(one.code, one.message, path, 1, 1, hint)


def located(issue: Issue, front_matter: str) -> Issue:
    """A finding of `lint_shown` where the front matter has it; else as it is."""
    from metier.safety.disguise import find_overrides  # only few skills have such findings

    said = issue.message.partition(",")[0]
    for one in find_overrides(front_matter):
        if one.code == issue.code and one.message.partition(",")[0] == said:
            return issue._replace(line=one.line, column=one.column)
    return issue


def _unprovided(skills: list[Subject]) -> Iterator[Issue]:
    """Capabilities that a skill relies on and that no skill here names as its own."""
    provided = {name for skill in skills for name in skill.provides}
    for skill in skills:
        yield from lint_needs(skill, provided)


def lint_needs(skill: Subject, provided: Container[str]) -> Iterator[Issue]:
    """What one skill relies on and nothing provides."""
    open_names = [name for name in dict.fromkeys(skill.needs) if name not in provided]
    if open_names:
        message = f"no skill here provides {', '.join(repr(name) for name in open_names)}"
        hint = f"metier resolve --for {skill.group} shows whether another name will do"
        yield Issue("XF905", message, skill.path, 1, 1, hint)


def _near_duplicates(skills: list[Subject], shown: Callable[[str], str]) -> Iterator[Issue]:
    bags = [_bag(skill.description) for skill in skills]
    for later, earlier, share in near_pairs(bags, [skill.name or skill.group for skill in skills]):
        first = shown(skills[earlier].path)
        message = f"the description shares {share:.0%} of its words with that of {first}"
        hint = "say in each when to use this skill and not the other"
        yield Issue("XF904", message, skills[later].path, 1, 1, hint)


def near_pairs(
    bags: Sequence[frozenset[str]], groups: Sequence[str]
) -> Iterator[tuple[int, int, float]]:
    """For each bag the earliest of another group that shares enough words with it.

    Two such bags share one of the rarest `size − ⌈t·size⌉ + 1` words of each.
    """
    frequency = Counter(word for bag in bags for word in bag)
    by_word: dict[str, list[int]] = {}
    order = sorted(frequency, key=lambda word: (frequency[word], word))
    rank = {word: place for place, word in enumerate(order)}
    for number, bag in enumerate(bags):
        if len(bag) < 3 * FEWEST_WORDS and _word_count(bag) < FEWEST_WORDS:
            continue
        size, group = len(bag), groups[number]
        fewest, most = NEARLY_THE_SAME * size, size / NEARLY_THE_SAME
        rarest = sorted(bag, key=rank.__getitem__)
        prefix = rarest[: size - ceil(fewest) + 1]
        candidates = {
            earlier
            for word in prefix
            for earlier in by_word.get(word, ())
            if fewest <= len(bags[earlier]) <= most
        }
        for earlier in sorted(candidates):
            if groups[earlier] != group:
                shared = len(bag & bags[earlier])
                share = shared / (size + len(bags[earlier]) - shared)
                if share >= NEARLY_THE_SAME:
                    yield number, earlier, share
                    break
        for word in prefix:
            by_word.setdefault(word, []).append(number)


def _bag(text: str) -> frozenset[str]:
    """The words of a text; of Chinese, Japanese and Korean each character."""
    if not text.isascii() and any(map(is_cjk, set(text))):
        text = "".join(f" {char} " if is_cjk(char) else char for char in text)
    return frozenset(words(text))


def _word_count(bag: frozenset[str]) -> float:
    """How many words; a Chinese, Japanese or Korean character counts a third."""
    characters = sum(len(word) == 1 and is_cjk(word) for word in bag)
    return len(bag) - characters + characters / 3
