"""Jaro-Winkler similarity in whole numbers: what floating point cannot decide."""

from fractions import Fraction

MAX_PREFIX = 4
_PREFIX_SCALE = Fraction(1, 10)
_NINE_TENTHS = Fraction(9, 10)


def reaches_nine_tenths(left: str, right: str) -> bool:
    return exact_similarity(left, right) >= _NINE_TENTHS


def exact_similarity(left: str, right: str) -> Fraction:
    """Jaro-Winkler similarity as a fraction."""
    jaro = _exact_jaro(left, right)
    prefix = 0
    while prefix < min(MAX_PREFIX, len(left), len(right)) and left[prefix] == right[prefix]:
        prefix += 1
    return jaro + prefix * _PREFIX_SCALE * (1 - jaro)


def _exact_jaro(left: str, right: str) -> Fraction:
    window = max(max(len(left), len(right)) // 2 - 1, 0)
    taken = [False] * len(right)
    from_left: list[str] = []
    for place, char in enumerate(left):
        for other in range(max(0, place - window), min(len(right), place + window + 1)):
            if not taken[other] and right[other] == char:
                taken[other] = True
                from_left.append(char)
                break
    if not from_left:
        return Fraction(int(left == right))
    from_right = [char for char, is_taken in zip(right, taken, strict=True) if is_taken]
    crossed = sum(one != other for one, other in zip(from_left, from_right, strict=True))
    matches = len(from_left)
    in_order = Fraction(matches - crossed // 2, matches)
    return (Fraction(matches, len(left)) + Fraction(matches, len(right)) + in_order) / 3
