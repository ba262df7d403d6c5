"""Reads which of two statements an answer supports, by the words in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import regex

from benchbuilder.core import chrf, find_all, to_half_width
from benchbuilder.evaluation.parsing.formatting import strip_formatting
from benchbuilder.evaluation.parsing.verdict_tables import VerdictTable, read_verdict_table
from benchbuilder.evaluation.parsing.verdict_texts import VerdictTexts, joined_pattern
from benchbuilder.evaluation.stats.overlap import relative_closeness

Side = Literal["right", "wrong", "neither"]
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_SPACED = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_UNSPACED}]"
_TOKEN = regex.compile(rf"(?V1){_SPACED}+|[^\s]")
_WORD = regex.compile(rf"(?V1){_SPACED}")
_SHORT_CLAUSE, _SHARED, _TELLING = 3, 0.4, 4
"""How many words beside a term are little; which part of a statement's other words is much of it; and from how many
letters on a single one is."""
_LEADS = 2
"""A word before which a clause has fewer words is what the clause is about."""
_CLAUSES = regex.compile(r"[!?;:,，、。！？；：\n]+|\.(?!\d)")
_LEAST = 3
"""Shorter words, such as the 1 of "type 1", take the word beside them along; of unspaced scripts, one sign less."""
_KEPT, _LIKE = 1 << 12, 0.25
"""How many terms are kept; and from which chrF on words are like each other (*falciparium*, *falciparum*)."""
CLOSENESS_MARGIN = 0.04
"""How far from 0.5 the closeness of an answer to one of two statements must be."""


@dataclass(frozen=True, slots=True)
class DifferingTerms:
    """The words in which a right and a wrong statement differ, in the form in which texts are searched for them.

    A term is empty if one statement only has words more.
    """

    right: str
    wrong: str

    def named(self, text: str) -> list[tuple[int, Side]]:
        """Where a prepared text names a term, in order, and which."""
        sides: tuple[tuple[Side, str], ...] = (("right", self.right), ("wrong", self.wrong))
        return sorted((match.start(), side) for side, term in sides if term for match in _pattern(term).finditer(text))


@dataclass(frozen=True, slots=True)
class NamedTerm:
    """A term that an answer names.

    Attributes:
        side: Whose term it is.
        denied: Whether a negation denies it.
        leads: Whether its clause begins with it, so that the clause is about it.
        asserts: Whether its clause says little else, or much of what the statement says.
    """

    side: Side
    denied: bool
    leads: bool
    asserts: bool


def tokens_of(text: str) -> list[str]:
    """The words of a prepared text, and each sign of unspaced scripts.

    >>> tokens_of("vitamin c: 是")
    ['vitamin', 'c', '是']
    """
    return [token for token in _TOKEN.findall(text) if token[0].isalnum()]


def prepared(text: str) -> str:
    """The form in which texts are compared: half width, no case."""
    return to_half_width(text).casefold()


@lru_cache(maxsize=_KEPT)
def differing_terms(right: str, wrong: str) -> DifferingTerms:
    """The words in which two statements differ.

    >>> differing_terms("Scurvy is due to a lack of vitamin C.", "Scurvy is due to a lack of vitamin K.")
    DifferingTerms(right='vitamin c', wrong='vitamin k')
    >>> differing_terms("首选左甲状腺素。", "首选降钙素。")
    DifferingTerms(right='左甲状腺', wrong='降钙')
    """
    texts = [prepared(right), prepared(wrong)]
    tokens = [[match.span() for match in _TOKEN.finditer(text)] for text in texts]
    first, second = ([text[start:end] for start, end in spans] for text, spans in zip(texts, tokens, strict=True))
    begin, end = common_ends(first, second)

    def term(text: str, spans: Sequence[tuple[int, int]]) -> str:
        kept = spans[begin : len(spans) - end]
        return text[kept[0][0] : kept[-1][1]].strip(" .,;:!?。，") if kept else ""

    terms = [term(text, spans) for text, spans in zip(texts, tokens, strict=True)]
    while begin and all(terms) and any(map(_is_short, terms)):
        begin -= 1
        terms = [term(text, spans) for text, spans in zip(texts, tokens, strict=True)]
    return DifferingTerms(terms[0], terms[1])


def common_ends(first: Sequence[str], second: Sequence[str]) -> tuple[int, int]:
    """How many tokens two texts share at the beginning, and how many behind these at the end."""
    shorter = min(len(first), len(second))
    begin = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    rest = shorter - begin
    return begin, next((at for at in range(rest) if first[-1 - at] != second[-1 - at]), rest)


def _is_short(term: str) -> bool:
    return len(term) < _LEAST - (not _WORD.search(term))


@lru_cache(maxsize=_KEPT)
def _pattern(term: str) -> regex.Pattern[str]:
    before = rf"(?<!{_SPACED})" if _WORD.match(term) else ""
    behind = rf"(?!{_SPACED})" if _WORD.match(term[-1]) else ""
    return regex.compile(rf"(?V1){before}{regex.escape(term, literal_spaces=True)}{behind}")


class SupportReader:
    """Reads answers by the negations of the verdict tables of one or several languages.

    The side whose differing words an answer names without a negation is supported; if it names both, neither is. An
    answer that names none of them supports the statement to whose words its own are nearer by chrF, if these are like
    them at all and the closeness is more than `margin` from 0.5. `denials` is a further pattern of words that deny what
    is named behind them.
    """

    def __init__(self, tables: Sequence[VerdictTable], margin: float, denials: str = "") -> None:
        self._texts, self._margin = VerdictTexts(tables), margin
        self._negations = "|".join(filter(None, (joined_pattern(tables, "restating.negations"), denials)))

    def read(self, answer: str, right: str, wrong: str) -> tuple[Side, str]:
        """The side that `answer` supports, and by what: the words that it names, or its closeness."""
        said = self._texts.convert_script(prepared(strip_formatting(answer) or ""))
        terms = differing_terms(*map(self._texts.convert_script, (right, wrong)))
        named = [*self._named(said, terms)]
        stood: set[Side] = {one.side for one in named if not one.denied}
        if named:
            side: Side = stood.pop() if len(stood) == 1 else "neither"
            return side, {"right": terms.right, "wrong": terms.wrong}.get(side, "both" if stood else "denied")
        near = chrf(answer, right), chrf(answer, wrong)
        if terms.right and terms.wrong:  # what both say makes any third answer a little nearer to one of them
            statement = tokens_of(prepared(self._texts.convert_script(right)))
            frame = set(statement) - set(tokens_of(f"{terms.right} {terms.wrong}"))
            rest = " ".join(word for word in tokens_of(said) if word not in frame)
            near = chrf(rest, terms.right), chrf(rest, terms.wrong)
        closeness = relative_closeness(*near)
        if max(near) < _LIKE or abs(closeness - 0.5) <= self._margin:
            return "neither", ""
        return ("right" if closeness > 0.5 else "wrong"), f"closeness {closeness:.3f}"

    def named(self, answer: str, right: str, wrong: str) -> list[NamedTerm]:
        """The words of both statements that `answer` names, in order."""
        said = self._texts.convert_script(prepared(strip_formatting(answer) or ""))
        terms = differing_terms(*map(self._texts.convert_script, (right, wrong)))
        return [*self._named(said, terms, self._texts.convert_script(right))]

    def _named(self, said: str, terms: DifferingTerms, statement: str = "") -> Iterator[NamedTerm]:
        frame = set(tokens_of(prepared(statement))) - set(tokens_of(f"{terms.right} {terms.wrong}"))
        for part in _CLAUSES.split(said):
            clause = f"x {part.strip()}"  # tables expect a word before a negation
            found = terms.named(clause)
            denied = set(self._denied(clause, found))
            for place, (at, side) in enumerate(found):
                leads = len(tokens_of(clause[2:at])) < _LEADS and len({side for _, side in found}) == 1
                rest = set(tokens_of(clause[2:])) - set(tokens_of(terms.right if side == "right" else terms.wrong))
                shared = rest & frame
                telling = len(shared) >= _SHARED * len(frame) or any(len(word) >= _TELLING for word in shared)
                near = telling or len(rest) <= _SHORT_CLAUSE
                yield NamedTerm(side, place in denied, leads, not leads or near)

    def _denied(self, clause: str, found: Sequence[tuple[int, Side]]) -> Iterator[int]:
        """The named terms that are denied: the next one behind a negation, else the last one before it."""
        for span in find_all(self._negations, clause) if found and self._negations else ():
            behind = [place for place, (at, _) in enumerate(found) if at >= span.start]
            yield behind[0] if behind else len(found) - 1


def support_reader(paths: Sequence[Path], margin: float) -> SupportReader:
    """Make a reader from the verdict tables in `paths`; DataError if one is invalid."""
    return SupportReader([read_verdict_table(path) for path in paths], margin)
