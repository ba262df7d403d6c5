"""Alterations of a text by rules: swaps by tables of terms, other numbers, turned statements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated

from benchbuilder.config import FileRef, Spec
from benchbuilder.core import DataError, Regex, Span, find_all
from benchbuilder.steps import replace_span
from pydantic import Field

Boundaries = Callable[[str], Collection[int]]
"""Where in a text words begin and end."""


class SwapRule(Spec):
    """A table of terms (see `SwapTable`). With `whole_words`, only whole words of the tokenizer count."""

    table: FileRef
    whole_words: bool = True


class NumberRule(Spec):
    """Numbers in what `pattern` matches; one of `factors` makes another number of the first in it."""

    pattern: Regex
    factors: Annotated[tuple[Annotated[float, Field(gt=0)], ...], Field(min_length=1)]


class StatementInversion(Spec):
    """What turns a statement round: what `find` matches becomes `put`."""

    find: Regex
    put: str


@dataclass(frozen=True)
class Alteration:
    """A text in which `before` became `after`."""

    text: str
    before: str
    after: str


class SwapTable:
    """A table of terms in groups: a term may be swapped for one of another group, which is another thing for sure.

    The file has the columns ``group`` and ``term``, tab-separated, one term a row; terms of one group are
    interchangeable or alike, and never swapped for each other. A term may stand in several groups.
    """

    def __init__(self, path: Path) -> None:
        """DataError if the file cannot be read, a row is not whole, or there are not two groups."""
        self.groups_of: dict[str, frozenset[str]] = {}
        for number, cells in _rows(path):
            if len(cells) != 2 or not all(cells):
                raise DataError("a row of a table of terms needs a group and a term", where=f"{path}:{number}",
                                why=f"found {len(cells)} cells", next="write GROUP, a tab, TERM")  # fmt: skip
            self.groups_of[cells[1]] = self.groups_of.get(cells[1], frozenset()) | {cells[0]}
        if len(frozenset().union(*self.groups_of.values())) < 2:
            raise DataError("a table of terms needs two groups at least", where=str(path),
                            next="terms are swapped for those of another group")  # fmt: skip
        self._longest_first = sorted(self.groups_of, key=lambda term: (-len(term), term))

    def alterations(self, text: str, beside: str, chance: Random, boundaries: Boundaries | None) -> list[Alteration]:
        """`text` with all occurrences of a term swapped, one alteration for each term in it (as words, if that counts).

        What it is swapped for is drawn, stands neither in `text` nor in `beside`, and is no part of the term.
        """
        cuts = set(range(len(text) + 1)) if boundaries is None else set(boundaries(text))
        taken = [False] * len(text)
        places: dict[str, list[Span]] = {}
        for term in self._longest_first:
            for span in _occurrences(text, term):
                if not any(taken[span.start : span.end]):
                    taken[span.start : span.end] = [True] * len(term)
                    if {span.start, span.end} <= cuts:
                        places.setdefault(term, []).append(span)
        found: list[Alteration] = []
        for term, spans in sorted(places.items()):
            others = [
                other
                for other, groups in sorted(self.groups_of.items())
                if groups.isdisjoint(self.groups_of[term]) and other not in text and other not in beside
                and other not in term and term not in other
            ]  # fmt: skip
            if others:
                new = chance.choice(others)
                changed = text
                for span in reversed(spans):
                    changed = replace_span(changed, span, new)
                found.append(Alteration(changed, term, new))
        return found


def change_numbers(text: str, rule: NumberRule, chance: Random) -> list[Alteration]:
    """`text` with one number changed, an alteration for each match; whole numbers stay whole if they can."""
    found: list[Alteration] = []
    for span in find_all(rule.pattern, text):
        before = span.slice_of(text)
        for digits in find_all(r"[0-9]+(?:\.[0-9]+)?", before)[:1]:
            old = digits.slice_of(before)
            others = [new for factor in rule.factors if (new := _scaled(old, factor)) != old]
            whole = [new for new in others if "." in old or "." not in new]
            if not others:
                continue
            new = chance.choice(whole or others)
            after = replace_span(before, digits, new)
            found.append(Alteration(replace_span(text, span, after), before, after))
    return found


def _scaled(number: str, factor: float) -> str:
    """A number times `factor`, without more digits than it needs; the number itself if nothing else comes of it.

    >>> _scaled("3", 10), _scaled("0.5", 10), _scaled("30", 0.1)
    ('30', '5', '3')
    """
    value = round(float(number) * factor, 2)
    if value <= 0:
        return number
    return str(int(value)) if value.is_integer() else f"{value:g}"


def invert_statements(text: str, turns: Sequence[StatementInversion]) -> list[Alteration]:
    """`text` with one statement turned, an alteration for each place; where several turns match, the first counts."""
    found: list[Alteration] = []
    taken: set[int] = set()
    for turn in turns:
        for span in find_all(turn.find, text):
            places = set(range(span.start, max(span.end, span.start + 1)))
            if not places & taken and span.slice_of(text) != turn.put:
                taken |= places
                found.append(Alteration(replace_span(text, span, turn.put), span.slice_of(text), turn.put))
    return found


def draw_alteration(
    alterations_by_rule: Mapping[str, Sequence[Alteration]], chance: Random
) -> tuple[str, Alteration] | None:
    """One of the alterations with the name of its rule: first a rule is drawn, then one of what it makes."""
    names = sorted(name for name, altered in alterations_by_rule.items() if altered)
    if not names:
        return None
    name = chance.choice(names)
    return name, chance.choice(alterations_by_rule[name])


def _occurrences(text: str, term: str) -> Iterator[Span]:
    at = text.find(term)
    while at >= 0:
        yield Span(start=at, end=at + len(term))
        at = text.find(term, at + len(term))


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """The cells of each row behind the header; blank lines and those that begin with ``#`` are left out."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            "a table of terms cannot be read", where=str(path), why=str(error), next="it is TSV in UTF-8"
        ) from error
    for number, line in enumerate(lines[1:], start=2):
        if line.strip() and not line.startswith("#"):
            yield number, [cell.strip() for cell in line.split("\t")]
