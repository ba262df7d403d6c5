"""Edit distance and common parts of strings, counted in code points."""

from __future__ import annotations

from difflib import SequenceMatcher

from rapidfuzz.distance import Levenshtein

from benchbuilder.core.records.row import Span


def edit_distance(left: str, right: str) -> int:
    """Insertions, deletions and substitutions that turn `left` into `right`.

    >>> edit_distance("colour", "color")
    1
    """
    return Levenshtein.distance(left, right)


def most_similar(needle: str, haystack: str, max_distance: int) -> Span | None:
    """The part of `haystack` that is nearest to `needle`, or ``None``.

    The last literal occurrence wins; without one, the part with the smallest edit distance up to `max_distance`,
    the later and then the one closer in length where several are equally near. At least half of the needle must
    remain: a needle of two characters is never found at distance two.

    >>> most_similar("colour", "a colour, a color", 2)
    Span(start=2, end=8)
    >>> most_similar("colour", "a color", 2)
    Span(start=2, end=7)
    >>> most_similar("ab", "xy", 2) is None
    True
    """
    if not needle:
        return None
    if (at := haystack.rfind(needle)) >= 0:
        return Span(start=at, end=at + len(needle))
    limit = min(max_distance, len(needle) // 2)
    best: tuple[int, int, int] | None = None
    found: Span | None = None
    for start in range(len(haystack) - 1, -1, -1):
        for size in range(max(1, len(needle) - limit), len(needle) + limit + 1):
            end = start + size
            if end > len(haystack):
                break
            distance = Levenshtein.distance(needle, haystack[start:end], score_cutoff=limit)
            rank = (distance, -end, abs(size - len(needle)))
            if distance <= limit and (best is None or rank < best):
                best, found = rank, Span(start=start, end=end)
    return found


def text_differences(before: str, after: str) -> list[tuple[str, str]]:
    """The parts in which `after` differs from `before`, in order: what was there, and what stands there instead.

    >>> text_differences("the cord falls off", "the cord may fall off")
    [('', 'may '), ('s', '')]
    """
    codes = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    return [(before[start:end], after[at:to]) for tag, start, end, at, to in codes if tag != "equal"]
